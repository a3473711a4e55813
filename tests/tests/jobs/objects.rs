//! Shared objects mean the same on one worker and on many, and guards hold stolen jobs back.

use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use sateen_host::{Limits, RunError};
use sateen_tests::grid::{
    SETTINGS, call, call_logging, gives_everywhere, limited, pristine, shared, text, usual,
};
use sateen_tests::random::{Random, seed};

use crate::random_programs::silence_this_thread;

#[test]
fn a_shared_bound_is_the_least_in_the_end() {
    gives_everywhere("least", &["20000"], probe::objects::least(20_000));
}

#[test]
fn updates_of_all_jobs_reach_all_replicas_once() {
    gives_everywhere("visited", &["600", "0"], probe::objects::visited(600, 0));
}

/// The updates exceed the object's size many times over, but the replica does not grow.
#[test]
fn a_long_log_becomes_a_new_base() {
    for setting in SETTINGS {
        let finished = call(&usual(), "visited", &["5000", "2000"], setting).expect("it runs");
        let expected = probe::objects::visited(5_000, 2_000);
        assert_eq!(finished.output, sateen_host::Output::Text(expected), "with {setting:?}");
        let objects = finished.objects;
        assert_eq!((objects.created, objects.updates), (1, 5_000), "with {setting:?}");
        assert!(objects.bytes_max < 4 << 20, "{objects:?} with {setting:?}");
    }
}

#[test]
fn steps_wait_for_one_another() {
    gives_everywhere("iterated", &["200", "30"], probe::objects::iterated(200, 30));
}

#[test]
fn references_can_be_in_results_and_objects() {
    gives_everywhere(
        "references_everywhere",
        &["4", "5", "30"],
        probe::objects::references_everywhere(4, 5, 30),
    );
}

#[test]
fn failing_readers_do_not_delay_others() {
    gives_everywhere("failed_readers", &["200"], 200);
}

#[test]
fn unneeded_objects_are_dropped() {
    for setting in SETTINGS {
        let finished = call(&usual(), "come_and_go", &["200", "10000"], setting).expect("it runs");
        let expected = probe::objects::come_and_go(200, 10_000).to_string();
        assert_eq!(finished.output, sateen_host::Output::Text(expected), "with {setting:?}");
        assert_eq!(finished.objects.created, 200);
        assert!(finished.objects.bytes_max < 1 << 20, "{:?} with {setting:?}", finished.objects);
    }
}

#[test]
fn random_programs_with_shared_objects_have_their_native_results() {
    silence_this_thread();
    let mut random = Random::new(seed(20_261_121));
    let started = Instant::now();
    let mut compared = 0;
    while compared < 15 || started.elapsed() < Duration::from_secs(10) {
        let (program, depth) = (random.number(), 2 + random.below(4) as u32);
        let expected = probe::shared_program::shared_program(program, depth).to_string();
        for setting in SETTINGS {
            let given = text("shared_program", &[&program.to_string(), &depth.to_string()], setting);
            assert_eq!(given, expected, "shared_program {program} {depth} with {setting:?}");
        }
        compared += 1;
    }
    eprintln!("{compared} programs compared");
}

/// The root opens the door only when a job has been waiting for it for a while.
#[test]
fn a_guard_waits_for_a_late_update() {
    for setting in [shared(2), shared(4), pristine(2), pristine(4)] {
        let entered = Arc::new((Mutex::new(Vec::<String>::new()), Condvar::new()));
        let seen = entered.clone();
        let log = Arc::new(move |line: sateen_host::LogLine| {
            let mut lines = seen.0.lock().expect("nobody panics with the lock");
            if line.text == "root opens" {
                // A job that could enter before the door is open would do so now.
                lines = seen
                    .1
                    .wait_timeout_while(lines, Duration::from_millis(50), |lines| lines.is_empty())
                    .expect("nobody panics with the lock")
                    .0;
            }
            lines.push(line.text);
            seen.1.notify_all();
        });
        let finished = call_logging(&usual(), "wait_for_the_door", &[], setting, log).expect("it runs");
        assert_eq!(finished.output, sateen_host::Output::Text("true".to_owned()));
        let lines = entered.0.lock().expect("nobody panics with the lock").clone();
        assert_eq!(lines, ["root opens", "somebody enters"], "with {setting:?}");
    }
}

#[test]
fn a_guard_that_is_never_true_is_named() {
    let app = limited(&Limits { guard_wait_max: Duration::from_millis(200), ..Limits::default() });
    for setting in [pristine(1), pristine(4)] {
        let Err(RunError::Limit(limit)) = call(&app, "wait_before_the_door", &[], setting) else {
            panic!("nobody opens the door");
        };
        let message = limit.to_string();
        assert!(message.starts_with("the guard `is_open` of the job `enter` was false for "), "{message}");
        assert!(message.ends_with("raise the limit with --guard-limit"), "{message}");
    }
}

#[test]
fn an_update_that_panics_ends_the_run_by_its_name() {
    for setting in SETTINGS {
        let Err(RunError::Job(failure)) = call(&usual(), "panic_in_update", &[], setting) else {
            panic!("nobody can catch it");
        };
        let message = &failure.message;
        assert!(
            message.starts_with("the update `Door::slam` failed: the door slams: wind, at "),
            "{message}"
        );
        assert!(message.contains("objects.rs:"), "{message}");
    }
}

#[test]
fn shared_objects_have_a_limit() {
    let app = limited(&Limits { shared_bytes_max: 1 << 20, ..Limits::default() });
    assert!(call(&app, "large_object", &["1000000"], shared(1)).is_ok());
    let Err(RunError::Limit(limit)) = call(&app, "large_object", &["1100000"], shared(1)) else {
        panic!("it is too large");
    };
    assert_eq!(
        limit.to_string(),
        "the run's shared objects take more than 1 MiB; raise it with --max-shared"
    );
}
