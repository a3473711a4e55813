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
mod stealing;
mod surface;
#[cfg(test)]
pub(crate) mod tests;
mod thief;
mod twice;
mod victim;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use crate::limits::FORGOTTEN_AT_ONCE_MAX;
use crate::message::HostInfo;
use crate::parcel::{Incoming, Outgoing};
use crate::shared::{ObjectId, SharedReplica};
use crate::{Counts, GridId, HostId, Random, RunId, Time};
use courtesy::Courtesy;
use departure::Departing;
use ended::EndedRuns;
use given_up::GivenUp;
use repeats::{Repeated, Repeats};
use run::HostRun;
use sharing::Sharing;

pub use ended::FinalCounts;
pub use sizes::Sizes;
pub use surface::{Command, Event, HostConfig, Misbehaviour, Notice, Receiver, RunCommand, Transmit};

/// A host.
pub struct Host {
    config: HostConfig,
    random: Random,
    /// Who it is, the secret that proves it, and of which grid.
    identity: Option<(HostId, u64, GridId)>,
    /// Changes when all others have given it up.
    incarnation: u32,
    /// The coordinator has said welcome on the link that is open.
    is_connected: bool,
    /// Between `handle_connected` and the welcome.
    is_greeting: bool,
    peers: BTreeMap<HostId, HostInfo>,
    /// Peers by site, for choosing victims: this host's own, and all others.
    near: Vec<HostId>,
    far: Vec<HostId>,
    /// Peers that are reached by a link of their own, says the driver.
    direct: BTreeSet<HostId>,
    /// Peers that are not heard any more, by when that began.
    cut_off: BTreeMap<HostId, Time>,
    /// Peers that did not answer a steal request in time and have said nothing since.
    silent: BTreeSet<HostId>,
    /// Peers that were given up a moment ago, and may not know yet.
    given_up: GivenUp,
    epoch: u64,
    /// Entries of hosts that are gone which this event may still forget.
    room_to_forget: usize,
    /// Boxed: nodes of the map have room for eleven, and most hosts have one.
    runs: BTreeMap<RunId, Box<HostRun>>,
    /// Runs that it has dropped a moment ago.
    ended: EndedRuns,
    /// What a run that is given again counts on from, so that late answers are not taken for new ones.
    numbers_used: u64,
    /// The last incarnation of a log of updates; no two of this host's logs have the same.
    incarnations: u64,
    /// Series of counts begun.
    series: u64,
    /// Who it was before it paused.
    former: Option<(HostId, u64, GridId)>,
    departing: Option<Departing>,
    paused: Option<String>,
    /// The coordinator refused its last hello.
    is_disowned: bool,
    /// What its last hello said of that.
    greeted_as_paused: Option<String>,
    /// Runs whose root jobs the last hello claimed, until it is answered.
    greeted_with_roots_of: Vec<RunId>,
    /// When something was last heard, for notes and parcels.
    latest: Time,
    outgoing: Outgoing<Receiver>,
    incoming: Incoming<HostId>,
    repeats: Repeats,
    courtesy: Courtesy,
    transmits: VecDeque<Transmit>,
    commands: VecDeque<Command>,
    events: VecDeque<Event>,
}

impl Host {
    /// A host that has not been anywhere.
    pub fn new(config: HostConfig, now: Time) -> Self {
        let random = Random::new(config.seed);
        Self {
            config,
            random,
            identity: None,
            incarnation: 0,
            is_connected: false,
            is_greeting: false,
            peers: BTreeMap::new(),
            near: Vec::new(),
            far: Vec::new(),
            direct: BTreeSet::new(),
            cut_off: BTreeMap::new(),
            silent: BTreeSet::new(),
            given_up: GivenUp::default(),
            epoch: 0,
            room_to_forget: FORGOTTEN_AT_ONCE_MAX,
            runs: BTreeMap::new(),
            ended: EndedRuns::default(),
            numbers_used: 0,
            incarnations: 0,
            series: 0,
            former: None,
            departing: None,
            paused: None,
            is_disowned: false,
            greeted_as_paused: None,
            greeted_with_roots_of: Vec::new(),
            latest: now,
            outgoing: Outgoing::default(),
            incoming: Incoming::default(),
            repeats: Repeats::default(),
            courtesy: Courtesy::default(),
            transmits: VecDeque::new(),
            commands: VecDeque::new(),
            events: VecDeque::new(),
        }
    }

    // ---- getters ----

    /// Who it is, once the coordinator has said so.
    pub fn id(&self) -> Option<HostId> {
        self.identity.map(|(id, ..)| id)
    }

    /// Which grid it is part of.
    pub fn grid(&self) -> Option<GridId> {
        self.identity.map(|(.., grid)| grid)
    }

    /// Whether the coordinator hears it.
    pub fn is_connected(&self) -> bool {
        self.is_connected
    }

    /// Whether it is about to go, or to pause.
    pub fn is_leaving(&self) -> bool {
        self.departing.is_some()
    }

    /// Why it takes no work.
    pub fn paused(&self) -> Option<&str> {
        self.paused.as_deref()
    }

    /// The runs that it knows of.
    pub fn runs(&self) -> Vec<RunId> {
        self.runs.keys().copied().collect()
    }

    /// Another host.
    pub fn peer(&self, peer: HostId) -> Option<&HostInfo> {
        self.peers.get(&peer)
    }

    /// All other hosts.
    pub fn peers(&self) -> impl Iterator<Item = &HostInfo> {
        self.peers.values()
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
        self.incoming.has_any(|contents| contents.object() == Some((run, object)))
    }
}
