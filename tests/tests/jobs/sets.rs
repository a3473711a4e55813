//! Sets: results in the order in which jobs finish, and aborts.

use sateen_host::{Limits, RunError};
use sateen_tests::grid::{SETTINGS, call, gives, gives_everywhere, limited, pristine, shared, usual};

#[test]
fn every_result_of_a_set_comes_once() {
    for count in [0, 1, 2, 300] {
        gives_everywhere("set_sum", &[&count.to_string(), "50"], probe::sets::set_sum(count, 50));
    }
    gives("set_sum", &["64", "200000"], 64 * 63 / 2, &SETTINGS);
    // Several times the capacity of the stack of latent jobs.
    gives("set_sum", &["100000", "1"], 100_000_u64 * 99_999 / 2, &[shared(1), shared(2), shared(8)]);
}

#[test]
fn more_jobs_than_the_stack_holds_give_the_right_sum() {
    gives("bag", &["100000", "1"], 100_000_u64 * 99_999 / 2, &[shared(1), shared(2), shared(8)]);
    let jobs = call(&usual(), "bag", &["100000", "200"], shared(4)).expect("it runs").jobs;
    assert_eq!((jobs.executed, jobs.spawned), (100_001, 100_001), "{jobs:?}");
}

#[test]
fn a_tree_of_sets_gives_its_known_answer() {
    gives_everywhere("set_balanced", &["14"], probe::sets::set_balanced(14));
    // OEIS A000045.
    gives("set_balanced", &["27"], 196_418, &[shared(1), shared(2), shared(8)]);
}

#[test]
fn sets_and_single_spawns_may_be_interleaved() {
    gives_everywhere("thickets", &["3"], probe::sets::thickets(3));
    gives("thickets", &["5"], probe::sets::thickets(5), &[shared(1), shared(2), shared(8)]);
    gives_everywhere("moved_set", &["100"], probe::sets::moved_set(100));
}

/// A set whose row was empty must not mistake later records in its place for its own.
#[test]
fn handles_may_reuse_the_place_of_a_sets_jobs() {
    gives_everywhere("handles_in_a_sets_place", &["60"], probe::sets::handles_in_a_sets_place(60));
}

/// On one worker jobs run in the order of their spawns.
#[test]
fn the_first_answer_ends_the_others() {
    gives_everywhere("first_yes", &["20", "0"], 1);
    for setting in [shared(1), pristine(1)] {
        let jobs = call(&usual(), "first_yes", &["20", "0"], setting).expect("it runs").jobs;
        assert_eq!(jobs.aborted, 19, "{jobs:?}");
    }
    // A later job answers while an older one, which would never end, runs, so not on the spawner's worker.
    gives("first_yes", &["20", "1"], 1, &[shared(2), shared(4), shared(8), pristine(2), pristine(4)]);
}

#[test]
fn a_search_result_does_not_depend_on_aborts() {
    let expected = probe::sets::searches(40, 3);
    gives_everywhere("searches", &["40", "3"], expected);
    let aborted = call(&usual(), "searches", &["40", "3"], shared(8)).expect("it runs").jobs;
    assert!(aborted.aborted > 0 && aborted.executed + aborted.aborted == aborted.spawned, "{aborted:?}");
    gives("searches", &["30", "5"], probe::sets::searches(30, 5), &[shared(1), shared(2), shared(8)]);
}

#[test]
fn failures_in_a_set_are_values_or_end_the_run() {
    let expected = probe::sets::odd_ones(20);
    assert!(expected.starts_with("1: 1 is odd\n3: 3 is odd\n"), "{expected}");
    gives_everywhere("odd_ones", &["20"], expected);
    for setting in SETTINGS {
        match call(&usual(), "odd_one", &["20"], setting) {
            Err(RunError::Job(failure)) => {
                assert_eq!(failure.job, "even");
                assert!(failure.message.starts_with("1 is odd"), "{failure:?}");
            }
            other => panic!("with {setting:?}: {other:?}"),
        }
    }
}

#[test]
fn a_stream_yields_each_result_once() {
    gives_everywhere("streamed", &["2000", "20"], 2_000_u64 * 1_999 / 2);
    gives_everywhere("left_stream", &["2000"], probe::sets::left_stream(2000));
    gives("streamed", &["0", "20"], 0, &SETTINGS);
}

/// A million children, whose parameters alone are 2 GB, under 64 MiB.
#[test]
fn a_stream_is_longer_than_memory() {
    let tight = Limits { memory_bytes_max: 64 << 20, ..Limits::default() };
    for setting in [shared(1), shared(2), shared(8)] {
        let finished = call(&limited(&tight), "streamed", &["1000000", "1"], setting).expect("it fits");
        assert_eq!(finished.output, sateen_host::Output::Text((1_000_000_u64 * 999_999 / 2).to_string()));
        assert_eq!(finished.jobs.spawned, 1_000_001, "{:?}", finished.jobs);
    }
    let finished = call(&limited(&tight), "streamed_weights", &["1000000"], shared(2)).expect("it fits");
    assert_eq!(finished.output, sateen_host::Output::Text((1_000_000_u64 * 999_999 / 2).to_string()));
}

#[test]
fn ten_thousand_children_are_aborted_at_once() {
    gives_everywhere("abort_many", &["10000"], 1);
    let jobs = call(&usual(), "abort_many", &["10000"], shared(1)).expect("it runs").jobs;
    assert_eq!((jobs.spawned, jobs.aborted), (10_002, 9_999), "{jobs:?}");
}
