//! A portion dropped in the middle costs little: recorded results are looked up.

use std::time::Duration;

use sateen_tests::random::seed;

use crate::shuttle::{Shuttle, Task, sample};

/// A problem that takes a second on one worker, recorded as often relative to its length as one of a minute.
fn queens() -> Task {
    let mut task = Task::new(sample("nqueens"), "main", &["15"]);
    task.record_every = Some(Duration::from_millis(2));
    task
}

const ANSWER: &str = "2279184";

#[test]
fn the_roots_host_crashes_and_its_work_is_not_lost() {
    let mut alone = Shuttle::new(queens(), &[1], 0);
    alone.begin(0);
    assert_eq!(alone.finish(), ANSWER);
    let whole = alone.counts()[0].jobs.executed;
    drop(alone);

    let mut shuttle = Shuttle::new(queens(), &[1], 0);
    shuttle.begin(0);
    shuttle.run_until(|shuttle| shuttle.counts()[0].jobs.spawned > whole * 7 / 10);
    let successor = shuttle.add(1);
    shuttle.crash(0, successor);
    assert_eq!(shuttle.finish(), ANSWER);
    let again = &shuttle.counts()[0].jobs;
    assert!(again.reused > 0, "{again:?}");
    // Three tenths were still to be done.
    assert!(again.executed < whole * 6 / 10, "{again:?} of {whole}");
}

/// The host that takes over a lost root does its remaining work for the first time, as does the owner of a lost job.
#[test]
fn new_work_below_a_lost_job_is_not_redone() {
    let mut alone = Shuttle::new(queens(), &[1], 0);
    alone.begin(0);
    assert_eq!(alone.finish(), ANSWER);
    let whole = alone.counts()[0].jobs.executed;
    drop(alone);

    for crashing in [0, 1] {
        let mut shuttle = Shuttle::new(queens(), &[1, 1], 0);
        shuttle.begin(0);
        shuttle.run_until(|shuttle| shuttle.counts()[crashing].jobs.spawned > whole / 8);
        let before = shuttle.counts()[1 - crashing].work;
        shuttle.crash(crashing, 1 - crashing);
        assert_eq!(shuttle.finish(), ANSWER);
        let left = &shuttle.counts()[0];
        let (since, redone) = (left.work.saturating_sub(before), left.redone_work);
        assert!(redone > Duration::ZERO, "something was lost: {left:?}");
        assert!(redone < since / 4, "{redone:?} of {since:?} are said to be done again: {left:?}");
    }
}

/// The owner of a lost job waits for it, and so calls it in place: the thief's recorded results are found
/// there as well.
#[test]
fn a_thief_crashes_and_its_work_is_not_lost() {
    let mut alone = Shuttle::new(queens(), &[1], 0);
    alone.begin(0);
    assert_eq!(alone.finish(), ANSWER);
    let whole = alone.counts()[0].jobs.spawned;
    drop(alone);

    let mut shuttle = Shuttle::new(queens(), &[1, 1], 0);
    shuttle.begin(0);
    // On a busy machine it may be waiting for a job by then, with its work delivered.
    shuttle.run_until(|shuttle| {
        shuttle.counts()[1].jobs.spawned > whole / 4 && shuttle.has_recorded_part_of_a_loan(1)
    });
    let lost = shuttle.counts()[1].jobs.spawned;
    shuttle.crash(1, 0);
    assert_eq!(shuttle.finish(), ANSWER);
    let left = &shuttle.counts()[0].jobs;
    assert!(left.reused > 0, "{left:?}");
    let twice = (left.spawned + lost).saturating_sub(whole);
    assert!(twice < lost / 4, "{twice} of the thief's {lost} jobs were run again, {whole} are all: {left:?}");
}

#[test]
fn any_host_may_crash() {
    let first = seed(3);
    for round in 0..4 {
        let mut shuttle = Shuttle::new(queens(), &[1, 1, 1], first + round);
        shuttle.begin(0);
        let crashing = (round % 3) as usize;
        shuttle.run_until(|shuttle| shuttle.table.len() > 40 && shuttle.moved > 2);
        shuttle.crash(crashing, (crashing + 1) % 3);
        assert_eq!(shuttle.finish(), ANSWER);
    }
}
