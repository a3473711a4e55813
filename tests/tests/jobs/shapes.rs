//! Trees of extreme shapes.

use sateen_host::{Limits, RunError};
use sateen_tests::grid::{
    SETTINGS, Setting, call, gives, gives_everywhere, limited, pristine, shared, usual,
};

#[test]
fn a_balanced_tree_gives_its_known_answer() {
    gives_everywhere("balanced", &["15"], probe::shapes::balanced(15));
    // OEIS A000045.
    gives("balanced", &["30"], 832_040, &[shared(1), shared(2), shared(8)]);
}

/// fib(n) spawns once for each addition: as often as the tree has inner nodes.
#[test]
fn every_spawn_is_counted_once_whichever_worker_runs_it() {
    let spawns = probe::shapes::balanced(16) + probe::shapes::balanced(15) - 1;
    for setting in SETTINGS {
        let jobs = call(&usual(), "balanced", &["16"], setting).expect("it runs").jobs;
        assert_eq!(jobs.spawned, spawns + 1, "the spawns and the root, with {setting:?}");
        assert_eq!((jobs.executed, jobs.aborted), (jobs.spawned, 0), "with {setting:?}");
        assert!(jobs.exposed <= spawns && jobs.stolen <= jobs.exposed, "{jobs:?} with {setting:?}");
        if setting == shared(1) {
            assert_eq!(jobs.exposed, 0, "alone, a worker has nobody to expose for");
        }
        if setting == pristine(4) {
            assert_eq!(jobs.exposed, spawns, "every job has an instance of its own");
        }
    }
}

/// All levels of the comb and of the chain are on the stack at once. If that is too deep, the error
/// says which limit was met and how to raise it.
#[test]
fn recursion_100_000_deep_works_or_names_its_limit() {
    const DEPTH: u64 = 100_000;
    for (function, expected) in [("skewed", DEPTH * (DEPTH + 1) / 2), ("chain", DEPTH)] {
        for setting in [shared(1), shared(2), shared(4), shared(8)] {
            works_or_names_its_limit(function, DEPTH, expected, setting);
        }
    }
    works_or_names_its_limit("chain", DEPTH, DEPTH, pristine(2));
}

fn works_or_names_its_limit(function: &str, depth: u64, expected: u64, setting: Setting) {
    match call(&usual(), function, &[&depth.to_string()], setting) {
        Ok(finished) => assert_eq!(finished.output, sateen_host::Output::Text(expected.to_string())),
        Err(RunError::Limit(limit)) => {
            assert!(limit.to_string().contains("; raise it with"), "{limit}");
        }
        Err(other) => panic!("{function} with {setting:?}: {other:?}"),
    }
}

/// At this depth, the comb works under the default limits.
#[test]
fn recursion_100_000_deep_works_by_default() {
    gives("skewed", &["100000"], 5_000_050_000_u64, &[shared(1), shared(2), shared(8)]);
    gives("chain", &["100000"], 100_000, &[shared(1), shared(2), shared(8)]);
}

#[test]
fn deeper_recursion_works_with_a_larger_stack() {
    let tight = limited(&Limits { stack_bytes_max: 1 << 20, ..Limits::default() });
    let depth = ["skewed", "100000"];
    let refused = call(&tight, depth[0], &depth[1..], shared(2)).expect_err("a stack of 1 MiB is too small");
    assert!(refused.to_string().contains("stack of 1 MiB allows; raise it with --stack"), "{refused}");
    gives("skewed", &["100000"], 5_000_050_000_u64, &[shared(2)]);
}

#[test]
fn ten_million_spawns_in_one_loop_do_not_exhaust_memory() {
    let expected = 10_000_000_u64 * 9_999_999 / 2;
    gives("flat", &["10000000"], expected, &[shared(1), shared(2)]);
    gives("flat_in_order", &["10000000"], expected, &[shared(1), shared(2)]);
}

/// More jobs than one instance may have outstanding, each in its own instance.
#[test]
fn flat_spawns_beyond_the_outstanding_limit_work() {
    gives("flat", &["70000"], 70_000_u64 * 69_999 / 2, &[pristine(1), pristine(2)]);
}

#[test]
fn coarse_jobs_are_found_without_another_spawn() {
    let expected = probe::shapes::coarse_flat(16, 2_000_000);
    gives_everywhere("coarse_flat", &["16", "2000000"], expected);
    let jobs = call(&usual(), "coarse_flat", &["16", "20000000"], shared(2)).expect("it runs").jobs;
    assert!(jobs.stolen >= 1, "a flat parent shares its coarse jobs: {jobs:?}");
}
