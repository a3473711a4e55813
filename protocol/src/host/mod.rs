//! A host's state machine.
//!
//! `stealing` chooses victims, `ahead` asks for the next job while short ones still run, and `serving` serves
//! thieves; `loans` follows lent and held jobs until their results have arrived, and `reconciling` detects messages
//! that were lost in transit; `recovery` acts when a host is gone, and `crashed` when the runtime of a run is;
//! `parting` is how hosts part, and whether jobs are lost by that; `records` is this host's part of the result table;
//! `sharing` keeps the replicas of shared objects equal; `departure` is leaving, pausing and suspending; `ended`
//! keeps the last counts of runs that were dropped; `membership` is the link to the coordinator and the list of other
//! hosts; `parcels` carries messages that are too large for one frame; `repeats` decides when an unanswered message
//! is sent again; `cutting_off` rejects peers that break the protocol. `inputs` has the functions that a driver calls
//! with events, `outputs` those with which it takes messages and commands.
//!
//! `standing` is this host's identity at the coordinator; `peers` and `cut_off` are the hosts that it knows or ignores;
//! `transfers` are parcels under way, `last_numbers` what outlives runs.
//!
//! `run` is a host's state in one run, made of pieces: `held` has the jobs that it holds for others, and `lent` those
//! that others hold for it; `thief` and `victim` have its requests and those of others; `lost` and `lookups` have the
//! work to do after hosts are gone; `outbox` and `reporting` have the data that is to be sent. `again`, `twice` and
//! `given_up` are about jobs and hosts after others were taken for dead, `courtesy` limits answers, `route` handles a lost
//! route, `notes` are for the tree, `taken` is what a held job took from elsewhere, and `units` reports what is to be checked.
//!
//! These files have only tests: `admission`, `announced`, `bonds`, `bounds`, `clock`, `corners`, `doors`, `getters`,
//! `replicas`, `reports` and `together`.

#[cfg(test)]
mod admission;
mod again;
mod ahead;
#[cfg(test)]
mod announced;
#[cfg(test)]
mod bonds;
#[cfg(test)]
mod bounds;
#[cfg(test)]
mod clock;
#[cfg(test)]
mod corners;
mod courtesy;
mod crashed;
mod cut_off;
mod cutting_off;
mod departure;
#[cfg(test)]
mod doors;
mod ended;
#[cfg(test)]
mod getters;
mod given_up;
mod held;
mod inputs;
mod last_numbers;
mod lent;
mod loans;
mod lookups;
mod lost;
mod membership;
mod notes;
mod numbers;
mod outbox;
mod outputs;
mod parcels;
mod parting;
mod peers;
mod reconciling;
mod records;
mod recovery;
mod repeats;
#[cfg(test)]
mod replicas;
mod reporting;
#[cfg(test)]
mod reports;
mod route;
mod run;
mod serving;
mod sharing;
mod sizes;
mod stage;
mod standing;
mod stealing;
mod surface;
mod taken;
#[cfg(test)]
pub(crate) mod tests;
mod thief;
#[cfg(test)]
mod together;
mod transfers;
mod twice;
mod units;
mod victim;

use std::collections::BTreeMap;

use crate::limits::FORGOTTEN_AT_ONCE_MAX;
use crate::message::HostInfo;
use crate::shared::{ObjectId, Replica};
use crate::unpolled::Unpolled;
use crate::{Counts, GridId, HostId, Random, RunId, Scope, Time};
use courtesy::Courtesy;
use departure::Departing;
use ended::EndedRuns;
use last_numbers::LastNumbers;
use peers::Peers;
use repeats::{Repeated, Repeats};
use run::HostRun;
use sharing::Sharing;
use standing::Standing;
use transfers::Transfers;

pub use ended::FinalCounts;
pub use sizes::Sizes;
pub use surface::{Command, Event, HostConfig, Misbehaviour, Notice, Receiver, RunCommand, Transmit};

/// The state machine of a host.
pub struct Host {
    config: HostConfig,
    random: Random,
    standing: Standing,
    departing: Option<Departing>,
    peers: Peers,
    /// How many more entries of hosts that are gone this event may forget.
    room_to_forget: usize,
    /// Boxed, as nodes of the map have room for eleven and most hosts have one.
    runs: BTreeMap<RunId, Box<HostRun>>,
    /// Runs that it dropped recently.
    ended: EndedRuns,
    last_numbers: LastNumbers,
    /// The time of the last event, for notes and parcels.
    latest: Time,
    transfers: Transfers,
    repeats: Repeats,
    courtesy: Courtesy,
    unpolled: Unpolled<Transmit, Command, Event>,
}

impl Host {
    /// Makes a host that has never joined a grid.
    pub fn new(config: HostConfig, now: Time) -> Self {
        let random = Random::new(config.seed);
        let peers = Peers::new(config.report.site.clone());
        Self {
            config,
            random,
            standing: Standing::default(),
            departing: None,
            peers,
            room_to_forget: FORGOTTEN_AT_ONCE_MAX,
            runs: BTreeMap::new(),
            ended: EndedRuns::default(),
            last_numbers: LastNumbers::default(),
            latest: now,
            transfers: Transfers::default(),
            repeats: Repeats::default(),
            courtesy: Courtesy::default(),
            unpolled: Unpolled::default(),
        }
    }

    // ---- getters ----

    /// Its id, once the coordinator has assigned one.
    pub fn id(&self) -> Option<HostId> {
        self.standing.id()
    }

    /// The grid that it belongs to.
    pub fn grid(&self) -> Option<GridId> {
        self.standing.grid()
    }

    /// Whether it is connected to the coordinator and welcomed.
    pub fn is_connected(&self) -> bool {
        self.standing.is_connected()
    }

    /// Whether it is about to leave or to pause.
    pub fn is_leaving(&self) -> bool {
        self.departing.is_some()
    }

    /// Whether it may take jobs: it is part of a grid, and neither paused nor about to go.
    fn may_work(&self) -> bool {
        self.standing.may_work() && !self.is_leaving()
    }

    /// Why it does not work on a run; `None` if it does, or may yet.
    pub fn unable(&self, run: RunId) -> Option<&str> {
        self.runs.get(&run)?.unable.as_deref()
    }

    /// The runs that it knows.
    pub fn runs(&self) -> Vec<RunId> {
        self.runs.keys().copied().collect()
    }

    /// A host that this one is acquainted with, if it is one.
    pub fn peer(&self, peer: HostId) -> Option<&HostInfo> {
        self.peers.get(peer)
    }

    /// All hosts that this one is acquainted with.
    pub fn peers(&self) -> impl Iterator<Item = &HostInfo> {
        self.peers.iter()
    }

    /// The counts of a run's jobs at this host.
    pub fn counts(&self, run: RunId) -> Option<Counts> {
        self.runs.get(&run).map(|run| run.reporting.counts())
    }

    /// When it last asked for a job because a worker has none, of the requests over direct links that are not answered. The
    /// answer may come within microseconds.
    pub fn asked_last(&self) -> Option<Time> {
        let requests = self.runs.values().flat_map(|run| run.thief.requests());
        let awaited = requests.filter(|(_, request)| !request.is_ahead && request.scope == Scope::Site);
        awaited.map(|(_, request)| request.since).max()
    }

    /// The number of jobs that it holds for others, and of jobs that others hold for it.
    pub fn held_and_lent(&self, run: RunId) -> (usize, usize) {
        self.runs.get(&run).map_or((0, 0), |run| (run.held.len(), run.loans.len()))
    }

    /// The number of entries in its part of a run's result table, and their bytes.
    pub fn table(&self, run: RunId) -> (usize, usize) {
        self.runs.get(&run).map_or((0, 0), |run| (run.table.len(), run.table.bytes()))
    }

    /// The number of entries that its part of a run's result table has dropped to keep to its bound.
    pub fn entries_evicted(&self, run: RunId) -> Option<u64> {
        self.runs.get(&run).map(|run| run.table.dropped())
    }

    /// The number of a run's shared objects that it knows, and the bytes of their replicas.
    pub fn shared(&self, run: RunId) -> (usize, u64) {
        self.runs.get(&run).map_or((0, 0), |run| (run.shared.len(), run.reporting.own().shared_bytes))
    }

    /// The replica of a shared object, if there is one.
    pub fn replica(&self, run: RunId, object: ObjectId) -> Option<&Replica> {
        self.runs.get(&run)?.shared.get(object).and_then(Sharing::replica)
    }

    /// Whether parcels with updates or a replica of a shared object are announced to this host.
    pub fn awaits_object(&self, run: RunId, object: ObjectId) -> bool {
        self.transfers.incoming.has_any(|contents| contents.object() == Some((run, object)))
    }
}
