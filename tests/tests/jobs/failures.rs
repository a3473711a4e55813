//! Panics, traps and errors reach the parent's sync, and nothing else.

use sateen_host::RunError;
use sateen_tests::grid::{SETTINGS, call, gives, gives_everywhere, shared, text, usual};

#[test]
fn a_panic_ends_the_run_and_names_the_innermost_job() {
    for setting in SETTINGS {
        let Err(RunError::Job(failure)) = call(&usual(), "panic_passes", &["12"], setting) else {
            panic!("the run must fail with {setting:?}");
        };
        assert_eq!(failure.job, "fragile", "with {setting:?}");
        assert!(failure.message.starts_with("job 12 is told to fail, at "), "{}", failure.message);
        assert!(failure.message.contains("failures.rs:"), "the place is the app's own: {}", failure.message);
        let frame = failure.backtrace.first().map(String::as_str).unwrap_or_default();
        assert!(frame.ends_with("failures::fragile"), "the app's innermost frame is first: {failure:?}");
    }
}

#[test]
fn a_panic_of_two_lines_is_one_line() {
    let Err(RunError::Job(failure)) = call(&usual(), "panic_in_root", &[], shared(1)) else {
        panic!("the run must fail");
    };
    assert!(failure.message.starts_with("the root fails; in two lines, at "), "{}", failure.message);
}

#[test]
fn a_panic_is_caught_by_try_sync_and_siblings_continue() {
    gives_everywhere("panic_caught", &["12"], "fragile: job 12 is told to fail; 233 144");
}

#[test]
fn a_caught_panic_carries_the_guests_backtrace() {
    for setting in SETTINGS {
        let backtrace = text("backtrace", &["3"], setting);
        let first = backtrace.lines().next().unwrap_or_default();
        assert!(first.ends_with("failures::fragile"), "{backtrace} with {setting:?}");
    }
}

#[test]
fn a_failed_job_has_its_name_on_the_grid() {
    gives_everywhere("failure_of_renamed", &["7"], "renamed.job: 7 is too many");
}

#[test]
fn a_trap_is_caught_like_a_panic() {
    gives_everywhere("trap_caught", &["10"], "trapping; 55");
    let Err(RunError::Job(failure)) = call(&usual(), "trap", &[], shared(1)) else {
        panic!("the run must fail");
    };
    assert!(failure.message.starts_with("trap: "), "{}", failure.message);
}

#[test]
fn an_err_of_a_job_is_a_value() {
    gives_everywhere("results", &["5"], "0, 1 is odd, 1, 3 is odd, 2; 5");
}

#[test]
fn an_err_of_the_root_is_distinguished_from_bad_input() {
    let error = |function, argument| {
        call(&usual(), function, &[argument], shared(2)).map(|_| ()).expect_err("the app returns an error")
    };
    assert!(matches!(error("error_text", "7"), RunError::App(why) if why == "7 is odd"));
    assert!(matches!(error("error_boxed", "-1"), RunError::BadInput(why) if why == "-1 is negative"));
    assert!(matches!(error("error_boxed", "1"), RunError::App(why) if why.contains("invalid digit")));
}

#[test]
fn attempts_nest() {
    let bottom = "rethrow: 1 over rethrow: at the bottom";
    let mut expected = "rethrow: at the bottom".to_owned();
    for depth in 1..=6 {
        expected = format!("rethrow: {depth} over {expected}");
    }
    gives_everywhere("nested_attempts", &["6"], format!("{expected}; {bottom}"));
}

/// No single path has many nested attempts, but all paths that run or wait at once do together. The limit on
/// nesting must not depend on the number of workers.
#[test]
fn attempts_of_many_workers_do_not_add_up() {
    gives_everywhere("attempts_everywhere", &["13"], 8192);
}

#[test]
fn attempts_that_fail_leave_nothing_behind() {
    gives_everywhere("many_failures", &["400"], 200);
    gives("many_failures", &["20000"], 10_000, &[shared(1), shared(2)]);
}

/// Short siblings may follow one another in an instance, but none may find another's panic there.
#[test]
fn siblings_of_a_job_that_caught_a_failure_are_not_affected() {
    gives_everywhere("failures_of_siblings", &["300"], 100);
    gives("failures_of_siblings", &["30000"], 10_000, &[shared(1), shared(2), shared(4), shared(8)]);
}

/// More jobs than the stack of latent jobs holds, the last of which fails: only its own sync may report
/// that.
#[test]
fn a_failure_after_many_jobs_is_reported_at_its_own_sync() {
    for count in ["10", "40000"] {
        gives("failure_behind_many", &[count], "1 failed", &[shared(1), shared(2), shared(8)]);
    }
}

#[test]
fn a_dropped_failure_after_many_jobs_never_happens() {
    for count in [10, 40_000] {
        let expected = probe::failures::dropped_failure_behind_many(count);
        let count = count.to_string();
        gives("dropped_failure_behind_many", &[&count], expected, &[shared(1), shared(2), shared(8)]);
    }
}

#[test]
fn the_stack_of_latent_jobs_survives_a_sweep_within_a_failed_attempt() {
    for (below, within) in [(10, 10), (1_001, 40_000), (20_001, 40_000)] {
        let expected: u64 =
            (0..below).chain(0..within).map(|n| probe::shapes::balanced(n % 3)).sum::<u64>() + 1;
        let arguments = [below.to_string(), within.to_string()];
        let arguments = [arguments[0].as_str(), arguments[1].as_str()];
        gives("swept_in_attempt", &arguments, expected, &[shared(1), shared(2)]);
    }
}
