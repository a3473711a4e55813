//! Aborts reach jobs on other hosts, and inlets receive results from elsewhere while their own host computes.

use std::cell::RefCell;

use sateen_host::RunCommand;
use sateen_protocol::Again;
use sateen_tests::random::seed;

use crate::shuttle::{Shuttle, Task, probe};

#[track_caller]
fn comes_to_rest(shuttle: &mut Shuttle) {
    shuttle.run_until(|shuttle| shuttle.counts().iter().all(|host| host.instances == 0));
}

/// The oldest job of the set never ends. If it runs on the spawner's only worker, another job is lent and says yes.
#[test]
fn a_result_from_elsewhere_ends_a_job_on_the_spawners_worker() {
    for round in 0..6 {
        let mut shuttle = Shuttle::new(Task::new(probe(), "first_yes", &["20", "1"]), &[1, 1], seed(round));
        shuttle.begin(0);
        assert_eq!(shuttle.finish(), "1");
        comes_to_rest(&mut shuttle);
        let aborted: u64 = shuttle.counts().iter().map(|host| host.jobs.aborted).sum();
        assert!(aborted >= 1, "{:#?}", shuttle.counts());
    }
}

#[test]
fn searches_that_abort_find_the_same_on_many_hosts() {
    let expected = ::probe::sets::searches(30, 5).to_string();
    for round in 0..4 {
        let task = Task::new(probe(), "searches", &["30", "5"]);
        let mut shuttle = Shuttle::new(task, &[1, 2, 1], seed(round));
        shuttle.begin(0);
        assert_eq!(shuttle.finish(), expected);
        comes_to_rest(&mut shuttle);
    }
}

/// The thief or the aborter crashes, sooner or later.
#[test]
fn crashes_during_aborts_leave_no_job_running() {
    let expected = ::probe::sets::searches(30, 5).to_string();
    for round in 0..8 {
        let task = Task::new(probe(), "searches", &["30", "5"]);
        let mut shuttle = Shuttle::new(task, &[1, 1, 1], seed(100 + round));
        shuttle.begin(0);
        let enough = 1 + 3 * (round as usize / 2);
        shuttle.run_until(|shuttle| shuttle.moved >= enough || shuttle.result.is_some());
        shuttle.crash(round as usize % 2, 2);
        assert_eq!(shuttle.finish(), expected);
        comes_to_rest(&mut shuttle);
    }
}

/// A job is kept for the next thief, and none comes before the abort.
#[test]
fn a_spared_job_that_is_aborted_and_goes_back_counts_as_aborted() {
    let (jobs, steps) = (12, 2_000_000_000_u64);
    let arguments = [jobs.to_string(), steps.to_string(), "300000000".to_owned(), "100000".to_owned()];
    let task = Task::new(probe(), "aborted_later", &arguments.each_ref().map(String::as_str));
    let mut shuttle = Shuttle::new(task, &[1], seed(0));
    shuttle.portion(0).handle(RunCommand::Want { thieves: 1 });
    shuttle.begin(0);
    let spared = RefCell::new(None);
    shuttle.run_until(|shuttle| {
        if spared.borrow().is_none() {
            shuttle.portion(0).spare(1, |mut spares| *spared.borrow_mut() = spares.pop());
        }
        spared.borrow().is_some() || shuttle.result.is_some()
    });
    let (number, spec) = spared.take().expect("it has more jobs than workers");
    assert_eq!(shuttle.finish(), jobs.to_string());
    let again = Again {
        redone: spec.redone,
        begun: false,
        given_back: spec.given_back,
        lookup_below: spec.lookup_below,
    };
    shuttle.portion(0).handle(RunCommand::Requeue { number, again });
    let counts = shuttle.counts()[0].jobs;
    assert_eq!((counts.spawned, counts.executed, counts.aborted), (jobs + 1, 1, jobs), "{counts:?}");
}
