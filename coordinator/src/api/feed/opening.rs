//! Opening a page's websocket: below axum, whose websockets send no fragments and keep a buffer as long as the
//! longest message that was ever sent.

use axum::extract::FromRequestParts;
use axum::extract::ws::WebSocketUpgrade;
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};

use crate::api::Problem;
use crate::limits::{WATCH_FRAGMENT_BYTES, WATCH_MESSAGE_BYTES_MAX};

/// A page's websocket.
pub type Socket = WebSocketStream<TokioIo<Upgraded>>;

/// A request for a websocket.
pub struct Opening {
    upgrade: OnUpgrade,
    key: HeaderValue,
}

impl<S: Send + Sync> FromRequestParts<S> for Opening {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let upgrade = parts.extensions.get::<OnUpgrade>().cloned();
        let key = parts.headers.get(header::SEC_WEBSOCKET_KEY).cloned();
        let no_websocket = |why: String| {
            Problem::bad_request(format!("this address accepts only websockets of the dashboard: {why}"))
        };
        let checked = <WebSocketUpgrade as FromRequestParts<S>>::from_request_parts(parts, state).await;
        drop(checked.map_err(|error| no_websocket(error.to_string()))?);
        match (upgrade, key) {
            (Some(upgrade), Some(key)) => Ok(Self { upgrade, key }),
            _ => Err(no_websocket("the connection cannot be upgraded".to_owned())),
        }
    }
}

impl Opening {
    /// The answer that opens the websocket, which is served from then on.
    pub fn open<F: Future<Output = ()> + Send>(
        self,
        serve: impl FnOnce(Socket) -> F + Send + 'static,
    ) -> Response {
        let accepted = derive_accept_key(self.key.as_bytes());
        tokio::spawn(async move {
            match self.upgrade.await {
                Ok(upgraded) => {
                    let io = TokioIo::new(upgraded);
                    serve(WebSocketStream::from_raw_socket(io, Role::Server, Some(config())).await).await;
                }
                Err(error) => tracing::debug!(%error, "a page's websocket was not opened"),
            }
        });
        let headers = [
            (header::CONNECTION, "upgrade".to_owned()),
            (header::UPGRADE, "websocket".to_owned()),
            (header::SEC_WEBSOCKET_ACCEPT, accepted),
        ];
        (StatusCode::SWITCHING_PROTOCOLS, headers).into_response()
    }
}

fn config() -> WebSocketConfig {
    WebSocketConfig::default()
        .max_message_size(Some(2 * WATCH_MESSAGE_BYTES_MAX))
        .max_frame_size(Some(2 * WATCH_MESSAGE_BYTES_MAX))
        .read_buffer_size(WATCH_MESSAGE_BYTES_MAX)
        .write_buffer_size(0)
        .max_write_buffer_size(2 * WATCH_FRAGMENT_BYTES)
}
