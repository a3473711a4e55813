//! Endpoints for operators' machines: liveness, readiness, version, metrics.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use axum::Json;
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use sateen_api::Version;
use sateen_protocol::codec::PROTOCOL_VERSION;
use sateen_protocol::{RunState, Time};
use tokio::time::timeout;

use super::Api;
use super::problem::Problem;
use crate::driver;
use crate::metrics::{Service, exposition};
use crate::release::VERSION;
use crate::store::sql;

/// A part that has not answered within this time is stuck.
const READY_MAX: Duration = Duration::from_secs(5);

pub async fn healthz() -> &'static str {
    "ok\n"
}

/// Whether requests can be served: checked by writing to the data folder and asking the driver.
pub async fn readyz(State(api): State<Api>) -> Result<&'static str, Problem> {
    let not_ready = |why: String| Problem::new(StatusCode::SERVICE_UNAVAILABLE, why);
    let stuck = |what: &str| not_ready(format!("{what} has not answered for {} s", READY_MAX.as_secs()));
    match timeout(READY_MAX, api.store.write(|connection| sql::probe(connection))).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => return Err(not_ready(error.to_string())),
        Err(_) => return Err(stuck("the disk of the data folder")),
    }
    match timeout(READY_MAX, api.driver.ask(driver::Request::Totals)).await {
        Ok(totals) => totals?,
        Err(_) => return Err(stuck("the coordinator's own loop")),
    };
    Ok("ready\n")
}

pub async fn version(State(api): State<Api>) -> Json<Version> {
    let grid = format!("{:016x}", api.grid.0);
    Json(Version {
        name: "sateen-coordinator".to_owned(),
        version: VERSION.to_owned(),
        protocol: PROTOCOL_VERSION,
        grid,
        minimum_version: api.links.enrolment.minimum().map(ToString::to_string),
    })
}

pub async fn metrics(State(api): State<Api>) -> Result<impl IntoResponse, Problem> {
    let totals = api.driver.ask(driver::Request::Totals).await?;
    // A scrape should show the fault instead of failing because of it.
    let runs = api.store.read(|connection| sql::runs_by_state(connection)).await.unwrap_or_default();
    let of_state = |state: RunState| runs.iter().find(|(of, _)| *of == state).map_or(0, |(_, count)| *count);
    let service = Service {
        version: VERSION,
        protocol: PROTOCOL_VERSION,
        started_at_s: api.clock.unix_ms(Time(0)) as f64 / 1e3,
        links: api.links.count(),
        watchers: api.watching.count(),
        runs: RunState::ALL.map(|state| (state.word(), of_state(state))).to_vec(),
        store_works: api.store.trouble().is_none(),
    };
    let store = [("read", Arc::clone(&api.store.reading)), ("write", Arc::clone(&api.store.writing))];
    let (kind, text) = exposition(&api.links.counters, store, totals, service)
        .map_err(|_| Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "the metrics cannot be written"))?;
    Ok(([(header::CONTENT_TYPE, kind)], text))
}

/// Counts answers by the class of their status.
pub async fn count(State(api): State<Api>, request: Request, next: Next) -> Response {
    let response = next.run(request).await;
    let class = usize::from(response.status().as_u16() / 100);
    if let Some(answers) = class.checked_sub(1).and_then(|place| api.links.counters.answers.get(place)) {
        answers.fetch_add(1, Relaxed);
    }
    response
}
