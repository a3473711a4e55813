//! Hosts: their list, and their websockets.

use axum::Json;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::{State, WebSocketUpgrade};
use axum::http::StatusCode;
use axum::response::Response;
use sateen_protocol::coordinator::HostView;
use sateen_protocol::limits::FRAME_BYTES_MAX;

use super::Api;
use super::problem::Problem;
use super::types::Host;
use crate::clock::written;
use crate::driver::Request;
use crate::limits::{LINKS_MAX, READ_BUFFER_BYTES, WRITE_BUFFER_BYTES};
use crate::links;

pub async fn websocket(
    State(api): State<Api>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, Problem> {
    let upgrade = upgrade
        .map_err(|error| Problem::bad_request(format!("this page is for hosts' websockets: {error}")))?;
    if !api.links.has_room() {
        return Err(Problem::new(
            StatusCode::SERVICE_UNAVAILABLE,
            format!("{LINKS_MAX} hosts are connected, which is all that there may be; try again later"),
        ));
    }
    let upgrade = upgrade
        .max_message_size(FRAME_BYTES_MAX)
        .max_frame_size(FRAME_BYTES_MAX)
        .read_buffer_size(READ_BUFFER_BYTES)
        .write_buffer_size(WRITE_BUFFER_BYTES)
        .max_write_buffer_size(WRITE_BUFFER_BYTES + 2 * FRAME_BYTES_MAX);
    Ok(upgrade.on_upgrade(move |socket| links::serve(socket, api.links, api.from_links)))
}

pub async fn list(State(api): State<Api>) -> Result<Json<Vec<Host>>, Problem> {
    let hosts = api.driver.ask(Request::Hosts).await?;
    Ok(Json(hosts.into_iter().map(|view| shown(&api, view)).collect()))
}

fn shown(api: &Api, view: HostView) -> Host {
    Host {
        id: view.id.to_string(),
        name: view.report.name,
        site: view.report.site,
        threads: view.report.threads,
        version: view.report.version,
        connected: view.connected,
        paused: view.paused,
        since: written(api.clock.unix_ms(view.since)),
        runs: view.ready.iter().map(|run| run.0).collect(),
        jobs: (&view.counts).into(),
        busy: view.counts.busy,
    }
}
