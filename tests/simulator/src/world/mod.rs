//! A grid in virtual time: its parts, its clock, and the heap of its events.

mod disturbances;
mod happen;
mod trace;

use std::collections::BTreeMap;
use std::rc::Rc;

use sateen_protocol::coordinator::{Circle, Earlier};
use sateen_protocol::{Entry, Random, RunId, RunSpec, Time, limits};

use crate::by_id::ById;
use crate::event::{Event, ProcessIndex, Queue};
use crate::faults::Faults;
use crate::faults::sleep::Clock;
use crate::invariants::Remembered;
use crate::network::{Network, NetworkConfig};
use crate::process::{HostPlan, Process};
use crate::recorded::Machine;
use crate::runtime::Tally;
use crate::server::{Server, submitter_of};
use crate::sometimes::Sometimes;
use crate::tree::Tree;

pub use disturbances::Disturbances;
pub use trace::Trace;

/// Violations after which a seed ends.
pub const VIOLATIONS_MAX: usize = 10;

/// Seed of draws that are independent of a host's machine.
const CLOCKS: u64 = 0xc10c_0000;
/// How often invariants are checked.
const AUDIT_EVERY_NS: u64 = 500_000_000;

/// The configuration of a world.
#[derive(Debug, Clone)]
pub struct WorldConfig {
    /// Everything random follows from it.
    pub seed: u64,
    /// Latencies of messages.
    pub network: NetworkConfig,
    /// The number of others that each host knows.
    pub circle: Circle,
    /// See [`crate::runtime::Runtime::new`].
    pub grain_ns: u64,
    /// The time to load an app.
    pub load_ns: u64,
    /// The bound on each host's result table, in bytes.
    pub table_bytes_max: usize,
    /// The bound on the coordinator's result tables.
    pub coordinator_table_bytes_max: usize,
    /// Maximum drift of hosts' clocks, in parts per million.
    pub clocks_off_ppm: u64,
    /// Whether invariants are checked, messages encoded, and rare states counted.
    pub is_observed: bool,
}

impl WorldConfig {
    /// The limits of the product, and apps that take a millisecond to load; nothing is observed.
    pub fn new(seed: u64, network: NetworkConfig) -> Self {
        Self {
            seed,
            network,
            circle: limits::CIRCLE,
            grain_ns: 1_000_000,
            load_ns: 1_000_000,
            table_bytes_max: limits::HOST_TABLE_BYTES_MAX,
            coordinator_table_bytes_max: limits::COORDINATOR_TABLE_BYTES_MAX,
            clocks_off_ppm: 0,
            is_observed: false,
        }
    }
}

/// A grid in virtual time.
pub struct World {
    /// Its configuration.
    pub config: WorldConfig,
    /// Now.
    pub now: Time,
    /// Future events.
    pub queue: Queue,
    /// What happened so far.
    pub trace: Trace,
    /// All processes that ever existed.
    pub processes: Vec<Process>,
    /// The coordinator.
    pub server: Server,
    /// The links.
    pub network: Network,
    /// The runs' trees.
    pub trees: BTreeMap<RunId, Rc<Tree>>,
    /// Rare states.
    pub sometimes: Sometimes,
    /// Violations of invariants.
    pub violations: Vec<String>,
    /// Disturbances so far, and what they may have cost.
    pub disturbances: Disturbances,
    /// What the invariants keep from one check to the next.
    pub remembered: Remembered,
    /// Its faults.
    pub faults: Faults,
    pub(crate) directory: ById<ProcessIndex>,
    random: Random,
}

impl World {
    /// A grid with a coordinator and without hosts.
    pub fn new(config: WorldConfig) -> Self {
        let mut random = Random::new(config.seed);
        let network = Network::new(config.network.clone(), random.next_u64());
        let server =
            Server::new(random.next_u64(), config.circle, config.coordinator_table_bytes_max, Time(0));
        let mut world = Self {
            now: Time(0),
            queue: Queue::default(),
            trace: Trace::default(),
            processes: Vec::new(),
            server,
            network,
            trees: BTreeMap::new(),
            sometimes: Sometimes::default(),
            violations: Vec::new(),
            disturbances: Disturbances::default(),
            remembered: Remembered::default(),
            faults: Faults::default(),
            directory: ById::default(),
            random,
            config,
        };
        world.settle_coordinator();
        if world.config.is_observed {
            world.queue.push(Time(AUDIT_EVERY_NS), Event::Audit);
        }
        world
    }

    /// Starts a host at a new place.
    pub fn add_host(&mut self, plan: HostPlan) -> ProcessIndex {
        let place = self
            .processes
            .iter()
            .filter(|process| process.is_alive || process.place != usize::MAX)
            .map(|process| process.place + 1)
            .max()
            .unwrap_or(0);
        self.start_process(plan, place)
    }

    pub(crate) fn start_process(&mut self, plan: HostPlan, place: usize) -> ProcessIndex {
        let index = self.processes.len() as ProcessIndex;
        let seed = self.random.next_u64();
        let clock = match self.config.clocks_off_ppm {
            0 => Clock::default(),
            off_ppm => Clock::drawn(&mut Random::new(seed ^ CLOCKS), off_ppm),
        };
        self.network.sites.push(plan.site);
        self.processes.push(Process::new(plan, place, seed, &self.config, clock, self.now));
        let pause = self.random.below(5_000_000) as u64;
        self.queue.push(Time(self.now.0 + pause), Event::Dial(index));
        index
    }

    /// A process that never runs, to be at the other end of a link.
    pub(crate) fn add_ghost(&mut self, plan: HostPlan) -> ProcessIndex {
        let index = self.processes.len() as ProcessIndex;
        self.network.sites.push(plan.site);
        let mut ghost = Process::new(plan, usize::MAX, 0, &self.config, Clock::default(), self.now);
        ghost.is_alive = false;
        self.processes.push(ghost);
        index
    }

    /// Submits a run of a tree.
    pub fn submit(&mut self, run: RunId, spec: RunSpec, tree: Rc<Tree>) {
        self.trees.insert(run, tree);
        self.server.store(self.now, run, spec.clone());
        let now = self.now;
        self.with_coordinator(|machine| machine.submit(now, run, submitter_of(run), spec));
    }

    /// Submits a run that may find these results of earlier runs.
    pub fn submit_after(&mut self, run: RunId, spec: RunSpec, tree: Rc<Tree>, entries: Vec<Entry>) {
        let earlier = Earlier::new(&spec, usize::MAX, entries.clone());
        self.server.earlier.insert(run, entries);
        self.submit(run, spec, tree);
        let now = self.now;
        self.with_coordinator(|machine| machine.use_earlier(now, run, earlier));
    }

    /// Makes all hosts equally fast, future ones included: their work then equals their computing time.
    pub fn even_out(&mut self) {
        for process in &mut self.processes {
            process.plan.speed_percent = 100;
            process.runtime.speed_percent = 100;
        }
        self.faults.even_out();
    }

    /// Whether all runs are over.
    pub fn is_over(&self) -> bool {
        self.server.runs.values().all(|stored| stored.end.is_some())
    }

    /// Whether all runs are over, with final counts.
    pub fn has_final_counts(&self) -> bool {
        self.server.runs.values().all(|stored| stored.end.is_some() && stored.counted.is_some())
    }

    /// Continues until a moment, or until `is_enough`; true in the latter case.
    pub fn run_until(&mut self, until: Time, mut is_enough: impl FnMut(&Self) -> bool) -> bool {
        loop {
            if is_enough(self) {
                return true;
            }
            match self.queue.next_at() {
                Some(at) if at <= until => self.step(),
                _ => {
                    self.now = until;
                    return false;
                }
            }
        }
    }

    /// Whether a process is alive and not frozen.
    pub fn is_up(&self, process: ProcessIndex) -> bool {
        let process = &self.processes[process as usize];
        process.is_alive && process.frozen.is_none()
    }

    /// The processes that are alive, frozen ones included.
    pub fn alive(&self) -> impl Iterator<Item = (ProcessIndex, &Process)> {
        (self.processes.iter().enumerate())
            .filter(|(_, process)| process.is_alive)
            .map(|(index, process)| (index as ProcessIndex, process))
    }

    /// The work done for a run so far, by all.
    pub fn executed_ns(&self, run: RunId) -> u64 {
        self.processes
            .iter()
            .map(|process| process.runtime.executed(self.now).get(&run).copied().unwrap_or(0))
            .sum()
    }

    /// The work that was lost as a run was suspended, by all. Tables with a tight bound drop any results, or have no room
    /// for a single one: with them, all work may be lost.
    pub fn suspended_ns(&self, run: RunId) -> u64 {
        let is_tight = self.config.table_bytes_max < limits::HOST_TABLE_BYTES_MAX;
        let suspended = self.processes.iter().map(|process| process.runtime.suspended(run));
        suspended.map(|work| if is_tight { work.executed_ns } else { work.unsaved_ns }).sum()
    }

    /// The tally of a run, over all processes.
    pub fn tally(&self, run: RunId) -> Tally {
        let mut tally = Tally::default();
        self.processes.iter().for_each(|process| tally.add(&process.runtime.tally(run)));
        tally
    }

    /// Logs a line, if requested.
    pub(crate) fn write(&mut self, line: impl FnOnce() -> String) {
        self.trace.write(self.now, line);
    }

    /// Passes one input to the coordinator's machine, if it runs, and executes its commands.
    pub fn with_coordinator<R>(&mut self, tell: impl FnOnce(&mut Machine) -> R) -> Option<R> {
        let answer = tell(self.server.machine.as_mut()?);
        self.settle_coordinator();
        Some(answer)
    }
}
