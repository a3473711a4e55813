//! Work on all hosts of a large grid, or on all entries of a large table, done in bounded slices so
//! that no event takes long.
//!
//! The first slice is done at once, so that in a small grid nothing is left; the others follow in events of
//! their own, without delay and in order. A message to a single host may overtake a
//! broadcast, so every broadcast must tolerate that, as well as hosts that join meanwhile.

use std::collections::{LinkedList, VecDeque};
use std::ops::Bound::{Excluded, Unbounded};

use crate::limits::{
    ASKED_AT_ONCE_MAX, BROADCAST_AT_ONCE_MAX, ENTRIES_FREED_AT_ONCE_MAX, INTRODUCED_AT_ONCE_MAX,
    KNOWN_AT_ONCE_MAX, RENEWED_AT_ONCE_MAX, RUNS_LOOKED_AT_ONCE_MAX,
};
use crate::message::{Departure, ToHost};
use crate::{HostId, RunId, Time};

use super::Coordinator;
use super::ready::Readiness;
use super::run::CoordinatorRun;

/// Work that is done in slices.
pub enum Slice {
    /// A message goes to all hosts.
    Broadcast {
        /// The last host that was sent the message.
        after: Option<HostId>,
        /// Includes paused hosts.
        is_for_paused: bool,
        message: ToHost,
    },
    /// Announces a new host to its circle.
    ShowRound { after: Option<HostId>, host: HostId },
    /// Announces a departure to those that knew the host.
    TellGone(HostId),
    /// Renews circles.
    Renew(VecDeque<HostId>),
    /// Gives a run to all hosts, in this turn; `before` is what they reported in the turn before.
    Start { after: Option<HostId>, run: RunId, turn: u32, before: Readiness },
    /// Notifies all hosts that a run is over.
    Stop { after: Option<HostId>, run: RunId },
    /// Frees a finished run, except for its hosts' counts.
    Shed(RunId),
    /// Asks all hosts to save what they have of a run.
    Suspend { after: Option<HostId>, run: RunId },
    /// Introduces all hosts to the host of a run's root.
    IntroduceMaster { after: Option<HostId>, run: RunId, master: HostId },
    /// Asks hosts which jobs they continue, after a restart.
    AskAll { after: Option<HostId>, epoch: u64 },
    /// Acquaintances of a host from before a restart. If `is_late`, the host is then asked which jobs it continues.
    Know { host: HostId, others: VecDeque<HostId>, is_late: bool },
    /// Removes hosts that did not come back after a restart from circles.
    ForgetAbsent { after: Option<HostId> },
    /// Forgets hosts' roles in a finished run: at its end, and when messages about it no longer count.
    Forget { after: Option<HostId>, run: RunId, is_late: bool },
    /// Introduces a host to others at its request.
    Meet { host: HostId, others: VecDeque<HostId> },
    /// Removes a departed host from runs.
    Lose { after: Option<RunId>, host: HostId, departure: Departure },
    /// Forgets what a paused host has reported about runs that are not under way.
    Unlist { after: Option<RunId>, host: HostId },
    /// Removes a run's entries that are at a departed host.
    ForgetEntries { run: RunId, host: HostId },
    /// Ends a departed host's subscriptions.
    Unsubscribe { from: RunId, host: HostId },
    /// Removes entries of a run that are below results.
    Sweep(RunId),
    /// Frees what hosts reported in a turn that is over.
    Drop(Readiness),
    /// Frees a finished run.
    Free(Box<CoordinatorRun>),
}

/// The slices under way.
#[derive(Default)]
pub struct Slices {
    /// Not a buffer that moves when it grows: tens of thousands wait after a restart.
    waiting: LinkedList<Slice>,
    /// When the first of them was added.
    since: Time,
}

impl Slices {
    /// The number of slices under way.
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Slice> {
        self.waiting.iter()
    }

    /// When the next slice is due, if there is one.
    pub fn next(&self) -> Option<Time> {
        (!self.waiting.is_empty()).then_some(self.since)
    }
}

impl Coordinator {
    /// Does the first slice of some work if nothing waits, and the rest later.
    pub(super) fn in_slices(&mut self, now: Time, slice: Slice) {
        let slices = self.chores.slices_mut();
        if slices.waiting.is_empty() {
            slices.since = now;
            if let Some(rest) = self.do_slice(now, slice) {
                self.chores.slices_mut().waiting.push_back(rest);
            }
        } else {
            slices.waiting.push_back(slice);
        }
    }

    /// Does one slice of the waiting work.
    pub(super) fn do_next_slice(&mut self, now: Time) {
        let Some(slice) = self.chores.slices_mut().waiting.pop_front() else { return };
        if let Some(rest) = self.do_slice(now, slice) {
            self.chores.slices_mut().waiting.push_front(rest);
        }
    }

    /// Sends a message to all hosts that are working.
    pub(super) fn broadcast(&mut self, now: Time, message: ToHost) {
        self.in_slices(now, Slice::Broadcast { after: None, is_for_paused: false, message });
    }

    /// Returns the remaining work.
    fn do_slice(&mut self, now: Time, slice: Slice) -> Option<Slice> {
        match slice {
            Slice::Broadcast { after, is_for_paused, message } => {
                let mut last = None;
                for (host, state) in self.hosts.range(from(after)).take(BROADCAST_AT_ONCE_MAX) {
                    last = Some(*host);
                    if let Some(link) = state.link.filter(|_| is_for_paused || state.paused.is_none()) {
                        self.outputs.transmit((link, message.clone()));
                    }
                }
                let after = self.if_more(last)?;
                Some(Slice::Broadcast { after, is_for_paused, message })
            }
            Slice::ShowRound { after, host } => {
                let last = self.show_some(now, host, after)?;
                Some(Slice::ShowRound { after: Some(last), host })
            }
            Slice::TellGone(host) => self.tell_some_gone(now, host).then_some(Slice::TellGone(host)),
            Slice::Renew(mut hosts) => {
                for host in hosts.drain(..hosts.len().min(RENEWED_AT_ONCE_MAX)).collect::<Vec<_>>() {
                    self.renew_circle(now, host);
                }
                (!hosts.is_empty()).then_some(Slice::Renew(hosts))
            }
            Slice::Start { after, run, turn, before } => {
                let hosts = self.working.after(after, BROADCAST_AT_ONCE_MAX);
                let is_under_way = hosts.iter().all(|host| self.start_at(run, turn, *host, &before));
                if is_under_way && hosts.len() == BROADCAST_AT_ONCE_MAX {
                    return Some(Slice::Start { after: hosts.last().copied(), run, turn, before });
                }
                self.do_slice(now, Slice::Drop(before))
            }
            Slice::Stop { after, run } => self.stop_some(now, after, run),
            Slice::Shed(run) => {
                let over = self.over.get_mut(&run)?;
                over.coordinator_run.shed(ENTRIES_FREED_AT_ONCE_MAX).then_some(Slice::Shed(run))
            }
            Slice::Suspend { after, run } => self.do_suspend(now, after, run),
            Slice::IntroduceMaster { after, run, master } => {
                let hosts = self.working.after(after, INTRODUCED_AT_ONCE_MAX);
                if self.runs.get(&run)?.root.host() != Some(master) {
                    return None;
                }
                hosts.iter().for_each(|host| self.introduce(now, *host, master));
                (hosts.len() == INTRODUCED_AT_ONCE_MAX).then(|| Slice::IntroduceMaster {
                    after: hosts.last().copied(),
                    run,
                    master,
                })
            }
            Slice::AskAll { after, epoch } => {
                let hosts = self.working.after(after, ASKED_AT_ONCE_MAX);
                hosts.iter().for_each(|host| self.ask_after_restart(now, *host, epoch));
                if hosts.len() == ASKED_AT_ONCE_MAX {
                    return Some(Slice::AskAll { after: hosts.last().copied(), epoch });
                }
                self.newsroom.release(epoch);
                self.settle(now);
                None
            }
            Slice::Know { host, mut others, is_late } => {
                let some = others.drain(..others.len().min(KNOWN_AT_ONCE_MAX)).collect::<Vec<_>>();
                self.know(now, host, &some);
                if others.is_empty() && is_late {
                    self.tell_present(now, host);
                }
                (!others.is_empty()).then_some(Slice::Know { host, others, is_late })
            }
            Slice::ForgetAbsent { after } => {
                let hosts = self.circles.after(after, RENEWED_AT_ONCE_MAX);
                let absent = hosts.iter().position(|host| !self.hosts.contains_key(host));
                if let Some(absent) = absent {
                    // One at a time: all its acquaintances forget it.
                    self.circles.leave(hosts[absent]);
                }
                let is_more = absent.is_some() || hosts.len() == RENEWED_AT_ONCE_MAX;
                let last = absent.or(hosts.len().checked_sub(1)).map(|place| hosts[place]);
                is_more.then_some(Slice::ForgetAbsent { after: last })
            }
            Slice::Forget { after, run, is_late } => {
                let mut last = None;
                for (host, state) in self.hosts.range_mut(from(after)).take(BROADCAST_AT_ONCE_MAX) {
                    last = Some(*host);
                    state.counts.remove(&run);
                    if is_late {
                        state.given.remove(&run);
                    }
                }
                let after = self.if_more(last)?;
                Some(Slice::Forget { after, run, is_late })
            }
            Slice::Meet { host, mut others } => {
                for other in others.drain(..others.len().min(INTRODUCED_AT_ONCE_MAX)).collect::<Vec<_>>() {
                    self.introduce(now, host, other);
                }
                (!others.is_empty()).then_some(Slice::Meet { host, others })
            }
            Slice::Lose { after, host, departure } => {
                if self.has_come_back(host) {
                    return None;
                }
                let runs = self.runs_after(after);
                let mut room = ENTRIES_FREED_AT_ONCE_MAX;
                for run in &runs {
                    if !self.runs.is_urgent(*run) {
                        self.lose_host_of_run(now, *run, (host, departure), &mut room);
                    }
                }
                (runs.len() == RUNS_LOOKED_AT_ONCE_MAX).then(|| Slice::Lose {
                    after: runs.last().copied(),
                    host,
                    departure,
                })
            }
            Slice::Unlist { after, host } => {
                if self.working.contains(host) {
                    return None;
                }
                let runs = self.runs_after(after);
                runs.iter().for_each(|run| self.forget_readiness(*run, host));
                (runs.len() == RUNS_LOOKED_AT_ONCE_MAX)
                    .then(|| Slice::Unlist { after: runs.last().copied(), host })
            }
            Slice::ForgetEntries { run, host } => {
                if self.has_come_back(host) {
                    return None;
                }
                let mut room = ENTRIES_FREED_AT_ONCE_MAX;
                let is_more = self.runs.get_mut(&run)?.ledger.forget_host(host, &mut room);
                is_more.then_some(Slice::ForgetEntries { run, host })
            }
            Slice::Unsubscribe { from, host } => {
                let mut runs = self.runs.range_mut(from..);
                for (run, coordinator_run) in runs.by_ref().take(RUNS_LOOKED_AT_ONCE_MAX) {
                    if coordinator_run.ledger.unsubscribe(host, ENTRIES_FREED_AT_ONCE_MAX) {
                        return Some(Slice::Unsubscribe { from: *run, host });
                    }
                }
                let (next, _) = runs.next()?;
                Some(Slice::Unsubscribe { from: *next, host })
            }
            Slice::Sweep(run) => self.runs.get_mut(&run)?.ledger.sweep_more().then_some(Slice::Sweep(run)),
            Slice::Drop(mut readiness) => {
                readiness.shrink(ENTRIES_FREED_AT_ONCE_MAX).then_some(Slice::Drop(readiness))
            }
            Slice::Free(mut coordinator_run) => {
                coordinator_run.shrink(ENTRIES_FREED_AT_ONCE_MAX).then_some(Slice::Free(coordinator_run))
            }
        }
    }

    /// Asks hosts to save what they have of a run.
    fn do_suspend(&mut self, now: Time, after: Option<HostId>, run: RunId) -> Option<Slice> {
        let hosts = self.working.after(after, BROADCAST_AT_ONCE_MAX);
        let suspending = self.runs.get_mut(&run)?.suspending.as_mut()?;
        let is_more = hosts.len() == BROADCAST_AT_ONCE_MAX;
        suspending.is_asking = is_more;
        for host in hosts.iter().copied() {
            if self.have_dropped(run, host)
                && let Some(suspending) = self.runs.get_mut(&run).and_then(|run| run.suspending.as_mut())
            {
                suspending.hosts.insert(host);
            }
        }
        self.finish_suspending_if_saved(now, run);
        is_more.then_some(Slice::Suspend { after: hosts.last().copied(), run })
    }

    /// Whether a host that was gone still has its jobs. A paused host has none.
    fn has_come_back(&self, host: HostId) -> bool {
        self.hosts.get(&host).is_some_and(|state| state.paused.is_none())
    }

    /// Some runs, from the one after `after` on.
    fn runs_after(&self, after: Option<RunId>) -> Vec<RunId> {
        let range = (after.map_or(Unbounded, Excluded), Unbounded);
        self.runs.range(range).take(RUNS_LOOKED_AT_ONCE_MAX).map(|(run, _)| *run).collect()
    }

    /// The last host that a slice reached, if there are more.
    pub(super) fn if_more(&self, last: Option<HostId>) -> Option<Option<HostId>> {
        let last = last?;
        self.hosts.range(from(Some(last))).next().map(|_| Some(last))
    }
}

/// The hosts after one of them.
pub(super) fn from(after: Option<HostId>) -> (std::ops::Bound<HostId>, std::ops::Bound<HostId>) {
    (after.map_or(Unbounded, Excluded), Unbounded)
}
