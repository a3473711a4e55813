//! The outcome of a finished run on the grid.

use std::collections::BTreeMap;

use sateen_api::Run;
use serde_json::json;

use super::client::Client;
use crate::ended::{self, About, Checking, Given, Losses, Times, Wanted};
use crate::exit::{APP_FAILED, CANCELLED, Failure, GRID, LIMIT, UNVERIFIED, USAGE};

/// Writes the result of the finished `run` to the file or stdout.
///
/// # Errors
/// Above all, the run's own failure.
pub fn deliver(client: &Client, run: &Run, wanted: Wanted<'_>) -> Result<(), Failure> {
    if let Some(failure) = failure(run) {
        return ended::deliver(wanted, &about(run), Err(failure));
    }
    let output = client.result(&format!("/api/v1/runs/{}/result", run.run))?;
    ended::deliver(wanted, &about(run), Ok(Given::Output(&output)))
}

/// Why `run` has no result, if it is over and has none.
pub fn failure(run: &Run) -> Option<Failure> {
    let (code, message, backtrace) = match (run.state.as_str(), &run.figures.error) {
        ("cancelled", error) => {
            let message = error.as_ref().map_or("the run was cancelled", |error| &error.message);
            (CANCELLED, message.to_owned(), Vec::new())
        }
        ("failed", Some(error)) => {
            let code = match error.kind.as_str() {
                "input" => USAGE,
                "limit" => LIMIT,
                "unable" => GRID,
                "unverified" => UNVERIFIED,
                _ => APP_FAILED,
            };
            let message = match &error.job {
                Some(job) if error.kind == "job" && !error.message.starts_with("job `") => {
                    format!("job `{job}` failed: {}", error.message)
                }
                _ if error.kind == "input" => {
                    ended::naming_given(&error.message, run.inputs.iter().flat_map(BTreeMap::keys))
                }
                _ => error.message.clone(),
            };
            (code, message, error.backtrace.clone())
        }
        ("failed", None) => {
            (GRID, "the run failed and the coordinator does not say why".to_owned(), Vec::new())
        }
        _ => return None,
    };
    let job = run.figures.error.as_ref().and_then(|error| error.job.clone());
    Some(Failure { code, message, job, backtrace })
}

fn about(run: &Run) -> About {
    let figures = &run.figures;
    About {
        run: run.run.into(),
        app: Some(run.app.name.clone()),
        module: run.app.hash.clone(),
        function: run.function.clone(),
        arguments: run.arguments.clone(),
        hosts: Some(json!(figures.hosts)),
        threads: figures.threads.map(u64::from),
        jobs: json!(figures.jobs),
        times: Times { elapsed_s: run.elapsed_s, work_s: figures.work_s, span_s: figures.span_s },
        shared: None,
        profile: None,
        checking: Some(Checking { trust: run.terms.trust.clone(), checked: figures.checked.clone() }),
        losses: Some(Losses {
            answer_work_s: figures.answer_work_s,
            lost_work_s: figures.lost_work_s,
            counted: figures.counted,
        }),
        earlier: figures.earlier,
        job: None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::grid::view::read;

    fn run(state: &str, error: &Value) -> Run {
        let value = json!({
            "run": 17, "app": {"hash": "ab", "name": "fib"}, "function": "main", "arguments": ["7"],
            "state": state, "error": error, "jobs": {"spawned": 3, "reused": 1}, "hosts": 2,
            "elapsed_s": 1.5, "work_s": 3.0, "span_s": 1.0,
        });
        read(&value).expect("a run")
    }

    fn code(state: &str, kind: &str) -> u8 {
        let error = json!({"kind": kind, "message": "why", "job": "leaf", "backtrace": ["leaf"]});
        failure(&run(state, &error)).map_or(0, |failure| failure.code)
    }

    #[test]
    fn exit_codes_are_those_of_a_run_here() {
        let codes = ["job", "app", "input", "limit", "unable", "unverified"].map(|kind| code("failed", kind));
        assert_eq!(codes, [APP_FAILED, APP_FAILED, USAGE, LIMIT, GRID, UNVERIFIED]);
        assert_eq!((code("cancelled", "job"), code("done", "job")), (CANCELLED, 0));
        assert_eq!(failure(&run("failed", &Value::Null)).map(|failure| failure.code), Some(GRID));
    }

    #[test]
    fn a_failed_job_is_named_once() {
        for message in ["it fell", "job `leaf` failed: it fell"] {
            let error = json!({"kind": "job", "message": message, "job": "leaf"});
            let failure = failure(&run("failed", &error)).expect("it failed");
            assert_eq!(failure.message, "job `leaf` failed: it fell");
        }
    }

    #[test]
    fn a_missing_input_is_named_with_those_that_were_given() {
        let message = "the app needs the input `data`; give it with --input data=FILE";
        let mut value = json!({
            "run": 17, "app": {"hash": "ab", "name": "fib"}, "function": "main", "state": "failed",
            "error": {"kind": "input", "message": message}, "inputs": {"dato": "ab", "b": "cd"},
        });
        let failure = |value: &Value| failure(&read(value).expect("a run")).expect("it failed").message;
        assert_eq!(failure(&value), format!("{message}; it was given `b`, `dato`"));
        value["inputs"] = Value::Null;
        assert_eq!(failure(&value), message);
    }

    /// A coordinator of another version leaves some out; the span is unknown if results were reused very often.
    #[test]
    fn figures_that_are_not_known_are_null() {
        let run =
            json!({"run": 7, "app": {"hash": "ab", "name": "fib"}, "function": "main", "state": "done"});
        let object = json!(about(&read(&run).expect("a run")));
        for figure in ["hosts", "threads", "elapsed_s", "work_s", "span_s", "lost_work_s"] {
            assert_eq!(object.get(figure), Some(&Value::Null), "{figure} in {object}");
        }
    }

    #[test]
    fn results_of_earlier_runs_are_in_the_object_of_a_run_that_may_use_them() {
        let mut run = run("done", &Value::Null);
        assert_eq!(json!(about(&run)).get("earlier"), None);
        run.figures.earlier = Some(sateen_api::EarlierResults { jobs: 3, work_s: 1.5 });
        assert_eq!(json!(about(&run))["earlier"], json!({"jobs": 3, "work_s": 1.5}));
    }

    #[test]
    fn the_object_has_what_a_run_here_has_and_the_hosts() {
        let object = json!(about(&run("done", &Value::Null)));
        assert_eq!((&object["run"], &object["hosts"]), (&17.into(), &2.into()));
        for counter in ["spawned", "exposed", "executed", "stolen", "reused", "redone", "aborted", "adopted"]
        {
            assert!(object["jobs"][counter].is_u64(), "{counter} in {object}");
        }
    }
}
