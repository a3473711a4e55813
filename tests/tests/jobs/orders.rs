//! Handles synced in any order, dropped, and moved about.

use sateen_tests::grid::{SETTINGS, call, gives, gives_everywhere, shared, usual};

#[test]
fn five_jobs_give_the_same_in_each_of_their_120_orders() {
    gives_everywhere("every_order", &["6"], probe::orders::every_order(6));
    gives("every_order", &["14"], probe::orders::every_order(14), &[shared(2), shared(8)]);
}

#[test]
fn a_sliding_window_of_handles_leaves_nothing_behind() {
    for (count, width) in [(1_000, 0), (1_000, 7), (1_000, 999)] {
        let expected = count * (count - 1) / 2;
        gives_everywhere("sliding_window", &[&count.to_string(), &width.to_string()], expected);
    }
    // A hundred times what the stack of latent jobs holds passes through it.
    gives("sliding_window", &["4000000", "5"], 4_000_000_u64 * 3_999_999 / 2, &[shared(1), shared(2)]);
}

#[test]
fn dropped_jobs_are_aborted_and_the_others_are_not() {
    gives_everywhere("dropped", &["300"], probe::orders::dropped(300));
    let jobs = call(&usual(), "dropped", &["300"], shared(1)).expect("it runs").jobs;
    assert_eq!(jobs.aborted, 200, "{jobs:?}");
    for setting in SETTINGS {
        let jobs = call(&usual(), "dropped", &["300"], setting).expect("it runs").jobs;
        // One that somebody had finished already was executed.
        assert!(jobs.aborted <= 200 && jobs.executed + jobs.aborted == jobs.spawned, "{jobs:?}");
    }
}

#[test]
fn a_dropped_job_that_never_ends_is_stopped() {
    gives_everywhere("dropped_while_running", &["12"], 12);
}

#[test]
fn handles_may_move() {
    gives_everywhere("moved", &["9"], probe::orders::moved(9));
}

#[test]
fn records_of_many_frames_may_lie_between_one_another() {
    gives_everywhere("braid", &["5"], probe::orders::braid(5));
    gives("braid", &["11"], probe::orders::braid(11), &[shared(1), shared(2), shared(8)]);
}
