//! A host's process: its machine, its runtime, its store, its link.

mod absence;
mod apps;
mod store;
mod uplink;

use std::collections::VecDeque;

use sateen_protocol::host::{FinalCounts, Host, HostConfig, Notice};
use sateen_protocol::message::HostReport;
use sateen_protocol::shared::{ObjectId, Replica};
use sateen_protocol::{Entry, HostId, JobSpec, PublicKey, RunId, RuntimeJobId, Time};

use crate::event::Event;
use crate::faults::sleep::Clock;
use crate::invariants::strangers::Acquaintances;
use crate::runtime::Runtime;
use crate::world::WorldConfig;

pub use absence::Absence;
pub use apps::Apps;
pub use store::{STORE_FLUSH_NS, Store};
pub use uplink::{BACKOFF_MIN_NS, Uplink};

/// The properties of a host.
#[derive(Debug, Clone)]
pub struct HostPlan {
    /// Its site.
    pub site: usize,
    /// Workers.
    pub workers: usize,
    /// Work per time, in percent.
    pub speed_percent: u64,
}

impl HostPlan {
    /// Its workers, weighted by speed.
    pub fn workers_by_speed(&self) -> u64 {
        self.workers as u64 * self.speed_percent.max(100) / 100
    }
}

/// A waiting input of the machine.
#[derive(Debug)]
pub enum Input {
    /// A notice from the runtime.
    Notice(RunId, Notice),
    /// The answer to an offer.
    Offered(RunId, Vec<(RuntimeJobId, JobSpec)>),
    /// A run was dropped, with these counts.
    Stopped(RunId, Option<Box<FinalCounts>>),
    /// A peer cannot be reached.
    PeerLost(HostId),
    /// An app is loaded; the saved entries of the run come first.
    Loaded(RunId, Vec<Entry>),
    /// An app is loaded.
    Ready(RunId),
}

impl Input {
    /// The run that it concerns.
    pub fn run(&self) -> Option<RunId> {
        match self {
            Self::Notice(run, _) | Self::Offered(run, _) | Self::Loaded(run, _) | Self::Ready(run) => {
                Some(*run)
            }
            // The machine may have dropped the run twice.
            Self::Stopped(..) | Self::PeerLost(_) => None,
        }
    }
}

/// The key of hosts at a place: one that is started again has the key that it had.
fn key_of(place: usize) -> PublicKey {
    PublicKey(std::array::from_fn(|byte| place.to_le_bytes()[byte % 8]))
}

/// A process.
pub struct Process {
    /// Its properties.
    pub plan: HostPlan,
    /// Its number among the places for hosts, kept over restarts.
    pub place: usize,
    /// The machine.
    pub host: Host,
    /// The workers.
    pub runtime: Runtime,
    /// The disk.
    pub store: Store,
    /// Its way to the coordinator.
    pub uplink: Uplink,
    /// Whether it has not ended.
    pub is_alive: bool,
    /// If it is stopped, the events that have happened meanwhile.
    pub frozen: Option<VecDeque<Event>>,
    /// The earliest timer on the heap.
    pub timer_at: Time,
    /// The id under which others reach it.
    pub listed: Option<HostId>,
    /// Waiting inputs of the machine.
    pub inputs: VecDeque<Input>,
    /// Its apps.
    pub apps: Apps,
    /// Its machine's clock.
    pub clock: Clock,
    /// The time for which the coordinator does not know of its work.
    pub absence: Absence,
    /// The hosts that it knew or received messages from.
    pub acquaintances: Acquaintances,
}

impl Process {
    /// Some updates of an object were given up. Updates made here that are missing from its replica are lost.
    pub fn forget_lost_updates(&mut self, run: RunId, object: ObjectId) {
        if let Some(portion) = self.runtime.portions.get_mut(&run) {
            let here = self.host.replica(run, object).map(Replica::versions);
            portion.objects.forget_lost_updates(object, here);
        }
    }

    /// Its key.
    pub fn host_key(&self) -> PublicKey {
        key_of(self.place)
    }

    /// The runtime sends the machine a notice. The machine names the runtime's updates.
    pub fn notify(&mut self, local: Time, run: RunId, notice: Notice) {
        let updated = match &notice {
            Notice::Updated { object, .. } => Some(*object),
            _ => None,
        };
        self.host.handle_notice(local, run, notice);
        if let (Some(object), Some(portion)) = (updated, self.runtime.portions.get_mut(&run))
            && let Some(log) = self.host.replica(run, object).and_then(Replica::own_log)
        {
            portion.objects.note_log(object, log, &mut portion.remarks);
        }
    }

    /// A new process.
    pub fn new(
        plan: HostPlan,
        place: usize,
        seed: u64,
        config: &WorldConfig,
        clock: Clock,
        now: Time,
    ) -> Self {
        let report = HostReport {
            name: format!("host {place}"),
            site: format!("site {}", plan.site),
            threads: plan.workers as u32,
            version: "simulated".into(),
            direct: config.network.is_direct_in_site.then(|| format!("{place}:1")),
            key: key_of(place),
        };
        let host = HostConfig { report, seed, table_bytes_max: config.table_bytes_max };
        Self {
            host: Host::new(host, clock.read(now)),
            runtime: Runtime::new(plan.workers, plan.speed_percent, config.grain_ns),
            plan,
            place,
            store: Store::default(),
            uplink: Uplink::default(),
            is_alive: true,
            frozen: None,
            timer_at: Time::NEVER,
            listed: None,
            inputs: VecDeque::new(),
            apps: Apps::default(),
            clock,
            absence: Absence::default(),
            acquaintances: Acquaintances::default(),
        }
    }
}
