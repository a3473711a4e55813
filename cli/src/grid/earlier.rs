//! What a run took from results of earlier runs, in a sentence.

use sateen_api::{EarlierResults, Run};

use super::columns::seconds;
use crate::progress::counted;

/// The results of earlier runs that a run used; none if there were none.
pub fn earlier(run: &Run) -> Option<String> {
    let EarlierResults { jobs, work_s } = run.figures.earlier.filter(|earlier| earlier.jobs > 0)?;
    let which = counted(jobs, "job had a result of an earlier run", "jobs had results of earlier runs");
    Some(format!("{which}, which took {} of processor time", seconds(work_s)))
}

/// The same, or that there were none; nothing of a run that may not use them or has not started.
pub fn earlier_or_none(run: &Run) -> Option<String> {
    const NONE: &str = "none: no results of earlier runs were found";
    let none = || match (run.figures.earlier.is_some() && run.started_at.is_some(), run.is_over()) {
        (false, _) => None,
        (true, true) => Some(NONE.to_owned()),
        (true, false) => Some(format!("{NONE} so far")),
    };
    earlier(run).or_else(none)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::view::{how_long, read};
    use super::*;

    fn run(state: &str, started_at: Value, earlier: Value) -> Run {
        let run = json!({
            "run": 7, "app": {"hash": "ab", "name": "fib"}, "function": "main", "state": state,
            "started_at": started_at, "reuse": true, "earlier": earlier,
        });
        read(&run).expect("a run")
    }

    #[test]
    fn results_of_earlier_runs_are_counted_with_the_work_that_they_took() {
        let (at, none) = (json!("2026-12-01T00:00:00Z"), json!({"jobs": 0, "work_s": 0.0}));
        let many = run("done", at.clone(), json!({"jobs": 999, "work_s": 49.9}));
        let found = "999 jobs had results of earlier runs, which took 49.9 s of processor time";
        assert_eq!(
            (earlier(&many).as_deref(), earlier_or_none(&many).as_deref()),
            (Some(found), Some(found))
        );
        let shown = |state, started_at: &Value, found: &Value| {
            let run = run(state, started_at.clone(), found.clone());
            assert_eq!(earlier(&run), None, "{state}");
            earlier_or_none(&run)
        };
        let nothing = "none: no results of earlier runs were found";
        assert_eq!(shown("done", &at, &Value::Null), None, "it was not asked for");
        assert_eq!(shown("queued", &Value::Null, &none), None, "it has looked for none");
        assert_eq!(shown("running", &at, &none), Some(format!("{nothing} so far")));
        assert_eq!(shown("done", &at, &none).as_deref(), Some(nothing));
    }

    /// It has never started.
    #[test]
    fn a_run_whose_own_result_was_kept_is_done_at_once() {
        let known = run("done", Value::Null, json!({"jobs": 1, "work_s": 49.9}));
        let found = "1 job had a result of an earlier run, which took 49.9 s of processor time";
        assert_eq!((how_long(&known).as_str(), earlier(&known).as_deref()), ("at once", Some(found)));
        assert_eq!(how_long(&run("done", Value::Null, Value::Null)), "after -");
    }

    /// `sateen status --json` prints what the coordinator answers.
    #[test]
    fn a_run_that_is_written_again_has_its_results_of_earlier_runs() {
        let again = json!(run("done", Value::Null, json!({"jobs": 3, "work_s": 1.5})));
        assert_eq!((&again["reuse"], &again["earlier"]), (&json!(true), &json!({"jobs": 3, "work_s": 1.5})));
    }
}
