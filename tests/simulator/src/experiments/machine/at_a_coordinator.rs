//! A coordinator with many hosts and runs, from the hosts' arrival to the end of the largest run.

use sateen_protocol::coordinator::{Coordinator, CoordinatorConfig, LinkId, Standing, StoredRun};
use sateen_protocol::message::ToCoordinator;
use sateen_protocol::{Counts, Entry, EntryState, Finished, GridId, Jobs, Outcome, RunId, RunState, limits};

use super::Scale;
use super::fixtures::{ENTRIES_PER_MESSAGE, config, entry, key, report, spec};
use super::grid::Grid;
use super::times::{Clock, Times};
use crate::experiments::{RUN, S};

/// Searches that wait while hosts recover.
const SEARCHES: u64 = 10_000;

/// A coordinator's events.
pub fn coordinator(clock: Clock, scale: Scale) -> Times {
    let Scale { hosts, entries, runs, .. } = scale;
    let mut grid = Grid::new(clock);
    join(&mut grid, hosts);
    work(&mut grid, entries);
    grid.expect_all();
    search(&mut grid, entries);
    crowd(&mut grid, runs);
    grid.expect_all();
    depart(&mut grid, entries);
    grid.expect_all();
    restart(&mut grid);
    end(&mut grid);
    grid.times
}

fn join(grid: &mut Grid, hosts: u64) {
    for link in 1..=hosts {
        let report = report(link);
        let hello =
            ToCoordinator::Hello { report, was: None, incarnation: 0, roots: Vec::new(), paused: None };
        grid.say("hello", LinkId(link), hello);
        grid.pass("timeout: pings, news", 20_000);
        if link % 50_000 == 0 {
            grid.hear_all();
        }
    }
}

fn work(grid: &mut Grid, entries: u64) {
    let run = grid.run;
    grid.order("submit", |machine, now| machine.submit(now, run, Default::default(), spec()));
    for (_, link) in grid.hosts.clone() {
        grid.say("Ready", link, ToCoordinator::Ready { run });
        grid.pass("timeout: broadcast", 1000);
    }
    grid.hear_all();
    for first in (1..=entries).step_by(ENTRIES_PER_MESSAGE as usize) {
        let (_, link) = grid.hosts[(first / ENTRIES_PER_MESSAGE) as usize % grid.hosts.len()];
        // From the deepest up, as each entry makes those below it superfluous.
        let last = entries - first + 1;
        let some = (last.saturating_sub(ENTRIES_PER_MESSAGE - 1).max(1)..=last).rev();
        // Results near the root would empty the table.
        let entries: Vec<Entry> = some
            .map(|job| {
                let mut entry = entry(job);
                let host = grid.hosts[job as usize % grid.hosts.len()].0;
                entry.state = EntryState::DoneAt { host, work_ns: job };
                entry
            })
            .collect();
        grid.say("Entries", link, ToCoordinator::Entries { run, entries });
        grid.pass("timeout: saves", 100_000);
    }
    grid.hear_all();
    for (index, (_, link)) in grid.hosts.clone().into_iter().enumerate() {
        let jobs = Jobs { executed: index as u64, ..Jobs::default() };
        let counts = Box::new(Counts { jobs, work_ns: 1, workers: 2, busy: 1, ..Counts::default() });
        let message = ToCoordinator::Counts {
            run,
            series: 1,
            counts,
            progress: None,
            notes: Vec::new(),
            ahead_ns: None,
            notes_dropped: 0,
            workers: Vec::new(),
        };
        grid.say("Counts", link, message);
        grid.say("Pong", link, ToCoordinator::Pong { ping: 1 });
    }
    let machine = &grid.machine;
    for _ in 0..100 {
        grid.times.take("a run's view", || machine.run(run).map(|view| (view.counts(), view.workers())));
        grid.times.take("a host's view", || machine.hosts().next());
    }
}

fn search(grid: &mut Grid, entries: u64) {
    let run = grid.run;
    for number in 0..SEARCHES {
        let (_, link) = grid.hosts[number as usize];
        // Jobs with some ten entries below.
        let job = entries / 16 + number % (entries / 16);
        grid.say("Find", link, ToCoordinator::Find { run, key: key(job) });
    }
    let (_, link) = grid.hosts[0];
    grid.say("Find, of all entries", link, ToCoordinator::Find { run, key: key(1) });
    grid.pass("timeout: answers", S / 100);
}

/// Adds many other runs, most of which wait.
fn crowd(grid: &mut Grid, runs: u64) {
    let of_crowd = |number: u64| RunId(RUN.0 + 1 + number);
    for number in 0..runs {
        grid.order("submit", |machine, now| {
            machine.submit(now, of_crowd(number), Default::default(), spec());
        });
    }
    for number in 0..runs {
        let (run, (_, link)) = (of_crowd(number), grid.hosts[number as usize % grid.hosts.len()]);
        for first in [1, 1 + ENTRIES_PER_MESSAGE] {
            let entries =
                (first..first + ENTRIES_PER_MESSAGE).rev().map(|job| entry(job + (1 << 40))).collect();
            grid.say("Entries, of many runs", link, ToCoordinator::Entries { run, entries });
        }
        grid.pass("timeout: saves", 100_000);
    }
    // Some hosts load the active runs, others do not.
    for (index, (_, link)) in grid.hosts.clone().into_iter().take(10_000).enumerate() {
        let run = of_crowd(index as u64 % 7);
        if index % 2 == 0 {
            grid.say("Ready, of many runs", link, ToCoordinator::Ready { run });
        } else {
            let reason = "it has not enough memory".to_owned();
            grid.say("Unready", link, ToCoordinator::Unready { run, reason });
        }
    }
    grid.hear_all();
    for _ in 0..3 {
        let run = of_crowd(0);
        grid.order("suspend", |machine, now| machine.suspend(now, run).is_ok());
        for (_, link) in grid.hosts.clone() {
            grid.say("Suspended", link, ToCoordinator::Suspended { run });
        }
        grid.pass("timeout: broadcast", 1);
        grid.order("resume", |machine, now| machine.resume(now, run).is_ok());
        grid.hear_all();
    }
    for number in 0..3 {
        grid.order("cancel", |machine, now| machine.cancel(now, of_crowd(number)).is_ok());
    }
    let links: Vec<LinkId> =
        grid.hosts.split_off(grid.hosts.len() - 20).iter().map(|(_, link)| *link).collect();
    for link in links {
        grid.say("Leaving", link, ToCoordinator::Leaving);
        grid.pass("timeout: pings, news", S / 50);
        grid.recover();
    }
    let (_, link) = grid.hosts[0];
    grid.say("Paused", link, ToCoordinator::Paused { reason: Some("its battery is low".to_owned()) });
    grid.say("Paused", link, ToCoordinator::Paused { reason: None });
}

fn depart(grid: &mut Grid, entries: u64) {
    let run = grid.run;
    grid.hear_all();
    for _ in 0..20 {
        grid.leave("departure", 1);
        grid.recover();
    }
    grid.leave("departure of 150", 150);
    // Searches wait until all hosts have answered.
    for number in 0..SEARCHES {
        let (_, link) = grid.hosts[number as usize];
        let job = entries / 16 + number % (entries / 16);
        grid.say("Find", link, ToCoordinator::Find { run, key: key(job) });
    }
    grid.recover();
    grid.pass("timeout: answers", limits::SETTLE_MAX.as_nanos() as u64);
    grid.hear_all();
    for _ in 0..3 {
        grid.pass("timeout: pings, news", S);
        grid.hear_all();
    }
    // A site falls silent.
    let silent = grid.hosts.split_off(grid.hosts.len() - 500);
    for _ in 0..7 {
        grid.pass("timeout: silence", S);
        grid.hear_all();
    }
    drop(silent);
    grid.recover();
}

/// All hosts return to a restarted coordinator.
fn restart(grid: &mut Grid) {
    let config = CoordinatorConfig { restarted: true, ..config() };
    let spec = spec();
    let (run, state) = (RunId(RUN.0 - 1), RunState::Running);
    let stored = StoredRun {
        run,
        submitter: Default::default(),
        spec,
        state,
        entries: Vec::new(),
        standing: Standing::default(),
    };
    let before = std::mem::replace(&mut grid.machine, Coordinator::new(config, vec![stored], grid.now));
    for (link, (host, secret)) in grid.identities.clone() {
        let report = report(link.0);
        let was = Some((host, secret, GridId(1)));
        let hello = ToCoordinator::Hello { report, was, incarnation: 0, roots: Vec::new(), paused: None };
        grid.say("hello, after a restart", link, hello);
        let hosts = before.circle(host).collect();
        grid.say("Knows", link, ToCoordinator::Knows { hosts });
    }
    grid.to_recover.clear();
    grid.pass("timeout: after a restart", limits::RESTART_GRACE.as_nanos() as u64);
    grid.recover();
    grid.pass("timeout: after a restart", S / 2);
    // Kept until the end: freeing that much is not the machine's work, and slows the allocator afterwards.
    grid.restarted = Some(std::mem::replace(&mut grid.machine, before));
}

fn end(grid: &mut Grid) {
    let Some((link, number)) = grid.root else { return };
    let finished = Finished { outcome: Outcome::Done(vec![0, 0].into()), work_ns: 1, span_ns: 1 };
    let run = grid.run;
    grid.say("end", link, ToCoordinator::RootFinished { run, number, finished });
    grid.hear_all();
    grid.pass("timeout: a run is freed", 1);
}
