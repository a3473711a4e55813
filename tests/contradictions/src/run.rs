//! The numbers of one run.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{Asked, Found, ROUNDING_S, is_over, list, number};

/// Counters of jobs.
const JOBS: [&str; 13] = [
    "spawned",
    "exposed",
    "executed",
    "stolen_local",
    "stolen",
    "stolen_wide",
    "lost",
    "given_back",
    "redone",
    "reused",
    "adopted",
    "recorded",
    "aborted",
];
/// Counters that never fall.
const GROWING: [&str; 11] = [
    "spawned",
    "exposed",
    "executed",
    "stolen_local",
    "stolen",
    "stolen_wide",
    "lost",
    "given_back",
    "reused",
    "adopted",
    "recorded",
];

/// The published numbers of a run.
pub struct Page {
    name: String,
    /// The run's own page, requested after the list.
    pub run: Value,
    details: Value,
    tree: Option<Value>,
    timeline: Option<Value>,
    /// The page requested last.
    after: Value,
}

impl Page {
    /// Requests a run that is in the list; `None` if it is gone, or without an answer.
    pub fn of(asked: &mut impl Asked, listed: &Value) -> Option<Self> {
        let path = format!("/api/v1/runs/{}", listed["run"]);
        let mut get = |part: &str| asked.json(&format!("{path}{part}"));
        let run = get("")?;
        let details = get("/overview")?;
        let is_kept = details["is_kept"] == true;
        let (tree, timeline) = if is_kept { (get("/tree"), get("/timeline")) } else { (None, None) };
        let after = get("")?;
        let name = format!("run {}", listed["run"]);
        Some(Self { name, run, details, tree, timeline, after })
    }

    /// Compares with a list requested afterwards.
    pub fn check_list(&self, listed: &Value, found: &mut Found) {
        let of = &self.name;
        if is_over(&self.run) {
            for name in JOBS {
                let by = |run: &Value| number(&run["jobs"], name);
                found.same(of, name, ("its page", by(&self.after)), ("the list", by(listed)));
            }
            for name in ["work_s", "lost_work_s", "elapsed_s", "hosts", "root_losses"] {
                found.same(
                    of,
                    name,
                    ("its page", number(&self.after, name)),
                    ("the list", number(listed, name)),
                );
            }
        } else {
            for name in GROWING {
                let by = |run: &Value| number(&run["jobs"], name);
                found.at_most(
                    of,
                    (&format!("{name} on its page"), by(&self.run)),
                    ("later in the list", by(listed)),
                );
            }
        }
    }

    /// Compares all numbers with one another. `untold_s`: maximum unreported work of a worker whose host departed.
    pub fn check(&self, untold_s: f64, found: &mut Found) {
        self.check_pages(found);
        self.check_jobs(found);
        self.check_hosts(untold_s, found);
        self.check_work(found);
        self.check_tree(found);
        self.check_timeline(untold_s, found);
        self.check_series(found);
        self.check_events(found);
    }

    fn check_pages(&self, found: &mut Found) {
        let (of, shown) = (&self.name, &self.details["run"]);
        found.not_negative(of, &self.run);
        found.not_negative(of, &self.details);
        let mut compare = |name: &str, by: &dyn Fn(&Value) -> f64| {
            let (status, page) = (("its status", by(&self.run)), ("its page", by(shown)));
            match is_over(&self.run) {
                true => found.same(of, name, status, page),
                false => found.between(of, name, status, page, by(&self.after)),
            }
        };
        for name in JOBS.into_iter().filter(|name| is_over(&self.run) || GROWING.contains(name)) {
            compare(name, &|run| number(&run["jobs"], name));
        }
        compare("work_s", &|run| number(run, "work_s"));
        compare("elapsed_s", &|run| number(run, "elapsed_s"));
    }

    fn check_jobs(&self, found: &mut Found) {
        let of = &self.name;
        let jobs = &self.run["jobs"];
        let is = |name: &str| number(jobs, name);
        found.at_most(of, ("exposed", is("exposed")), ("spawned", is("spawned")));
        found.at_most(of, ("stolen from other sites", is("stolen_wide")), ("stolen", is("stolen")));
        // A lost job is executed again, but spawned once; so is a job that a host gives back. A job stolen from a host
        // that cannot report anything is executed and reported elsewhere, and its spawn is reported later, or never.
        let untold = if self.is_all_told() { 0.0 } else { is("stolen") };
        let most = is("spawned") + is("lost") + is("given_back") + untold;
        found.at_most(of, ("executed", is("executed")), ("spawned, lost and given back", most));
        let losses = number(&self.run, "root_losses");
        if is("lost") == 0.0 && losses == 0.0 {
            // A job below one that was given back has no owner that would count its loss with its host. A host that lost a
            // job reports that itself, and its thief may be heard when it is not.
            if self.is_all_told() && (is("given_back") == 0.0 || !self.may_have_crashed()) {
                found.same(of, "redone", ("its status", is("redone")), ("what was lost", 0.0));
            }
            // What is below a job that was given back may continue elsewhere, and so may what a host has that hears of a
            // suspension when the run was resumed.
            if is("given_back") == 0.0 && !self.may_have_been_suspended() {
                found.same(of, "adopted", ("its status", is("adopted")), ("what was lost", 0.0));
            }
        }
    }

    /// Whether a host may have crashed.
    fn may_have_crashed(&self) -> bool {
        self.may_have_been(&["host_lost", "jobs_interrupted", "coordinator_restarted"])
    }

    fn may_have_been_suspended(&self) -> bool {
        self.may_have_been(&["suspended"])
    }

    /// Whether there was one of these events, as far as that is known.
    fn may_have_been(&self, kinds: &[&str]) -> bool {
        let is_any = |kinds: &[&str]| {
            list(&self.details["events"]).any(|event| kinds.iter().any(|kind| event["kind"] == *kind))
        };
        let are_all_kept = self.details["is_kept"] == true && is_any(&["submitted"]);
        !are_all_kept || is_any(kinds)
    }

    /// Whether all hosts have reported all their counts. Before the end that is unknown: a link that is slow, or dead
    /// in one direction, may still seem to be open.
    fn is_all_told(&self) -> bool {
        // One that crashed may not have reported the spawns of jobs that others stole from it and executed.
        let are_all_there = || list(&self.run["by_host"]).all(|host| host["there"] == true);
        self.run["counted"] == "final" && (!self.may_have_crashed() || are_all_there())
    }

    fn check_hosts(&self, untold_s: f64, found: &mut Found) {
        let of = &self.name;
        let hosts: Vec<&Value> = list(&self.run["by_host"]).collect();
        let sum = |get: &dyn Fn(&Value) -> f64| hosts.iter().map(|host| get(host)).sum::<f64>();
        for name in JOBS {
            let all = sum(&|host| number(&host["jobs"], name));
            found.same(
                of,
                name,
                ("its status", number(&self.run["jobs"], name)),
                ("the sum of its hosts", all),
            );
        }
        let all: Vec<f64> = hosts.iter().map(|host| number(host, "work_s")).collect();
        let told = ("its status", number(&self.run, "work_s"));
        found.same_time(of, "work_s", told, ("the sum of its hosts", &all));
        let worked = |host: &Value| number(host, "work_s") > 0.0 || number(&host["jobs"], "executed") > 0.0;
        let worked: Vec<&Value> = hosts.iter().copied().filter(|host| worked(host)).collect();
        let count = ("rows of hosts that did something", worked.len() as f64);
        found.same(of, "hosts", ("its status", number(&self.run, "hosts")), count);
        let workers = worked.iter().map(|host| number(host, "workers")).sum::<f64>();
        found.same(of, "threads", ("its status", number(&self.run, "threads")), ("these rows", workers));
        for host in &hosts {
            let name = format!("{of}, host {}", host["name"]);
            found.at_most(&name, ("busy", number(host, "busy")), ("its workers", number(host, "workers")));
            let computed = number(host, "computed_s") + untold_s * number(host, "workers").max(1.0);
            let told = ("time in which its workers computed", computed);
            found.at_most(&name, ("its work", number(host, "work_s")), told);
            if is_over(&self.run) || host["there"] == false {
                found.same(&name, "busy", ("its row", number(host, "busy")), ("one that does nothing", 0.0));
            }
        }
    }

    /// A host that computes is not idle: neither before nor after this page said that it computes, at both of its moments.
    pub fn check_idle(&self, before: &BTreeSet<&str>, after: &BTreeSet<&str>, found: &mut Found) {
        let busy = |run: &Value| -> BTreeSet<String> {
            let busy = list(&run["by_host"]).filter(|host| number(host, "busy") > 0.0);
            busy.filter_map(|host| host["host"].as_str().map(str::to_owned)).collect()
        };
        for host in busy(&self.run).intersection(&busy(&self.after)) {
            if before.contains(host.as_str()) && after.contains(host.as_str()) {
                found.say(format!("{}: host {host} computes for it, and is idle in the list", self.name));
            }
        }
    }

    fn check_work(&self, found: &mut Found) {
        let (of, run) = (&self.name, &self.run);
        let work = number(run, "work_s");
        found.at_most(of, ("work that was lost", number(run, "lost_work_s")), ("all its work", work));
        if run["answer_work_s"].is_f64() {
            let (answer, lost) = (number(run, "answer_work_s"), number(run, "lost_work_s"));
            found.same(
                of,
                "work",
                ("its status", work),
                ("what is in the answer and what is lost", answer + lost),
            );
        }
    }

    fn check_tree(&self, found: &mut Found) {
        let (of, Some(tree)) = (&self.name, &self.tree) else { return };
        let mut states: BTreeMap<&str, f64> = BTreeMap::new();
        let mut redone = 0.0;
        for node in list(&tree["nodes"]) {
            *states.entry(node["state"].as_str().unwrap_or_default()).or_default() += 1.0;
            redone += f64::from(u8::from(node["redone"] == true));
        }
        let nodes = |names: &[&str]| names.iter().filter_map(|name| states.get(name)).sum::<f64>();
        let by_page = |run: &Value| number(&run["jobs"], "redone");
        if number(tree, "left_out") == 0.0 {
            found.between(
                of,
                "redone",
                ("its page", by_page(&self.details["run"])),
                ("its tree", redone),
                by_page(&self.after),
            );
        } else {
            found.at_most(of, ("redone in its tree", redone), ("redone on its page", by_page(&self.after)));
        }
        // An adopted orphan counts once its result has arrived, and may be lost before.
        let reused = self.found();
        found.at_most(of, ("reused in its tree", nodes(&["reused"])), ("its page", reused));
        if !is_over(&self.run) {
            return;
        }
        found.same(of, "running", ("its tree", nodes(&["running", "adopted"])), ("its state", 0.0));
        if number(tree, "left_out") == 0.0 {
            let depth =
                |group: &str| list(&self.details["depths"]).map(|depth| number(depth, group)).sum::<f64>();
            for (group, names) in [
                ("running", &["running", "adopted"] as &[&str]),
                ("done", &["done", "reused"]),
                ("other", &["failed", "aborted", "lost", "given back"]),
            ] {
                found.same(of, group, ("its tree", nodes(names)), ("its depths", depth(group)));
            }
        }
    }

    fn check_timeline(&self, untold_s: f64, found: &mut Found) {
        let (of, Some(timeline)) = (&self.name, &self.timeline) else { return };
        let bucket_s = number(timeline, "bucket_ms") / 1e3;
        let (mut computed_s, mut away_s, mut rows) = (0.0, 0.0, 0.0);
        let events = list(&self.details["events"]).filter(|event| event["kind"] == "host_lost");
        let given_up: Vec<&Value> = events.map(|event| &event["host"]).collect();
        let known: Vec<&Value> = list(&self.run["by_host"]).map(|host| &host["host"]).collect();
        for row in list(&timeline["rows"]) {
            let name = format!("{of}, worker {} of host {}", row["worker"], row["host_name"]);
            rows += 1.0;
            if !known.contains(&&row["host"]) {
                found.say(format!("{name} has a row in its timeline and its host none on its page"));
            }
            let of_kind = |kind: &str| list(&row[kind]).map(Value::as_f64).collect::<Vec<_>>();
            let kinds = ["work", "steal", "wait"].map(of_kind);
            for at in 0..kinds[0].len() {
                let all: f64 = kinds.iter().filter_map(|shares| shares.get(at).copied().flatten()).sum();
                // Each share is rounded.
                found.at_most(&name, ("what it did of a stretch", all), ("the stretch", 1.005));
            }
            computed_s += kinds_sum(&kinds[0]) * bucket_s;
            if given_up.contains(&&row["host"]) {
                // It has no shares while it counts as gone, and may have computed all the time, behind a broken link.
                away_s += kinds[0].iter().filter(|share| share.is_none()).count() as f64 * bucket_s;
            }
        }
        // No worker gets more processor time than there is.
        let slack_s = untold_s * f64::max(rows, list(&self.run["by_host"]).count() as f64 + 1.0);
        let work = number(&self.run, "work_s");
        let told = ("time in which its timeline's workers computed", computed_s + away_s + slack_s);
        found.at_most(of, ("its work", work), told);
    }

    /// Jobs whose results were found: those of this run and of earlier ones.
    fn found(&self) -> f64 {
        number(&self.after["jobs"], "reused") + number(&self.after["earlier"], "jobs")
    }

    fn check_events(&self, found: &mut Found) {
        let (of, events) = (&self.name, &self.details["events"]);
        let count = |kind: &str| list(events).filter(|event| event["kind"] == kind).count() as f64;
        if self.details["is_kept"] == true {
            let ends = f64::from(u8::from(is_over(&self.details["run"])));
            found.same(of, "ends", ("its events", count("ended")), ("its state", ends));
        }
        // One event may stand for several jobs.
        let reused = self.found();
        found.at_most(of, ("reused in its events", count("reused")), ("its page", reused));
        // Only the newest events are kept, and the last half second before a coordinator is killed is not saved.
        let are_all = self.details["is_kept"] == true && count("submitted") > 0.0;
        let (told, lost) = (number(&self.details["run"], "root_losses"), count("root_lost"));
        if are_all && count("coordinator_restarted") == 0.0 {
            found.same(of, "how often the root was lost", ("its page", told), ("its events", lost));
        }
        found.at_most(of, ("lost roots in its events", lost), ("its page", told));
    }

    fn check_series(&self, found: &mut Found) {
        let (of, series) = (&self.name, &self.details["series"]);
        let of_kind = |kind: &str| list(&series[kind]).map(Value::as_f64).collect::<Vec<_>>();
        let (busy, workers) = (of_kind("busy"), of_kind("workers"));
        for (at, (busy, workers)) in busy.iter().zip(&workers).enumerate() {
            if let (Some(busy), Some(workers)) = (busy, workers) {
                let name = format!("{of}, point {at} of its charts");
                found.at_most(&name, ("busy workers", *busy), ("workers", workers + 10.0 * ROUNDING_S));
            }
        }
        // No more jobs are run than there are.
        let at: Vec<Option<f64>> = of_kind("t_ms");
        let rates = of_kind("jobs_per_s");
        let mut ran = 0.0;
        for (span, rate) in at.windows(2).zip(rates.iter().skip(1)) {
            if let ([Some(from), Some(to)], Some(rate)) = (span, rate) {
                ran += rate * (to - from) / 1e3;
            }
        }
        let jobs = |name: &str| number(&self.after["jobs"], name);
        let most = jobs("executed") + jobs("aborted");
        found.at_most(of, ("jobs under the chart of jobs a second", ran), ("executed", 1.02 * most + 100.0));
    }
}

fn kinds_sum(shares: &[Option<f64>]) -> f64 {
    shares.iter().flatten().sum()
}
