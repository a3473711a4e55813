//! A host's process: its machine, its runtime, its store, its link.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use sateen_protocol::codec::PROTOCOL_VERSION;
use sateen_protocol::coordinator::LinkId;
use sateen_protocol::host::{FinalCounts, Host, HostConfig, Notice};
use sateen_protocol::message::HostReport;
use sateen_protocol::{Entry, HostId, JobKey, JobSpec, Random, RunId, RunSpec, RuntimeJobId, Time};

use crate::event::Event;
use crate::faults::sleep::Clock;
use crate::invariants::strangers::Acquaintances;
use crate::runtime::Runtime;
use crate::world::WorldConfig;

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

/// A host's disk.
#[derive(Debug, Clone, Default)]
pub struct Store {
    saved: BTreeMap<RunId, BTreeMap<JobKey, Entry>>,
    /// Its copy.
    copy: Option<BTreeMap<RunId, BTreeMap<JobKey, Entry>>>,
    /// Not flushed yet.
    unsaved: VecDeque<(Time, RunId, Entry)>,
    /// The time of saving an entry.
    pub each_ns: u64,
    /// Whether nothing can be saved.
    pub is_full: bool,
}

impl Store {
    /// Saves an entry with a delay; returns a rare state, if one was reached.
    pub fn save(&mut self, now: Time, run: RunId, entry: Entry) -> Option<&'static str> {
        if self.is_full {
            return Some("a host could not save an entry");
        }
        // One after the other.
        let last = self.unsaved.back().map_or(now, |(at, ..)| now.max(*at));
        self.unsaved.push_back((Time(last.0 + self.each_ns), run, entry));
        (self.each_ns > 0).then_some("a host saved late")
    }

    /// Forgets a run.
    pub fn forget(&mut self, run: RunId) {
        self.saved.remove(&run);
        self.unsaved.retain(|(_, other, _)| *other != run);
    }

    /// Flushes entries that were saved before `before` to the disk.
    pub fn flush(&mut self, before: Time) {
        while let Some((at, _, _)) = self.unsaved.front()
            && *at <= before
        {
            let Some((_, run, entry)) = self.unsaved.pop_front() else { break };
            self.saved.entry(run).or_default().insert(entry.key, entry);
        }
    }

    /// Drops everything that a crash loses.
    pub fn lose_unsaved(&mut self) {
        self.unsaved.clear();
    }

    /// Removes entries, as lost or unreadable, except `left_percent`; returns their number.
    pub fn damage(&mut self, random: &mut Random, left_percent: usize) -> usize {
        let count = |saved: &BTreeMap<_, BTreeMap<_, _>>| saved.values().map(BTreeMap::len).sum::<usize>();
        let before = count(&self.saved);
        for entries in self.saved.values_mut() {
            entries.retain(|_, _| random.below(100) < left_percent);
        }
        before - count(&self.saved)
    }

    /// Keeps a copy of the disk.
    pub fn keep_copy(&mut self, now: Time) {
        self.flush(Time(now.0.saturating_sub(STORE_FLUSH_NS)));
        self.copy = Some(self.saved.clone());
    }

    /// Replaces the disk by its copy, if there is one; returns whether they differed.
    pub fn roll_back(&mut self) -> bool {
        let Some(copy) = self.copy.take() else { return false };
        let is_old = self.saved != copy;
        self.saved = copy;
        is_old
    }

    /// Whether a crash now would leave any records.
    pub fn has_records(&self, now: Time) -> bool {
        let is_flushed = |(at, ..): &(Time, RunId, Entry)| at.0 + STORE_FLUSH_NS <= now.0;
        self.saved.values().any(|entries| !entries.is_empty()) || self.unsaved.front().is_some_and(is_flushed)
    }

    /// The entries of a run.
    pub fn entries(&self, run: RunId) -> Vec<Entry> {
        self.saved.get(&run).map_or_else(Vec::new, |entries| entries.values().cloned().collect())
    }
}

/// A waiting input of the machine.
#[derive(Debug)]
pub enum Input {
    /// A notice from the runtime.
    Notice(RunId, Notice),
    /// The answer to an offer.
    Offered(RunId, Option<(RuntimeJobId, JobSpec)>),
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
    /// Its link, as it believes.
    pub link: Option<LinkId>,
    /// The pause before the next dial.
    pub backoff_ns: u64,
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
    /// Runs whose app is being loaded.
    pub loading: BTreeMap<RunId, RunSpec>,
    /// Runs that it cannot take part in.
    pub unable: BTreeSet<RunId>,
    /// Its machine's clock.
    pub clock: Clock,
    /// When the coordinator gave it up, until it knows.
    pub gone_since: Option<Time>,
    /// The time since which a crashed coordinator has not received its reports.
    pub unheard_since: Option<Time>,
    /// Its version of the protocol.
    pub version: u8,
    /// Whether it had another version before.
    pub was_updated: bool,
    /// The pause after the next refusal.
    pub refused_rest_ns: u64,
    /// The hosts that it knew or received messages from.
    pub acquaintances: Acquaintances,
}

impl Process {
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
        };
        let host = HostConfig { report, seed, table_bytes_max: config.table_bytes_max };
        Self {
            host: Host::new(host, clock.read(now)),
            runtime: Runtime::new(plan.workers, plan.speed_percent, config.grain_ns),
            plan,
            place,
            store: Store::default(),
            link: None,
            backoff_ns: BACKOFF_MIN_NS,
            is_alive: true,
            frozen: None,
            timer_at: Time::NEVER,
            listed: None,
            inputs: VecDeque::new(),
            loading: BTreeMap::new(),
            unable: BTreeSet::new(),
            clock,
            gone_since: None,
            unheard_since: None,
            version: PROTOCOL_VERSION,
            was_updated: false,
            refused_rest_ns: REFUSED_REST_MIN_NS,
            acquaintances: Acquaintances::default(),
        }
    }
}

/// Time until a saved entry is on a host's disk.
pub const STORE_FLUSH_NS: u64 = 100_000_000;
/// The pause after the first failed dial.
pub const BACKOFF_MIN_NS: u64 = 100_000_000;
/// The pause after the first refusal.
pub const REFUSED_REST_MIN_NS: u64 = 1_000_000_000;
/// The longest pause after a refusal; shorter than that of a real host, so that seeds need not wait for it.
pub const REFUSED_REST_MAX_NS: u64 = 8_000_000_000;
/// The longest pause between dials.
pub const BACKOFF_MAX_NS: u64 = 2_000_000_000;
