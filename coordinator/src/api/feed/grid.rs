//! The topic `grid`.

use std::sync::Arc;
use std::time::UNIX_EPOCH;

use sateen_api::{Alert, Host, Run, Status};
use sateen_protocol::{HostId, RunId, RunState, Time};

use super::run::json;
use super::value::Value;
use crate::api::{Api, Problem, hosts, runs, status};
use crate::chronicle::{Chronicle, Chronicles, EventKind, RESTARTED};
use crate::clock::{unix_ms, written};
use crate::limits::HOST_ALERTS_MAX;
use crate::locked;
use crate::token::TokenId;

/// In a large grid hosts change with every tick, so they are sent every this many ticks.
const HOSTS_EVERY: u64 = 4;
/// Maximum hosts that are sent with every tick.
const FEW_HOSTS: usize = 64;

/// The grid as sent to pages.
#[derive(Default)]
pub struct GridFeed {
    ticks: u64,
    value: Value,
    hosts: usize,
    /// Only runs that this token submitted.
    owner: Option<TokenId>,
}

impl GridFeed {
    /// With only the runs that a token submitted.
    pub fn of(owner: TokenId) -> Self {
        Self { owner: Some(owner), ..Self::default() }
    }

    /// The changes since the last tick.
    pub async fn next(&mut self, api: &Api) -> Result<Option<Arc<Value>>, Problem> {
        self.ticks += 1;
        let mut status = status(api).await?;
        // Changes with every tick without being news.
        status.uptime_s = status.uptime_s.floor();
        let runs = runs(api, self.owner).await?;
        self.value.begin();
        self.value.set_list("runs", runs.iter().map(|run| (run.run.to_string(), json(run))));
        if self.hosts <= FEW_HOSTS || self.ticks % HOSTS_EVERY == 1 {
            let hosts = hosts(api).await?;
            self.hosts = hosts.len();
            self.value.set_list("hosts", hosts.iter().map(|host| (json(&host.id), json(host))));
            let alerts = alerts(&status, &runs, &hosts, &Moments::of(api));
            self.value.set("alerts", json(&alerts));
            let (runs_kept, runs_kept_s) = api.store.results.retention.shown();
            self.value.set("runs_kept", json(&runs_kept));
            self.value.set("runs_kept_s", json(&runs_kept_s));
        }
        self.value.set("status", json(&status));
        Ok(self.value.is_new().then(|| Arc::new(self.value.clone())))
    }
}

/// Since when a host is away.
type AwayMs<'a> = Box<dyn Fn(&Host) -> Option<u64> + Send + 'a>;

/// When what alerts are about began, in milliseconds since 1970.
pub struct Moments<'a> {
    chronicles: &'a Chronicles,
    trouble_ms: Option<u64>,
    /// What is missing for safety, since when.
    exposed: Option<(&'static str, u64)>,
    away_ms: AwayMs<'a>,
    /// What just began is not known yet.
    now_ms: u64,
}

impl<'a> Moments<'a> {
    /// As the coordinator knows them.
    pub fn of(api: &'a Api) -> Self {
        let away_ms = move |host: &Host| api.driver.away_since_ms(HostId::parse(&host.id)?);
        Self {
            chronicles: &api.driver.chronicles,
            trouble_ms: api.store.trouble_since_ms(),
            exposed: api.guard.is_exposed.map(|what| (what, api.clock.unix_ms(Time(0)))),
            away_ms: Box::new(away_ms),
            now_ms: unix_ms(),
        }
    }

    /// A moment in a run's chronicle.
    fn of_run(&self, run: &Run, t_ms: impl FnOnce(&Chronicle) -> Option<u32>) -> u64 {
        let found = || {
            let chronicle = self.chronicles.get(RunId(run.run))?;
            let t_ms = t_ms(&locked(&chronicle))?;
            let submitted = humantime::parse_rfc3339(&run.submitted_at).ok()?;
            let submitted = submitted.duration_since(UNIX_EPOCH).ok()?;
            Some(submitted.as_millis() as u64 + u64::from(t_ms))
        };
        found().unwrap_or(self.now_ms)
    }

    /// Since when a run has waited for what it waits for.
    fn waits(&self, run: &Run) -> u64 {
        if run.waiting_for.as_deref() == Some(RESTARTED) {
            return self.of_run(run, |chronicle| chronicle.last_event_ms(EventKind::CoordinatorRestarted));
        }
        self.of_run(run, |chronicle| {
            let open = chronicle.idle().iter().rfind(|idle| idle.to_ms.is_none() && idle.host.is_none());
            open.map(|idle| idle.from_ms)
        })
    }

    /// When a run last lost its root job. The event may have been lost when the coordinator was restarted.
    fn lost_root(&self, run: &Run) -> u64 {
        self.of_run(run, |chronicle| {
            let last = |kind| chronicle.last_event_ms(kind);
            last(EventKind::RootLost).or_else(|| last(EventKind::CoordinatorRestarted))
        })
    }

    /// Since when a host is away.
    fn away(&self, host: &Host) -> u64 {
        (self.away_ms)(host).unwrap_or(self.now_ms)
    }
}

/// Alerts for people.
pub fn alerts(status: &Status, runs: &[Run], hosts: &[Host], moments: &Moments<'_>) -> Vec<Alert> {
    let mut found: Vec<Alert> = Vec::new();
    let mut add = |level: &str, text: String, since_ms: u64, (run, host): (Option<u64>, Option<&str>)| {
        let (level, since, host) = (level.to_owned(), written(since_ms), host.map(str::to_owned));
        found.push(Alert { level, text, since, run, host });
    };
    if let Some(trouble) = &status.trouble {
        let since_ms = moments.trouble_ms.unwrap_or(moments.now_ms);
        add("error", format!("nothing can be saved: {trouble}"), since_ms, (None, None));
    }
    if let Some((what, since_ms)) = moments.exposed {
        add("warn", what.to_owned(), since_ms, (None, None));
    }
    for run in runs.iter().filter(|run| !run.is_over()) {
        // A suspension is intended.
        if let Some(why) = run.waiting_for.as_ref().filter(|_| run.state != RunState::Suspended.word()) {
            let text = format!("run {} waits: {why}", run.run);
            add("warn", text, moments.waits(run), (Some(run.run), None));
        }
        if run.figures.root_losses > 0 {
            let times = match run.figures.root_losses {
                1 => "once".to_owned(),
                losses => format!("{losses} times"),
            };
            let text = format!("run {} has lost its root job {times}", run.run);
            add("warn", text, moments.lost_root(run), (Some(run.run), None));
        }
    }
    let mut away = hosts.iter().filter(|host| !host.connected);
    for host in away.by_ref().take(HOST_ALERTS_MAX) {
        let text = format!("host {} is away: its link is broken", host.name);
        add("warn", text, moments.away(host), (None, Some(host.id.as_str())));
    }
    let others: Vec<u64> = away.map(|host| moments.away(host)).collect();
    let since_ms = others.iter().min().copied().unwrap_or(moments.now_ms);
    match others.len() {
        0 => {}
        1 => add("warn", "another host is away".to_owned(), since_ms, (None, None)),
        more => add("warn", format!("{more} more hosts are away"), since_ms, (None, None)),
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json};

    use super::*;
    use crate::chronicle::Sample;

    #[test]
    fn an_alert_has_the_time_of_its_beginning_and_not_of_the_request() {
        let submitted_ms = unix_ms() - 60_000;
        let mut chronicle = Chronicle::new(submitted_ms);
        let at = |t_ms| Sample { t_ms, ..Sample::default() };
        chronicle.sample(at(10_000), None, Some("no host"));
        chronicle.sample(at(20_000), None, Some("no app"));
        chronicle.sample(at(30_000), None, Some("no app"));
        chronicle.add_event(EventKind::RootLost, None, "the root job was lost".to_owned());
        let lost_ms = chronicle.events().last().map_or(0, |event| u64::from(event.t_ms));
        let chronicles = Chronicles::default();
        chronicles.restore(RunId(1), false, chronicle);
        let run: Run = from_value(json!({
            "run": 1, "app": {"hash": "00", "name": "app"}, "function": "main", "state": "queued",
            "waiting_for": "no app", "submitted_at": written(submitted_ms), "root_losses": 1,
        }))
        .expect("a run");
        let host: Host = from_value(json!({
            "id": "h1", "name": "one", "site": "here", "threads": 1, "version": "0", "connected": false,
            "since": written(1), "runs": [], "state": "away",
        }))
        .expect("a host");
        let status: Status = from_value(json!({
            "grid": "00", "version": "0", "uptime_s": 1.0, "hosts": 1, "threads": 1, "runs": {},
            "trouble": "full",
        }))
        .expect("a status");
        for now_ms in [submitted_ms + 70_000, submitted_ms + 80_000] {
            let moments = Moments {
                chronicles: &chronicles,
                trouble_ms: Some(7),
                exposed: Some(("it is insecure", 8)),
                away_ms: Box::new(|host| (host.id == "h1").then_some(9)),
                now_ms,
            };
            let alerts = alerts(&status, std::slice::from_ref(&run), std::slice::from_ref(&host), &moments);
            let since: Vec<String> = alerts.into_iter().map(|alert| alert.since).collect();
            let expected = [7, 8, submitted_ms + 20_000, submitted_ms + lost_ms, 9].map(written);
            assert_eq!(since, expected);
        }
    }
}
