//! The state of the grid, for the service's pages and for feeds.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;

use sateen_api::Status;
use sateen_protocol::Time;

use super::Api;
use super::problem::Problem;
use crate::driver::Request;
use crate::release::VERSION;
use crate::store::sql;

/// The state of the grid.
pub async fn status_of(api: &Api) -> Result<Status, Problem> {
    let totals = api.driver.ask(Request::Totals).await?;
    let runs = api.store.read(|connection| sql::runs_by_state(connection)).await?;
    let counters = &api.links.counters;
    let runs = runs.into_iter().map(|(state, runs)| (state.word().to_owned(), runs));
    Ok(Status {
        grid: grid(api),
        version: VERSION.to_owned(),
        uptime_s: api.clock.now().since(Time(0)).as_secs_f64(),
        hosts: usize::try_from(totals.hosts.all()).unwrap_or(usize::MAX),
        hosts_awaited: totals.hosts_awaited,
        threads: u32::try_from(totals.workers).unwrap_or(u32::MAX),
        runs: runs.collect::<BTreeMap<_, _>>(),
        links: api.links.count(),
        messages_in: counters.messages_in.load(Relaxed),
        relayed_frames: counters.relayed_frames.load(Relaxed),
        relayed_bytes: counters.relayed_bytes.load(Relaxed),
        misbehaviours: counters.misbehaviours.load(Relaxed),
        trouble: api.store.trouble(),
        jobs_per_s: totals.jobs_per_s.map(|per_s| (per_s * 100.0).round() / 100.0),
        watchers: api.watching.count(),
    })
}

fn grid(api: &Api) -> String {
    format!("{:016x}", api.grid.0)
}
