//! How long the driver's own events take in the largest grids: its work for each host, and its periodic work, while the
//! machine waits.

use std::collections::BTreeMap;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;

use sateen_protocol::coordinator::{Coordinator, CoordinatorConfig, LinkId};
use sateen_protocol::limits::{CIRCLE, COORDINATOR_TABLE_BYTES_MAX, PLACE_KEPT_MIN};
use sateen_protocol::message::{HostReport, RootClaim, ToCoordinator, ToHost};
use sateen_protocol::{BlobHash, Counts, Finished, Jobs, Outcome, RunId, RunSpec};
use tokio::sync::{Semaphore, mpsc, oneshot};

use super::{Driver, DriverHandle, Known, Request};
use crate::clock::Clock;
use crate::links::{FromLink, Links};
use crate::store::{Opening, Store, StoreError};

const RUN: RunId = RunId(1);
/// Rounds in which all hosts send counts.
const ROUNDS: u64 = 2;
/// Maximum parts of the driver's work in each round.
const PARTS: usize = 1000;

/// Durations of events in nanoseconds, by kind.
pub type Times = BTreeMap<&'static str, Vec<u64>>;

struct Bed {
    driver: Driver,
    permits: Arc<Semaphore>,
    now_ns: fn() -> u64,
    times: Times,
}

impl Bed {
    fn take<T>(&mut self, kind: &'static str, event: impl FnOnce(&mut Driver) -> T) -> T {
        let began = (self.now_ns)();
        let done = event(&mut self.driver);
        let took = (self.now_ns)().saturating_sub(began);
        self.times.entry(kind).or_default().push(took);
        done
    }

    fn say(&mut self, kind: &'static str, link: u64, message: ToCoordinator) {
        let Ok(permit) = Arc::clone(&self.permits).try_acquire_owned() else { return };
        let news = FromLink::Messages { link: LinkId(link), messages: vec![message], permit: (permit, None) };
        self.take(kind, |driver| driver.take_in(news));
    }
}

/// Measures the ticks with `hosts` hosts, by the caller's clock; `folder` must be empty.
///
/// # Errors
/// When the folder cannot be used.
pub fn measure(folder: &Path, hosts: u64, now_ns: fn() -> u64) -> Result<Times, StoreError> {
    let broken = |error| StoreError::File { path: folder.to_owned(), why: error };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(broken)?;
    let _entered = runtime.enter();
    let New { driver, handle: _handle, to_driver: _to_driver } =
        New::begin(folder, usize::MAX, Clock::standing())?;
    let permits = Arc::new(Semaphore::new(8));
    let mut bed = Bed { driver, permits, now_ns, times: Times::new() };

    for link in 1..=hosts {
        let hello = hello(format!("host-{link}"), format!("site-{}", link % 100), 8);
        bed.say("driver: a host comes", link, hello);
    }
    bed.driver.chronicles.begin(RUN);
    bed.driver.machine.submit(bed.driver.clock.now(), RUN, Default::default(), spec());
    do_what_is_due(&mut bed);
    let root = first_root(&mut bed);
    do_what_is_due(&mut bed);
    for link in 2..=hosts {
        bed.say("driver: a host is ready", link, ToCoordinator::Ready { run: RUN });
    }
    for round in 1..=ROUNDS {
        for link in 1..=hosts {
            let jobs = Jobs { executed: 1000 * round + link, spawned: 1000 * round, ..Jobs::default() };
            let work_ns = 10_000_000_000 * round;
            let counts = Box::new(Counts { jobs, work_ns, workers: 8, busy: 8, ..Counts::default() });
            let counted = ToCoordinator::Counts {
                run: RUN,
                series: 1,
                counts,
                progress: None,
                notes: Vec::new(),
                ahead_ns: None,
                notes_dropped: 0,
                workers: Vec::new(),
            };
            bed.say("driver: counts", link, counted);
        }
        for part in 0..PARTS {
            bed.take("driver: a part of all rows and runs", Driver::next_part);
            if part % 10 == 0 {
                bed.take("driver: a batch is handed to the store", Driver::save_standings);
                // The store's answer is awaited, which is not the driver's work.
                runtime.block_on(tokio::task::yield_now());
            }
            bed.driver.drain();
        }
        for (kind, more, ask) in asked() {
            let answer = bed.take(kind, ask);
            while !bed.driver.scans.is_empty() {
                bed.take(more, Driver::next_scan_part);
            }
            runtime.block_on(answer);
        }
    }
    if let Some(RootClaim { number, .. }) = root {
        let finished = Finished { outcome: Outcome::Done(vec![0, 0].into()), work_ns: 1, span_ns: 1 };
        bed.say("driver: a run ends", 1, ToCoordinator::RootFinished { run: RUN, number, finished });
    }
    Ok(bed.times)
}

/// Waits until there is an answer.
type Answer = Pin<Box<dyn Future<Output = ()>>>;
/// Sends a request and begins to answer it.
type Ask = fn(&mut Driver) -> Answer;

/// The requests of pages, answered at once and later.
fn asked() -> [(&'static str, &'static str, Ask); 4] {
    [
        ("driver: hosts are asked for", "driver: a part of all hosts", |driver| ask(driver, Request::Hosts)),
        ("driver: a run is asked for", "driver: a part of a run's hosts", |driver| {
            ask(driver, |reply| Request::Run(RUN, reply))
        }),
        ("driver: runs are asked for", "", |driver| ask(driver, Request::Runs)),
        ("driver: totals are asked for", "driver: a part of totals", |driver| ask(driver, Request::Totals)),
    ]
}

fn ask<T: 'static>(driver: &mut Driver, request: impl FnOnce(oneshot::Sender<T>) -> Request) -> Answer {
    let (reply, answer) = oneshot::channel();
    driver.request(request(reply));
    // Its content does not matter here.
    Box::pin(async move { drop(answer.await) })
}

/// Has the first host take part, and take the root.
fn first_root(bed: &mut Bed) -> Option<RootClaim> {
    let driver = &mut bed.driver;
    driver.drain();
    driver.machine.handle_message(driver.clock.now(), LinkId(1), ToCoordinator::Ready { run: RUN });
    for _ in 0..1_000_000 {
        while let Some((_, message)) = driver.machine.poll_transmit() {
            if let ToHost::Assign { number, proof, .. } = message {
                driver.drain();
                return Some(RootClaim { run: RUN, number, proof });
            }
        }
        driver.machine.handle_timeout(driver.clock.now());
    }
    None
}

/// Runs all slices of the machine, so that every host was given the run.
fn do_what_is_due(bed: &mut Bed) {
    let driver = &mut bed.driver;
    let now = driver.clock.now();
    while driver.machine.poll_timeout().is_some_and(|(when, _)| when <= now) {
        driver.machine.handle_timeout(now);
        driver.drain();
    }
}

/// A new driver, and the sending ends of its inputs.
pub(super) struct New {
    pub driver: Driver,
    pub handle: DriverHandle,
    pub to_driver: mpsc::UnboundedSender<FromLink>,
}

impl New {
    /// A driver for `links_max` links, with a new store in the empty `folder`.
    pub fn begin(folder: &Path, links_max: usize, clock: Clock) -> Result<Self, StoreError> {
        let (store, restored) = Store::open(
            folder,
            Opening {
                blobs_bytes_max: u64::MAX,
                results_bytes_max: u64::MAX,
                kept_bytes_max: u64::MAX,
                new_grid: false,
            },
        )?;
        let links = Arc::new(Links::new(Arc::default(), clock, links_max, Arc::default()));
        let config = CoordinatorConfig {
            grid: restored.grid,
            secret: restored.secret,
            seed: 1,
            table_bytes_max: COORDINATOR_TABLE_BYTES_MAX,
            circle: CIRCLE,
            place_kept: PLACE_KEPT_MIN,
            restarted: false,
        };
        let machine = Coordinator::new(config, Vec::new(), clock.now());
        let (to_driver, from_links) = mpsc::unbounded_channel();
        let known = Known {
            names: Vec::new(),
            hosts: Vec::new(),
            chronicles: Vec::new(),
            trees_kept: crate::limits::TREES_KEPT,
            submitters: Vec::new(),
            reusing: Vec::new(),
        };
        let (driver, handle) = Driver::new(machine, clock, links, Arc::new(store), from_links, known);
        Ok(Self { driver, handle, to_driver })
    }
}

/// A host's hello.
pub(super) fn hello(name: String, site: String, threads: u32) -> ToCoordinator {
    let (version, key) = ("0".to_owned(), Default::default());
    let report = HostReport { name, site, threads, version, direct: None, key };
    ToCoordinator::Hello { report, was: None, incarnation: 0, roots: Vec::new(), paused: None }
}

pub(super) fn spec() -> RunSpec {
    RunSpec { record_every_ms: 100, ..RunSpec::new(BlobHash([7; 32])) }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    use super::*;

    /// Large enough for requests to take two parts, and for hosts and rows together to take three.
    const HOSTS: u64 = 300;

    #[test]
    fn all_that_is_measured_happens() {
        static TICKS: AtomicU64 = AtomicU64::new(0);
        let folder = tempfile::tempdir().expect("a folder");
        let times = measure(folder.path(), HOSTS, || TICKS.fetch_add(1, Relaxed)).expect("measured");
        let counts: Vec<(&str, usize)> = times.iter().map(|(kind, times)| (*kind, times.len())).collect();
        let expected = [
            ("driver: a batch is handed to the store", ROUNDS as usize * PARTS / 10),
            ("driver: a host comes", HOSTS as usize),
            ("driver: a host is ready", HOSTS as usize - 1),
            ("driver: a part of a run's hosts", ROUNDS as usize),
            ("driver: a part of all hosts", 2 * ROUNDS as usize),
            ("driver: a part of all rows and runs", ROUNDS as usize * PARTS),
            ("driver: a part of totals", ROUNDS as usize),
            ("driver: a run ends", 1),
            ("driver: a run is asked for", ROUNDS as usize),
            ("driver: counts", (HOSTS * ROUNDS) as usize),
            ("driver: hosts are asked for", ROUNDS as usize),
            ("driver: runs are asked for", ROUNDS as usize),
            ("driver: totals are asked for", ROUNDS as usize),
        ];
        assert_eq!(counts, expected);
    }
}
