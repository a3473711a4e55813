//! How long single events of the machines take in the largest grids: a coordinator of 100,000 hosts with a run of
//! a million entries, and a host with half a million.
//!
//! The time is real, the machine's own is not. It is read from a clock that the caller brings, best one of the
//! thread's processor time: what else runs on the computer makes no event longer then.

mod at_a_host;

use std::collections::BTreeMap;

use sateen_protocol::coordinator::{Coordinator, CoordinatorConfig, LinkId};
use sateen_protocol::message::{HostReport, ToCoordinator, ToHost};
use sateen_protocol::{
    BlobHash, Counts, Entry, EntryState, FaultTolerance, Finished, GridId, HostId, JobKey, JobNumber, Jobs,
    Lineage, Outcome, RunId, RunLimits, RunSpec, Stealing, Time, limits,
};

pub use at_a_host::host;

use super::{RUN, S};

/// Entries of one message.
const ENTRIES_PER_MESSAGE: u64 = 32;
/// Searches that wait while hosts recover.
const SEARCHES: u64 = 10_000;

/// A clock, in nanoseconds.
pub type Clock = fn() -> u64;

/// How long the events of one kind took.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Row {
    /// Whose, and which.
    pub kind: &'static str,
    /// How many there were.
    pub events: usize,
    /// The middle one, in milliseconds.
    pub median_ms: f64,
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

    /// Does something that is one event.
    fn take<T>(&mut self, kind: &'static str, event: impl FnOnce() -> T) -> T {
        let began = (self.clock)();
        let done = event();
        let took = (self.clock)().saturating_sub(began);
        self.of.entry(kind).or_default().push(took);
        done
    }

    fn rows(self) -> Vec<Row> {
        let row = |(kind, mut times): (&'static str, Vec<u64>)| {
            times.sort_unstable();
            Row {
                kind,
                events: times.len(),
                median_ms: times[times.len() / 2] as f64 / 1e6,
                longest_ms: times[times.len() - 1] as f64 / 1e6,
            }
        };
        self.of.into_iter().map(row).collect()
    }
}

/// Entry number `job` of a tree in which each job has two children: its ancestors are the halves of its number.
fn entry(job: u64) -> Entry {
    let above = std::iter::successors(Some(job / 2), |job| Some(job / 2)).take_while(|job| *job > 0);
    let mut lineage: Vec<_> = above.map(|job| key(job).tag()).collect();
    lineage.reverse();
    let finished = Finished { outcome: Outcome::Done(vec![1; 16]), work_ns: 1_000_000 + job, span_ns: 1 };
    Entry {
        key: key(job),
        depth: lineage.len() as u32,
        lineage: Lineage(lineage),
        state: EntryState::Done(finished),
    }
}

fn key(job: u64) -> JobKey {
    // Spread, as hashes are.
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

/// A coordinator, and what it was given to do.
struct Grid {
    machine: Coordinator,
    times: Times,
    now: Time,
    hosts: Vec<(HostId, LinkId)>,
    /// The root job's host and number.
    root: Option<(LinkId, JobNumber)>,
    /// Hosts that are to answer a departure.
    to_recover: Vec<(LinkId, u64)>,
    run: RunId,
}

impl Grid {
    /// Takes what the machine wants to be done, which is the driver's time.
    fn drain(&mut self) {
        while let Some((link, message)) = self.machine.poll_transmit() {
            match message {
                ToHost::Welcome { host, .. } => self.hosts.push((host, link)),
                ToHost::Assign { number, .. } => self.root = Some((link, number)),
                ToHost::Hosts { epoch, gone, .. } if !gone.is_empty() => self.to_recover.push((link, epoch)),
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

    /// Lets time pass, and all that is due happen.
    fn pass(&mut self, kind: &'static str, ns: u64) {
        self.now = Time(self.now.0 + ns);
        while self.machine.poll_timeout().is_some_and(|(when, _)| when <= self.now) {
            let (machine, now) = (&mut self.machine, self.now);
            self.times.take(kind, || machine.handle_timeout(now));
            self.drain();
        }
    }

    /// All hosts are heard.
    fn hear_all(&mut self) {
        for (host, _) in self.hosts.clone() {
            self.machine.handle_heard(self.now, host);
        }
    }

    fn leave(&mut self, kind: &'static str, count: usize) {
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

/// The coordinator's events, with so many hosts and entries.
pub fn coordinator(clock: Clock, hosts: u64, entries: u64) -> Vec<Row> {
    let config = CoordinatorConfig {
        grid: GridId(1),
        secret: [1; 32],
        seed: 1,
        table_bytes_max: usize::MAX,
        circle: limits::CIRCLE,
        restarted: false,
    };
    let mut grid = Grid {
        machine: Coordinator::new(config, Vec::new(), Time(0)),
        times: Times::new(clock),
        now: Time(0),
        hosts: Vec::new(),
        root: None,
        to_recover: Vec::new(),
        run: RUN,
    };
    join(&mut grid, hosts);
    work(&mut grid, entries);
    search(&mut grid, entries);
    depart(&mut grid, entries);
    end(&mut grid);
    grid.times.rows()
}

fn join(grid: &mut Grid, hosts: u64) {
    for link in 1..=hosts {
        let report = HostReport {
            name: format!("host {link}"),
            site: format!("site {}", link % 100),
            threads: 2,
            version: "1".to_owned(),
            direct: None,
        };
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
    let (machine, now) = (&mut grid.machine, grid.now);
    grid.times.take("submit", || machine.submit(now, run, spec()));
    grid.drain();
    grid.pass("timeout: broadcast", 1);
    for (_, link) in grid.hosts.clone() {
        grid.say("Ready", link, ToCoordinator::Ready { run });
        grid.pass("timeout: broadcast", 1000);
    }
    grid.hear_all();
    for first in (1..=entries).step_by(ENTRIES_PER_MESSAGE as usize) {
        let (_, link) = grid.hosts[(first / ENTRIES_PER_MESSAGE) as usize % grid.hosts.len()];
        // From the deepest up, or each would make those below it superfluous.
        let last = entries - first + 1;
        let some = (last.saturating_sub(ENTRIES_PER_MESSAGE - 1).max(1)..=last).rev();
        // Results near the root would leave nothing of the table.
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
    grid.times.take("runs()", || drop(machine.runs()));
    grid.times.take("hosts()", || drop(machine.hosts()));
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
    // Searches wait until all have answered.
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
    let next = RunId(grid.run.0 + 1);
    let (machine, now) = (&mut grid.machine, grid.now);
    grid.times.take("submit", || machine.submit(now, next, spec()));
    grid.drain();
    let machine = &mut grid.machine;
    grid.times.take("cancel", || machine.cancel(now, next).is_ok());
    grid.drain();
    grid.pass("timeout: broadcast", 1);
    let Some((link, number)) = grid.root else { return };
    let finished = Finished { outcome: Outcome::Done(vec![0, 0]), work_ns: 1, span_ns: 1 };
    let run = grid.run;
    grid.say("end", link, ToCoordinator::RootFinished { run, number, finished });
    grid.pass("timeout: a run is freed", 1);
}
