//! Measures how soon an update of a shared object reaches all other hosts.
//!
//! Eight hosts in this process, with the drivers, links and replicas of real ones, and a coordinator of its
//! own. In place of guests there is a stopwatch: from an update to the moment when the last of the others
//! would wake the guests that wait for it. A guest that is computing notices the update at its next heartbeat.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use sateen_host::grid::{
    CoordinatorAddress, DataFolder, DirectListen, Handle, Loading, Notify, Options, PageListen,
    RunningPortion, Runtime, start,
};
use sateen_protocol::host::{FinalCounts, Notice, RunCommand};
use sateen_protocol::shared::{Change, ObjectId};
use sateen_protocol::{
    BlobHash, Counts, Finished, HeldId, JobKey, JobSpec, Mention, Outcome, ROOT_KIND, RuntimeJobId,
};
use sateen_tests::cluster::Cluster;
use tempfile::TempDir;

use super::BENCH;
use crate::figure::Figure;
use crate::grid;
use crate::measure::Samples;

const HOSTS: usize = 8;
const WARM_UPS: u64 = 50;
const UPDATES: u64 = 300;
/// Pause between two updates, so that each is sent alone.
const REST: Duration = Duration::from_millis(5);
/// Maximum duration of any wait.
const PATIENCE: Duration = Duration::from_secs(20);
const OBJECT: ObjectId = ObjectId([7; 16]);

/// A host now has this number of updates.
struct Arrival {
    host: usize,
    count: u64,
    at: Instant,
}

/// The host that has the root, and with it the object.
struct Origin {
    notify: Notify,
    held: HeldId,
    spec: JobSpec,
}

/// State shared by all hosts.
struct Board {
    origin: Mutex<Option<Origin>>,
    /// Stolen jobs, each with the receiver of its result.
    stolen: Mutex<Vec<(Notify, HeldId)>>,
    arrivals: Sender<Arrival>,
}

struct Scripted {
    host: usize,
    board: Arc<Board>,
}

struct ScriptedPortion {
    host: usize,
    board: Arc<Board>,
    notify: Notify,
    is_origin: bool,
    given: u64,
    completed: u64,
    /// The number of updates that have come; `None` while there is no replica.
    has: Option<u64>,
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The text `1`.
fn finished() -> Finished {
    Finished { outcome: Outcome::Done(vec![0, 1, b'1'].into()), work_ns: 1, span_ns: 1 }
}

impl Runtime for Scripted {
    fn threads(&self) -> usize {
        1
    }
    fn start(&self, _loading: Loading, notify: Notify) -> Result<Box<dyn RunningPortion>, String> {
        notify(Notice::Idle(1));
        Ok(Box::new(ScriptedPortion {
            host: self.host,
            board: self.board.clone(),
            notify,
            is_origin: false,
            given: 0,
            completed: 0,
            has: None,
        }))
    }
}

impl ScriptedPortion {
    fn tell_arrival(&self) {
        if let Some(count) = self.has {
            // The benchmark may be over.
            let _ = self.board.arrivals.send(Arrival { host: self.host, count, at: Instant::now() });
        }
    }

    fn inject(&mut self, held: HeldId, spec: JobSpec) {
        (self.notify)(Notice::Idle(0));
        (self.notify)(Notice::Begun { held, worker: 0, late_ns: 0 });
        if spec.kind != ROOT_KIND {
            lock(&self.board.stolen).push((self.notify.clone(), held));
            return (self.notify)(Notice::Opened { object: OBJECT, place: 1 });
        }
        self.is_origin = true;
        (self.notify)(Notice::Shared { object: OBJECT, place: 1, initial: vec![0; 64].into() });
        *lock(&self.board.origin) = Some(Origin { notify: self.notify.clone(), held, spec });
        (self.notify)(Notice::Exposed);
    }
    fn offer(&mut self) -> Option<(RuntimeJobId, JobSpec)> {
        let origin = lock(&self.board.origin);
        let root = origin.as_ref().filter(|_| self.is_origin && self.given + 1 < HOSTS as u64)?;
        self.given += 1;
        let parameters = self.given.to_be_bytes().to_vec();
        let key = JobKey(BlobHash::of(&parameters).0);
        let lineage = root.spec.lineage.child(&root.spec.key);
        let objects = vec![Mention { object: OBJECT, creation: OBJECT }];
        let spec = JobSpec {
            key,
            kind: 0,
            parameters: parameters.into(),
            depth: 1,
            lineage,
            objects,
            ..root.spec.clone()
        };
        Some((RuntimeJobId(self.given), spec))
    }
    fn want(&mut self, thieves: usize) {
        if thieves > 0 && self.is_origin && self.given + 1 < HOSTS as u64 {
            (self.notify)(Notice::Exposed);
        }
    }
    fn complete(&mut self) {
        self.completed += 1;
        let origin = lock(&self.board.origin);
        if let Some(root) = origin.as_ref().filter(|_| self.completed + 1 == HOSTS as u64) {
            (self.notify)(Notice::Finished { held: root.held, finished: finished() });
        }
    }
    fn requeue(&mut self) {
        self.given -= 1;
        (self.notify)(Notice::Exposed);
    }
}

impl RunningPortion for ScriptedPortion {
    fn handle(&mut self, command: RunCommand) {
        match command {
            RunCommand::Inject { held, spec, .. } => self.inject(held, spec),
            // No base is ever made, so the whole object has all updates in its log.
            RunCommand::Replica { change: Change::Whole { updates, .. }, .. } => {
                self.has = Some(updates.len() as u64);
                self.tell_arrival();
            }
            RunCommand::Replica { change: Change::More { updates, .. }, .. } => {
                self.has = self.has.map(|has| has + updates.len() as u64);
                self.tell_arrival();
            }
            RunCommand::Want { thieves } => self.want(thieves),
            RunCommand::Offer { .. } => {
                let job = self.offer();
                (self.notify)(Notice::Offered(job.into_iter().collect()));
            }
            RunCommand::Complete { .. } => self.complete(),
            RunCommand::Requeue { .. } => self.requeue(),
            RunCommand::Drain => (self.notify)(Notice::Drained),
            RunCommand::Lookups { .. } | RunCommand::Abort { .. } => {}
        }
    }
    fn counts(&self) -> Counts {
        Counts::default()
    }
    fn stop(self: Box<Self>) -> FinalCounts {
        FinalCounts::default()
    }
}

pub fn figures() -> Result<Vec<Figure>> {
    eprintln!("apps: updates to {HOSTS} hosts");
    let cluster = Cluster::start_to_measure(&[]);
    let (arrivals, arrived) = channel();
    let board = Arc::new(Board { origin: Mutex::default(), stolen: Mutex::default(), arrivals });
    let folders: Vec<TempDir> = (0..HOSTS).map(|_| tempfile::tempdir()).collect::<Result<_, _>>()?;
    let hosts: Vec<Handle> = folders
        .iter()
        .enumerate()
        .map(|(host, folder)| join(&cluster, folder, Scripted { host, board: board.clone() }))
        .collect::<Result<_>>()?;
    cluster.await_hosts(HOSTS);
    let run = grid::submit(&cluster, "apps/fib.wasm", &["1"])?;
    let mut latencies = measure(&board, &arrived)?;
    for (notify, held) in lock(&board.stolen).drain(..) {
        notify(Notice::Finished { held, finished: finished() });
    }
    let about = cluster.api().run_over(run, PATIENCE);
    if about["state"] != "done" {
        bail!("the run has failed: {about:#}");
    }
    for host in hosts {
        host.leave();
        host.wait();
    }
    latencies.sort_by(f64::total_cmp);
    let tail: Samples = [latencies[latencies.len() * 99 / 100]].into_iter().collect();
    let about = format!("{HOSTS} hosts on loopback, {} updates, one at a time", latencies.len());
    Ok(vec![
        Figure::ratio(
            BENCH,
            "a shared object's update, until it is at all hosts, median",
            latencies.into_iter().collect(),
        )
        .unit("ms")
        .against(about.clone())
        .goal(2.0, 2.0),
        Figure::ratio(BENCH, "the same, 99 of 100 within", tail).unit("ms").against(about),
    ])
}

fn join(cluster: &Cluster, folder: &TempDir, runtime: Scripted) -> Result<Handle> {
    let address = format!("http://{}", cluster.address());
    let coordinator = CoordinatorAddress::parse(&address).map_err(|error| anyhow::anyhow!("{error}"))?;
    let options = Options {
        credentials: sateen_access::Credentials::default(),
        coordinator,
        name: format!("host {}", runtime.host),
        site: "here".to_owned(),
        direct: DirectListen::Auto,
        folder: DataFolder::open(folder.path())?,
        signals: false,
        page: PageListen::Off,
        run_work_max: None,
        comfort: None,
    };
    Ok(start(options, Arc::new(runtime))?)
}

/// Each update's time until the last other host has it, in milliseconds.
fn measure(board: &Board, arrived: &Receiver<Arrival>) -> Result<Vec<f64>> {
    all_have(0, arrived)?;
    let mut latencies = Vec::new();
    for number in 1..=WARM_UPS + UPDATES {
        std::thread::sleep(REST);
        let began = Instant::now();
        {
            let origin = lock(&board.origin);
            let Origin { notify, .. } = origin.as_ref().context("the root has begun")?;
            notify(Notice::Updated { object: OBJECT, bytes: number.to_le_bytes().to_vec().into() });
        }
        let last = all_have(number, arrived)?;
        if number > WARM_UPS {
            latencies.push(last.duration_since(began).as_secs_f64() * 1e3);
        }
    }
    Ok(latencies)
}

/// The moment at which the last of the other hosts had `count` updates.
fn all_have(count: u64, arrived: &Receiver<Arrival>) -> Result<Instant> {
    let mut there = BTreeMap::new();
    while there.len() + 1 < HOSTS {
        let arrival = arrived.recv_timeout(PATIENCE);
        let arrival =
            arrival.with_context(|| format!("update {count} has reached only {} hosts", there.len()))?;
        if arrival.count >= count {
            there.entry(arrival.host).or_insert(arrival.at);
        }
    }
    there.into_values().max().context("there are other hosts")
}
