//! The coordinator's data about runs, in words.

use std::collections::HashSet;

use sateen_api::{HostOfRun, Progress, Remaining, Run, RunDetails};
use sateen_command_line::localised;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::columns::{busy_of, busy_workers, known, percent, seconds};

/// Converts `value` to the expected type.
///
/// # Errors
/// If it has another form, for example because the coordinator is another release. `Client::read` compares the two.
pub fn read<T: DeserializeOwned>(value: &Value) -> serde_json::Result<T> {
    T::deserialize(value)
}

/// A run's app and its arguments, as a user would type them.
pub fn title(run: &Run) -> String {
    let mut title = run.app.name.clone();
    if run.function != "main" {
        title = format!("{title} --function {}", run.function);
    }
    for argument in &run.arguments {
        title = format!("{title} {argument}");
    }
    title
}

/// A run's state in a sentence about the run.
pub fn predicate(state: &str) -> String {
    match state {
        "failed" => "has failed".to_owned(),
        "suspending" => "is being suspended".to_owned(),
        _ => format!("is {state}"),
    }
}

/// The headings of a table of runs.
const RUN_HEADINGS: [&str; 9] =
    ["RUN", "STATE", "APP", "SUBMITTER", "PROGRESS", "HOSTS", "SHARE", "ELAPSED", "WAITING FOR"];
/// The column of their apps and arguments.
pub const TITLE_COLUMN: usize = 2;
/// The column of their submitters, if any of them has a name.
const SUBMITTER_COLUMN: usize = 3;

/// The headings of a table of these runs, and the cells of each.
pub fn run_table(runs: &[&Run]) -> (Vec<&'static str>, Vec<Vec<String>>) {
    let mut headings = RUN_HEADINGS.to_vec();
    let mut rows: Vec<Vec<String>> = runs.iter().map(|run| run_cells(run).to_vec()).collect();
    if runs.iter().all(|run| run.terms.submitter.is_none()) {
        headings.remove(SUBMITTER_COLUMN);
        rows.iter_mut().for_each(|row| drop(row.remove(SUBMITTER_COLUMN)));
    }
    (headings, rows)
}

/// A run's cells below [`RUN_HEADINGS`].
fn run_cells(run: &Run) -> [String; RUN_HEADINGS.len()] {
    [
        run.run.to_string(),
        run.state.clone(),
        title(run),
        run.terms.submitter.clone().unwrap_or_default(),
        run.figures.progress.map(short).unwrap_or_default(),
        known(run.figures.hosts, |hosts| hosts.to_string()),
        run.terms.share.map(share).unwrap_or_default(),
        elapsed(run),
        run.waiting_for.as_deref().map(localised).unwrap_or_default(),
    ]
}

/// How long a run has been under way, or was; `-` if it has not started.
pub fn elapsed(run: &Run) -> String {
    known(run.elapsed_s.filter(|_| run.queued_s.is_none()), seconds)
}

/// The same in words that follow its state. Only a run that has not been suspended is in its state for that time.
pub fn how_long(run: &Run) -> String {
    let elapsed = elapsed(run);
    match run.state.as_str() {
        "cancelled" if run.elapsed_s.is_none() => "before its start".to_owned(),
        "done" if run.elapsed_s.is_none() && run.figures.earlier.is_some_and(|earlier| earlier.jobs > 0) => {
            "at once".to_owned()
        }
        _ if run.is_over() => format!("after {elapsed}"),
        "queued" if run.queued_s.is_some() => format!("for {}", known(run.queued_s, seconds)),
        "running" if run.elapsed_s.is_some() && run.queued_s.is_none() => format!("for {elapsed}"),
        _ if run.elapsed_s.is_none() || run.queued_s.is_some() => "before its start".to_owned(),
        _ => format!("now {elapsed} after the run started"),
    }
}

/// The part of each host that a run is due, in percent.
pub fn share(part: f64) -> String {
    match part {
        ..0.01 => "below 1 %".to_owned(),
        0.99..1.0 => "above 99 %".to_owned(),
        _ => percent(part, 1.0),
    }
}

/// The progress that a run reports, in percent; if the app does not know the total, the number that is done.
pub fn short(progress: Progress) -> String {
    let Progress { done, total } = progress;
    if total == 0 { done.to_string() } else { percent(done as f64, total as f64) }
}

/// The same with all details.
pub fn long(progress: Progress) -> String {
    let Progress { done, total } = progress;
    if total == 0 {
        format!("{done} of an unknown total")
    } else {
        format!("{done} of {total} ({})", short(progress))
    }
}

/// Which jobs a time left is for, unless it is for the whole run.
pub fn of_which_jobs(basis: &str) -> &'static str {
    if basis == "jobs" { " for the jobs spawned so far" } else { "" }
}

/// The time that a run under way may still take, or why that is not known; of an overview of the run.
pub fn time_left(overview: &Value) -> Option<String> {
    let RunDetails { remaining, remaining_why, .. } = read(overview).ok()?;
    let about = |Remaining { basis, low_s, likely_s, high_s }| {
        let what = of_which_jobs(&basis);
        format!("about {} ({} to {}){what}", seconds(likely_s), seconds(low_s), seconds(high_s))
    };
    remaining.map(about).or(remaining_why)
}

/// What the hosts of a run are called: with their ids where processes have the same name.
pub fn host_names(run: &Run) -> impl Fn(&HostOfRun) -> String {
    let (mut known, mut shared) = (HashSet::new(), HashSet::new());
    for HostOfRun { name, .. } in &run.figures.by_host {
        if !known.insert(name) {
            shared.insert(name.clone());
        }
    }
    move |host| match shared.contains(&host.name) {
        true => format!("{} {}", host.name, host.host),
        false => host.name.clone(),
    }
}

/// What a host of a run does now.
pub fn now(host: &HostOfRun) -> String {
    match (host.there, host.away) {
        (false, _) => "gone".to_owned(),
        (true, true) => "away".to_owned(),
        (true, false) => format!("{} busy", busy_of(host.busy, host.workers)),
    }
}

/// The hosts of a run that are in the grid.
#[derive(Debug, Clone, Default)]
pub struct Present {
    pub hosts: u64,
    pub hosts_away: u64,
    /// The workers of those that are not away: those that compute, if that is known, and all.
    workers: Vec<(Option<u32>, u32)>,
}

pub fn present(run: &Run) -> Present {
    let mut present = Present::default();
    for host in run.figures.by_host.iter().filter(|host| host.there) {
        present.hosts += 1;
        if host.away {
            present.hosts_away += 1;
        } else {
            present.workers.push((host.busy, host.workers));
        }
    }
    present
}

impl Present {
    /// Follows the number of hosts.
    pub fn away(&self) -> String {
        match self.hosts_away {
            0 => String::new(),
            1 if self.hosts == 1 => ", which is away".to_owned(),
            away if away == self.hosts => ", which are away".to_owned(),
            away => format!(", {away} of them away"),
        }
    }

    /// How many workers compute; none if all hosts are away.
    pub fn busy(&self, one: &str, several: &str) -> Option<String> {
        let hosts = self.workers.iter().copied();
        (!self.workers.is_empty()).then(|| busy_workers(hosts, one, several))
    }
}

#[cfg(test)]
mod tests {
    use sateen_api::{App, Figures, Host, Job, JobCounts, Log, RunDetails, Status, Tree};
    use serde_json::json;

    use super::*;

    fn is_read<T: DeserializeOwned>(value: Value) -> T {
        read(&value).expect("it is understood")
    }

    #[test]
    fn a_run_is_not_said_to_have_been_suspended_since_its_start() {
        for (state, queued_s, expected) in [
            ("queued", Some(2.0), "for 2.0 s"),
            ("queued", None, "now 9.0 s after the run started"),
            ("running", None, "for 9.0 s"),
            ("suspended", None, "now 9.0 s after the run started"),
            ("suspended", Some(2.0), "before its start"),
            ("suspending", None, "now 9.0 s after the run started"),
            ("done", None, "after 9.0 s"),
        ] {
            let run: Run = is_read(json!({
                "run": 7, "app": {"hash": "ab", "name": "fib"}, "function": "main", "state": state,
                "elapsed_s": 9.0, "queued_s": queued_s,
            }));
            assert_eq!(how_long(&run), expected, "{state}");
        }
    }

    /// A host that was killed and restarted had two rows that nothing told apart.
    #[test]
    fn processes_of_one_name_are_distinguished_by_their_ids() {
        let host = |host, name| json!({"host": host, "name": name, "there": true});
        let run: Run = is_read(json!({
            "run": 7, "app": {"hash": "ab", "name": "fib"}, "function": "main", "state": "running",
            "by_host": [host("h1", "a"), host("h2", "b"), host("h3", "a")],
        }));
        let names: Vec<String> = run.figures.by_host.iter().map(host_names(&run)).collect();
        assert_eq!(names, ["a h1", "b", "a h3"]);
    }

    #[test]
    fn a_host_that_is_awaited_is_away_and_nothing_is_known_of_its_workers() {
        let run = |hosts: Value| -> Run {
            is_read(json!({
                "run": 7, "app": {"hash": "ab", "name": "fib"}, "function": "main", "state": "running", "by_host": hosts,
            }))
        };
        let host = |there, away, busy: Option<u32>| json!({"there": there, "away": away, "busy": busy, "workers": 2});
        let (here, unheard) = (host(true, false, Some(1)), host(true, false, None));
        let (awaited, gone) = (host(true, true, None), host(false, false, Some(0)));
        let all = run(json!([here, unheard, awaited, gone]));
        let shown: Vec<String> = all.figures.by_host.iter().map(now).collect();
        assert_eq!(shown, ["1/2 busy", "-/2 busy", "away", "gone"]);
        let busy = |hosts| present(&run(hosts)).busy("core", "cores");
        assert_eq!(present(&all).hosts, 3);
        assert_eq!(busy(json!([here, here, awaited, gone])).as_deref(), Some("2/4 cores busy"));
        let some = busy(json!([here, unheard, awaited]));
        assert_eq!(some.as_deref(), Some("1/2 cores busy, those of 1 host unknown"));
        assert_eq!(busy(json!([unheard])).as_deref(), Some("busy cores unknown"));
        assert_eq!(busy(json!([awaited])), None);
        for (hosts, expected) in [
            (json!([here, awaited, gone]), ", 1 of them away"),
            (json!([awaited]), ", which is away"),
            (json!([awaited, awaited]), ", which are away"),
            (json!([here, gone]), ""),
        ] {
            assert_eq!(present(&run(hosts)).away(), expected);
        }
    }

    #[test]
    fn a_run_that_is_given_to_hosts_has_a_share_of_them() {
        let shown = |share: Value| {
            let run: Run = is_read(json!({
                "run": 7, "app": {"hash": "ab", "name": "fib"}, "function": "main", "state": "running", "share": share,
            }));
            run_cells(&run)[6].clone()
        };
        assert_eq!(RUN_HEADINGS[6], "SHARE");
        assert_eq!(
            [json!(1.0), json!(0.25), json!(0.001), Value::Null].map(shown),
            ["100 %", "25 %", "below 1 %", ""]
        );
    }

    #[test]
    fn a_table_of_runs_names_their_submitters_if_any_has_a_name() {
        let run = |submitter: Value| -> Run {
            is_read(json!({
                "run": 7, "app": {"hash": "ab", "name": "fib"}, "function": "main", "state": "queued",
                "submitter": submitter,
            }))
        };
        let (ada, nobody) = (run(json!("ada")), run(Value::Null));
        let (headings, rows) = run_table(&[&nobody, &ada]);
        assert_eq!(headings[TITLE_COLUMN..5], ["APP", "SUBMITTER", "PROGRESS"]);
        assert_eq!([&rows[0][3], &rows[1][3]], ["", "ada"]);
        let (headings, rows) = run_table(&[&nobody]);
        assert_eq!(headings[TITLE_COLUMN..4], ["APP", "PROGRESS"]);
        assert_eq!(rows[0].len(), headings.len());
    }

    /// Only what commands need; other fields may be missing, as in older versions.
    #[test]
    fn fields_that_an_older_coordinator_leaves_out_have_defaults() {
        let run =
            json!({"run": 7, "app": {"hash": "ab", "name": "fib"}, "function": "main", "state": "done"});
        let of_run: Run = is_read(run.clone());
        assert!(of_run.is_over() && of_run.figures.jobs == JobCounts::default());
        assert_eq!((title(&of_run).as_str(), elapsed(&of_run).as_str()), ("fib", "-"));
        let Figures { hosts, threads, work_s, computed_s, lost_work_s, table, .. } = of_run.figures;
        assert!(hosts.is_none() && threads.is_none() && table.is_none());
        assert_eq!((work_s, computed_s, lost_work_s), (None, None, None));
        let app: App = is_read(json!({"hash": "ab", "name": "fib"}));
        assert_eq!((app.bytes, app.published_by), (0, None));
        let host: Host = is_read(json!({"id": "h1", "name": "a", "site": "s"}));
        assert!(!host.connected && host.runs.is_empty());
        let tree: Tree = is_read(json!({"nodes": [{"job": "ab", "function": "f", "state": "done"}]}));
        assert_eq!((tree.left_out, tree.nodes[0].parent.clone()), (0, None));
        let log: Log = is_read(json!({"lines": [{"number": 1, "text": "a"}]}));
        assert_eq!((log.dropped, log.lines[0].tag.clone()), (0, None));
        assert_eq!(is_read::<Status>(json!({})), Status::default());
        let details: RunDetails = is_read(json!({"run": run}));
        assert!(details.events.is_empty() && details.remaining.is_none());
        let mut job = json!({
            "job": "ab", "function": "f", "is_root": false, "depth": 1, "parameters": "00", "run": 7,
            "app": {"hash": "ab", "name": "fib"}, "entry_point": "main", "arguments": [], "inputs": {},
            "limits": {}, "strict_nan": false,
        });
        assert_eq!(is_read::<Job>(job.clone()).limits.cpu_ms, None);
        // Without it, a different job would be run.
        job["entry_point"].take();
        let error = read::<Job>(&job).expect_err("it is not understood");
        assert!(error.to_string().contains("expected a string"), "{error}");
    }

    #[test]
    fn the_time_left_is_a_range_or_a_reason() {
        let of = |remaining: Value, why: Value| {
            let run = json!({"run": 7, "app": {"hash": "ab", "name": "fib"}, "function": "main", "state": "running"});
            time_left(&json!({"run": run, "remaining": remaining, "remaining_why": why}))
        };
        let range = json!({"low_s": 1.0, "likely_s": 2.0, "high_s": 9.5});
        assert_eq!(of(range, Value::Null).as_deref(), Some("about 2.0 s (1.0 s to 9.5 s)"));
        let range = json!({"basis": "jobs", "low_s": 1.0, "likely_s": 2.0, "high_s": 9.5});
        let of_jobs = "about 2.0 s (1.0 s to 9.5 s) for the jobs spawned so far";
        assert_eq!(of(range, Value::Null).as_deref(), Some(of_jobs));
        let why = "not known yet: too little is done";
        assert_eq!(of(Value::Null, why.into()).as_deref(), Some(why));
        assert_eq!(of(Value::Null, Value::Null), None);
        assert_eq!(time_left(&Value::Null), None);
    }

    #[test]
    fn a_run_that_never_began_has_no_time() {
        let shown = |state: &str, elapsed_s: Value, queued_s: Value| {
            let app = json!({"hash": "ab", "name": "fib"});
            let run: Run = is_read(json!({
                "run": 7, "app": app, "function": "main", "state": state, "elapsed_s": elapsed_s, "queued_s": queued_s,
            }));
            (elapsed(&run), how_long(&run))
        };
        let both = |elapsed: &str, how_long: &str| (elapsed.to_owned(), how_long.to_owned());
        assert_eq!(shown("cancelled", Value::Null, Value::Null), both("-", "before its start"));
        assert_eq!(shown("cancelled", json!(2.5), Value::Null), both("2.5 s", "after 2.5 s"));
        assert_eq!(shown("queued", json!(0.0), json!(3.0)), both("-", "for 3.0 s"));
        assert_eq!(shown("running", json!(2.5), Value::Null), both("2.5 s", "for 2.5 s"));
        assert_eq!(shown("running", json!(0.0), json!(3.0)), both("-", "before its start"));
        assert_eq!(shown("running", Value::Null, Value::Null), both("-", "before its start"));
    }

    #[test]
    fn fields_that_only_a_newer_coordinator_knows_are_ignored() {
        let run: Run = is_read(json!({
            "run": 7, "app": {"hash": "ab", "name": "fib", "size": 3}, "function": "main", "state": "dreaming",
            "counted": "twice", "held_up_by": {"kind": "weather", "text": "It rains."}, "mood": {"good": true},
        }));
        assert!(!run.is_over());
        assert_eq!(run.held_up_by.map(|why| why.text).as_deref(), Some("It rains."));
        assert_eq!(run.figures.counted, sateen_api::Counted::Partial);
    }
}
