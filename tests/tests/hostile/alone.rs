//! Modules that end otherwise on a grid, where other hosts, recordings and limits of the whole run have a part.

use sateen_host::{App, Engine, Limits, Run, RunOptions};
use sateen_tests::grid::finish;
use sateen_tests::hostile::imports::{ABANDON, EXPOSE, SHARE, SYNC};
use sateen_tests::hostile::jobs::SPAWN_AND_SYNC;
use sateen_tests::hostile::starts::starting;
use sateen_tests::wat::End::{Broken, Fine, Limit, Refused};
use sateen_tests::wat::{app, app_with, bytes, ends, ends_under, tight};

/// In a portion, its recording may be abandoned.
#[test]
fn a_job_that_was_synced_cannot_be_abandoned() {
    let body = format!("{EXPOSE} {SYNC} {ABANDON}");
    ends(&body, &app(&body), Broken("which it has not exposed"));
}

/// On a grid, a limit of the host comes before.
#[test]
fn shared_objects_are_not_made_without_end() {
    let body = "(loop $more (drop (call $share (i32.const 0) (i32.const 0) (i32.const 1))) (br $more))";
    ends(body, &app(body), Broken("more than 65536 shared objects open"));
}

/// On a grid, another host may have it.
#[test]
fn an_object_to_which_no_job_has_a_reference_is_not_opened() {
    let gone = format!("{SHARE} (call $close (local.get $o)) (drop (call $open (i32.const 1024)))");
    for body in ["(drop (call $open (i32.const 1024)))", &gone] {
        ends(body, &app(body), Broken("to which no job has a reference"));
    }
}

/// A whole run records nothing; `tests/portion` covers requested records.
#[test]
fn record_must_be_requested() {
    for number in ["0", "1", "-1"] {
        let body = format!(
            "(drop (call $expose (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)))
            (call $record (i32.const {number}) (i32.const 0) (i32.const 0))"
        );
        ends(&body, &app(&body), Broken("which it was not asked to"));
        let body = format!("(drop (call $wants_record (i32.const {number})))");
        ends(&body, &app(&body), Broken("which it was not asked to"));
    }
}

/// Each job spawns the next and waits for it, endlessly: all instances wait, and then the last
/// ones recurse in place, until a limit is met.
#[test]
fn a_chain_of_waits_without_end_meets_a_limit() {
    let expose = "(i64.or (call $sync (call $expose (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0))) (i64.const 0)) drop";
    let chain = app_with(
        &format!(
            r#"(func (export "sateen_job_j") (param i32) (result i64) (loop {expose} (br 0)) (i64.const 0))"#
        ),
        SPAWN_AND_SYNC,
    );
    ends("chain", &chain, Limit("raise it with"));
}

#[test]
fn false_counters_do_not_corrupt_the_figures() {
    let body = "(drop (call $register (i32.const 16) (i32.const 1) (i32.const 1024)))
        (i64.store (i32.const 1032) (i64.const -1)) (i64.store (i32.const 1040) (i64.const -1))";
    let engine = Engine::new(&tight(), false).expect("this machine can run guests");
    let app = App::load(&engine, &bytes(&app(body)), None).expect("it loads");
    let run = Run::start(&app, RunOptions { threads: 2, ..RunOptions::default() }).expect("it starts");
    let jobs = finish(run).expect("it harms nobody").jobs;
    assert!(jobs.spawned >= 1, "the root at least: {jobs:?}");
}

#[test]
fn modules_that_are_too_large_are_refused() {
    let limits = Limits { module_bytes_max: 1000, ..tight() };
    let data = bytes(&app_with(&format!(r#"(data (i32.const 0) "{}")"#, "x".repeat(1000)), ""));
    ends_under(&limits, "module", &data, Refused("larger than the limit of 1000 B"));
}

#[test]
fn a_start_function_cannot_use_memory_through_the_host() {
    for call in [
        "(call $take (i32.const 0))",
        "(call $log (i32.const 16) (i32.const 1))",
        "(drop (call $register (i32.const 16) (i32.const 1) (i32.const 1024)))",
        "(drop (call $input (i32.const 16) (i32.const 1)))",
        "(call $fail (i32.const 2) (i32.const 16) (i32.const 1))",
    ] {
        ends(call, &starting(call), Broken("before it is started"));
    }
    ends("attach", &starting("(call $attach (i32.const 0))"), Fine);
    ends("sync", &starting("(drop (call $sync (i32.const 1)))"), Broken("which it has not exposed"));
}
