//! How long single events of the machines take in the largest grids: a coordinator of 100,000 hosts with a run of
//! a million entries, and a host with half a million.
//!
//! The measured time is real, the machine's is virtual. The caller supplies the clock, best the thread's
//! processor time. That still includes interrupts and other processes' effects on caches; but machines are
//! deterministic, so everything is repeated, and an event's time is the median of its repetitions.

mod at_a_host;

use std::collections::BTreeMap;

use sateen_protocol::coordinator::{Coordinator, CoordinatorConfig, LinkId, Standing, StoredRun};
use sateen_protocol::message::{HostReport, ToCoordinator, ToHost};
use sateen_protocol::{
    AssignmentId, BlobHash, Counts, Entry, EntryState, FaultTolerance, Finished, GridId, HostId, JobKey,
    Jobs, Lineage, Outcome, RunId, RunLimits, RunSpec, RunState, Stealing, Time, limits,
};

use at_a_host::host;

use super::{RUN, S};

/// Entries of one message: the maximum.
const ENTRIES_PER_MESSAGE: u64 = limits::ENTRIES_PER_MESSAGE_MAX as u64;
/// Interval at which every host sends something, in nanoseconds.
const HEARD_EVERY: u64 = S;
/// Searches that wait while hosts recover.
const SEARCHES: u64 = 10_000;

/// A clock, in nanoseconds.
pub type Clock = fn() -> u64;

/// The size of a measurement.
#[derive(Debug, Clone, Copy)]
pub struct Scale {
    /// Hosts of the grid.
    pub hosts: u64,
    /// Entries of the largest run's table; a host has half as many.
    pub entries: u64,
    /// Additional runs, each with some entries.
    pub runs: u64,
    /// The number of repetitions.
    pub repetitions: usize,
}

impl Default for Scale {
    fn default() -> Self {
        Self { hosts: 100_000, entries: 1_000_000, runs: 1_000, repetitions: 3 }
    }
}

/// The times of the events of one kind.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Row {
    /// The kind, with its machine.
    pub kind: &'static str,
    /// Their number.
    pub events: usize,
    /// The median, in milliseconds.
    pub median_ms: f64,
    /// The 99.99th percentile, in milliseconds.
    pub p9999_ms: f64,
    /// The longest, in milliseconds.
    pub longest_ms: f64,
}

/// Times of events, by kind.
struct Times {
    clock: Clock,
    of: BTreeMap<&'static str, Vec<u64>>,
}

impl Times {
    fn new(clock: Clock) -> Self {
        Self { clock, of: BTreeMap::new() }
    }

    /// Times one event.
    fn take<T>(&mut self, kind: &'static str, event: impl FnOnce() -> T) -> T {
        let began = (self.clock)();
        let done = event();
        let took = (self.clock)().saturating_sub(began);
        self.of.entry(kind).or_default().push(took);
        done
    }
}

/// Each event's median over repetitions, by kind.
fn rows(mut repetitions: Vec<Times>) -> Vec<Row> {
    let Some(first) = repetitions.pop() else { return Vec::new() };
    let row = |(kind, times): (&'static str, Vec<u64>)| {
        let median_of = |(place, time): (usize, u64)| {
            let others = repetitions.iter().filter_map(|times| times.of.get(kind)?.get(place).copied());
            let mut all: Vec<u64> = others.chain([time]).collect();
            all.sort_unstable();
            all[(all.len() - 1) / 2]
        };
        let mut times: Vec<u64> = times.into_iter().enumerate().map(median_of).collect();
        times.sort_unstable();
        Row {
            kind,
            events: times.len(),
            median_ms: times[times.len() / 2] as f64 / 1e6,
            p9999_ms: times[times.len() - 1 - times.len() / 10_000] as f64 / 1e6,
            longest_ms: times[times.len() - 1] as f64 / 1e6,
        }
    };
    first.of.into_iter().map(row).collect()
}

/// Entry number `job` of a binary tree: its ancestors are found by halving its number.
fn entry(job: u64) -> Entry {
    let above = std::iter::successors(Some(job / 2), |job| Some(job / 2)).take_while(|job| *job > 0);
    let mut lineage: Vec<_> = above.map(|job| key(job).tag()).collect();
    lineage.reverse();
    let outcome = Outcome::Done(vec![1; 16].into());
    Entry {
        key: key(job),
        depth: lineage.len() as u32,
        lineage: Lineage(lineage),
        state: EntryState::Done(Finished { outcome, work_ns: 1_000_000 + job, span_ns: 1 }),
    }
}

fn key(job: u64) -> JobKey {
    // Spread like hashes.
    let mut bytes = [0; 32];
    let spread = job.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bytes[..8].copy_from_slice(&spread.to_be_bytes());
    bytes[8..16].copy_from_slice(&job.to_be_bytes());
    JobKey(bytes)
}

fn spec() -> RunSpec {
    RunSpec {
        app: BlobHash([7; 32]),
        function: "main".to_owned(),
        arguments: Vec::new(),
        inputs: Vec::new(),
        limits: RunLimits::default(),
        strict_nan: false,
        stealing: Stealing::default(),
        fault_tolerance: FaultTolerance::default(),
        record_every_ms: limits::RECORD_EVERY_MS,
    }
}

/// A coordinator and its surroundings.
struct Grid {
    machine: Coordinator,
    times: Times,
    now: Time,
    hosts: Vec<(HostId, LinkId)>,
    /// The host at the end of each link, as the coordinator said last.
    identities: BTreeMap<LinkId, (HostId, u64)>,
    /// The root job's host and number.
    root: Option<(LinkId, AssignmentId)>,
    /// Hosts that must answer a departure.
    to_recover: Vec<(LinkId, u64)>,
    run: RunId,
    /// The restarted coordinator, kept to be freed at the end.
    restarted: Option<Coordinator>,
    /// The last time at which all hosts sent something.
    heard: Time,
}

impl Grid {
    /// Drains the machine's commands, which is not measured.
    fn drain(&mut self) {
        while let Some((link, message)) = self.machine.poll_transmit() {
            match message {
                ToHost::Welcome { host, secret, complete: true, .. } => {
                    self.hosts.push((host, link));
                    self.identities.insert(link, (host, secret));
                }
                ToHost::Assign { number, .. } => self.root = Some((link, number)),
                ToHost::Hosts { epoch, gone, .. } if !gone.is_empty() => self.to_recover.push((link, epoch)),
                ToHost::Present { epoch, .. } => self.to_recover.push((link, epoch)),
                _ => {}
            }
        }
        while self.machine.poll_command().is_some() {}
        while self.machine.poll_event().is_some() {}
    }

    fn say(&mut self, kind: &'static str, link: LinkId, message: ToCoordinator) {
        let (machine, now) = (&mut self.machine, self.now);
        self.times.take(kind, || machine.handle_message(now, link, message));
        self.drain();
    }

    /// Lets time pass, with all timers. Hosts send something at intervals.
    fn pass(&mut self, kind: &'static str, ns: u64) {
        self.now = Time(self.now.0 + ns);
        if self.now.0 >= self.heard.0 + HEARD_EVERY {
            self.hear_all();
        }
        loop {
            let machine = &self.machine;
            let next = self.times.take("poll_timeout", || machine.poll_timeout());
            if next.is_none_or(|(when, _)| when > self.now) {
                break;
            }
            let (machine, now) = (&mut self.machine, self.now);
            self.times.take(kind, || machine.handle_timeout(now));
            self.drain();
        }
    }

    /// A user's command.
    fn order<T>(&mut self, kind: &'static str, order: impl FnOnce(&mut Coordinator, Time) -> T) -> T {
        let (machine, now) = (&mut self.machine, self.now);
        let done = self.times.take(kind, || order(machine, now));
        self.drain();
        self.pass("timeout: broadcast", 1);
        done
    }

    /// All hosts send something.
    fn hear_all(&mut self) {
        self.heard = self.now;
        for (host, _) in self.hosts.clone() {
            self.machine.handle_heard(self.now, host);
        }
    }

    /// Checks that no host was given up wrongly.
    fn expect_all(&self) {
        assert_eq!(self.machine.hosts().count(), self.hosts.len());
    }

    fn leave(&mut self, kind: &'static str, count: usize) {
        self.hear_all();
        for (_, link) in self.hosts.split_off(self.hosts.len() - count) {
            let (machine, now) = (&mut self.machine, self.now);
            self.times.take("link closed", || machine.handle_closed(now, link));
            self.drain();
        }
        self.pass(kind, limits::RECONNECT_GRACE.as_nanos() as u64);
        self.pass(kind, limits::NEWS.as_nanos() as u64);
    }

    fn recover(&mut self) {
        for (link, epoch) in std::mem::take(&mut self.to_recover) {
            self.say("Recovered", link, ToCoordinator::Recovered { epoch });
        }
    }
}

/// The coordinator's events, and those of a host.
pub fn measure(clock: Clock, scale: Scale) -> Vec<Row> {
    let repeat =
        |once: fn(Clock, Scale) -> Times| (0..scale.repetitions).map(|_| once(clock, scale)).collect();
    let mut all = rows(repeat(coordinator));
    all.extend(rows(repeat(|clock, scale| host(clock, scale.entries / 2))));
    all
}

fn coordinator(clock: Clock, scale: Scale) -> Times {
    let Scale { hosts, entries, runs, .. } = scale;
    let mut grid = Grid {
        machine: Coordinator::new(config(), Vec::new(), Time(0)),
        identities: BTreeMap::new(),
        times: Times::new(clock),
        now: Time(0),
        hosts: Vec::new(),
        root: None,
        to_recover: Vec::new(),
        run: RUN,
        restarted: None,
        heard: Time(0),
    };
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

fn config() -> CoordinatorConfig {
    CoordinatorConfig {
        grid: GridId(1),
        secret: [1; 32],
        seed: 1,
        table_bytes_max: usize::MAX,
        circle: limits::CIRCLE,
        restarted: false,
    }
}

fn report(host: u64) -> HostReport {
    HostReport {
        name: format!("host {host}"),
        site: format!("site {}", host % 100),
        threads: 2,
        version: "1".to_owned(),
        direct: None,
    }
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
    grid.order("submit", |machine, now| machine.submit(now, run, spec()));
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

/// Adds many other runs, most of which wait.
fn crowd(grid: &mut Grid, runs: u64) {
    let of_crowd = |number: u64| RunId(RUN.0 + 1 + number);
    for number in 0..runs {
        grid.order("submit", |machine, now| machine.submit(now, of_crowd(number), spec()));
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

/// All hosts return to a restarted coordinator.
fn restart(grid: &mut Grid) {
    let config = CoordinatorConfig { restarted: true, ..config() };
    let spec = spec();
    let (run, state) = (RunId(RUN.0 - 1), RunState::Running);
    let stored = StoredRun { run, spec, state, entries: Vec::new(), standing: Standing::default() };
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
    // Kept until the end: freeing so much is not the machine's work, and slows the allocator afterwards.
    grid.restarted = Some(std::mem::replace(&mut grid.machine, before));
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

fn end(grid: &mut Grid) {
    let Some((link, number)) = grid.root else { return };
    let finished = Finished { outcome: Outcome::Done(vec![0, 0].into()), work_ns: 1, span_ns: 1 };
    let run = grid.run;
    grid.say("end", link, ToCoordinator::RootFinished { run, number, finished });
    grid.hear_all();
    grid.pass("timeout: a run is freed", 1);
}
