//! How long runs are given to hosts: none forever that no host can load. `places` decides which run is next.
//!
//! A run gives its turn up to others when every working host has declared itself unable to run it, or when some
//! have, no other has loaded it after a while, and other runs wait. It gets another turn when a host
//! joins or has loaded it after all: then hosts that did not declare themselves unable are asked. After a
//! while it also gets one in which all are asked again.

use crate::limits::{BROADCAST_AT_ONCE_MAX, SETTLE_MAX};
use crate::{HostId, RunId, RunState, Time};

use super::Coordinator;
use super::ready::Readiness;
use super::run::CoordinatorRun;
use super::slices::Slice;
use super::turn::Asked;

impl CoordinatorRun {
    pub(super) fn waits_for_its_turn(&self) -> bool {
        !self.turn.is_active()
            && matches!(self.state, RunState::Queued | RunState::Running)
            && !self.turn.rests()
    }

    /// No host has loaded it, and some cannot.
    fn is_stuck(&self) -> bool {
        self.root.assigned().is_none()
            && !self.is_checking()
            && self.readiness.ready().is_empty()
            && !self.readiness.unready().is_empty()
    }
}

impl Coordinator {
    pub(super) fn begin_turn(&mut self, now: Time, run: RunId) {
        let epoch = self.newsroom.epoch();
        let Some((coordinator_run, asked, turn)) = self.runs.begin_turn(now, run) else { return };
        coordinator_run.root.hold_back(epoch, now + SETTLE_MAX);
        let before = match asked {
            Asked::New => coordinator_run.readiness.take_ready(),
            Asked::All | Asked::Again => std::mem::take(&mut coordinator_run.readiness),
        };
        self.in_slices(now, Slice::Start { after: None, run, turn, before });
    }

    /// Gives a run to a host; false if that turn is over. `before` is what hosts had reported about it.
    pub(super) fn start_at(&mut self, run: RunId, turn: u32, host: HostId, before: &Readiness) -> bool {
        let Some(coordinator_run) = self.runs.get(&run) else { return false };
        if !coordinator_run.turn.is_active() || coordinator_run.turn.number() != turn {
            return false;
        }
        match coordinator_run.turn.asked() {
            Asked::New if coordinator_run.readiness.is_unready(host) => return true,
            Asked::Again if before.is_unready(host) => {
                self.have_dropped(run, host);
            }
            Asked::All | Asked::New | Asked::Again => {}
        }
        self.give(run, host);
        true
    }

    /// Some host cannot run it, or one that could is gone.
    pub(super) fn note_unready(&mut self, run: RunId) {
        if let Some(coordinator_run) = self.runs.get_mut(&run) {
            coordinator_run.turn.doubt();
        }
    }

    /// Runs that no working host can load give their turns up.
    pub(super) fn yield_turns(&mut self, now: Time) {
        let is_doubtful = |coordinator_run: &CoordinatorRun| {
            coordinator_run.root.assigned().is_none()
                && !coordinator_run.is_checking()
                && coordinator_run.turn.is_in_doubt()
        };
        let doubtful = self
            .runs
            .active()
            .filter(|(_, coordinator_run)| is_doubtful(coordinator_run))
            .map(|(run, _)| run);
        let doubtful: Vec<RunId> = doubtful.collect();
        let mut have_yielded = false;
        let stuck: Vec<RunId> = self.stuck().filter(|(until, _)| now >= *until).map(|(_, run)| run).collect();
        let others_wait = !stuck.is_empty() && self.do_others_wait();
        for run in doubtful.into_iter().chain(stuck) {
            let is_unable = self.is_unable_everywhere(run);
            let Some(coordinator_run) = self.runs.get_mut(&run).filter(|run| run.turn.is_active()) else {
                continue;
            };
            coordinator_run.turn.clear_doubt();
            if is_unable
                || (others_wait && coordinator_run.is_stuck() && now >= coordinator_run.turn.patient_until())
            {
                self.runs.give_turn_up(now, run);
                have_yielded = true;
            }
        }
        if have_yielded {
            self.activate(now);
        }
    }

    /// Active runs that no host has loaded and some cannot, by when they give their turns up if others wait.
    fn stuck(&self) -> impl Iterator<Item = (Time, RunId)> {
        let stuck = self.runs.active().filter(|(_, coordinator_run)| coordinator_run.is_stuck());
        stuck.map(|(run, coordinator_run)| (coordinator_run.turn.patient_until(), run))
    }

    fn do_others_wait(&self) -> bool {
        self.runs.values().any(CoordinatorRun::waits_for_its_turn)
    }

    /// When a run gives its turn up because others wait and no host has loaded it.
    pub(super) fn next_yield(&self) -> Option<(Time, &'static str)> {
        let (until, _) = self.stuck().min()?;
        self.do_others_wait().then_some((until, "a run that no host has loaded gives up its turn"))
    }

    /// A host has loaded a run that gave its turn up.
    pub(super) fn wake_turn(&mut self, now: Time, run: RunId) {
        if self.runs.wake(run) {
            self.activate(now);
        }
    }

    /// A host has joined: it may be able to run what others cannot.
    pub(super) fn wake_turns(&mut self, now: Time) {
        if self.runs.wake_all() {
            self.activate(now);
        }
    }

    /// Runs that have waited long enough are tried again, by all hosts.
    pub(super) fn time_out_turns(&mut self, now: Time) {
        if self.runs.wake_rested(now) {
            self.activate(now);
        }
    }

    fn is_unable_everywhere(&self, run: RunId) -> bool {
        let Some(coordinator_run) = self.runs.get(&run) else { return false };
        let unready = coordinator_run.readiness.unready();
        // Reports of departed hosts are forgotten a moment later.
        !self.working.is_empty()
            && unready.len() >= self.working.len()
            && self.working.iter().take(BROADCAST_AT_ONCE_MAX).all(|host| unready.contains_key(host))
    }

    /// Why no host can run it, if none can.
    pub(super) fn why_unable(&self, run: RunId) -> Option<String> {
        if !self.is_unable_everywhere(run) {
            return None;
        }
        let unready = self.runs.get(&run)?.readiness.unready();
        let (name, reason) = { unready.iter() }
            .find_map(|(host, reason)| Some((&self.hosts.get(host)?.report.name, reason)))?;
        Some(format!("no host can run it; {name} says: {reason}"))
    }

    /// Why a run that gave its turn up has not got another.
    pub(super) fn reason_to_rest(&self, run: RunId) -> Option<String> {
        let coordinator_run =
            self.runs.get(&run).filter(|run| !run.turn.is_active() && run.turn.yields() > 0)?;
        let why = self.why_unable(run)?;
        Some(match coordinator_run.turn.rests() {
            true => format!("{why} (it is tried again in a while, or when another host joins)"),
            false => format!("{why} (it waits for its turn to be tried again)"),
        })
    }
}
