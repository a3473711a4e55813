//! A host's state machine.
//!
//! `stealing` chooses victims and serves thieves; `loans` follows what is lent and held until the result
//! has arrived, and `reconciling` notices what was lost on the way; `recovery` is what happens when somebody
//! goes; `records` is this host's part of the result table; `sharing` keeps the replicas of shared objects alike;
//! `departure` is leaving, pausing and suspending; `ended` is what was counted last of runs that are dropped;
//! `membership` is the link to the coordinator and who else is there; `parcels` carries what is too large for one
//! message; `repeats` says when what was not answered is sent again; `cutting_off` ends what there is with peers that break
//! the protocol. `inputs` has what a driver calls when something happens, `outputs` what it takes.
//!
//! `standing` is who this host is for the coordinator; `peers` and `cut_off` are the hosts that it knows or ignores;
//! `transfers` are parcels under way, `unpolled` what waits for the driver, `last_numbers` what outlives runs.
//!
//! `run` is what a host knows of one run, piece by piece: `held` and `lent` are jobs of others and jobs that others
//! have, `thief` and `victim` what is asked for, `lost` and `lookups` what is to be done after hosts are gone,
//! `outbox` and `reporting` what is to be sent.

#[cfg(test)]
mod admission;
mod again;
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
mod sharing;
mod sizes;
mod stage;
mod standing;
mod stealing;
mod surface;
#[cfg(test)]
pub(crate) mod tests;
mod thief;
mod transfers;
mod twice;
mod unpolled;
mod victim;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::limits::FORGOTTEN_AT_ONCE_MAX;
use crate::message::HostInfo;
use crate::shared::{ObjectId, SharedReplica};
use crate::{Counts, GridId, HostId, Random, RunId, Time};
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
use unpolled::Unpolled;

pub use ended::FinalCounts;
pub use sizes::Sizes;
pub use surface::{Command, Event, HostConfig, Misbehaviour, Notice, Receiver, RunCommand, Transmit};

/// A host.
pub struct Host {
    config: HostConfig,
    random: Random,
    standing: Standing,
    departing: Option<Departing>,
    peers: Peers,
    /// Entries of hosts that are gone which this event may still forget.
    room_to_forget: usize,
    /// Boxed: nodes of the map have room for eleven, and most hosts have one.
    runs: BTreeMap<RunId, Box<HostRun>>,
    /// Runs that it has dropped a moment ago.
    ended: EndedRuns,
    last_numbers: LastNumbers,
    /// When something was last heard, for notes and parcels.
    latest: Time,
    transfers: Transfers,
    repeats: Repeats,
    courtesy: Courtesy,
    unpolled: Unpolled,
}

impl Host {
    /// A host that has not been anywhere.
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

    /// Who it is, once the coordinator has said so.
    pub fn id(&self) -> Option<HostId> {
        self.standing.id()
    }

    /// Which grid it is part of.
    pub fn grid(&self) -> Option<GridId> {
        self.standing.grid()
    }

    /// Whether the coordinator hears it.
    pub fn is_connected(&self) -> bool {
        self.standing.is_connected()
    }

    /// Whether it is about to go, or to pause.
    pub fn is_leaving(&self) -> bool {
        self.departing.is_some()
    }

    /// Why it takes no work.
    pub fn paused(&self) -> Option<&str> {
        self.standing.paused()
    }

    /// Whether it may take jobs: it is part of a grid, and neither paused nor about to go.
    fn may_work(&self) -> bool {
        self.standing.may_work() && !self.is_leaving()
    }

    /// The runs that it knows of.
    pub fn runs(&self) -> Vec<RunId> {
        self.runs.keys().copied().collect()
    }

    /// Another host.
    pub fn peer(&self, peer: HostId) -> Option<&HostInfo> {
        self.peers.get(peer)
    }

    /// All other hosts.
    pub fn peers(&self) -> impl Iterator<Item = &HostInfo> {
        self.peers.iter()
    }

    /// What became of a run's jobs here.
    pub fn counts(&self, run: RunId) -> Option<Counts> {
        self.runs.get(&run).map(|part| part.reporting.counts())
    }

    /// Jobs that it holds for others, and jobs that others hold for it.
    pub fn held_and_lent(&self, run: RunId) -> (usize, usize) {
        self.runs.get(&run).map_or((0, 0), |part| (part.held.len(), part.loans.len()))
    }

    /// Entries of its part of a run's result table, and their bytes.
    pub fn table(&self, run: RunId) -> (usize, usize) {
        self.runs.get(&run).map_or((0, 0), |part| (part.table.len(), part.table.bytes()))
    }

    /// Entries that were dropped from its part of a run's result table to keep to the bound.
    pub fn entries_evicted(&self, run: RunId) -> Option<u64> {
        self.runs.get(&run).map(|part| part.table.dropped())
    }

    /// Shared objects of a run that it knows of, and what their replicas take, in bytes.
    pub fn shared(&self, run: RunId) -> (usize, u64) {
        self.runs.get(&run).map_or((0, 0), |part| (part.shared.len(), part.reporting.own().shared_bytes))
    }

    /// The place of a shared object's replica, if the object is known.
    pub fn replica(&self, run: RunId, object: ObjectId) -> Option<&Arc<SharedReplica>> {
        self.runs.get(&run)?.shared.get(object).map(Sharing::replica)
    }

    /// Whether updates or a replica of a shared object are on their way here as parcels, which wait their turn.
    pub fn awaits_object(&self, run: RunId, object: ObjectId) -> bool {
        self.transfers.incoming.has_any(|contents| contents.object() == Some((run, object)))
    }
}
