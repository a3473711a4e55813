//! Limits on requests: maximum requests per peer and in all, and answers that clients take.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::Extension;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use hyper::body::{Frame, SizeHint};
use tokio::time::timeout;

use super::problem::Problem;
use super::{Api, body};
use crate::limits::{
    BODY_SMALL_BYTES, JSON_BYTES_MAX, RESPONSE_PART_BYTES, RESPONSE_SMALL_BYTES, TURN_TIMEOUT,
};
use crate::server::{Connection, Kind, Pass};

/// Handles a request in its turn, with its body in memory; and sends the answer if there is room for one more.
pub async fn pass(
    State(api): State<Api>,
    Extension(connection): Extension<Arc<Connection>>,
    request: Request,
    next: Next,
) -> Response {
    match answer(&api, &connection, request, next).await {
        Ok(response) => response,
        Err(problem) => problem.into_response(),
    }
}

async fn answer(
    api: &Api,
    connection: &Arc<Connection>,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    if has_its_own_turn(&request) {
        return Ok(next.run(request).await);
    }
    let (parts, content) = request.into_parts();
    let (content, _held) = if content.is_end_stream() {
        (Body::empty(), None)
    } else {
        let is_small = content.size_hint().upper().is_some_and(|bytes| bytes <= BODY_SMALL_BYTES);
        let held = if is_small { None } else { Some(turn(api, connection, Kind::Body).await?) };
        (Body::from(body::in_memory(connection, content, JSON_BYTES_MAX).await?), held)
    };
    let response = {
        let _turn = turn(api, connection, Kind::Request).await?;
        next.run(Request::from_parts(parts, content)).await
    };
    counted(api, connection, response)
}

/// An answer, if there is room for one more that is being sent.
pub fn counted(api: &Api, connection: &Connection, response: Response) -> Result<Response, Problem> {
    let bytes = response.body().size_hint().lower();
    if bytes <= RESPONSE_SMALL_BYTES {
        return Ok(response);
    }
    let kib = usize::try_from(bytes >> 10).unwrap_or(usize::MAX);
    let room = api.gates.take(connection.peer, Kind::ResponseKib, kib).map_err(|_| {
        busy("too many answers are waiting to be read; read those that you have requested, and try again later")
    })?;
    let (parts, content) = response.into_parts();
    Ok(Response::from_parts(parts, Body::new(Counted { content, rest: Bytes::new(), _room: room })))
}

/// Waits until one more request of a kind may run.
pub async fn turn(api: &Api, connection: &Arc<Connection>, kind: Kind) -> Result<Pass, Problem> {
    timeout(TURN_TIMEOUT, api.gates.wait_for(connection.activity(), kind)).await.map_err(|_| {
        busy(
            "too many requests are under way, of this address or of all; wait for the answers to those that were sent, \
             and try again later",
        )
    })
}

fn busy(why: &str) -> Problem {
    Problem::new(StatusCode::TOO_MANY_REQUESTS, why)
}

/// Blobs, modules, results and traces take long to send, and a request that waits for a run's end sends nothing; pages'
/// websockets and the requests of operators' machines have limits of their own or are short.
fn has_its_own_turn(request: &Request) -> bool {
    let path = request.uri().path();
    let is_publication = request.method() == Method::POST && path == "/api/v1/apps";
    let is_websocket = request.headers().contains_key(header::UPGRADE) && path.starts_with("/ws/");
    is_publication
        || is_websocket
        || path == "/api/v1/blobs"
        || path == "/healthz"
        || path.starts_with("/api/v1/blobs/")
        || (path.starts_with("/api/v1/runs/")
            && ["/wait", "/trace.json", "/result"].iter().any(|end| path.ends_with(end)))
}

/// An answer that is counted until it was sent: the connection gets it in parts, each when the
/// last is being sent.
struct Counted {
    content: Body,
    /// The rest of a long part.
    rest: Bytes,
    _room: Pass,
}

impl Counted {
    /// The next part of the remaining bytes.
    fn part(&mut self) -> Frame<Bytes> {
        let length = self.rest.len().min(RESPONSE_PART_BYTES);
        Frame::data(self.rest.split_to(length))
    }
}

impl HttpBody for Counted {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if !self.rest.is_empty() {
            return Poll::Ready(Some(Ok(self.part())));
        }
        let next = std::task::ready!(Pin::new(&mut self.content).poll_frame(context));
        Poll::Ready(match next.map(|next| next.map(Frame::into_data)) {
            Some(Ok(Ok(bytes))) => {
                self.rest = bytes;
                Some(Ok(self.part()))
            }
            Some(Ok(Err(frame))) => Some(Ok(frame)),
            Some(Err(error)) => Some(Err(error)),
            None => None,
        })
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.content.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (rest, content) = (self.rest.len() as u64, self.content.size_hint());
        let mut hint = SizeHint::new();
        hint.set_lower(content.lower() + rest);
        if let Some(upper) = content.upper() {
            hint.set_upper(upper + rest);
        }
        hint
    }
}
