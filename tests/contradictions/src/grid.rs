//! The numbers of the whole grid.

use std::collections::{BTreeMap, BTreeSet};
use std::time::UNIX_EPOCH;

use serde_json::Value;

use super::{Asked, Found, is_over, list, number};

/// The API's numbers of the whole grid at about the same moment.
pub struct Told {
    /// The newest runs, without their rows by host.
    pub runs: Vec<Value>,
    hosts: Vec<Value>,
    status: Value,
    metrics: BTreeMap<String, f64>,
}

impl Told {
    /// Requests them; `None` without an answer.
    pub fn of(asked: &mut impl Asked) -> Option<Self> {
        let runs = list(&asked.json("/api/v1/runs?limit=1000")?).cloned().collect();
        let hosts = list(&asked.json("/api/v1/hosts")?).cloned().collect();
        let (status, metrics) = (asked.json("/api/v1/status")?, asked.metrics()?);
        Some(Self { runs, hosts, status, metrics })
    }

    /// The sum of a metric's samples that have this label, if one is given.
    fn metric(&self, name: &str, label: &str) -> f64 {
        let is_it = |sample: &str| sample.split('{').next() == Some(name) && sample.contains(label);
        self.metrics.iter().filter(|(sample, _)| is_it(sample)).map(|(_, value)| value).sum()
    }

    /// The ids of hosts that are idle, as they are said to be.
    pub fn idle(&self) -> BTreeSet<&str> {
        let idle = self.hosts.iter().filter(|host| host["state"] == "idle");
        idle.filter_map(|host| host["id"].as_str()).collect()
    }

    fn sum(&self, get: impl Fn(&Value) -> f64) -> f64 {
        self.runs.iter().map(get).sum()
    }
}

/// Compares the numbers of two moments.
pub fn check(before: &Told, after: &Told, found: &mut Found) {
    check_hosts(after, found);
    check_states(after, found);
    check_counters(before, after, found);
}

fn check_hosts(told: &Told, found: &mut Found) {
    let (of, count) = ("the grid", told.hosts.len() as f64);
    found.same(of, "the number of hosts", ("the list", count), ("the status", number(&told.status, "hosts")));
    found.same(of, "the number of hosts", ("the list", count), ("/metrics", told.metric("sateen_hosts", "")));
    // Those of hosts that are away are not counted.
    let connected = told.hosts.iter().filter(|host| host["connected"] == true);
    let threads = connected.map(|host| number(host, "threads")).sum::<f64>();
    found.same(
        of,
        "the number of workers",
        ("the list", threads),
        ("the status", number(&told.status, "threads")),
    );
    found.same(
        of,
        "the number of workers",
        ("the list", threads),
        ("/metrics", told.metric("sateen_workers", "")),
    );
    let busy = told.metric("sateen_workers_busy", "");
    found.at_most(of, ("busy workers in /metrics", busy), ("workers", threads));
    let came = told.metric("sateen_hosts_joined_total", "");
    let went = told.metric("sateen_hosts_gone_total", "");
    found.same(of, "the number of hosts", ("the list", count), ("joined less gone in /metrics", came - went));
    for host in &told.hosts {
        let name = format!("host {}", host["name"]);
        found.at_most(&name, ("busy", number(host, "busy")), ("its threads", number(host, "threads")));
        let state = match (host["connected"] == true, &host["paused"], host["busy"].as_u64()) {
            (false, ..) => "away",
            (_, Value::String(_), _) => "paused",
            (.., None) if host["state"] == "silent" => "silent",
            (.., None) => "unknown",
            (.., Some(0)) => "idle",
            _ => "working",
        };
        if host["state"] != state {
            found.say(format!("{name}: its state is {}, and by its other fields {state}", host["state"]));
        }
    }
    // Hosts with runs begin and end work between two requests.
    let lasting = ["paused", "away"].into_iter();
    let rest = ["working", "idle"].into_iter().filter(|_| told.runs.iter().all(is_over));
    for state in lasting.chain(rest) {
        let listed = told.hosts.iter().filter(|host| host["state"] == state).count() as f64;
        let by_metrics = told.metric("sateen_hosts", &format!("state=\"{state}\""));
        found.same(
            of,
            &format!("the number of {state} hosts"),
            ("the list", listed),
            ("/metrics", by_metrics),
        );
    }
    if told.runs.iter().all(is_over) {
        let busy = told.hosts.iter().map(|host| number(host, "busy")).sum::<f64>();
        found.same(of, "busy", ("the list of hosts", busy), ("a grid without runs", 0.0));
    }
}

fn check_states(told: &Told, found: &mut Found) {
    for state in ["queued", "running", "suspending", "suspended", "done", "failed", "cancelled"] {
        let listed = told.runs.iter().filter(|run| run["state"] == state).count() as f64;
        let by_status = number(&told.status["runs"], state);
        let by_metrics = told.metric("sateen_runs", &format!("state=\"{state}\""));
        found.same(
            "the grid",
            &format!("the number of {state} runs"),
            ("the list", listed),
            ("the status", by_status),
        );
        found.same(
            "the grid",
            &format!("the number of {state} runs"),
            ("the list", listed),
            ("/metrics", by_metrics),
        );
    }
}

/// Work from before this coordinator's start is not in its metrics, and runs deleted since are in no
/// list: counters do not fall.
fn check_counters(before: &Told, after: &Told, found: &mut Found) {
    let over = after.runs.iter().filter(|run| is_over(run)).count() as f64;
    let ended = after.metric("sateen_runs_ended_total", "");
    let started = after.metric("sateen_start_time_seconds", "");
    let is_older = |run: &Value| began_s(&run["submitted_at"]).is_none_or(|submitted| submitted < started);
    let (has_all, has_more) = (ended == over && !after.runs.iter().any(is_older), ended > over);
    let jobs = |name: &'static str| move |run: &Value| number(&run["jobs"], name);
    for (metric, name) in [
        ("sateen_jobs_spawned_total", "spawned"),
        ("sateen_jobs_exposed_total", "exposed"),
        ("sateen_jobs_taken_total", "stolen_local"),
        ("sateen_jobs_lost_total", "lost"),
        ("sateen_jobs_given_back_total", "given_back"),
        ("sateen_jobs_redone_total", "redone"),
        ("sateen_results_reused_total", "reused"),
        ("sateen_results_recorded_total", "recorded"),
        ("sateen_orphans_adopted_total", "adopted"),
    ] {
        let (was, becomes) = (before.sum(jobs(name)), after.sum(jobs(name)));
        let is = before.metric(metric, "");
        if has_all {
            found.between("the grid", name, ("the list of runs", was), (metric, is), becomes);
        } else if !has_more {
            found.at_most("the grid", (metric, is), ("the list of runs", becomes));
        }
    }
    let losses = |told: &Told| told.sum(|run| number(run, "root_losses"));
    let counted = before.metric("sateen_root_losses_total", "");
    if has_all {
        let (name, was) = ("root_losses", ("the list of runs", losses(before)));
        found.between("the grid", name, was, ("/metrics", counted), losses(after));
    } else if !has_more {
        found.at_most("the grid", ("sateen_root_losses_total", counted), ("the list of runs", losses(after)));
    }
    let stolen = after.metric("sateen_steals_total", "outcome=\"job\"");
    let timed = after.metric("sateen_steal_wait_seconds_count", "");
    found.same(
        "the grid",
        "steals that gave a job",
        ("sateen_steals_total", stolen),
        ("sateen_steal_wait_seconds", timed),
    );
    let metric = "sateen_work_seconds_total";
    if !has_more {
        let becomes = after.sum(|run| number(run, "work_s"));
        found.at_most("the grid", (metric, before.metric(metric, "")), ("the list of runs", becomes));
    }
    for state in ["done", "failed", "cancelled"] {
        let of = |metric: &str| after.metric(metric, &format!("state=\"{state}\""));
        let (lost, work) =
            (of("sateen_lost_work_seconds_total"), of("sateen_work_of_ended_runs_seconds_total"));
        let name = format!("the grid, runs that are {state}");
        found.at_most(&name, ("lost work", lost), ("their work", work));
    }
}

/// A moment in seconds of Unix time.
fn began_s(moment: &Value) -> Option<f64> {
    let moment = humantime::parse_rfc3339(moment.as_str()?).ok()?;
    moment.duration_since(UNIX_EPOCH).ok().map(|since| since.as_secs_f64())
}
