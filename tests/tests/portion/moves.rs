//! Jobs move, and everything else stays the same.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use sateen_protocol::{JobTag, Outcome};
use sateen_tests::random::{Random, seed};

use crate::shuttle::{Shuttle, Task, probe, sample};

/// Maximum time to look for a difference.
const BUDGET: Duration = Duration::from_secs(12);

#[test]
fn any_schedule_on_any_hosts_gives_the_same() {
    let mut random = Random::new(seed(20_261_122));
    let started = Instant::now();
    let mut rounds = 0;
    while rounds < 12 || started.elapsed() < BUDGET {
        let threads: Vec<usize> = (0..2 + random.below(2)).map(|_| 1 + random.below(2)).collect();
        let (mut task, expected) = match random.below(3) {
            0 => (Task::new(sample("fib"), "main", &["27"]), "196418".to_owned()),
            1 => (Task::new(sample("nqueens"), "main", &["11"]), "2680".to_owned()),
            _ => {
                let depth = 3 + random.below(8) as u64;
                let words = [(depth + 12).to_string()];
                (
                    Task::new(probe(), "balanced", &[words[0].as_str()]),
                    ::probe::shapes::balanced(depth + 12).to_string(),
                )
            }
        };
        task.record_every = [None, Some(Duration::from_millis(1))][random.below(2)];
        let shown = format!("{} {:?} on {threads:?}", task.function, task.arguments);
        let mut shuttle = Shuttle::new(task, &threads, random.number());
        shuttle.begin(random.below(threads.len()));
        assert_eq!(shuttle.finish(), expected, "{shown}");
        rounds += 1;
    }
    eprintln!("{rounds} rounds");
}

/// A page uses it to find the job in the tree.
#[test]
fn each_line_names_the_job_that_the_tree_has() {
    let mut shuttle = Shuttle::new(Task::new(probe(), "log_from_jobs", &["100"]), &[1, 1], seed(11));
    shuttle.begin(0);
    assert_eq!(shuttle.finish(), "4950");
    assert_eq!(shuttle.lines.len(), 100);
    let mut jobs: BTreeMap<JobTag, Vec<&str>> = BTreeMap::new();
    for line in &shuttle.lines {
        jobs.entry(line.job.expect("a job of a tree")).or_default().push(&line.function);
    }
    let (roots, others): (Vec<&[&str]>, Vec<&[&str]>) =
        jobs.values().map(Vec::as_slice).partition(|lines| lines[0] == "log_from_jobs");
    // The root logs the lines of jobs that it calls in place; all others log a single line.
    assert!(roots.len() <= 1 && roots.iter().all(|lines| lines.iter().all(|name| *name == "log_from_jobs")));
    assert!(others.iter().all(|lines| *lines == ["speak"]), "{others:?}");
}

#[test]
fn coarse_jobs_spread_and_the_figures_add_up() {
    let expected = ::probe::shapes::coarse_flat(24, 2_000_000).to_string();
    let task = Task::new(probe(), "coarse_flat", &["24", "2000000"]);
    let mut shuttle = Shuttle::new(task, &[1, 1, 1], seed(7));
    shuttle.begin(0);
    assert_eq!(shuttle.finish(), expected);
    let counts = shuttle.counts();
    assert!(counts.iter().all(|host| host.jobs.executed > 0), "all take part: {counts:#?}");
    let sum = |figure: fn(&sateen_host::JobCounts) -> u64| -> u64 {
        counts.iter().map(|host| figure(&host.jobs)).sum()
    };
    assert_eq!((sum(|jobs| jobs.spawned), sum(|jobs| jobs.executed)), (25, 25), "{counts:#?}");
    let work: Duration = counts.iter().map(|host| host.work).sum();
    let told = Duration::from_nanos(shuttle.result.as_ref().expect("it finished").work_ns);
    assert!(told > work / 2 && told <= work * 2, "{told:?} of {work:?} include the descendants'");
}

/// Neither at its owner while it waits or is elsewhere, nor at its thief while it waits there.
#[test]
fn no_job_counts_as_executed_before_it_is_begun() {
    let task = Task::new(probe(), "coarse_flat", &["24", "2000000"]);
    let mut shuttle = Shuttle::new(task, &[1, 1, 1], seed(8));
    shuttle.begin(0);
    shuttle.run_until(|shuttle| {
        let counts = shuttle.counts();
        let sum = |figure: fn(&sateen_host::JobCounts) -> u64| -> u64 {
            counts.iter().map(|host| figure(&host.jobs)).sum()
        };
        let (spawned, executed) = (sum(|jobs| jobs.spawned), sum(|jobs| jobs.executed));
        // Each worker runs one, and the root waits.
        assert!(executed <= spawned, "{executed} of {spawned}: {counts:#?}");
        shuttle.result.is_some()
    });
}

/// Of jobs spawned flat, most wait in their parent's instance.
#[test]
fn no_job_counts_as_executed_while_only_its_instance_knows_it() {
    let task = Task::new(probe(), "coarse_flat", &["300", "1000000"]);
    for threads in [[1, 1], [2, 1]] {
        let mut shuttle = Shuttle::new(task.clone(), &threads, seed(10));
        shuttle.begin(0);
        let counts = |shuttle: &Shuttle| -> (u64, u64) {
            let counts = shuttle.counts();
            let sum = |figure: fn(&sateen_host::JobCounts) -> u64| -> u64 {
                counts.iter().map(|host| figure(&host.jobs)).sum()
            };
            (sum(|jobs| jobs.spawned), sum(|jobs| jobs.executed))
        };
        shuttle.run_until(|shuttle| counts(shuttle).0 == 301);
        let (_, begun) = counts(&shuttle);
        assert!(begun < 150, "{begun} of 301, when the last was spawned");
        shuttle.run_until(|shuttle| shuttle.result.is_some());
        assert_eq!(counts(&shuttle), (301, 301));
    }
}

/// A job that waits may be dropped, as when its host leaves, and what it has recorded is not run again.
#[test]
fn a_job_that_waits_for_another_host_has_counted_its_spawns() {
    let count = 3_000_000;
    let task = Task::new(probe(), "fine_beside_coarse", &["3000000", "300000000"]);
    let mut shuttle = Shuttle::new(task, &[1, 1], seed(9));
    shuttle.begin(0);
    let has_counted_all = |shuttle: &Shuttle| -> bool {
        let spawned: u64 = shuttle.counts().iter().map(|host| host.jobs.spawned).sum();
        spawned == count + 2 && shuttle.is_lending()
    };
    shuttle.run_until(|shuttle| has_counted_all(shuttle) || shuttle.result.is_some());
    assert!(shuttle.result.is_none(), "the root has ended: {:#?}", shuttle.counts());
}

#[test]
fn a_lent_jobs_failure_is_caught_or_passes() {
    for round in 0..6 {
        let mut shuttle = Shuttle::new(Task::new(probe(), "panic_caught", &["18"]), &[1, 1], seed(round));
        shuttle.begin(0);
        assert_eq!(shuttle.finish(), "fragile: job 18 is told to fail; 4181 2584");
        let mut shuttle = Shuttle::new(Task::new(probe(), "panic_passes", &["18"]), &[1, 1], seed(round));
        shuttle.begin(0);
        let Outcome::Failed(failure) = shuttle.outcome() else { panic!("it fails") };
        let failure = String::from_utf8_lossy(&failure).into_owned();
        assert!(failure.contains("fragile") && failure.contains("job 18 is told to fail"), "{failure}");
    }
}

#[test]
fn dropped_jobs_are_stopped_on_other_hosts() {
    for round in 0..4 {
        let task = Task::new(probe(), "dropped_while_running", &["12"]);
        let mut shuttle = Shuttle::new(task, &[1, 2, 1], seed(round));
        shuttle.begin(0);
        assert_eq!(shuttle.finish(), "12");
        shuttle.run_until(|shuttle| shuttle.counts().iter().all(|host| host.instances == 0));
    }
}
