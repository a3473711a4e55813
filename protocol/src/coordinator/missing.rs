//! Hosts that were given up and may come back.
//!
//! Most hosts whose link breaks are dead, and others wait for their jobs: so a host is
//! given up soon. Its identity stays valid for longer, in case it was only cut off. It comes back as a new
//! *incarnation*: everything between it and others before is void, as they have given it up, and it resolves
//! its own side like a host that comes back under another id.
//!
//! So does a host that pauses: it gives its jobs back, leaves, and returns under its id a moment later.

use std::collections::{BTreeMap, BTreeSet};

use crate::limits::{GIVEN_UP_AT_ONCE_MAX, IDENTITY_KEPT, MISSING_HOSTS_MAX, SILENCE_MAX};
use crate::message::Departure;
use crate::{HostId, RunId, Time};

use super::hosts::HostState;
use super::slices::Slice;
use super::{Coordinator, Event};

/// Hosts that were given up recently.
#[derive(Default)]
pub struct Missing {
    hosts: BTreeMap<HostId, (Time, HostState)>,
    until: BTreeSet<(Time, HostId)>,
    /// Hosts that left because they pause.
    resting: BTreeSet<HostId>,
    /// Until then, hosts from before a restart of the coordinator may come back, all of which are unknown.
    awaits_until: Option<Time>,
}

impl Missing {
    /// None yet, unless hosts from before a restart may come back.
    pub fn new(awaits_until: Option<Time>) -> Self {
        Self { awaits_until, ..Self::default() }
    }

    /// Until when hosts from before a restart may come back.
    pub fn awaits_until(&self) -> Option<Time> {
        self.awaits_until
    }

    /// Whether hosts from before a restart may come back.
    pub fn is_awaiting(&self) -> bool {
        self.awaits_until.is_some()
    }

    /// If they are awaited, then at least until this time: nothing could be heard from them.
    pub fn await_until(&mut self, time: Time) {
        if let Some(until) = &mut self.awaits_until {
            *until = (*until).max(time);
        }
    }

    /// Hosts from before a restart have had their time.
    pub fn stop_awaiting(&mut self) {
        self.awaits_until = None;
    }

    /// Whether they have had their time by now, and are still awaited.
    pub fn is_awaiting_in_vain(&self, now: Time) -> bool {
        self.awaits_until.is_some_and(|until| now >= until)
    }

    /// Whether a host that is not connected may come back under its id.
    pub fn may_return(&self, now: Time, host: HostId) -> bool {
        self.contains(host) || self.awaits_until.is_some_and(|until| now < until)
    }

    pub fn contains(&self, host: HostId) -> bool {
        self.hosts.contains_key(&host)
    }

    pub fn len(&self) -> usize {
        self.hosts.len().max(self.until.len())
    }

    pub fn is_empty(&self) -> bool {
        self.hosts.is_empty()
    }

    /// When the next host is forgotten.
    pub fn next(&self) -> Option<Time> {
        self.until.first().map(|(time, _)| *time)
    }

    /// Hosts that paused and are not back yet, from `first` on in the order of their ids.
    pub fn resting_from(&self, first: HostId) -> impl Iterator<Item = (&HostId, &HostState)> {
        self.resting.range(first..).filter_map(|host| Some((host, &self.hosts.get(host)?.1)))
    }

    fn insert(&mut self, until: Time, host: HostId, mut state: HostState) {
        state.link = None;
        self.until.insert((until, host));
        if state.pausing.rests {
            self.resting.insert(host);
        }
        self.hosts.insert(host, (until, state));
    }

    fn remove(&mut self, host: HostId) -> Option<HostState> {
        let (until, state) = self.hosts.remove(&host)?;
        self.until.remove(&(until, host));
        self.resting.remove(&host);
        Some(state)
    }

    /// The number of hosts that are to be forgotten now.
    pub fn overdue_len(&self, now: Time) -> usize {
        self.until.iter().take_while(|(until, _)| now >= *until).count()
    }

    /// A host that is to be forgotten now, because of its time or because there are too many.
    fn overdue(&self, now: Time) -> Option<HostId> {
        let (until, host) = self.until.first()?;
        (now >= *until || self.hosts.len() > MISSING_HOSTS_MAX).then_some(*host)
    }
}

impl Coordinator {
    /// A host has been given up: it may come back for a while.
    pub(super) fn miss(&mut self, now: Time, host: HostId, state: HostState) {
        self.missing.insert(now + IDENTITY_KEPT, host, state);
        self.forget_missing(now);
    }

    /// A host has come back. If it was given up, it is listed again.
    pub(super) fn find_missing(&mut self, now: Time, host: HostId) {
        // Other hosts hear of its departure before they hear of its return.
        while self.tell_some_gone(now, host) {}
        let Some(mut state) = self.missing.remove(host) else { return };
        state.heard = now;
        state.checked_at = now + SILENCE_MAX;
        self.silence.check(state.checked_at, host);
        state.comings.come_back(now);
        let is_known = |run: &RunId| self.runs.contains_key(run) || self.over.contains_key(run);
        state.counts.retain(|run, _| is_known(run));
        state.given.retain(|run, _| is_known(run));
        // Searches wait until it has reported the jobs it continues.
        self.newsroom.owe(now, &mut state.mailbox, self.newsroom.epoch());
        if !std::mem::take(&mut state.pausing.rests) {
            self.outputs.event(Event::HostReturned(host));
        }
        self.hosts.insert(host, state);
    }

    /// Forgets hosts that have not come back in time.
    pub(super) fn forget_missing(&mut self, now: Time) {
        for _ in 0..GIVEN_UP_AT_ONCE_MAX {
            let Some(host) = self.missing.overdue(now) else { break };
            if self.missing.remove(host).is_some_and(|state| state.pausing.rests) {
                self.outputs.event(Event::HostGone(host, Departure::Left));
            }
            self.forget_host(now, host);
        }
    }

    /// Entries are no longer sent to a host that will not come back under its id.
    pub(super) fn forget_host(&mut self, now: Time, host: HostId) {
        self.in_slices(now, Slice::Unsubscribe { from: RunId(0), host });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_hosts_may_return_for_a_while_after_a_restart() {
        let mut missing = Missing::default();
        missing.await_until(Time(9));
        assert!(!missing.is_awaiting() && !missing.may_return(Time(1), HostId(1)), "there was no restart");
        let mut missing = Missing::new(Some(Time(5)));
        assert!(missing.is_awaiting() && missing.may_return(Time(4), HostId(1)));
        assert!(missing.is_awaiting_in_vain(Time(5)) && !missing.may_return(Time(5), HostId(1)));
        missing.await_until(Time(4));
        assert_eq!(missing.awaits_until(), Some(Time(5)));
        missing.await_until(Time(7));
        assert!(!missing.is_awaiting_in_vain(Time(6)) && missing.may_return(Time(6), HostId(1)));
        missing.stop_awaiting();
        assert!(!missing.is_awaiting() && !missing.is_awaiting_in_vain(Time(9)));
    }
}
