//! A host's state machine.
//!
//! `stealing` chooses victims and serves thieves; `loans` follows lent and held jobs until their results have arrived,
//! and `reconciling` detects messages that were lost on the way; `recovery` acts when a host is gone; `records` is this
//! host's part of the result table; `sharing` keeps the replicas of shared objects equal; `departure` is leaving,
//! pausing and suspending; `ended` keeps the last counts of runs that were dropped; `membership` is the link to the
//! coordinator and the list of other hosts; `parcels` carries messages that are too large for one frame; `repeats`
//! decides when an unanswered message is sent again; `cutting_off` rejects peers that break the protocol. `inputs` has
//! the functions that a driver calls with events, `outputs` those with which it takes messages and commands.
//!
//! `run` is a host's state in one run, made of pieces: `held` has the jobs that it holds for others, and `lent` those
//! that others hold for it; `thief` and `victim` have its requests and those of others; `lost` and `lookups` have the
//! work to do after hosts are gone; `outbox` and `reporting` have the data that is to be sent.

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

/// The state machine of a host.
pub struct Host {
    config: HostConfig,
    random: Random,
    /// Its id, the secret that proves it, and its grid.
    identity: Option<(HostId, u64, GridId)>,
    /// Changes each time all others have given the host up.
    incarnation: u32,
    /// The coordinator has sent its welcome on the link that is open.
    is_connected: bool,
    /// The link is open, and the welcome has not come.
    is_greeting: bool,
    peers: BTreeMap<HostId, HostInfo>,
    /// Peers by site, for choosing victims: this host's own, and all others.
    near: Vec<HostId>,
    far: Vec<HostId>,
    /// Peers to which the driver has a direct link.
    direct: BTreeSet<HostId>,
    /// Peers that were cut off, and when: all their messages are ignored.
    cut_off: BTreeMap<HostId, Time>,
    /// Peers that did not answer a steal request in time and have sent nothing since.
    silent: BTreeSet<HostId>,
    /// Peers that were given up recently, and may not know it yet.
    given_up: GivenUp,
    epoch: u64,
    /// How many more entries of hosts that are gone this event may forget.
    room_to_forget: usize,
    /// Boxed, as nodes of the map have room for eleven and most hosts have one.
    runs: BTreeMap<RunId, Box<HostRun>>,
    /// Runs that it dropped recently.
    ended: EndedRuns,
    /// Numbers from which a run that comes again continues, so that late answers are not taken for new ones.
    numbers_used: u64,
    /// The last incarnation of a log of updates; all of this host's logs have different ones.
    incarnations: u64,
    /// The number of series of counts begun.
    series: u64,
    /// The identity that it had before it paused.
    former: Option<(HostId, u64, GridId)>,
    departing: Option<Departing>,
    paused: Option<String>,
    /// The coordinator refused its last hello.
    is_disowned: bool,
    /// The reason to pause in its last hello.
    greeted_as_paused: Option<String>,
    /// Runs whose root jobs the last hello claimed, until it is answered.
    greeted_with_roots_of: Vec<RunId>,
    /// The time of the last event, for notes and parcels.
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
    /// Makes a host that has never joined a grid.
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

    /// Its id, once the coordinator has assigned one.
    pub fn id(&self) -> Option<HostId> {
        self.identity.map(|(id, ..)| id)
    }

    /// The grid that it belongs to.
    pub fn grid(&self) -> Option<GridId> {
        self.identity.map(|(.., grid)| grid)
    }

    /// Whether it is connected to the coordinator and welcomed.
    pub fn is_connected(&self) -> bool {
        self.is_connected
    }

    /// Whether it is about to leave or to pause.
    pub fn is_leaving(&self) -> bool {
        self.departing.is_some()
    }

    /// Why it takes no work; `None` if it does.
    pub fn paused(&self) -> Option<&str> {
        self.paused.as_deref()
    }

    /// The runs that it knows.
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

    /// The counts of a run's jobs at this host.
    pub fn counts(&self, run: RunId) -> Option<Counts> {
        self.runs.get(&run).map(|part| part.reporting.counts())
    }

    /// The number of jobs that it holds for others, and of jobs that others hold for it.
    pub fn held_and_lent(&self, run: RunId) -> (usize, usize) {
        self.runs.get(&run).map_or((0, 0), |part| (part.held.len(), part.loans.len()))
    }

    /// The number of entries in its part of a run's result table, and their bytes.
    pub fn table(&self, run: RunId) -> (usize, usize) {
        self.runs.get(&run).map_or((0, 0), |part| (part.table.len(), part.table.bytes()))
    }

    /// The number of entries that its part of a run's result table has dropped to keep to its bound.
    pub fn entries_evicted(&self, run: RunId) -> Option<u64> {
        self.runs.get(&run).map(|part| part.table.dropped())
    }

    /// The number of a run's shared objects that it knows, and the bytes of their replicas.
    pub fn shared(&self, run: RunId) -> (usize, u64) {
        self.runs.get(&run).map_or((0, 0), |part| (part.shared.len(), part.reporting.own().shared_bytes))
    }

    /// The place of a shared object's replica, if the object is known.
    pub fn replica(&self, run: RunId, object: ObjectId) -> Option<&Arc<SharedReplica>> {
        self.runs.get(&run)?.shared.get(object).map(Sharing::replica)
    }

    /// Whether parcels with updates or a replica of a shared object are announced to this host.
    pub fn awaits_object(&self, run: RunId, object: ObjectId) -> bool {
        self.incoming.has_any(|contents| contents.object() == Some((run, object)))
    }
}
