//! The task that sends.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use axum::extract::ws::{CloseFrame, Message, WebSocket};
use futures_util::SinkExt;
use futures_util::stream::SplitSink;
use sateen_protocol::codec::Encoder;
use tokio::time::timeout;

use super::link::{Link, Phase};
use crate::limits::{WRITE_BATCH_BYTES, WRITE_TIMEOUT};
use crate::metrics::Counters;

/// The close code for a violation of the protocol (RFC 6455, 7.4.1).
const POLICY: u16 = 1008;
/// A close frame has room for at most 125 bytes, two of which are the code.
const REASON_BYTES_MAX: usize = 123;

/// Sends the queue until the link is closed.
pub async fn write(link: Arc<Link>, counters: Arc<Counters>, mut socket: SplitSink<WebSocket, Message>) {
    tokio::select! {
        () = send(&link, &counters, &mut socket) => {}
        () = link.reached(Phase::Dead) => {}
    }
    link.cut("it was closed");
}

async fn send(link: &Link, counters: &Counters, socket: &mut SplitSink<WebSocket, Message>) {
    let mut messages = Vec::new();
    let mut encoder = Encoder::default();
    loop {
        link.queue().take(WRITE_BATCH_BYTES, &mut messages);
        if messages.is_empty() {
            if link.phase() == Phase::Closing {
                break;
            }
            tokio::select! {
                () = link.queue().more() => {}
                () = link.reached(Phase::Closing) => {}
            }
            continue;
        }
        for message in messages.drain(..) {
            if let Err(error) = encoder.push(&message) {
                link.cut(&error.to_string());
                return;
            }
        }
        for frame in encoder.finish() {
            counters.frames_out.fetch_add(1, Relaxed);
            counters.bytes_out.fetch_add(frame.len() as u64, Relaxed);
            if !in_time(link, socket.feed(Message::Binary(frame.into()))).await {
                return;
            }
        }
        // Flushed at once when there is nothing more to send along.
        if link.queue().is_empty() && !in_time(link, socket.flush()).await {
            return;
        }
    }
    let reason = link.reason();
    let close = CloseFrame { code: POLICY, reason: shortened(&reason).into() };
    in_time(link, socket.send(Message::Close(Some(close)))).await;
}

/// Whether it was done in time.
async fn in_time(link: &Link, work: impl Future<Output = Result<(), axum::Error>>) -> bool {
    match timeout(WRITE_TIMEOUT, work).await {
        Ok(Ok(())) => return true,
        Ok(Err(error)) => link.cut(&format!("sending failed: {error}")),
        Err(_) => link.cut(&format!("it read nothing for {} s", WRITE_TIMEOUT.as_secs())),
    }
    false
}

fn shortened(reason: &str) -> &str {
    let mut end = reason.len().min(REASON_BYTES_MAX);
    while !reason.is_char_boundary(end) {
        end -= 1;
    }
    &reason[..end]
}
