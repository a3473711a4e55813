//! `--profile`: work and span depend on the program, not on the schedule. The tests compare the processor time of
//! threads of the same run, so other processes do not matter; the bars are still wide.

use std::ops::Range;
use std::time::Duration;

use sateen_host::{App, Engine, Finished, ProgramProfile, Run, RunError, RunOptions};
use sateen_tests::grid::{Setting, call, finish, pristine, profiled, shared, usual};
use sateen_tests::wat::{FRAME, GOOD, app, bytes, tight};

const SETTINGS: [Setting; 3] = [profiled(1), profiled(2), profiled(8)];
/// A piece of work: some two milliseconds.
const STEPS: &str = "2000000";
/// Runs until one is as expected.
const ATTEMPTS: usize = 3;

#[track_caller]
fn parallelism(function: &str, arguments: &[&str], setting: Setting) -> f64 {
    let profile = profile(function, arguments, setting);
    let parallelism = profile.work.as_secs_f64() / profile.span.as_secs_f64();
    eprintln!("{function} with {setting:?}: {:?} / {:?} = {parallelism}", profile.work, profile.span);
    parallelism
}

#[track_caller]
fn profile(function: &str, arguments: &[&str], setting: Setting) -> ProgramProfile {
    let finished = call(&usual(), function, arguments, setting).expect("it runs");
    finished.profile.expect("it was profiled")
}

/// Asserts that the parallelism is in `range`. A virtual machine's processor time jumps by tens of milliseconds now and
/// then, which distorts one run; a wrong profile is wrong each time.
#[track_caller]
fn expect_parallelism(range: Range<f64>, function: &str, arguments: &[&str], setting: Setting) {
    expect(range, || parallelism(function, arguments, setting));
}

#[track_caller]
fn expect(range: Range<f64>, measure: impl Fn() -> f64) {
    let mut found = Vec::new();
    while found.len() < ATTEMPTS {
        found.push(measure());
        if found.last().is_some_and(|value| range.contains(value)) {
            return;
        }
    }
    panic!("not in {range:?}: {found:?}");
}

#[test]
fn independent_pieces_are_parallel_on_one_worker_too() {
    for function in ["pieces", "pieces_in_a_set"] {
        for setting in SETTINGS {
            expect_parallelism(16.0..33.0, function, &["32", STEPS], setting);
        }
    }
}

#[test]
fn a_sequence_is_not_parallel_on_many_workers_either() {
    for setting in SETTINGS {
        expect_parallelism(0.9..1.2, "pieces_in_a_row", &["16", STEPS], setting);
    }
}

#[test]
fn a_tree_is_as_parallel_as_it_has_leaves() {
    for setting in SETTINGS {
        expect_parallelism(16.0..33.0, "tree", &["5", STEPS], setting);
    }
}

#[test]
fn a_job_that_takes_longer_than_those_before_it_is_examined() {
    for setting in SETTINGS {
        expect_parallelism(8.0..33.0, "surprise", &["5", STEPS], setting);
    }
}

#[test]
fn jobs_in_separate_instances_are_measured_the_same() {
    let setting = Setting { profile: true, ..pristine(2) };
    expect_parallelism(16.0..33.0, "tree", &["5", STEPS], setting);
}

#[test]
fn a_run_that_is_not_profiled_has_no_profile() {
    let finished = call(&usual(), "tree", &["3", "100"], shared(2)).expect("it runs");
    assert!(finished.profile.is_none());
}

#[test]
fn levels_are_those_of_the_spawns() {
    let profile = profile("tree", &["3", STEPS], profiled(1));
    let levels: Vec<_> = profile.levels.iter().map(|level| (level.depth, level.jobs)).collect();
    assert!(profile.levels.iter().all(|level| level.job == "halves"), "{:?}", profile.levels);
    // The root follows one branch itself at each of three levels, and spawns the other; and so does each spawned job.
    assert_eq!(levels, [(1, 3), (2, 3), (3, 1)]);
}

/// Asserts that the work of a program is in `range`, in pieces of `STEPS`.
#[track_caller]
fn expect_pieces(range: Range<f64>, function: &str, arguments: &[&str], setting: Setting) {
    expect(range, || pieces(function, arguments, setting));
}

/// The work of a program, in pieces of `STEPS`, relative to a piece measured by its first run.
fn pieces(function: &str, arguments: &[&str], setting: Setting) -> f64 {
    let one = profile("pieces_in_a_row", &["8", STEPS], profiled(1)).work / 8;
    let work = profile(function, arguments, setting).work;
    eprintln!("{function} with {setting:?}: {work:?}, a piece {one:?}");
    work.as_secs_f64() / one.as_secs_f64()
}

/// Runs in which each job has its own sandbox, and so makes all values that it needs itself.
const EACH: Setting = Setting { profile: true, ..pristine(2) };

#[test]
fn values_made_per_sandbox_count_once() {
    // Two tables, and twelve jobs that take a sixteenth each. If sandboxes' tables counted, each job would make one
    // more.
    for setting in [profiled(1), profiled(8), EACH] {
        expect_pieces(2.0..4.0, "tables", &["2", "6", STEPS], setting);
    }
    let made = |setting| profile("tables", &["2", "6", "100"], setting).per_sandbox;
    let all = made(EACH);
    assert_eq!((all.made, all.again), (2, 12), "each job has a sandbox that makes one");
    let one = made(profiled(1));
    assert_eq!((one.made, one.again), (2, 0), "they share the root's, and what is prepared does not count");
    // Each sandbox is fresh.
    expect_pieces(8.0..f64::INFINITY, "untold_tables", &["12", STEPS], EACH);
}

#[test]
fn work_of_each_replica_counts_at_most_once() {
    // Eight jobs, and four updates that are applied at the next read of the object, which may be a guard's.
    for (function, setting) in ["slow_replicas", "guarded_replicas"]
        .into_iter()
        .flat_map(|function| [profiled(1), profiled(8), EACH].map(|setting| (function, setting)))
    {
        expect_pieces(9.0..16.0, function, &["4", "8", STEPS], setting);
    }
    // Nobody applies the updates.
    expect_pieces(0.0..4.0, "slow_replicas", &["8", "0", STEPS], profiled(1));
}

#[test]
fn work_after_a_failure_counts() {
    for setting in [profiled(1), EACH] {
        expect_pieces(0.7..1.5, "goes_on_after_a_failure", &[STEPS], setting);
    }
}

#[test]
fn work_that_depends_on_the_schedule_is_named() {
    let depends = |function: &str, arguments: &[&str]| {
        [profiled(1), profiled(4), EACH].map(|setting| {
            let profile = profile(function, arguments, setting);
            (profile.shared_objects.join(" "), profile.dropped.join(" "))
        })
    };
    let all = |objects: &str, dropped: &str| [(); 3].map(|()| (objects.to_owned(), dropped.to_owned()));
    assert_eq!(depends("tree", &["3", "100"]), all("", ""));
    assert_eq!(depends("pieces_in_a_set", &["8", "100"]), all("", ""));
    // The root's own updates have the same order in every schedule.
    assert_eq!(depends("slow_replicas", &["2", "2", "100"]), all("", ""));
    assert_eq!(depends("told_by_jobs", &["4"]), all("Slow", ""));
    assert_eq!(depends("first_of_pieces", &["8", "100"]), all("", "stretch"));
}

#[test]
fn no_more_workers_compute_than_there_are_cores() {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let options = RunOptions {
        function: "pieces".to_owned(),
        arguments: ["64", STEPS].map(str::to_owned).into(),
        threads: 4 * cores,
        profile: true,
        ..RunOptions::default()
    };
    let run = Run::start(&usual(), options).expect("it starts");
    let mut busy = Vec::new();
    while !run.wait_for(Duration::from_millis(1)) {
        busy.push(run.snapshot().busy);
    }
    assert!(busy.contains(&cores) && busy.iter().all(|busy| *busy <= cores), "{cores} cores: {busy:?}");
    assert_eq!(finish(run).expect("it runs").threads, 4 * cores);
}

/// Runs a module in text, profiled.
fn run_profiled(text: &str) -> Result<Finished, RunError> {
    let engine = Engine::new(&tight(), false).expect("this machine can run guests");
    let app = App::load(&engine, &bytes(text), None).expect("it is a good app");
    let options = RunOptions { profile: true, threads: 2, ..RunOptions::default() };
    finish(Run::start(&app, options)?)
}

#[test]
fn a_module_that_cannot_be_profiled_is_refused() {
    let text =
        format!(r#"(module {FRAME} (func (export "sateen_main_main") (param i32) (result i64) {GOOD}))"#);
    let error = run_profiled(&text).expect_err("it is refused").to_string();
    assert!(error.contains("cannot be profiled") && error.contains("`measure`"), "{error}");
}

#[test]
fn reports_of_hostile_modules_do_no_harm() {
    let tell = |moment: u32, rest: &str| format!("(drop (call $measure (i32.const {moment}) {rest}))");
    let nothing = "(i32.const 0) (i32.const 0) (i32.const 0)";
    let wild = "(i32.const -1) (i32.const -1) (i32.const -1)";
    // Before it has attached its control words, and out of order.
    let moments = [0, 1, 2, 3, 4, 5, 6, 6, 1, 0, 7, 8, 8, 9, 11, 7, 0, 5, 5, 9];
    let all: String = moments.map(|moment| tell(moment, wild)).concat();
    assert!(run_profiled(&app(&all)).is_ok());
    let attached = format!("(call $attach (i32.const -4)) {all} (call $attach (i32.const 65528)) {all}");
    assert!(run_profiled(&app(&attached)).is_ok());
    for (moment, expected) in [
        (4, "has not called"),
        (8, "not begun"),
        (9, "did not begin"),
        (12, "not opened"),
        (13, "which does not exist"),
    ] {
        let error = run_profiled(&app(&tell(moment, nothing))).expect_err("it breaks the ABI").to_string();
        assert!(error.contains(expected), "{error}");
    }
    let calls = format!("(loop $again {} (br $again))", tell(3, wild));
    let error = run_profiled(&app(&calls)).expect_err("it has a bound").to_string();
    assert!(error.contains("more calls than it can have"), "{error}");
    let makings = format!("(loop $again {} (br $again))", tell(7, wild));
    let error = run_profiled(&app(&makings)).expect_err("it has a bound").to_string();
    assert!(error.contains("too many things"), "{error}");
    let error = run_profiled(&app(&tell(10, wild))).expect_err("its name is elsewhere").to_string();
    assert!(error.contains("a text"), "{error}");
    // An endless sequence of new records does not fill memory.
    let spawns = "(local $at i32) (loop $again
        (drop (call $measure (i32.const 2) (local.get $at) (i32.const 0) (i32.const 0)))
        (local.set $at (i32.add (local.get $at) (i32.const 1)))
        (br_if $again (i32.lt_u (local.get $at) (i32.const 1000000))))";
    assert!(run_profiled(&app(spawns)).is_ok());
}
