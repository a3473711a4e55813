//! Checks that the published numbers of a grid agree with one another: those of lists and pages of runs, of trees,
//! timelines and charts, of hosts, of the status, and of `/metrics`.
//!
//! The rules use the API's answers, from any source: a coordinator that is asked over HTTP at the end of each
//! cluster test, or one within a simulated history. Successive answers may be of different moments: for
//! unfinished runs, a counter must lie between its values before and afterwards. Hosts report missing counts within a
//! second, so a contradiction counts if it is still found some inspections later.

mod grid;
mod grown;
mod run;

pub use grown::Grown;

use std::collections::BTreeMap;
use std::time::Duration;

use sateen_protocol::RunState;
use sateen_protocol::limits::SILENCE_MAX;
use serde_json::Value;

/// Inspections that must find a contradiction, with a pause between two of them: hosts report their counts
/// twice a second.
const LOOKS: usize = 4;
const BETWEEN_LOOKS: Duration = Duration::from_millis(700);
/// Maximum unreported work, or unreported time of its workers, of a host that departed, in seconds per worker, on a machine
/// that has little else to do: hosts report twice a second. On another, the time that all answers took is added.
const UNTOLD_S: f64 = 1.0;
/// Maximum runs that are inspected, the newest first.
const RUNS_MAX: usize = 8;
/// Tolerance for rounded figures in seconds and their sums.
const ROUNDING_S: f64 = 1e-3;

/// A coordinator that can be asked.
pub trait Asked {
    /// The JSON at a path of the API; `None` without an answer, or for any status except 200.
    fn json(&mut self, path: &str) -> Option<Value>;

    /// All samples of `/metrics`; `None` without an answer.
    fn metrics(&mut self) -> Option<BTreeMap<String, f64>>;

    /// Lets time pass.
    fn wait(&mut self, time: Duration);

    /// The time since some moment.
    fn now(&mut self) -> Duration;
}

/// The samples in the text of `/metrics`, each by its name and labels.
pub fn samples(text: &str) -> BTreeMap<String, f64> {
    (text.lines().filter(|line| !line.starts_with('#')))
        .filter_map(|line| line.rsplit_once(' '))
        .filter_map(|(sample, value)| Some((sample.to_owned(), value.parse().ok()?)))
        .collect()
}

/// All contradictions, in sentences with both numbers; none without an answer.
pub fn contradictions(asked: &mut impl Asked) -> Vec<String> {
    let mut found = look(asked);
    for _ in 1..LOOKS {
        if found.is_empty() {
            break;
        }
        asked.wait(BETWEEN_LOOKS);
        let again = look(asked);
        // The numbers may have changed since.
        found = again.into_iter().filter(|one| found.iter().any(|before| is_alike(before, one))).collect();
    }
    found
}

/// Whether two sentences say the same with other numbers.
fn is_alike(one: &str, other: &str) -> bool {
    let words = |text: &str| text.replace(|letter: char| letter.is_ascii_digit() || letter == '.', "");
    words(one) == words(other)
}

/// Inspects everything once.
fn look(asked: &mut impl Asked) -> Vec<String> {
    let mut found = Found::default();
    let began = asked.now();
    let Some(before) = grid::Told::of(asked) else { return Vec::new() };
    let mut pages = Vec::new();
    for listed in before.runs.iter().take(RUNS_MAX) {
        pages.extend(run::Page::of(asked, listed));
    }
    let Some(after) = grid::Told::of(asked) else { return Vec::new() };
    // Where answers are late, the machine has much to do, and so reports of hosts are late.
    let untold_s = UNTOLD_S + asked.now().saturating_sub(began).min(SILENCE_MAX).as_secs_f64();
    for page in &pages {
        page.check(untold_s, &mut found);
        if let Some(listed) = after.runs.iter().find(|listed| listed["run"] == page.run["run"]) {
            page.check_list(listed, &mut found);
        }
    }
    grid::check(&before, &after, &mut found);
    for page in &pages {
        page.check_idle(&before.idle(), &after.idle(), &mut found);
    }
    found.0
}

/// Contradictions, as they are found.
#[derive(Default)]
struct Found(Vec<String>);

impl Found {
    /// Both numbers must be equal.
    fn same(&mut self, of: &str, what: &str, one: (&str, f64), other: (&str, f64)) {
        if (one.1 - other.1).abs() > ROUNDING_S * (1.0 + one.1.abs() * 1e-6) {
            self.say(format!("{of}: {what} is {} by {}, and {} by {}", one.1, one.0, other.1, other.0));
        }
    }

    /// Both must be the same number of nanoseconds; each is given in seconds, and terms are not rounded before they are
    /// added.
    fn same_time(&mut self, of: &str, what: &str, one: (&str, f64), others: (&str, &[f64])) {
        let ns = |time_s: f64| (time_s * 1e9).round() as i128;
        let sum: i128 = others.1.iter().map(|time_s| ns(*time_s)).sum();
        if ns(one.1) != sum {
            let (by, other) = (one.0, others.0);
            self.say(format!("{of}: {what} is {} ns by {by}, and {sum} ns by {other}", ns(one.1)));
        }
    }

    /// The first must not exceed the second.
    fn at_most(&mut self, of: &str, one: (&str, f64), other: (&str, f64)) {
        if one.1 > other.1 + ROUNDING_S {
            self.say(format!("{of}: {} is {}, which is more than {}, {}", one.0, one.1, other.0, other.1));
        }
    }

    /// The values of a growing counter must be in order: before, now, afterwards.
    fn between(&mut self, of: &str, what: &str, was: (&str, f64), is: (&str, f64), becomes: f64) {
        if is.1 + ROUNDING_S < was.1 || is.1 > becomes + ROUNDING_S {
            self.say(format!(
                "{of}: {what} is {} by {}, and was {} by {}, and is {becomes} afterwards",
                is.1, is.0, was.1, was.0
            ));
        }
    }

    /// No counted or measured number may be negative.
    fn not_negative(&mut self, of: &str, told: &Value) {
        match told {
            Value::Object(fields) => {
                fields.iter().for_each(|(name, value)| self.not_negative(&format!("{of}, {name}"), value));
            }
            Value::Array(values) => values.iter().for_each(|value| self.not_negative(of, value)),
            Value::Number(number) if number.as_f64().is_some_and(f64::is_sign_negative) => {
                self.say(format!("{of}: it is {number}"));
            }
            _ => {}
        }
    }

    fn say(&mut self, sentence: String) {
        self.0.push(sentence);
    }
}

/// A number of an object, 0 if it is missing, as unknown numbers are left out.
fn number(of: &Value, name: &str) -> f64 {
    of[name].as_f64().unwrap_or_default()
}

fn list(of: &Value) -> impl Iterator<Item = &Value> {
    of.as_array().into_iter().flatten()
}

/// Whether a run is finished, according to the API.
pub fn is_over(run: &Value) -> bool {
    run["state"].as_str().and_then(RunState::parse).is_some_and(RunState::is_over)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_are_compared_without_their_numbers() {
        assert!(is_alike("run 7: jobs is 12 by the list", "run 7: jobs is 31.5 by the list"));
        assert!(!is_alike("run 7: jobs is 12 by the list", "run 7: jobs is 12 by the page"));
    }

    #[test]
    fn differences_beyond_rounding_are_found() {
        let mut found = Found::default();
        found.same("run 1", "work", ("one", 10.0004), ("other", 10.0));
        found.at_most("run 1", ("stolen", 3.0), ("executed", 3.0));
        found.between("run 1", "spawned", ("the list", 3.0), ("the page", 4.0), 4.0);
        found.not_negative("run 1", &serde_json::json!({"work_s": [0, 0.0, 1.5, null, "-1"]}));
        found.same_time("run 1", "work", ("one", 0.3), ("others", &[0.1, 0.1, 0.1]));
        assert_eq!(found.0, [""; 0]);
        found.same("run 1", "work", ("one", 10.1), ("other", 10.0));
        found.at_most("run 1", ("stolen", 4.0), ("executed", 3.0));
        found.between("run 1", "spawned", ("the list", 3.0), ("the page", 2.0), 4.0);
        found.between("run 1", "spawned", ("the list", 3.0), ("the page", 5.0), 4.0);
        found.not_negative("run 1", &serde_json::json!({"work_s": [1, -0.0], "hosts": {"jobs": -1}}));
        found.same_time("run 1", "work", ("one", 10.000_003), ("others", &[4.0, 6.0]));
        assert_eq!(found.0.len(), 7);
        assert_eq!(found.0[0], "run 1: work is 10.1 by one, and 10 by other");
    }

    /// A grid with one run that has ended, of which a host was lost. Each answer takes its time.
    struct Slow {
        now: Duration,
        answer: Duration,
        /// Work of a host beyond the time for which its worker is said to have computed.
        excess_s: f64,
    }

    impl Asked for Slow {
        fn json(&mut self, path: &str) -> Option<Value> {
            self.now += self.answer;
            let host = |name: &str, there: bool, work_s: f64, computed_s: f64| {
                serde_json::json!({
                    "name": name, "there": there, "workers": 1, "work_s": work_s, "computed_s": computed_s,
                })
            };
            let run = serde_json::json!({
                "run": 1, "state": "done", "counted": "final", "hosts": 2, "threads": 2, "work_s": 10.0,
                "answer_work_s": 9.5, "lost_work_s": 0.5,
                "by_host": [host("one", true, 9.0, 9.0 - self.excess_s), host("other", false, 1.0, 1.0)],
            });
            match path {
                "/api/v1/runs?limit=1000" => Some(serde_json::json!([run])),
                "/api/v1/runs/1" => Some(run),
                "/api/v1/runs/1/overview" => Some(serde_json::json!({"run": run, "is_kept": false})),
                "/api/v1/hosts" => Some(serde_json::json!([])),
                "/api/v1/status" => Some(serde_json::json!({"runs": {"done": 1}})),
                _ => None,
            }
        }

        fn metrics(&mut self) -> Option<BTreeMap<String, f64>> {
            self.now += self.answer;
            Some(samples("sateen_runs{state=\"done\"} 1\nsateen_runs_ended_total 1\n"))
        }

        fn wait(&mut self, time: Duration) {
            self.now += time;
        }

        fn now(&mut self) -> Duration {
            self.now
        }
    }

    /// Hosts do not report in time on a machine that is late with everything; but the excess is limited.
    #[test]
    fn work_that_was_not_reported_in_time_is_allowed_for_and_more_is_found() {
        let found = |answer_ms: u64, excess_s: f64| {
            let answer = Duration::from_millis(answer_ms);
            contradictions(&mut Slow { now: Duration::ZERO, answer, excess_s })
        };
        // A second of a worker's time may not have been reported.
        assert_eq!(found(1, 0.99), [""; 0]);
        let more = "run 1, host \"one\": its work is 9, which is more than time in which its workers computed, 8.911";
        assert_eq!(found(1, 1.1), [more]);
        assert_eq!(found(50, 1.1), [""; 0], "all answers took half a second");
        assert_eq!(found(50, 3.0).len(), 1);
        assert_eq!(found(20_000, 8.0).len(), 1, "however late they are");
    }
}
