//! Pause, drain, and doing nothing.

use std::time::Duration;

use crate::shuttle::{Shuttle, Task, sample};

fn queens() -> Shuttle {
    Shuttle::new(Task::new(sample("nqueens"), "main", &["15"]), &[1, 1], 0)
}

const ANSWER: &str = "2279184";

#[test]
fn a_paused_portion_computes_nothing_and_goes_on_afterwards() {
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
    assert!(Duration::from_nanos(told) <= work + Duration::from_millis(100), "a pause is no work");
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

#[test]
fn a_drained_portion_comes_to_rest_and_others_finish() {
    let mut shuttle = queens();
    shuttle.portion(1).pause(true);
    shuttle.begin(0);
    shuttle.run_until(|shuttle| shuttle.counts()[0].work > Duration::from_millis(50));
    shuttle.portion(0).drain();
    shuttle.run_until(|shuttle| shuttle.is_drained(0));
    let rested = shuttle.counts()[0].clone();
    assert!(rested.instances > 0 && shuttle.result.is_none(), "the root waits: {rested:?}");
    shuttle.portion(1).pause(false);
    assert_eq!(shuttle.finish(), ANSWER);
    assert!(shuttle.counts()[1].work > rested.work, "the other host did the rest");
}
