//! Hosts can report how much work is ahead, wherever it is.

use std::time::Duration;

use sateen_protocol::host::Notice;
use sateen_tests::random::seed;

use crate::shuttle::{Shuttle, Task, probe, sample};

/// Processor time so far, and the work that is ahead, of all hosts.
fn moment(shuttle: &Shuttle, hosts: usize) -> Option<(Duration, Duration)> {
    let mut ahead_ns = 0;
    for host in 0..hosts {
        let Some(Notice::Activity { ahead_ns: of_host, .. }) = shuttle.portion(host).activity() else {
            panic!("a portion of a grid shows what it does");
        };
        ahead_ns += of_host?;
    }
    Some((shuttle.counts().iter().map(|host| host.work).sum(), Duration::from_nanos(ahead_ns)))
}

/// What was reported while a task ran on hosts of one worker: the share of its work that was done, and that of the rest.
fn told(task: Task, hosts: usize) -> Vec<(f64, f64)> {
    let mut shuttle = Shuttle::new(task, &vec![1; hosts], seed(17));
    shuttle.begin(0);
    let mut moments = Vec::new();
    while shuttle.result.is_none() {
        let began = std::time::Instant::now();
        shuttle.run_until(|shuttle| shuttle.result.is_some() || began.elapsed() >= Duration::from_millis(2));
        moments.extend(moment(&shuttle, hosts));
    }
    let all: Duration = shuttle.counts().iter().map(|host| host.work).sum();
    let share = |part: Duration| part.as_secs_f64() / all.as_secs_f64();
    moments.into_iter().map(|(done, ahead)| (share(done), share(ahead))).collect()
}

#[test]
fn hosts_can_tell_how_much_work_is_ahead() {
    let tasks = [
        (Task::new(probe(), "balanced", &["41"]), 0.25..=2.5),
        (Task::new(probe(), "coarse_flat", &["100", "1000000"]), 0.67..=1.5),
        (Task::new(sample("nqueens"), "main", &["14"]), 0.4..=2.5),
    ];
    for (task, expected) in tasks {
        let shown = format!("{} {:?}", task.function, task.arguments);
        for hosts in 1..=3 {
            let told = told(task.clone(), hosts);
            // From a third to two thirds of the work. How close estimates are is measured by `bench left`: here, machines may be busy.
            let mut middle: Vec<f64> = (told.iter())
                .filter(|(done, _)| (0.33..0.67).contains(done))
                .map(|(done, ahead)| done + ahead)
                .collect();
            middle.sort_by(f64::total_cmp);
            let shown = format!("{shown} on {hosts}: {middle:.2?}");
            eprintln!("{shown}");
            let median = *middle
                .get(middle.len() / 2)
                .unwrap_or_else(|| panic!("nothing was reported: {shown}: {told:.2?}"));
            assert!(expected.contains(&median), "{shown}: {told:.2?}");
        }
    }
}
