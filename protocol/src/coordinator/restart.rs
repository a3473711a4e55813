//! Hosts from before a restart of the coordinator: their acquaintances, and the jobs they continue.

use crate::limits::ACQUAINTANCES_MAX;
use crate::message::ToHost;
use crate::{HostId, Time};

use super::hosts::HostState;
use super::slices::Slice;
use super::{Coordinator, Misbehaviour};

impl HostState {
    /// A host is notified that another is gone. If it was asked for its acquaintances, its answer may be older than that.
    pub fn is_told_gone(&mut self, gone: HostId) {
        let Some(since_asked) = self.gone_since_asked.as_mut() else { return };
        since_asked.insert(gone);
        if since_asked.len() > ACQUAINTANCES_MAX {
            // It does not answer, and its answer would be useless by now.
            self.gone_since_asked = None;
        }
    }
}

impl Coordinator {
    /// Hosts from before the restart that have not come back are gone.
    pub(super) fn end_waiting(&mut self, now: Time) {
        self.missing.stop_awaiting();
        let epoch = self.newsroom.begin_epoch();
        // Nothing is settled before all have been asked.
        self.newsroom.hold(now, epoch);
        self.in_slices(now, Slice::AskAll { after: None, epoch });
        self.in_slices(now, Slice::ForgetAbsent { after: None });
        self.settle(now);
    }

    /// Asks a host from before the restart which jobs it continues.
    pub(super) fn ask_after_restart(&mut self, now: Time, host: HostId, epoch: u64) {
        let Some(state) = self.hosts.get_mut(&host).filter(|state| state.paused.is_none()) else { return };
        self.newsroom.owe(now, &mut state.mailbox, epoch);
        if state.gone_since_asked.is_none() {
            self.tell_present(now, host);
        }
    }

    /// A host reports its acquaintances from before the restart.
    pub(super) fn on_knows(&mut self, now: Time, host: HostId, hosts: &[HostId]) -> Result<(), Misbehaviour> {
        if hosts.len() > ACQUAINTANCES_MAX {
            return Err(Misbehaviour::TooMuch);
        }
        let Some(state) = self.hosts.get_mut(&host) else { return Ok(()) };
        let Some(gone) = state.gone_since_asked.take() else { return Ok(()) };
        // These may be back already, as hosts that it does not know.
        let others = hosts.iter().copied().filter(|other| !gone.contains(other)).collect();
        let is_late = !self.missing.is_awaiting();
        self.in_slices(now, Slice::Know { host, others, is_late });
        Ok(())
    }

    /// Notes some of the acquaintances that a host had before the restart.
    pub(super) fn know(&mut self, now: Time, host: HostId, others: &[HostId]) {
        if !self.hosts.contains_key(&host) {
            return;
        }
        let is_waiting = self.missing.is_awaiting();
        for other in others {
            let is_there = self.hosts.contains_key(other);
            if *other == host || !(is_there || is_waiting) {
                continue;
            }
            let is_news = self.circles.connect(host, *other);
            if is_news && is_there {
                self.tell_joined(now, *other, host);
            }
        }
    }

    /// Notifies a host which of its circle have come back.
    pub(super) fn tell_present(&mut self, now: Time, host: HostId) {
        self.tell_news_to(now, host, None);
        let hosts = self.ids_of_circle(host).into_iter().filter(|id| self.works(*id)).collect();
        self.send(host, ToHost::Present { epoch: self.newsroom.epoch(), hosts });
    }
}
