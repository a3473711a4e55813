//! The topic `grid`.

use std::collections::HashMap;
use std::sync::Arc;

use sateen_api::{Alert, Host, Run, Status};
use sateen_protocol::RunState;

use super::run::json;
use super::value::Value;
use crate::api::{Api, Problem, hosts, runs, status};
use crate::clock::{unix_ms, written};
use crate::limits::HOST_ALERTS_MAX;

/// In a large grid hosts change with every tick, so they are sent every this many ticks.
const HOSTS_EVERY: u64 = 4;
/// Maximum hosts that are sent with every tick.
const FEW_HOSTS: usize = 64;

/// The grid as sent to pages.
#[derive(Default)]
pub struct GridFeed {
    ticks: u64,
    value: Value,
    /// Since when each alert is known.
    since: HashMap<String, u64>,
    hosts: usize,
}

impl GridFeed {
    /// The changes since the last tick.
    pub async fn next(&mut self, api: &Api) -> Result<Option<Arc<Value>>, Problem> {
        self.ticks += 1;
        let mut status = status(api).await?;
        // Changes with every tick without being news.
        status.uptime_s = status.uptime_s.floor();
        let runs = runs(api).await?;
        self.value.begin();
        self.value.set_list("runs", runs.iter().map(|run| (run.run.to_string(), json(run))));
        if self.hosts <= FEW_HOSTS || self.ticks % HOSTS_EVERY == 1 {
            let hosts = hosts(api).await?;
            self.hosts = hosts.len();
            self.value.set_list("hosts", hosts.iter().map(|host| (json(&host.id), json(host))));
            let alerts = alerts(&status, &runs, &hosts, &mut self.since);
            self.value.set("alerts", json(&alerts));
        }
        self.value.set("status", json(&status));
        Ok(self.value.is_new().then(|| Arc::new(self.value.clone())))
    }
}

/// Alerts for people; `since` remembers, from one call to the next, since when each is known.
pub fn alerts(status: &Status, runs: &[Run], hosts: &[Host], since: &mut HashMap<String, u64>) -> Vec<Alert> {
    let mut found: Vec<(&str, String, Option<u64>, Option<String>)> = Vec::new();
    if let Some(trouble) = &status.trouble {
        found.push(("error", format!("nothing can be saved: {trouble}"), None, None));
    }
    for run in runs.iter().filter(|run| !run.is_over()) {
        // A suspension is intended.
        if let Some(why) = run.waiting_for.as_ref().filter(|_| run.state != RunState::Suspended.word()) {
            found.push(("warn", format!("run {} waits: {why}", run.run), Some(run.run), None));
        }
        if run.figures.root_losses > 0 {
            let times = match run.figures.root_losses {
                1 => "once".to_owned(),
                losses => format!("{losses} times"),
            };
            let text = format!("run {} has lost its root job {times}", run.run);
            found.push(("warn", text, Some(run.run), None));
        }
    }
    let mut away = hosts.iter().filter(|host| !host.connected);
    for host in away.by_ref().take(HOST_ALERTS_MAX) {
        let text = format!("host {} is away: its link is broken", host.name);
        found.push(("warn", text, None, Some(host.id.clone())));
    }
    match away.count() {
        0 => {}
        1 => found.push(("warn", "another host is away".to_owned(), None, None)),
        more => found.push(("warn", format!("{more} more hosts are away"), None, None)),
    }
    let now_ms = unix_ms();
    let mut still = HashMap::new();
    let alerts = found.into_iter().map(|(level, text, run, host)| {
        let since_ms = *since.get(&text).unwrap_or(&now_ms);
        still.insert(text.clone(), since_ms);
        Alert { level: level.to_owned(), text, since: written(since_ms), run, host }
    });
    let alerts = alerts.collect();
    *since = still;
    alerts
}
