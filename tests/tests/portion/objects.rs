//! Shared objects whose replicas are on several hosts.

use std::time::Duration;

use sateen_tests::random::{Random, seed};

use crate::shuttle::{Shuttle, Task, probe};

/// Updates and replicas arrive late, out of order and twice; guards ensure that no job computes with old
/// words, so results are deterministic.
#[test]
fn programs_with_guards_give_the_same_on_any_hosts() {
    let mut random = Random::new(seed(20_261_123));
    let (mut moved, mut refetched) = (0, 0);
    for round in 0..8 {
        let threads: Vec<usize> = (0..2 + random.below(2)).map(|_| 1 + random.below(2)).collect();
        let (task, expected) = match round % 2 {
            0 => (
                Task::new(probe(), "iterated", &["200", "12"]),
                ::probe::objects::iterated(200, 12).to_string(),
            ),
            _ => (
                Task::new(probe(), "least_of_results", &["60000"]),
                ::probe::objects::least_of_results(60_000).to_string(),
            ),
        };
        let shown = format!("{} on {threads:?}", task.function);
        let mut shuttle = Shuttle::new(task, &threads, random.number());
        shuttle.begin(random.below(threads.len()));
        assert_eq!(shuttle.finish(), expected, "{shown}");
        moved += shuttle.moved;
        refetched += shuttle.sharing.refetched;
    }
    eprintln!("{moved} jobs moved between hosts, {refetched} guards waited for long");
    assert!(moved > 0, "no job moved");
}

/// References in results, and objects that other hosts have created.
#[test]
fn objects_are_handed_up() {
    for round in 0..3 {
        let task = Task::new(probe(), "handed_up", &["12", "3", "20000"]);
        let mut shuttle = Shuttle::new(task, &[1, 1, 1], seed(round + 1));
        shuttle.begin(0);
        assert_eq!(shuttle.finish(), ::probe::objects::handed_up(12, 3, 20_000).to_string());
    }
}

/// The keys of jobs stay the same when their root, and so the object, is made again.
#[test]
fn a_redone_root_finds_what_was_recorded() {
    let mut reused = 0;
    let expected = ::probe::objects::stepped(8, 24, 3_000_000).to_string();
    for round in 0..3 {
        // Jobs of less than some milliseconds are not recorded.
        let mut task = Task::new(probe(), "stepped", &["8", "24", "3000000"]);
        task.record_every = Some(Duration::from_millis(2));
        let mut shuttle = Shuttle::new(task, &[1, 1], seed(round + 1));
        shuttle.begin(0);
        shuttle.run_until(|shuttle| shuttle.table.len() > 24 || shuttle.result.is_some());
        let (recorded, counts) = (shuttle.table.len(), shuttle.counts());
        assert!(shuttle.result.is_none(), "it is over, with {recorded} jobs recorded: {counts:#?}");
        shuttle.crash(0, 1);
        assert_eq!(shuttle.finish(), expected);
        reused += shuttle.counts().iter().map(|host| host.jobs.reused).sum::<u64>();
    }
    assert!(reused > 0, "nothing was found again");
}
