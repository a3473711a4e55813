//! How long the driver's own events take in the largest grids: what it does for each host, or now and then, while the
//! machine waits.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use sateen_protocol::coordinator::{Coordinator, CoordinatorConfig, LinkId};
use sateen_protocol::limits::{CIRCLE, COORDINATOR_TABLE_BYTES_MAX};
use sateen_protocol::message::{HostReport, RootClaim, ToCoordinator, ToHost};
use sateen_protocol::{
    BlobHash, Counts, FaultTolerance, Finished, Jobs, Outcome, RunId, RunLimits, RunSpec, Stealing,
};
use tokio::sync::{Semaphore, mpsc};

use super::{Drive, Known};
use crate::clock::Clock;
use crate::links::{FromLink, Links};
use crate::store::{Store, StoreError};

const RUN: RunId = RunId(1);
/// All hosts count so often.
const ROUNDS: u64 = 2;
/// Of the driver's parts of all that, in each round.
const PARTS: usize = 1000;

/// Times of events in nanoseconds, by kind.
pub type Times = BTreeMap<&'static str, Vec<u64>>;

struct Bed {
    drive: Drive,
    permits: Arc<Semaphore>,
    now_ns: fn() -> u64,
    times: Times,
}

impl Bed {
    fn take<T>(&mut self, kind: &'static str, event: impl FnOnce(&mut Drive) -> T) -> T {
        let began = (self.now_ns)();
        let done = event(&mut self.drive);
        let took = (self.now_ns)().saturating_sub(began);
        self.times.entry(kind).or_default().push(took);
        done
    }

    fn say(&mut self, kind: &'static str, link: u64, message: ToCoordinator) {
        let Ok(permit) = Arc::clone(&self.permits).try_acquire_owned() else { return };
        let news = FromLink::Messages { link: LinkId(link), messages: vec![message], permit: (permit, None) };
        self.take(kind, |drive| drive.take_in(news));
    }
}

/// Measures the ticks with `hosts` hosts, by the caller's clock; `folder` must be empty.
///
/// # Errors
/// When the folder cannot be used.
pub fn measure(folder: &Path, hosts: u64, now_ns: fn() -> u64) -> Result<Times, StoreError> {
    let broken = |error| StoreError::File { path: folder.to_owned(), source: error };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(broken)?;
    let (store, restored) = Store::open(folder, crate::limits::BLOBS_BYTES_MAX)?;
    let _entered = runtime.enter();
    let clock = Clock::start();
    let links = Arc::new(Links::new(Arc::default(), clock, usize::MAX));
    let config = CoordinatorConfig {
        grid: restored.grid,
        secret: restored.secret,
        seed: 1,
        table_bytes_max: COORDINATOR_TABLE_BYTES_MAX,
        circle: CIRCLE,
        restarted: false,
    };
    let machine = Coordinator::new(config, Vec::new(), clock.now());
    let (_to_driver, from_links) = mpsc::unbounded_channel();
    let known = Known { names: Vec::new(), chronicles: Vec::new(), trees_kept: crate::limits::TREES_KEPT };
    let (drive, _driver) = Drive::new(machine, clock, links, Arc::new(store), from_links, known);
    let permits = Arc::new(Semaphore::new(8));
    let mut bed = Bed { drive, permits, now_ns, times: Times::new() };

    for link in 1..=hosts {
        let report = HostReport {
            name: format!("host-{link}"),
            site: format!("site-{}", link % 100),
            threads: 8,
            version: "0".to_owned(),
            direct: None,
        };
        let hello =
            ToCoordinator::Hello { report, was: None, incarnation: 0, roots: Vec::new(), paused: None };
        bed.say("driver: a host comes", link, hello);
    }
    bed.drive.chronicles.begin(RUN);
    bed.drive.machine.submit(clock.now(), RUN, spec());
    let root = first_root(&mut bed);
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
                notes_dropped: 0,
                workers: Vec::new(),
            };
            bed.say("driver: counts", link, counted);
        }
        for part in 0..PARTS {
            bed.take("driver: a part of all rows and runs", Drive::next_part);
            if part % 10 == 0 {
                bed.take("driver: a batch is handed to the store", Drive::save_standings);
                // The store's answer is taken, which is not the driver's.
                runtime.block_on(tokio::task::yield_now());
            }
            bed.drive.drain();
        }
    }
    if let Some(RootClaim { number, .. }) = root {
        let finished = Finished { outcome: Outcome::Done(vec![0, 0]), work_ns: 1, span_ns: 1 };
        bed.say("driver: a run ends", 1, ToCoordinator::RootFinished { run: RUN, number, finished });
    }
    Ok(bed.times)
}

/// Has the first host take part, and take the root.
fn first_root(bed: &mut Bed) -> Option<RootClaim> {
    let drive = &mut bed.drive;
    drive.drain();
    drive.machine.handle_message(drive.clock.now(), LinkId(1), ToCoordinator::Ready { run: RUN });
    for _ in 0..1_000_000 {
        while let Some((_, message)) = drive.machine.poll_transmit() {
            if let ToHost::Assign { number, proof, .. } = message {
                drive.drain();
                return Some(RootClaim { run: RUN, number, proof });
            }
        }
        drive.machine.handle_timeout(drive.clock.now());
    }
    None
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
        record_every_ms: 100,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    use super::*;

    #[test]
    fn all_that_is_measured_happens() {
        static TICKS: AtomicU64 = AtomicU64::new(0);
        let folder = tempfile::tempdir().expect("a folder");
        let times = measure(folder.path(), 50, || TICKS.fetch_add(1, Relaxed)).expect("measured");
        let counts: Vec<(&str, usize)> = times.iter().map(|(kind, times)| (*kind, times.len())).collect();
        let expected = [
            ("driver: a batch is handed to the store", ROUNDS as usize * PARTS / 10),
            ("driver: a host comes", 50),
            ("driver: a part of all rows and runs", ROUNDS as usize * PARTS),
            ("driver: a run ends", 1),
            ("driver: counts", 50 * ROUNDS as usize),
        ];
        assert_eq!(counts, expected);
    }
}
