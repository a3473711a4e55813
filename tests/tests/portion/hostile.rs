//! Hostile modules in a portion, where a returned job must be recorded.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use sateen_host::{App, Engine, Limits, Notice, Portion, PortionOptions, RunCommand};
use sateen_protocol::{HeldId, JobSpec, Lineage, Outcome, ROOT_KIND};
use sateen_tests::wat::{app, app_with, bytes, tight};

use crate::lost;

/// A portion of a module's run, its notices, and the root job.
fn start(text: &str, lookup_below: u32) -> (Portion, Receiver<Notice>, JobSpec) {
    let limits = Limits { guard_wait_max: Duration::from_millis(100), ..tight() };
    let engine = Engine::new(&limits, false).expect("this machine can run guests");
    let app = App::load(&engine, &bytes(text), None).expect("it loads");
    let (notify, notices) = channel();
    let portion = Portion::start(
        &app,
        PortionOptions {
            threads: 1,
            notify: Arc::new(move |notices| {
                for notice in notices {
                    let _ = notify.send(notice);
                }
            }),
            ..PortionOptions::default()
        },
    );
    let (key, parameters) = app.root_key("main", &[], b"").expect("words always encode");
    let lineage = Lineage::default();
    let spec = JobSpec {
        key,
        kind: ROOT_KIND,
        parameters: parameters.into(),
        depth: 0,
        lineage,
        redone: lookup_below > 0,
        given_back: false,
        lookup_below,
        objects: Vec::new(),
    };
    (portion.expect("it starts"), notices, spec)
}

/// The outcome of a module; lookups are answered with a miss.
fn outcome(text: &str, lookup_below: u32) -> Result<Outcome, String> {
    let (portion, notices, spec) = start(text, lookup_below);
    portion.handle(RunCommand::Inject { held: HeldId(1), was_begun: spec.was_begun(), spec });
    loop {
        match notices.recv_timeout(Duration::from_secs(30)).expect("it does not hang") {
            Notice::Finished { held, finished } => {
                assert_eq!(held, HeldId(1));
                return Ok(finished.outcome);
            }
            Notice::Lookup { number, .. } => {
                portion.handle(RunCommand::Requeue { number, again: lost(0) });
            }
            Notice::Limit(message) | Notice::Unable(message) => return Err(message),
            Notice::Failed(failure) => return Err(failure.message),
            _ => {}
        }
    }
}

#[track_caller]
fn fine(body: &str) {
    let outcome = outcome(&app(body), 0);
    assert!(matches!(&outcome, Ok(Outcome::Done(bytes)) if **bytes == *b"\x00\x0242"), "{body}: {outcome:?}");
}

#[track_caller]
fn broken(body: &str, word: &str) {
    match outcome(&app(body), 0) {
        Ok(Outcome::Failed(failure)) => {
            let failure = String::from_utf8_lossy(&failure).into_owned();
            assert!(failure.contains("breaks the ABI") && failure.contains(word), "{body}: {failure}");
        }
        other => panic!("{body}: {other:?}"),
    }
}

/// A missing object may come from another host, so it is waited for; an object need not be opened to be requested.
#[test]
fn objects_that_never_come_end_the_run() {
    fine("(drop (call $share (i32.const 0) (i32.const 0) (i32.const 0)))");
    fine("(drop (call $open (i32.const 0)))");
    fine("(call $hold (i32.const 16) (i32.const 1))");
    for (body, word) in [
        (
            "(drop (call $catch_up (call $open (i32.const 0))))",
            "no host had the shared object 00000000000000000000000000000000 within ",
        ),
        (
            "(loop $more (call $hold (i32.const 16) (i32.const 1)) (br $more))",
            "the guard `j` of the job `main`",
        ),
    ] {
        let ended = outcome(&app(body), 0);
        let Err(message) = ended else { panic!("{body}: {ended:?}") };
        assert!(message.contains(word) && message.contains("--guard-limit"), "{body}: {message}");
    }
}

/// Exposes a job from depth 7 and takes it back, to be recorded.
const BACK: &str = "(local $job i32) (local $answer i64)
    (local.set $job (call $expose (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 7)))
    (local.set $answer (call $sync (local.get $job)))
    (if (i64.ne (local.get $answer) (i64.const 0x300000007)) (then unreachable))";

#[test]
fn record_checks_the_job_and_the_result() {
    let record = "(call $record (local.get $job) (i32.const 0) (i32.const 8))";
    fine(BACK);
    fine(&format!("{BACK} {record}"));
    fine(&format!("{BACK} (call $abandon (local.get $job))"));
    broken(&format!("{BACK} {record} {record}"), "which it was not asked to");
    // It took hardly any time, so its record is not wanted, which ends it.
    let wants = "(if (call $wants_record (local.get $job)) (then unreachable))";
    fine(&format!("{BACK} {wants}"));
    for later in [record, wants] {
        broken(&format!("{BACK} {wants} {later}"), "which it was not asked to");
        broken(&format!("{BACK} {record} {later}"), "which it was not asked to");
    }
    broken(&format!("{BACK} (drop (call $wants_record (i32.const 9)))"), "which it was not asked to");
    broken(&format!("{BACK} (call $abandon (local.get $job)) {record}"), "which it was not asked to");
    broken(&format!("{BACK} (drop (call $sync (local.get $job)))"), "which it has not exposed");
    broken(
        &format!("{BACK} (call $record (local.get $job) (i32.const 65536) (i32.const 1))"),
        "outside its memory",
    );
    broken(
        &format!("{BACK} (call $record (i32.const 9) (i32.const 0) (i32.const 0))"),
        "it was not asked to",
    );
    let long = format!("{BACK} (call $record (local.get $job) (i32.const 0) (i32.const -1))");
    let limit = outcome(&app(&long), 0);
    assert!(matches!(&limit, Err(message) if message.contains("the result of a job")), "{limit:?}");
}

#[test]
fn depths_may_be_anything() {
    for depth in ["0", "1", "0x7fffffff", "-1"] {
        fine(&format!(
            "(drop (call $sync (call $expose (i32.const 0) (i32.const 0) (i32.const 0) (i32.const {depth}))))"
        ));
    }
}

/// More lookups than are allowed, none of them synced: each is given up at the end.
#[test]
fn lookups_are_bounded() {
    let body = "(local $n i32) (call $attach (i32.const 4096))
        (if (i32.ne (i32.load (i32.const 4108)) (i32.const 5)) (then unreachable))
        (loop $more
            (drop (call $expose (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)))
            (br_if $more (i32.lt_u (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const 20000))))";
    let outcome = outcome(&app(body), 5);
    assert!(matches!(outcome, Ok(Outcome::Done(_))), "{outcome:?}");
}

#[test]
fn unrecorded_jobs_of_an_attempt_are_forgotten() {
    let attempt = format!(
        r#"(func (export "sateen_attempt") (param i32) {BACK} unreachable)
        (func (export "sateen_job_j") (param i32) (result i64) (i64.const 0))"#
    );
    let body = "(local $n i32) (loop $more
        (drop (call $attempt (i32.const 0)))
        (br_if $more (i32.lt_u (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const 100))))";
    let outcome = outcome(&app_with(&attempt, body), 0);
    assert!(matches!(outcome, Ok(Outcome::Done(_))), "{outcome:?}");
}

/// Its result would be recorded, and used, as that of the other job.
#[test]
fn a_job_under_the_key_of_another_is_not_run() {
    let (portion, notices, root) = start(&app(""), 0);
    let spec = JobSpec { kind: 0, depth: 1, parameters: vec![7].into(), ..root };
    portion.handle(RunCommand::Inject { held: HeldId(5), was_begun: false, spec });
    let told = std::iter::from_fn(|| notices.recv_timeout(Duration::from_secs(30)).ok());
    let told = told.take_while(|notice| !matches!(notice, Notice::Misnamed { held: HeldId(5) }));
    let others: Vec<Notice> =
        told.filter(|notice| !matches!(notice, Notice::Idle(_) | Notice::Counts(_))).collect();
    assert!(others.is_empty(), "{others:?}");
}

/// The heartbeat sleeps while no guest computes. A guest that waits as soon as it has begun must not be missed.
#[test]
fn a_guard_meets_its_limit_though_its_guest_has_hardly_computed() {
    let hold = "(call $hold (i32.const 16) (i32.const 1))";
    for _ in 0..20 {
        let (portion, notices, spec) = start(&app(&format!("{hold} {hold}")), 0);
        // The heartbeat sleeps by now.
        std::thread::sleep(Duration::from_millis(50));
        portion.handle(RunCommand::Inject { held: HeldId(1), was_begun: spec.was_begun(), spec });
        let message = loop {
            match notices.recv_timeout(Duration::from_secs(20)).expect("it does not hang") {
                Notice::Limit(message) => break message,
                Notice::Finished { finished, .. } => panic!("{finished:?}"),
                _ => {}
            }
        };
        assert!(message.contains("the guard `j` of the job `main` was false for "), "{message}");
    }
}
