//! Leaving, pausing and suspending, after saving all that can be saved.
//!
//! Guests come to rest, their finished work is recorded, and the coordinator gets the entries before `Leaving`. After
//! that, the departure is like a crash that loses nothing: the owners of jobs that were held here find the entries, and
//! adopt jobs that other hosts are still running (2005 malleability, section 3).

use std::time::Duration;

use crate::limits::{DRAIN_MAX, LEAVE_HAND_OVER_MAX, LEAVE_MAX, shortened};
use crate::message::{PeerMessage, ToCoordinator};
use crate::{HeldId, HostId, LoanId, RunId, RuntimeJobId, Time};

use super::held::Owner;
use super::lent::Loans;
use super::run::Suspending;
use super::stage::Stage;
use super::{Command, Host, Repeats, RunCommand};

/// Time for which a host that pauses waits for the answer to its `Leaving`; a host that leaves waits for [`LEAVE_MAX`].
const GOODBYE_MAX: Duration = Duration::from_secs(10);

/// Time for which a host without runs, which has nothing to hand over, waits for a coordinator that is away, only to
/// send `Leaving`.
const GOODBYE_WITHOUT_LINK_MAX: Duration = Duration::from_millis(500);

/// Maximum time for which a host that pauses lets its parcels arrive before it sends `Leaving`; for a host that leaves
/// it is [`LEAVE_HAND_OVER_MAX`].
const HANDING_OVER_MAX: Duration = Duration::from_secs(120);

/// The state of a host that is about to leave or to pause.
#[derive(Debug)]
pub struct Departing {
    /// Why it pauses; `None` if it leaves.
    pause: Option<String>,
    until: Time,
    /// When it was asked to leave.
    leaves_since: Option<Time>,
    /// Set once everything that could be saved is in transit: until then, parcels have time to arrive.
    handed_over: Option<Time>,
    has_said_goodbye: bool,
    /// It was asked to take work again while it was pausing.
    is_resumed: bool,
    /// It pauses, has given its jobs back as far as it can, and waits for the coordinator to say `Leaving` to it.
    awaits_coordinator: bool,
}

impl Departing {
    /// Shortens the waiting times of a host that leaves, whose user waits for at most [`LEAVE_MAX`].
    fn hurry(&mut self) {
        let Some(since) = self.leaves_since else { return };
        self.until = self.until.min(since + LEAVE_MAX);
        let until = since + LEAVE_HAND_OVER_MAX;
        self.handed_over = self.handed_over.map(|handed_over| handed_over.min(until));
    }
}

impl Host {
    /// Saves what can be saved and leaves; [`Command::Left`] follows.
    pub fn leave(&mut self, now: Time) {
        match &mut self.departing {
            Some(departing) => {
                departing.pause = None;
                departing.leaves_since.get_or_insert(now);
                departing.hurry();
            }
            None => self.depart(now, None),
        }
    }

    /// With a reason, stops taking work and gives back its jobs; without one, takes work again.
    pub fn pause(&mut self, now: Time, reason: Option<String>) {
        let reason = reason.map(|reason| shortened(&reason));
        match reason {
            Some(reason) if self.may_work() => {
                self.depart(now, Some(reason));
            }
            Some(reason) => {
                if let Some(departing) = &mut self.departing {
                    if departing.pause.is_some() {
                        (departing.pause, departing.is_resumed) = (Some(reason), false);
                    }
                } else {
                    self.tell_coordinator(ToCoordinator::Paused { reason: Some(reason.clone()) });
                    self.standing.pause(reason);
                }
            }
            None => {
                if let Some(departing) = &mut self.departing {
                    departing.is_resumed = true;
                }
                if self.standing.resume() {
                    self.tell_coordinator(ToCoordinator::Paused { reason: None });
                }
            }
        }
    }

    /// Reports to the coordinator, for users, why guests stand still for a moment, and that they compute again.
    pub fn hold(&mut self, _now: Time, reason: Option<String>) {
        let reason = reason.map(|reason| shortened(&reason));
        if self.standing.hold(reason.clone()) {
            self.tell_coordinator(ToCoordinator::Holds { reason });
        }
    }

    fn depart(&mut self, now: Time, pause: Option<String>) {
        if self.id().is_none() {
            // No other host or coordinator knows it.
            self.unpolled.command(Command::Left);
            return;
        }
        let has_nothing = self.runs.is_empty() && !self.is_connected();
        let patience = match (has_nothing, &pause) {
            (true, _) => GOODBYE_WITHOUT_LINK_MAX,
            (false, None) => LEAVE_MAX,
            (false, Some(_)) => GOODBYE_MAX,
        };
        self.departing = Some(Departing {
            until: now + patience,
            leaves_since: pause.is_none().then_some(now),
            pause,
            handed_over: None,
            has_said_goodbye: false,
            is_resumed: false,
            awaits_coordinator: false,
        });
        let runs: Vec<RunId> = self.runs.keys().copied().collect();
        for run in runs {
            self.drain(now, run);
        }
        self.say_goodbye(now);
    }

    fn drain(&mut self, now: Time, run: RunId) {
        let Some(host_run) = self.runs.get_mut(&run) else { return };
        match host_run.stage {
            Stage::Ready => {
                host_run.stage = Stage::Draining { until: now + DRAIN_MAX };
                self.unpolled.command(RunCommand::Drain.of(run));
            }
            Stage::Loading => host_run.stage = Stage::Drained,
            Stage::Draining { .. } | Stage::Drained | Stage::Unable => {}
        }
    }

    pub(super) fn on_suspend(&mut self, now: Time, run: RunId) {
        let Some(host_run) = self.runs.get_mut(&run) else {
            return self.tell_coordinator(ToCoordinator::Suspended { run });
        };
        host_run.suspending = Some(Suspending { starts_again: false });
        self.drain(now, run);
        self.finish_suspending(now, run);
    }

    /// A run's guests have come to rest.
    pub(super) fn on_drained(&mut self, now: Time, run: RunId) {
        let Some(host_run) = self.runs.get_mut(&run) else { return };
        if matches!(host_run.stage, Stage::Draining { .. }) {
            host_run.stage = Stage::Drained;
            self.refuse_parked(run, true, now);
            self.flush(now, run);
            self.finish_suspending(now, run);
            self.say_goodbye(now);
        }
    }

    pub(super) fn time_out_drain(&mut self, now: Time, run: RunId) {
        let is_late = self
            .runs
            .get(&run)
            .is_some_and(|run| matches!(run.stage, Stage::Draining { until } if now >= until));
        if is_late {
            self.on_drained(now, run);
        }
    }

    pub(super) fn finish_suspending(&mut self, now: Time, run: RunId) {
        let Some(host_run) = self.runs.get(&run) else { return };
        let Some(suspending) = host_run.suspending else { return };
        if !matches!(host_run.stage, Stage::Drained | Stage::Unable) {
            return;
        }
        let again = suspending.starts_again.then(|| host_run.spec.clone());
        self.report_last(now, run);
        self.tell_coordinator(ToCoordinator::Suspended { run });
        self.stop_run(run, false);
        if let Some(spec) = again {
            self.on_start(now, run, spec);
        }
    }

    // ---- sending `Leaving` ----

    pub(super) fn say_goodbye(&mut self, now: Time) {
        let is_connected = self.is_connected();
        let at_rest = self.runs.values().all(|run| matches!(run.stage, Stage::Drained | Stage::Unable));
        let Some(departing) = &mut self.departing else { return };
        if !at_rest || self.ended.is_any_stopping() || departing.has_said_goodbye || !is_connected {
            return;
        }
        if departing.handed_over.is_none() {
            departing.handed_over = Some(now + HANDING_OVER_MAX);
            let runs: Vec<RunId> = self.runs.keys().copied().collect();
            for run in runs {
                self.report_last(now, run);
                self.hand_over_objects(now, run);
            }
        }
        let Some(departing) = &mut self.departing else { return };
        departing.until = now + GOODBYE_MAX;
        departing.hurry();
        let is_late = departing.handed_over.is_some_and(|until| now >= until);
        // Results and replicas that are being pulled are not left behind.
        let is_pulled = self.transfers.outgoing.touched().is_some_and(|touched| now < touched + GOODBYE_MAX);
        if is_pulled && !is_late {
            return;
        }
        departing.has_said_goodbye = true;
        self.say_leaving();
    }

    /// A host that pauses first sends `Paused`; it comes back under its id.
    fn say_leaving(&mut self) {
        let Some(departing) = self.departing.as_ref().filter(|departing| departing.has_said_goodbye) else {
            return;
        };
        if let Some(reason) = departing.pause.clone() {
            self.tell_coordinator(ToCoordinator::Paused { reason: Some(reason) });
        }
        self.tell_coordinator(ToCoordinator::Leaving);
    }

    /// A parcel has reached its receiver, or the last counts of a run are sent.
    pub(super) fn go_on_departing(&mut self, now: Time) {
        if self.departing.is_some() {
            self.say_goodbye(now);
        }
    }

    /// The coordinator may not have received the first `Leaving`.
    pub(super) fn say_goodbye_again(&mut self) {
        self.say_leaving();
    }

    pub(super) fn on_farewell(&mut self) {
        if self.departing.as_ref().is_some_and(|departing| departing.has_said_goodbye) {
            self.go(true);
        }
    }

    fn go(&mut self, has_farewell: bool) {
        let Some(departing) = self.departing.take() else { return };
        let runs: Vec<RunId> = self.runs.keys().copied().collect();
        for run in runs {
            self.stop_run(run, false);
        }
        self.standing.leave(has_farewell);
        self.peers.clear();
        self.repeats = Repeats::default();
        match departing.pause {
            Some(reason) => {
                if !departing.is_resumed {
                    self.standing.pause(reason);
                }
                self.unpolled.command(Command::Reconnect);
            }
            None => self.unpolled.command(Command::Left),
        }
    }

    /// This host cannot continue with a run, and gives its jobs back.
    pub(super) fn become_unable(&mut self, run: RunId, reason: String) {
        let Some(host_run) = self.runs.get_mut(&run) else { return };
        if host_run.stage == Stage::Unable {
            return;
        }
        // The counts of its work are sent with the reason, not some time after it.
        host_run.reporting.make_due(self.latest);
        self.report(self.latest, run);
        let Some(host_run) = self.runs.get_mut(&run) else { return };
        host_run.stage = Stage::Unable;
        host_run.unable = Some(reason.clone());
        self.give_up_jobs(run);
        self.unpolled.command(Command::Stop { run, forget: false });
        self.tell_coordinator(ToCoordinator::Unready { run, reason });
    }

    /// The runtime cannot continue with any job: those that were lent become orphans, and those that are held go back.
    pub(super) fn give_up_jobs(&mut self, run: RunId) {
        // First, so that the orphans are known when the jobs above them are redone.
        let Some(host_run) = self.runs.get_mut(&run) else { return };
        let loans: Vec<(HostId, LoanId)> =
            host_run.loans.iter().map(|(number, loan)| (loan.thief(), number)).collect();
        host_run.loans = Loans::default();
        host_run.recovery.end_all();
        host_run.drop_requests(|_| true);
        host_run.thief.note_idle(0);
        for (thief, steal) in host_run.victim.refuse(true, self.latest) {
            self.tell_peer(thief, PeerMessage::Nothing { run, steal });
        }
        for (thief, number) in loans {
            self.tell_peer(thief, PeerMessage::Orphaned { run, number });
        }
        self.hand_back(run);
    }

    /// Gives all held jobs back to their owners; the runtime is gone.
    pub(super) fn hand_back(&mut self, run: RunId) {
        let Some(host_run) = self.runs.get_mut(&run) else { return };
        let ids: Vec<HeldId> = host_run.held.tokens().collect();
        for id in ids {
            let held = self.runs.get_mut(&run).and_then(|run| run.held.forget(id));
            if let Some(held) = held {
                let begun = held.is_begun();
                self.tell_returned(run, held.into_owners().0, begun);
            }
        }
    }

    /// The runtime has no room for a held job, which is given back to its owners. An owner may also be this host
    /// itself: for a job that it lost with another host and then found among those that it holds.
    pub(super) fn hand_back_one(&mut self, now: Time, run: RunId, id: HeldId) {
        let Some(held) = self.runs.get_mut(&run).and_then(|run| run.held.forget(id)) else { return };
        let begun = held.is_begun();
        if !begun {
            self.end_asking_ahead(run);
        }
        let (owners, spec) = held.into_owners();
        let here = owners.iter().filter_map(|owner| match owner {
            Owner::Here(number) => Some(*number),
            Owner::Coordinator(_) | Owner::Host(..) => None,
        });
        let here: Vec<RuntimeJobId> = here.collect();
        self.decline_check(run, &owners);
        self.tell_returned(run, owners, begun);
        for number in here {
            self.take_back(now, run, number, spec.clone(), begun);
        }
    }

    fn tell_returned(&mut self, run: RunId, owners: impl IntoIterator<Item = Owner>, begun: bool) {
        for owner in owners {
            if let Owner::Host(host, number) = owner {
                self.tell_peer(host, PeerMessage::Returned { run, number, begun });
            }
        }
    }

    pub(super) fn next_departure_timeout(&self) -> Option<(Time, &'static str)> {
        let departing = self.departing.as_ref()?;
        let is_handing_over = self.is_connected() && !departing.has_said_goodbye;
        let handed_over = departing.handed_over.filter(|_| is_handing_over);
        let handed_over =
            handed_over.map(|until| (until, "other hosts have had time to fetch from a host that leaves"));
        let unanswered = (departing.until, "the departure was not answered");
        handed_over.into_iter().chain([unanswered]).min_by_key(|(time, _)| *time)
    }

    pub(super) fn time_out_departure(&mut self, now: Time) {
        self.say_goodbye(now);
        if self.departing.as_ref().is_some_and(|departing| now >= departing.until) {
            // Without the coordinator, at least the owners that can be reached are notified.
            let runs: Vec<RunId> = self.runs.keys().copied().collect();
            for run in runs {
                self.flush(now, run);
                self.hand_back(run);
            }
            if !self.await_coordinator(now) {
                self.go(false);
            }
        }
    }

    /// A host that pauses while the coordinator is away says `Leaving` when the coordinator is back, and keeps its id. One
    /// that just went would be counted as crashed, and come back as another host.
    fn await_coordinator(&mut self, now: Time) -> bool {
        let is_connected = self.is_connected();
        let Some(departing) = &mut self.departing else { return false };
        let awaits = departing.pause.is_some() && !is_connected;
        if awaits {
            (departing.awaits_coordinator, departing.until) = (true, now + GOODBYE_MAX);
        }
        awaits
    }

    /// Why it takes no work; `None` if it does, or is still giving its work back.
    pub fn paused(&self) -> Option<&str> {
        let waiting = || {
            let departing = self.departing.as_ref()?;
            let is_paused = departing.awaits_coordinator && !departing.is_resumed;
            departing.pause.as_deref().filter(|_| is_paused)
        };
        self.standing.paused().or_else(waiting)
    }
}

#[cfg(test)]
mod tests;
