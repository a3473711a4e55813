//! Values that are made of inputs alone: once on each host, and the same wherever and however they are made.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use sateen_host::{Finished, Limits, Output, Run, RunError, RunOptions};
use sateen_tests::grid::{SETTINGS, Setting, finish, limited, pristine, profiled, shared, usual};

/// About 15 ms of work: such a job gets an instance of its own.
const STEPS: &str = "5000000";

/// A run, and how often it has made the numbers.
fn run_with(
    limits: &Limits,
    function: &str,
    orders: &str,
    setting: Setting,
) -> (Result<Finished, RunError>, usize) {
    let made = Arc::new(AtomicUsize::new(0));
    let log = {
        let made = made.clone();
        Arc::new(move |line: sateen_host::LogLine| {
            made.fetch_add(usize::from(line.text == "makes numbers"), SeqCst);
        })
    };
    let numbers: String = (1..=40).map(|number| format!("{number}\n")).collect();
    let options = RunOptions {
        function: function.to_owned(),
        arguments: (function == "look_up_all").then(|| STEPS.to_owned()).into_iter().collect(),
        inputs: [("numbers".to_owned(), numbers.into_bytes()), ("orders".to_owned(), orders.into())].into(),
        threads: setting.threads,
        pristine: setting.pristine,
        profile: setting.profile,
        log,
    };
    let result = finish(Run::start(&limited(limits), options).expect("it starts"));
    (result, made.load(SeqCst))
}

fn run(function: &str, orders: &str, setting: Setting) -> (Result<Finished, RunError>, usize) {
    run_with(&Limits::default(), function, orders, setting)
}

#[track_caller]
fn text(result: Result<Finished, RunError>) -> String {
    match result.map(|finished| finished.output) {
        Ok(Output::Text(text)) => text,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_value_is_made_once_whatever_the_schedule() {
    for setting in SETTINGS {
        let (result, made) = run("look_up_all", "", setting);
        assert_eq!(text(result), "820 820 Some(820)", "{setting:?}");
        // Pristine, each job has an instance that makes the value when it uses it: that of the root is one more.
        assert_eq!(made, if setting.pristine { 41 } else { 1 }, "{setting:?}");
    }
}

#[test]
fn a_value_counts_once_in_a_profile() {
    for workers in [1, 2, 4] {
        let (result, made) = run("look_up_all", "", profiled(workers));
        let profile = result.expect("it runs").profile.expect("it was asked for");
        let sandboxes = profile.per_sandbox;
        assert_eq!((made, sandboxes.made, sandboxes.again), (1, 0, 0), "{workers} workers");
    }
}

#[test]
fn inputs_that_only_prepared_values_were_made_of_are_unread_until_a_job_uses_them() {
    for setting in [shared(1), shared(2), pristine(2)] {
        let unread = |function| run(function, "", setting).0.expect("it runs").unread_inputs;
        assert_eq!(unread("look_up_nothing"), ["numbers", "orders"], "{setting:?}");
        assert_eq!(unread("look_up_all"), [""; 0], "{setting:?}");
    }
}

#[test]
fn what_cannot_be_made_fails_the_job_that_needs_it_and_no_other() {
    for (orders, why) in [
        ("panic", "the numbers cannot be made"),
        ("spawn", "a #[prepare] function cannot spawn a job"),
        ("share", "a #[prepare] function cannot share an object"),
        ("progress", "a #[prepare] function cannot report progress"),
    ] {
        for setting in [shared(1), shared(2), pristine(2), profiled(2)] {
            match run("look_up_all", orders, setting).0 {
                Err(RunError::Job(failure)) => {
                    assert!(failure.message.starts_with(why), "{orders}, {setting:?}: {failure}");
                    let is_named = failure.backtrace.iter().any(|frame| frame.contains("prepared::numbers"));
                    assert!(is_named, "{orders}, {setting:?}: {:?}", failure.backtrace);
                }
                other => panic!("{orders}, {setting:?}: {other:?}"),
            }
            assert_eq!(text(run("look_up_nothing", orders, setting).0), "42", "{orders}, {setting:?}");
        }
    }
    for setting in [shared(1), shared(2), pristine(2)] {
        let text = text(run("look_up_and_recover", "panic", setting).0);
        assert_eq!(text, "the numbers cannot be made: 42");
    }
}

#[test]
fn a_value_that_meets_a_limit_ends_the_run_of_the_job_that_needs_it() {
    let limits = Limits { memory_bytes_max: 64 << 20, ..Limits::default() };
    for setting in [shared(1), shared(2), pristine(2)] {
        let result = run_with(&limits, "look_up_all", "memory", setting).0;
        assert!(matches!(result, Err(RunError::Limit(_))), "{setting:?}: {result:?}");
        assert_eq!(text(run_with(&limits, "look_up_nothing", "memory", setting).0), "42", "{setting:?}");
    }
    let limits = Limits { wall_time_max: Some(Duration::from_millis(300)), ..Limits::default() };
    for setting in [shared(1), shared(2)] {
        // It is made before the job begins, needed or not.
        let result = run_with(&limits, "look_up_nothing", "forever", setting).0;
        assert!(matches!(result, Err(RunError::Limit(_))), "{setting:?}: {result:?}");
    }
}

#[test]
fn a_run_can_be_cancelled_while_a_value_is_made() {
    let options = RunOptions {
        function: "look_up_all".to_owned(),
        arguments: vec![STEPS.to_owned()],
        inputs: [("numbers".to_owned(), b"1".to_vec()), ("orders".to_owned(), b"forever".to_vec())].into(),
        threads: 2,
        ..RunOptions::default()
    };
    let run = Run::start(&usual(), options).expect("it starts");
    assert!(!run.wait_for(Duration::from_millis(200)));
    run.canceller().cancel();
    assert!(matches!(finish(run), Err(RunError::Cancelled)));
}
