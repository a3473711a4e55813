//! A host's inputs: messages from peers, notices of its runtime, events of the driver, and the passing of time.

use crate::limits::{ENTRIES_PER_MESSAGE_MAX, FORGOTTEN_AT_ONCE_MAX, LISTED_JOBS_MAX};
use crate::message::{PeerMessage, ToCoordinator};
use crate::{Entry, HeldId, HostId, JobSpec, RunId, RuntimeJobId, Time};

use super::stage::Stage;
use super::{Event, Host, Misbehaviour, Notice, Receiver, RunCommand};

impl Host {
    /// A message from a peer has arrived.
    pub fn handle_from_peer(&mut self, now: Time, from: HostId, message: PeerMessage) {
        self.latest = now;
        self.room_to_forget = FORGOTTEN_AT_ONCE_MAX;
        if self.peers.is_cut_off(from) || Some(from) == self.id() {
            return;
        }
        self.peers.note_heard(from);
        if let Err(misbehaviour) = self.peer_message(now, from, message) {
            self.unpolled.event(Event::Misbehaved(from, misbehaviour.clone()));
            self.cut_off(now, from, misbehaviour.to_string());
        }
    }

    pub(super) fn peer_message(
        &mut self,
        now: Time,
        from: HostId,
        message: PeerMessage,
    ) -> Result<(), Misbehaviour> {
        if message.has_long_text() {
            return Err(Misbehaviour::TooMuch);
        }
        match message {
            PeerMessage::Steal { run, steal, holding, ahead, more } => {
                self.on_steal(now, from, run, (steal, holding), (ahead, more));
            }
            PeerMessage::Job { run, steal, number, spec } => {
                self.on_jobs(now, from, run, steal, vec![(number, spec)])?;
            }
            PeerMessage::Jobs { run, steal, jobs } => self.on_jobs(now, from, run, steal, jobs)?,
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
            // The jobs that a given-up host has lent are orphans here, which it can adopt when it is back.
            PeerMessage::Lending { .. } if self.is_given_up(now, from) => {}
            PeerMessage::Lending { run } => self.send_holding(run, from),
            PeerMessage::Unknown { run, numbers } => {
                if numbers.len() > LISTED_JOBS_MAX {
                    return Err(Misbehaviour::TooMuch);
                }
                self.on_unknown(from, run, &numbers);
            }
            PeerMessage::Entries { run, mut entries } => {
                if entries.len() > ENTRIES_PER_MESSAGE_MAX || entries.iter().any(Entry::is_too_large) {
                    return Err(Misbehaviour::TooMuch);
                }
                if let Some(host_run) = self.runs.get(&run) {
                    entries.retain(|entry| !host_run.recovery.is_root(&entry.key));
                }
                self.on_entries(run, Receiver::Peer(from), entries);
            }
            PeerMessage::Want { run, key } => self.on_want(from, run, key),
            PeerMessage::Have { run, key, finished } => self.on_have(now, from, run, key, finished),
            PeerMessage::Orphaned { run, number } => self.on_orphaned(now, from, run, number),
            PeerMessage::Updates { run, object, writer, first, updates } => {
                self.on_updates(now, from, (run, object), (writer, first), &updates);
            }
            PeerMessage::Versions { run, object, versions, digest, sharers, is_question } => {
                if !versions.is_sound() || !sharers.is_sound() {
                    return Err(Misbehaviour::TooMuch);
                }
                self.on_versions(now, from, (run, object), (&versions, digest), &sharers, is_question);
            }
            PeerMessage::FetchReplica { run, object } => self.on_fetch(now, from, run, object),
            PeerMessage::Replica { run, object, snapshot, sharers } => {
                if !snapshot.is_sound() || !sharers.is_sound() {
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

    /// The driver's decoder has refused a peer's frame.
    pub fn handle_misbehaviour(&mut self, now: Time, peer: HostId, reason: String) {
        self.cut_off(now, peer, reason);
    }

    /// A direct link to a peer works now, or none does any more. This matters for counts and for how long answers take;
    /// messages in transit are taken for lost only when [`handle_route_lost`](Self::handle_route_lost) is called.
    pub fn handle_direct(&mut self, peer: HostId, is_direct: bool) {
        self.peers.note_direct(peer, is_direct);
        self.repeats.measure_anew(Receiver::Peer(peer));
    }

    /// The run's app is ready to run here, or cannot be run for the given reason.
    pub fn handle_loaded(&mut self, now: Time, run: RunId, result: Result<(), String>) {
        self.latest = now;
        let Some(host_run) = self.runs.get_mut(&run) else { return };
        if host_run.stage != Stage::Loading {
            return;
        }
        match result {
            Ok(()) => {
                host_run.stage = Stage::Ready;
                host_run.thief.rest_until(false, now);
                let is_more_to_tell = !host_run.outbox.is_empty();
                let ids: Vec<HeldId> = host_run.held.tokens().collect();
                self.unpolled.event(Event::RunStarted(run));
                self.tell_coordinator(ToCoordinator::Ready { run });
                // The entries that a former process saved.
                if is_more_to_tell {
                    self.flush(now, run);
                }
                for id in ids {
                    self.inject(run, id);
                }
                self.seek(now, run);
            }
            Err(reason) => self.become_unable(run, reason),
        }
        self.answer_early_wants(run);
    }

    /// The runtime of a run sends a notice.
    pub fn handle_notice(&mut self, now: Time, run: RunId, notice: Notice) {
        self.latest = now;
        let Some(host_run) = self.runs.get_mut(&run) else { return };
        match notice {
            Notice::Idle(idle) => {
                host_run.thief.note_idle(idle);
                if idle >= self.config.report.threads as usize {
                    self.refuse_parked(run, true, now);
                }
                self.seek(now, run);
            }
            Notice::Exposed => {
                if host_run.victim.note_exposed() {
                    let more = host_run.victim.more();
                    self.unpolled.command(RunCommand::Offer { more }.of(run));
                }
            }
            Notice::Offered(jobs) => self.on_offered(now, run, jobs),
            Notice::Begun { held, worker, late_ns } => self.on_begun(now, run, held, (worker, late_ns)),
            Notice::Finished { held, finished } => self.on_finished(now, run, held, finished),
            Notice::Abandoned { number } => self.on_abandoned(run, number),
            Notice::Lookup { number, spec } => self.look_up(now, run, number, spec),
            Notice::Recorded { key, depth, lineage, finished } => {
                if host_run.recovery.lookups.redoes(&key.tag()) {
                    // The job was redone, so it is not to be looked up any more.
                    host_run.recovery.lookups.forget(&key);
                }
                self.record(now, run, key, depth, lineage, finished);
            }
            Notice::Shared { object, place, initial } => self.on_shared(now, run, (object, place), initial),
            Notice::Updated { object, bytes } => self.on_updated(now, (run, object), bytes),
            Notice::Based { object, new } => self.on_based(now, run, object, new),
            Notice::Opened { object, place } => self.on_opened(now, run, object, place),
            Notice::Closed { object } => self.on_closed(run, object),
            Notice::Refetch { object, held } => self.on_refetch(run, object, held),
            Notice::Log(line) => {
                host_run.outbox.wait(now);
                host_run.reporting.take_line(line);
            }
            Notice::Progress(done, total) => host_run.reporting.take_progress(done, total),
            Notice::Limit(reason) => self.judge(now, run, ToCoordinator::Limit { run, reason }),
            Notice::Failed(failure) => {
                self.judge(now, run, ToCoordinator::Failed { run, failure: failure.shortened() });
            }
            Notice::Unable(reason) => self.become_unable(run, reason),
            Notice::Crashed(reason) => self.on_crashed(now, run, reason),
            Notice::HandedBack { held } => self.hand_back_one(now, run, held),
            Notice::Misnamed { held } => self.on_misnamed(now, run, held),
            Notice::Drained => self.on_drained(now, run),
            Notice::Counts(counts) => host_run.reporting.take_counts(*counts),
            Notice::Activity { workers, ahead_ns, jobs, jobs_dropped } => {
                host_run.reporting.take_activity(now, workers, ahead_ns, (jobs, jobs_dropped));
            }
        }
    }

    /// The time that `poll_timeout` returned has come, or any time has passed.
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

    /// The store has returned its entries of a run.
    pub fn handle_restored(&mut self, now: Time, run: RunId, entries: Vec<Entry>) {
        self.latest = now;
        self.merge_restored(now, run, entries);
    }

    /// The runtime offers jobs for a thief, or none: [`Notice::Offered`], also for a run without a runtime.
    pub fn handle_offered(
        &mut self,
        now: Time,
        run: RunId,
        jobs: impl IntoIterator<Item = (RuntimeJobId, JobSpec)>,
    ) {
        self.latest = now;
        self.on_offered(now, run, jobs.into_iter().collect());
    }
}
