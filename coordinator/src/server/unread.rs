//! A request's body whose rest is read and dropped if the request is answered before it has come as a whole.
//!
//! Closing a socket with unread bytes resets the connection, and a client that still sends would not see the answer.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Bytes;
use axum::http::HeaderMap;
use axum::http::header::EXPECT;
use futures_util::future::poll_fn;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tokio::runtime::Handle;
use tokio::time::timeout;

use crate::limits::{UNREAD_BYTES_MAX, UNREAD_MAX};

/// A request's body.
pub struct ReadOn {
    body: Option<Incoming>,
    /// The client sends it only when it is asked for it.
    waits_to_be_asked: bool,
}

impl ReadOn {
    /// The body of a request with these headers.
    pub fn new(headers: &HeaderMap, body: Incoming) -> Self {
        Self { body: Some(body), waits_to_be_asked: headers.contains_key(EXPECT) }
    }
}

impl Body for ReadOn {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        self.waits_to_be_asked = false;
        match &mut self.body {
            Some(body) => Pin::new(body).poll_frame(context),
            None => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or_else(|| SizeHint::with_exact(0), Body::size_hint)
    }
}

impl Drop for ReadOn {
    fn drop(&mut self) {
        let is_read = self.is_end_stream() || self.waits_to_be_asked;
        if let (false, Some(body), Ok(runtime)) = (is_read, self.body.take(), Handle::try_current()) {
            runtime.spawn(async { timeout(UNREAD_MAX, drop_rest(body)).await });
        }
    }
}

/// Reads the rest, as far as that is allowed, while the answer is sent.
async fn drop_rest(mut body: Incoming) {
    let mut left_bytes = UNREAD_BYTES_MAX;
    while left_bytes > 0 {
        let Some(Ok(frame)) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await else { break };
        left_bytes = left_bytes.saturating_sub(frame.data_ref().map_or(0, |data| data.len() as u64));
    }
}
