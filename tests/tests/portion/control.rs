//! Pause, drain, and doing nothing.

use std::time::Duration;

use sateen_host::{RunCommand, Turns};

use crate::shuttle::{Shuttle, Task, probe, sample};

fn queens() -> Shuttle {
    Shuttle::new(Task::new(sample("nqueens"), "main", &["15"]), &[1, 1], 0)
}

const ANSWER: &str = "2279184";

#[test]
fn a_paused_portion_computes_nothing_and_continues_afterwards() {
    let mut shuttle = queens();
    shuttle.begin(0);
    shuttle.run_until(|shuttle| shuttle.counts()[0].work > Duration::from_millis(50));
    shuttle.portion(0).pause(true);
    shuttle.portion(1).pause(true);
    std::thread::sleep(Duration::from_millis(100));
    let paused: Vec<Duration> = shuttle.counts().iter().map(|host| host.work).collect();
    std::thread::sleep(Duration::from_millis(300));
    let later: Vec<Duration> = shuttle.counts().iter().map(|host| host.work).collect();
    assert_eq!(paused, later);
    assert_eq!(shuttle.result, None);
    shuttle.portion(0).pause(false);
    shuttle.portion(1).pause(false);
    assert_eq!(shuttle.finish(), ANSWER);
    let told = shuttle.result.as_ref().expect("it finished").work_ns;
    let work: Duration = shuttle.counts().iter().map(|host| host.work).sum();
    assert!(Duration::from_nanos(told) <= work + Duration::from_millis(100), "a pause is not work");
}

/// Jobs that are loops which do not poll, and their result.
fn loops(jobs: u64, turns: u64) -> (Task, String) {
    let expected = ::probe::limits::long_loops(jobs, turns).to_string();
    (Task::new(probe(), "long_loops", &[&jobs.to_string(), &turns.to_string()]), expected)
}

#[test]
fn a_loop_that_does_not_poll_stands_still_in_a_pause_and_continues() {
    let (task, expected) = loops(2, 300_000_000);
    let mut shuttle = Shuttle::new(task, &[1, 1], 0);
    shuttle.begin(0);
    // It does not report its work either, so what is read of its thread counts.
    shuttle.run_until(|shuttle| shuttle.counts()[1].work > Duration::from_millis(50));
    shuttle.portion(1).pause(true);
    std::thread::sleep(Duration::from_millis(200));
    let paused = shuttle.counts()[1].work;
    std::thread::sleep(Duration::from_millis(600));
    assert_eq!(shuttle.counts()[1].work, paused, "the paused host still computes");
    shuttle.portion(1).pause(false);
    assert_eq!(shuttle.finish(), expected);
    assert!(shuttle.counts()[1].work > paused, "its work was not thrown away");
}

#[test]
fn a_loop_that_does_not_poll_and_stands_still_can_be_stopped() {
    let task = Task::new(probe(), "long_loops", &["2", "1000000000000000"]);
    let mut shuttle = Shuttle::new(task, &[1, 1], 0);
    shuttle.begin(0);
    shuttle.run_until(|shuttle| shuttle.counts()[1].work > Duration::from_millis(20));
    shuttle.portion(1).pause(true);
    std::thread::sleep(Duration::from_millis(100));
    drop(shuttle);
}

/// Two runs on a host of one worker.
#[test]
fn a_loop_that_does_not_poll_leaves_others_their_turn() {
    let turns = Some(Turns::new(1));
    let (task, expected) = loops(1, 1_000_000_000);
    let mut deaf = Shuttle::new(Task { turns: turns.clone(), ..task }, &[1], 0);
    deaf.begin(0);
    deaf.run_until(|deaf| deaf.counts()[0].work > Duration::from_millis(50));
    let task = Task::new(sample("nqueens"), "main", &["13"]);
    let mut other = Shuttle::new(Task { turns, ..task }, &[1], 0);
    other.begin(0);
    assert_eq!(other.finish(), "73712");
    let (theirs, meanwhile) = (other.counts()[0].work, deaf.counts()[0].work);
    drop(other);
    assert_eq!(deaf.finish(), expected);
    let whole = deaf.counts()[0].work;
    eprintln!("{theirs:?} of the other run, meanwhile {meanwhile:?} of {whole:?}");
    assert!(meanwhile < whole / 2, "the other run waited for {meanwhile:?} of {whole:?}");
}

#[test]
fn a_paused_portion_can_be_stopped() {
    let mut shuttle = queens();
    shuttle.begin(0);
    shuttle.run_until(|shuttle| shuttle.counts()[0].work > Duration::from_millis(20));
    shuttle.portion(0).pause(true);
    std::thread::sleep(Duration::from_millis(20));
    drop(shuttle);
}

/// Hardly any work of a leaving host is done again.
#[test]
fn a_drained_portion_finishes_its_jobs_and_nothing_is_lost() {
    for at_ms in [20, 40, 60, 80, 100, 120] {
        // Little enough for a slow machine to finish in time, too.
        let mut task = Task::new(sample("nqueens"), "main", &["14"]);
        task.record_every = Some(Duration::from_millis(250));
        let mut shuttle = Shuttle::new(task, &[1, 1], 0);
        shuttle.portion(1).pause(true);
        shuttle.begin(0);
        shuttle.run_until(|shuttle| shuttle.counts()[0].work > Duration::from_millis(at_ms));
        shuttle.portion(0).handle(RunCommand::Drain);
        shuttle.run_until(|shuttle| shuttle.is_drained(0));
        let done = shuttle.counts()[0].work;
        if shuttle.result.is_some() {
            eprintln!("drained after {at_ms} ms: all is done");
            continue;
        }
        // As after the coordinator's notice: the host that continues finds the recorded results.
        shuttle.crash(0, 1);
        shuttle.portion(1).pause(false);
        assert_eq!(shuttle.finish(), "365596");
        let needed = Duration::from_nanos(shuttle.result.as_ref().expect("it finished").work_ns);
        let lost = (done + shuttle.counts()[0].work).saturating_sub(needed);
        eprintln!("drained after {at_ms} ms: {done:?} done, {lost:?} of it twice");
        assert!(lost < Duration::from_millis(10), "{lost:?} were done twice, {done:?} before the leave");
    }
}

/// If nothing is recorded, continuing cannot save anything.
#[test]
fn a_drained_portion_stops_and_others_finish() {
    let mut task = Task::new(sample("nqueens"), "main", &["15"]);
    task.record_every = None;
    let mut shuttle = Shuttle::new(task, &[1, 1], 0);
    shuttle.portion(1).pause(true);
    shuttle.begin(0);
    shuttle.run_until(|shuttle| shuttle.counts()[0].work > Duration::from_millis(50));
    shuttle.portion(0).handle(RunCommand::Drain);
    shuttle.run_until(|shuttle| shuttle.is_drained(0));
    let rested = shuttle.counts()[0].clone();
    assert!(rested.instances > 0 && shuttle.result.is_none(), "the root waits: {rested:?}");
    let jobs = rested.jobs;
    assert!(jobs.aborted > 0, "the root has exposed what was latent");
    assert_eq!(jobs.spawned, jobs.executed + jobs.aborted, "{jobs:?}");
    shuttle.portion(1).pause(false);
    assert_eq!(shuttle.finish(), ANSWER);
    assert!(shuttle.counts()[1].work > rested.work, "the other host did the rest");
}
