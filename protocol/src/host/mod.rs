//! A host's state machine.
//!
//! `stealing` chooses victims and serves thieves; `loans` follows what is lent and held until the result
//! has arrived, and `reconciling` notices what was lost on the way; `recovery` is what happens when somebody
//! goes; `records` is this host's part of the result table; `sharing` keeps the replicas of shared objects alike;
//! `departure` is leaving, pausing and suspending; `ended` is what was counted last of runs that are dropped;
//! `membership` is the link to the coordinator and who else is there; `parcels` carries what is too large for one
//! message; `repeats` says when what was not answered is sent again.
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
mod departure;
#[cfg(test)]
mod doors;
mod ended;
#[cfg(test)]
mod getters;
mod given_up;
mod held;
mod lent;
mod loans;
mod lookups;
mod lost;
mod membership;
mod notes;
mod numbers;
mod outbox;
mod parcels;
mod reconciling;
mod records;
mod recovery;
mod repeats;
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

use crate::limits::{
    CUT_OFF_HOSTS_MAX, ENTRIES_PER_MESSAGE_MAX, FORGOTTEN_AT_ONCE_MAX, LISTED_JOBS_MAX, MESSAGE_PART_BYTES,
    PARCEL_BYTES_MIN, SHARERS_PER_MESSAGE_MAX, shortened,
};
use crate::message::{HostInfo, JobNote, PeerMessage, ToCoordinator};
use crate::parcel::{Contents, Incoming, Outgoing};
use crate::shared::{ObjectId, SharedReplica};
use crate::{Counts, Entry, GridId, HostId, JobNumber, JobSpec, Random, RunId, Time};
use courtesy::Courtesy;
use departure::Departing;
use ended::EndedRuns;
use given_up::GivenUp;
use repeats::{Repeated, Repeats};
use run::HostRun;
use sharing::Sharing;
use stage::Stage;

pub use ended::FinalCounts;
pub use sizes::Sizes;
pub use surface::{Command, Event, HostConfig, Misbehaviour, Notice, Receiver, Transmit};

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

    // ---- what happens ----

    /// A peer said something.
    pub fn handle_from_peer(&mut self, now: Time, from: HostId, message: PeerMessage) {
        self.latest = now;
        self.room_to_forget = FORGOTTEN_AT_ONCE_MAX;
        if self.cut_off.contains_key(&from) || Some(from) == self.id() {
            return;
        }
        self.silent.remove(&from);
        if let Err(misbehaviour) = self.peer_message(now, from, message) {
            self.events.push_back(Event::Misbehaved(from, misbehaviour.clone()));
            self.cut_off(now, from, misbehaviour.to_string());
        }
    }

    fn peer_message(&mut self, now: Time, from: HostId, message: PeerMessage) -> Result<(), Misbehaviour> {
        if message.has_long_text() {
            return Err(Misbehaviour::TooMuch);
        }
        match message {
            PeerMessage::Steal { run, steal, holding } => self.on_steal(now, from, run, steal, holding),
            PeerMessage::Job { run, steal, number, spec } => {
                self.on_job(now, from, run, steal, number, spec)?;
            }
            PeerMessage::Nothing { run, steal } => self.on_nothing(now, from, run, steal)?,
            PeerMessage::Result { run, number, finished } => self.on_result(from, run, number, finished)?,
            PeerMessage::Received { run, number } => self.on_received(from, run, number),
            PeerMessage::Abort { run, number } => self.on_abort(from, run, number),
            PeerMessage::Returned { run, number, begun } => self.on_returned(now, from, run, number, begun),
            PeerMessage::Adopt { run, number, key } => self.on_adopt(now, from, run, number, key),
            PeerMessage::Adopted { run, number, holding } => {
                self.on_adopted(now, from, run, number, holding)?;
            }
            PeerMessage::NotHeld { run, number } => self.on_not_held(now, from, run, number),
            PeerMessage::Holding { run, holding, next_steal, held, pending } => {
                if held.len() > LISTED_JOBS_MAX || pending.len() > LISTED_JOBS_MAX {
                    return Err(Misbehaviour::TooMuch);
                }
                self.on_holding(now, from, run, (holding, next_steal), &held, &pending);
            }
            // What one that was given up has lent is an orphan here, for it to adopt when it is back.
            PeerMessage::Lending { .. } if self.is_given_up(now, from) => {}
            PeerMessage::Lending { run } => self.send_holding(run, from),
            PeerMessage::Unknown { run, numbers } => {
                if numbers.len() > LISTED_JOBS_MAX {
                    return Err(Misbehaviour::TooMuch);
                }
                self.on_unknown(from, run, &numbers);
            }
            PeerMessage::Entries { run, entries } => {
                if entries.len() > ENTRIES_PER_MESSAGE_MAX || entries.iter().any(Entry::is_too_large) {
                    return Err(Misbehaviour::TooMuch);
                }
                self.on_entries(run, entries);
            }
            PeerMessage::Want { run, key } => self.on_want(from, run, key),
            PeerMessage::Have { run, key, finished } => self.on_have(now, from, run, key, finished),
            PeerMessage::Orphaned { run, number } => self.on_orphaned(now, from, run, number),
            PeerMessage::Updates { run, object, writer, first, updates } => {
                self.on_updates(now, from, (run, object), (writer, first), &updates);
            }
            PeerMessage::Versions { run, object, versions, digest, sharers, is_question } => {
                if !versions.is_sound() || sharers.len() > SHARERS_PER_MESSAGE_MAX {
                    return Err(Misbehaviour::TooMuch);
                }
                self.on_versions(now, from, (run, object), (&versions, digest), &sharers, is_question);
            }
            PeerMessage::FetchReplica { run, object } => self.on_fetch(now, from, run, object),
            PeerMessage::Replica { run, object, snapshot, sharers } => {
                if !snapshot.is_sound() || sharers.len() > SHARERS_PER_MESSAGE_MAX {
                    return Err(Misbehaviour::TooMuch);
                }
                self.on_replica(now, from, (run, object), snapshot, &sharers);
            }
            PeerMessage::NotShared { run, object } => self.on_not_shared(now, from, run, object),
            PeerMessage::Refused { reason } => self.on_refused(now, from, reason),
            PeerMessage::Parcel(message) => self.on_parcel(now, from, message)?,
        }
        Ok(())
    }

    /// The driver's decoder refused a peer's frames.
    pub fn handle_misbehaviour(&mut self, now: Time, peer: HostId, reason: String) {
        self.cut_off(now, peer, reason);
    }

    /// A link of their own to a peer works, or none does any more. For what is counted, and for how long answers
    /// take; what was on its way may be lost only if [`handle_route_lost`](Self::handle_route_lost) says so.
    pub fn handle_direct(&mut self, peer: HostId, is_direct: bool) {
        if is_direct {
            self.direct.insert(peer);
        } else {
            self.direct.remove(&peer);
        }
        self.repeats.measure_anew(Receiver::Peer(peer));
    }

    /// The run's app is ready to run here, or why it is not.
    pub fn handle_loaded(&mut self, now: Time, run: RunId, result: Result<(), String>) {
        self.latest = now;
        let Some(part) = self.runs.get_mut(&run) else { return };
        if part.stage != Stage::Loading {
            return;
        }
        match result {
            Ok(()) => {
                part.stage = Stage::Ready;
                part.thief.rest_until(false, now);
                let is_more_to_tell = !part.outbox.is_empty();
                let tokens: Vec<JobNumber> = part.held.tokens().collect();
                self.events.push_back(Event::RunStarted(run));
                self.identify(run);
                self.tell_coordinator(ToCoordinator::Ready { run });
                // What a former process saved.
                if is_more_to_tell {
                    self.flush(now, run);
                }
                for token in tokens {
                    self.inject(run, token);
                }
                self.seek(now, run);
            }
            Err(reason) => self.become_unable(run, reason),
        }
    }

    /// The runtime has something to tell.
    pub fn handle_notice(&mut self, now: Time, run: RunId, notice: Notice) {
        self.latest = now;
        let Some(part) = self.runs.get_mut(&run) else { return };
        match notice {
            Notice::Idle(idle) => {
                part.thief.note_idle(idle);
                if idle >= self.config.report.threads as usize {
                    self.refuse_parked(run, true, now);
                }
                self.seek(now, run);
            }
            Notice::Exposed => {
                if !part.victim.is_empty() {
                    self.commands.push_back(Command::Offer { run });
                }
            }
            Notice::Begun { held, worker } => self.on_begun(now, run, held, worker),
            Notice::Finished { held, finished } => self.on_finished(now, run, held, finished),
            Notice::Abandoned { number } => self.on_abandoned(run, number),
            Notice::Lookup { number, spec } => self.look_up(now, run, number, spec),
            Notice::Recorded { key, depth, lineage, finished } => {
                part.reporting.own_mut().jobs.recorded += 1;
                if part.recovery.lookups.redoes(&key.tag()) {
                    // It is not to be looked up any more: it was redone.
                    part.recovery.lookups.forget(&key);
                }
                self.record(now, run, key, depth, lineage, finished);
            }
            Notice::Shared { object, replica } => self.on_shared(now, run, object, replica),
            Notice::Updated { object, writer, seq, bytes } => {
                self.on_updated(now, (run, object), (writer, seq), bytes);
            }
            Notice::Opened { object, replica } => self.on_opened(now, run, object, replica),
            Notice::Refetch { object, held } => self.on_refetch(run, object, held),
            Notice::Log(line) => {
                part.outbox.wait(now);
                part.reporting.take_line(line);
            }
            Notice::Progress(done, total) => part.reporting.take_progress(done, total),
            Notice::Limit(reason) => self.judge(now, run, ToCoordinator::Limit { run, reason }),
            Notice::Failed(failure) => {
                self.judge(now, run, ToCoordinator::Failed { run, failure: failure.shortened() });
            }
            Notice::Unable(reason) => self.become_unable(run, reason),
            Notice::HandedBack { held } => self.hand_back_one(now, run, held),
            Notice::Drained => self.on_drained(now, run),
            Notice::Counts(counts) => part.reporting.take_counts(*counts),
            Notice::Activity { workers, jobs, jobs_dropped } => {
                part.reporting.take_activity(now, workers, jobs, jobs_dropped);
            }
        }
    }

    /// Time has come to what `poll_timeout` named, or has just passed.
    pub fn handle_timeout(&mut self, now: Time) {
        self.latest = now;
        self.room_to_forget = FORGOTTEN_AT_ONCE_MAX;
        self.time_out_parcels(now);
        let runs: Vec<RunId> = self.runs.keys().copied().collect();
        for run in runs {
            self.time_out_steals(now, run);
            self.reconcile(now, run);
            self.time_out_recovery(now, run);
            self.tidy(now, run);
            self.flush_if_due(now, run);
            self.time_out_sharing(now, run);
            self.report(now, run);
            self.time_out_drain(now, run);
            self.seek(now, run);
        }
        self.time_out_departure(now);
    }

    // ---- what is to be done ----

    /// The next message to be sent. Those for one receiver go out in this order.
    pub fn poll_transmit(&mut self) -> Option<Transmit> {
        self.transmits.pop_front()
    }

    /// The next thing that the runtime or the driver is to do.
    pub fn poll_command(&mut self) -> Option<Command> {
        self.commands.pop_front()
    }

    /// The next thing that happened.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// When `handle_timeout` is to be called at the latest, and why.
    pub fn poll_timeout(&self) -> Option<(Time, &'static str)> {
        let runs = self.runs.iter().flat_map(|(run, part)| {
            [
                self.next_steal_timeout(*run, part),
                self.next_reconcile(part),
                self.next_recovery_timeout(*run, &part.recovery),
                self.next_tidying(part),
                Self::next_flush(part),
                self.next_report(&part.reporting),
                self.next_sharing(*run, &part.shared),
                match part.stage {
                    Stage::Draining { until } => Some((until, "guests have had their time to come to rest")),
                    _ => None,
                },
            ]
        });
        runs.chain([self.next_departure_timeout(), self.next_parcel_timeout()])
            .flatten()
            .min_by_key(|(time, _)| *time)
    }

    // ---- small things that all parts need ----

    fn tell_coordinator(&mut self, message: ToCoordinator) {
        if !self.is_connected {
            return;
        }
        if !self.sends_to_coordinator_as_parcel(&message) {
            self.transmits.push_back(Transmit::ToCoordinator(message));
        }
    }

    fn tell_peer(&mut self, peer: HostId, message: PeerMessage) {
        if !self.sends_to_peer_as_parcel(peer, &message) {
            self.transmits.push_back(Transmit::ToPeer(peer, message));
        }
    }

    /// As `tell_coordinator`, and gives the message back: what goes as a parcel is encoded and not copied.
    fn lend_to_coordinator(&mut self, message: ToCoordinator) -> ToCoordinator {
        if self.is_connected && !self.sends_to_coordinator_as_parcel(&message) {
            self.transmits.push_back(Transmit::ToCoordinator(message.clone()));
        }
        message
    }

    /// As `tell_peer`; see [`Self::lend_to_coordinator`].
    fn lend_to_peer(&mut self, peer: HostId, message: PeerMessage) -> PeerMessage {
        if !self.sends_to_peer_as_parcel(peer, &message) {
            self.transmits.push_back(Transmit::ToPeer(peer, message.clone()));
        }
        message
    }

    /// Sends what is too large for a frame; whether it was.
    fn sends_to_coordinator_as_parcel(&mut self, message: &ToCoordinator) -> bool {
        let contents = Contents::of_coordinator(message).filter(|(_, bytes)| *bytes > PARCEL_BYTES_MIN);
        if let Some((contents, _)) = contents {
            self.send_parcel(Receiver::Coordinator, contents, message);
        }
        contents.is_some()
    }

    /// Sends what is too large for a frame, or more than the peer is to be sent at once; whether it was.
    fn sends_to_peer_as_parcel(&mut self, peer: HostId, message: &PeerMessage) -> bool {
        let Some((contents, bytes)) = Contents::of_peer(message) else { return false };
        let is_parcel = bytes > PARCEL_BYTES_MIN || !self.courtesy.allows(self.latest, peer, contents, bytes);
        if is_parcel {
            self.send_parcel(Receiver::Peer(peer), contents, message);
        }
        is_parcel
    }

    /// A peer hears no more of this host: what was lent to it and held for it is as if it were gone.
    fn on_refused(&mut self, now: Time, peer: HostId, reason: String) {
        if self.note_cut_off(now, peer) {
            self.events.push_back(Event::RefusedBy(peer, reason));
            self.commands.push_back(Command::CutOff { peer });
            self.lose_peer(now, peer);
        }
    }

    /// Tells a peer why, and hears no more of it.
    fn cut_off(&mut self, now: Time, peer: HostId, reason: String) {
        if !self.note_cut_off(now, peer) {
            return;
        }
        self.tell_peer(peer, PeerMessage::Refused { reason: shortened(&reason) });
        self.tell_coordinator(ToCoordinator::Misbehaved { host: peer, reason });
        self.commands.push_back(Command::CutOff { peer });
        self.lose_peer(now, peer);
    }

    /// Notes that a peer is heard no more; false if it was not before.
    fn note_cut_off(&mut self, now: Time, peer: HostId) -> bool {
        if self.cut_off.insert(peer, now).is_some() {
            return false;
        }
        if self.cut_off.len() > CUT_OFF_HOSTS_MAX {
            let first = self.cut_off.iter().min_by_key(|(_, since)| **since).map(|(host, _)| *host);
            first.map(|first| self.cut_off.remove(&first));
        }
        true
    }

    /// What the store had of a run.
    pub fn handle_restored(&mut self, now: Time, run: RunId, entries: Vec<Entry>) {
        self.latest = now;
        self.merge_restored(now, run, entries);
    }

    /// A job that the runtime gave up for a thief, or `None` if there is none.
    pub fn handle_offered(&mut self, now: Time, run: RunId, job: Option<(JobNumber, JobSpec)>) {
        self.latest = now;
        self.on_offered(now, run, job);
    }
}

/// About what a note takes besides its parameters.
const NOTE_BYTES: usize = 64;

fn note_bytes(note: &JobNote) -> usize {
    NOTE_BYTES + note.parameters.as_ref().map_or(0, Vec::len)
}

/// Cuts a list into messages of about `MESSAGE_PART_BYTES` each, at least one; `bytes` is an item's length.
fn in_parts<T>(items: Vec<T>, bytes: impl Fn(&T) -> usize) -> Vec<Vec<T>> {
    let (mut parts, mut part, mut length) = (Vec::new(), Vec::new(), 0);
    for item in items {
        let more = bytes(&item);
        if length + more > MESSAGE_PART_BYTES && !part.is_empty() {
            parts.push(std::mem::take(&mut part));
            length = 0;
        }
        length += more;
        part.push(item);
    }
    if parts.is_empty() || !part.is_empty() {
        parts.push(part);
    }
    parts
}
