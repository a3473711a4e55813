//! About the service itself.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{Html, IntoResponse};
use sateen_protocol::codec::PROTOCOL_VERSION;
use sateen_protocol::{Jobs, Time};

use super::Api;
use super::problem::Problem;
use super::types::{Status, Version, seconds};
use crate::driver::Request;
use crate::metrics::{Gauges, exposition};
use crate::store::sql::{self, state_word};

const VERSION: &str = env!("CARGO_PKG_VERSION");

pub async fn index() -> Html<&'static str> {
    Html(include_str!("index.html"))
}

pub async fn healthz() -> &'static str {
    "ok\n"
}

/// Whether requests can be served: found out by writing to the data folder and asking the driver.
pub async fn readyz(State(api): State<Api>) -> Result<&'static str, Problem> {
    let not_ready = |why: String| Problem::new(StatusCode::SERVICE_UNAVAILABLE, why);
    if let Err(error) = api.store.write(|connection| sql::probe(connection)).await {
        return Err(not_ready(error.to_string()));
    }
    api.driver.ask(Request::Totals).await?;
    Ok("ready\n")
}

pub async fn version(State(api): State<Api>) -> Json<Version> {
    Json(Version {
        name: "sateen-coordinator",
        version: VERSION,
        protocol: PROTOCOL_VERSION,
        grid: grid(&api),
    })
}

pub async fn status(State(api): State<Api>) -> Result<Json<Status>, Problem> {
    let totals = api.driver.ask(Request::Totals).await?;
    let runs = api.store.read(|connection| sql::runs_by_state(connection)).await?;
    let counters = &api.links.counters;
    Ok(Json(Status {
        grid: grid(&api),
        version: VERSION,
        uptime_s: api.clock.now().since(Time(0)).as_secs_f64(),
        hosts: totals.hosts,
        threads: totals.threads,
        runs: runs.into_iter().map(|(state, runs)| (state_word(state), runs)).collect::<BTreeMap<_, _>>(),
        links: api.links.count(),
        messages_in: counters.messages_in.load(Relaxed),
        relayed_frames: counters.relayed_frames.load(Relaxed),
        relayed_bytes: counters.relayed_bytes.load(Relaxed),
        misbehaviours: counters.misbehaviours.load(Relaxed),
        trouble: api.store.trouble(),
    }))
}

pub async fn metrics(State(api): State<Api>) -> Result<impl IntoResponse, Problem> {
    let totals = api.driver.ask(Request::Totals).await?;
    let runs = api.store.read(|connection| sql::runs_by_state(connection)).await?;
    let gauges = Gauges {
        hosts: totals.hosts,
        threads: totals.threads,
        links: api.links.count(),
        runs: runs.into_iter().map(|(state, runs)| (state_word(state), runs)).collect(),
        jobs: Jobs::from(&totals.counts),
        work_s: seconds(totals.counts.work_ns),
        table_entries: totals.table.0,
        table_bytes: totals.table.1,
        store_works: api.store.trouble().is_none(),
    };
    let text = exposition(&api.links.counters, &gauges);
    Ok(([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text))
}

fn grid(api: &Api) -> String {
    format!("{:016x}", api.grid.0)
}
