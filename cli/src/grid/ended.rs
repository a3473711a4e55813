//! What a run that is over gave: its result where it is wanted, or its failure with its exit code.

use sateen_host::Output;
use serde_json::{Value, json};

use super::client::Client;
use super::view::Run;
use crate::exit::{APP_FAILED, CANCELLED, Failure, GRID, LIMIT, USAGE, say};
use crate::files::{OutputFile, plain, print};
use crate::run::add_result;

/// What is wanted of it.
pub struct Wanted {
    pub json: bool,
    pub verbose: bool,
    pub output: Option<OutputFile>,
    pub log_lines_dropped: u64,
}

/// Writes the result of `run`, which is over, where it is wanted.
///
/// # Errors
/// The run's own failure, above all.
pub fn deliver(client: &Client, run: &Run, wanted: Wanted) -> Result<(), Failure> {
    if wanted.log_lines_dropped > 0 {
        say(format!("{} more lines of the app's log were dropped", wanted.log_lines_dropped));
    }
    if let Some(mut failure) = failure(run) {
        if wanted.json {
            let mut object = about(run);
            object["result"] = Value::Null;
            object["error"] = json!({
                "message": failure.message,
                "exit_code": failure.code,
                "backtrace": failure.backtrace,
            });
            print(format!("{object}\n").as_bytes())?;
        }
        if !wanted.verbose {
            failure.backtrace.clear();
        }
        return Err(failure);
    }
    let output: Output = client.result(&format!("/api/v1/runs/{}/result", run.run))?;
    let bytes = plain(&output);
    let to_file = wanted.output.is_some();
    if let Some(file) = wanted.output {
        file.write(&bytes)?;
    }
    if wanted.json {
        let mut object = about(run);
        add_result(&mut object, &output);
        print(format!("{object}\n").as_bytes())
    } else if to_file {
        Ok(())
    } else {
        print(&bytes)
    }
}

/// Why `run` has no result, if it is over and has none.
pub fn failure(run: &Run) -> Option<Failure> {
    let (code, message, backtrace) = match (run.state.as_str(), &run.error) {
        ("cancelled", _) => (CANCELLED, "cancelled".to_owned(), Vec::new()),
        ("failed", Some(error)) => {
            let code = match error.kind.as_str() {
                "input" => USAGE,
                "limit" => LIMIT,
                "unable" => GRID,
                _ => APP_FAILED,
            };
            let message = match &error.job {
                Some(job) if error.kind == "job" && !error.message.starts_with("job `") => {
                    format!("job `{job}` failed: {}", error.message)
                }
                _ => error.message.clone(),
            };
            (code, message, error.backtrace.clone().unwrap_or_default())
        }
        ("failed", None) => {
            (GRID, "the run failed and the coordinator does not say why".to_owned(), Vec::new())
        }
        _ => return None,
    };
    Some(Failure { code, message, backtrace })
}

/// What goes into the JSON object whatever the end; the same as of a run on one machine, and the hosts.
fn about(run: &Run) -> Value {
    let jobs = &run.jobs;
    let (work_s, span_s) = (run.work_s.unwrap_or(0.0), run.span_s.unwrap_or(0.0));
    json!({
        "run": run.run,
        "app": run.app.name,
        "module": run.app.hash,
        "function": run.function,
        "arguments": run.arguments,
        "hosts": run.hosts,
        "threads": run.threads,
        "jobs": {
            "spawned": jobs.spawned,
            "exposed": jobs.exposed,
            "executed": jobs.executed,
            "stolen": jobs.stolen,
            "reused": jobs.reused,
            "redone": jobs.redone,
            "adopted": jobs.adopted,
            "recorded": jobs.recorded,
            "aborted": jobs.aborted,
        },
        "elapsed_s": run.elapsed_s,
        "work_s": work_s,
        "answer_work_s": run.answer_work_s,
        "lost_work_s": run.lost_work_s,
        "saved_work_s": run.saved_work_s,
        "span_s": span_s,
        "parallelism": if span_s > 0.0 { work_s / span_s } else { 1.0 },
    })
}

#[cfg(test)]
mod tests {
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
        let codes = ["job", "app", "input", "limit", "unable"].map(|kind| code("failed", kind));
        assert_eq!(codes, [APP_FAILED, APP_FAILED, USAGE, LIMIT, GRID]);
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
    fn the_object_has_what_a_run_here_has_and_the_hosts() {
        let object = about(&run("done", &Value::Null));
        assert_eq!(
            (&object["run"], &object["hosts"], &object["parallelism"]),
            (&17.into(), &2.into(), &3.0.into())
        );
        for counter in ["spawned", "exposed", "executed", "stolen", "reused", "redone", "aborted", "adopted"]
        {
            assert!(object["jobs"][counter].is_u64(), "{counter} in {object}");
        }
    }
}
