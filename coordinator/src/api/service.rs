//! About the service itself.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;

use axum::Json;
use axum::extract::State;
use axum::response::Html;
use sateen_protocol::Time;

use super::Api;
use super::operations::VERSION;
use super::problem::Problem;
use super::types::Status;
use crate::driver::Request;
use crate::store::sql::{self, state_word};

pub async fn index() -> Html<&'static str> {
    Html(include_str!("index.html"))
}

pub async fn status(State(api): State<Api>) -> Result<Json<Status>, Problem> {
    let totals = api.driver.ask(Request::Totals).await?;
    let runs = api.store.read(|connection| sql::runs_by_state(connection)).await?;
    let counters = &api.links.counters;
    Ok(Json(Status {
        grid: grid(&api),
        version: VERSION,
        uptime_s: api.clock.now().since(Time(0)).as_secs_f64(),
        hosts: usize::try_from(totals.hosts.all()).unwrap_or(usize::MAX),
        threads: u32::try_from(totals.workers).unwrap_or(u32::MAX),
        runs: runs.into_iter().map(|(state, runs)| (state_word(state), runs)).collect::<BTreeMap<_, _>>(),
        links: api.links.count(),
        messages_in: counters.messages_in.load(Relaxed),
        relayed_frames: counters.relayed_frames.load(Relaxed),
        relayed_bytes: counters.relayed_bytes.load(Relaxed),
        misbehaviours: counters.misbehaviours.load(Relaxed),
        trouble: api.store.trouble(),
    }))
}

fn grid(api: &Api) -> String {
    format!("{:016x}", api.grid.0)
}
