//! Websockets: the links of hosts, and pages that watch.

use std::sync::Arc;

use axum::Extension;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::{State, WebSocketUpgrade};
use axum::http::StatusCode;
use axum::response::Response;
use sateen_protocol::limits::FRAME_BYTES_MAX;

use super::Api;
use super::feed::Opening;
use super::problem::Problem;
use crate::access::Access;
use crate::limits::{HELLO_READ_BYTES_MAX, LINKS_MAX, READ_BUFFER_BYTES, WATCHERS_MAX, WRITE_BUFFER_BYTES};
use crate::links::{self, Doors};
use crate::server::{Connection, Full, Kind};

/// The websocket of a host.
pub async fn host(
    State(api): State<Api>,
    Extension(access): Extension<Access>,
    Extension(connection): Extension<Arc<Connection>>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, Problem> {
    let upgrade = upgrade.map_err(|error| {
        Problem::bad_request(format!("this address accepts only websockets of hosts: {error}"))
    })?;
    if !api.links.has_room() {
        return Err(Problem::new(
            StatusCode::SERVICE_UNAVAILABLE,
            format!("{LINKS_MAX} hosts are connected, which is the maximum; try again later"),
        ));
    }
    let room =
        |kind| api.gates.take(connection.peer, kind, 1).map_err(|full| no_room(full, "hosts are connected"));
    let doors = Doors {
        _link: room(Kind::Link)?,
        unknown: Some(
            (api.gates.take_for(connection.activity(), Kind::UnknownLink))
                .map_err(|full| no_room(full, "hosts are connected that have not said hello"))?,
        ),
        connection: Arc::clone(&connection),
        access,
    };
    connection.becomes_websocket();
    connection.read_at_most(HELLO_READ_BYTES_MAX);
    let upgrade = upgrade
        .max_message_size(FRAME_BYTES_MAX)
        .max_frame_size(FRAME_BYTES_MAX)
        .read_buffer_size(READ_BUFFER_BYTES)
        .write_buffer_size(WRITE_BUFFER_BYTES)
        .max_write_buffer_size(WRITE_BUFFER_BYTES + 2 * FRAME_BYTES_MAX);
    Ok(upgrade.on_upgrade(move |socket| links::serve(socket, doors, api.links, api.from_links)))
}

/// The websocket of a page that watches.
pub async fn watch(
    State(api): State<Api>,
    Extension(access): Extension<Access>,
    Extension(connection): Extension<Arc<Connection>>,
    opening: Result<Opening, Problem>,
) -> Result<Response, Problem> {
    let opening = opening?;
    if !api.watching.has_room() {
        return Err(Problem::new(
            StatusCode::SERVICE_UNAVAILABLE,
            format!("{WATCHERS_MAX} pages are open, which is the maximum; close some, or try again later"),
        ));
    }
    let pass =
        api.gates.take(connection.peer, Kind::Watcher, 1).map_err(|full| no_room(full, "pages are open"))?;
    connection.becomes_websocket();
    let watching = Arc::clone(&api.watching);
    Ok(opening.open(|socket| async move {
        let _pass = pass;
        watching.serve(socket, api, connection, access).await;
    }))
}

fn no_room(full: Full, what: &str) -> Problem {
    let (status, of) = match full {
        Full::Peer => (StatusCode::TOO_MANY_REQUESTS, " from this address"),
        Full::All => (StatusCode::SERVICE_UNAVAILABLE, ""),
    };
    Problem::new(status, format!("too many {what}{of}; close some, or try again later"))
}
