//! Hosts that pause, and work again.

use crate::limits::{UNPAUSE_EVERY, UNPAUSES_AT_ONCE_MAX};
use crate::{HostId, Time};

use super::Coordinator;
use super::slices::Slice;

impl Coordinator {
    /// To work again is worth much: the host is shown round, and given all runs. So one that does it again and again
    /// waits in between.
    pub(super) fn on_paused(&mut self, now: Time, host: HostId, reason: Option<String>) {
        let Some(state) = self.hosts.get_mut(&host) else { return };
        let was_paused = state.paused.is_some();
        if reason.is_some() {
            state.paused = reason;
            self.stop_unpausing(host);
            if !was_paused {
                self.note_pause(host);
                self.in_slices(now, Slice::Unlist { after: None, host });
                self.close_mailbox(host);
                self.circles.step_aside(host);
            }
        } else if was_paused && state.unpauses_at.is_none() {
            if state.unpauses.take(now, UNPAUSE_EVERY, UNPAUSES_AT_ONCE_MAX) {
                self.unpause(now, host);
            } else {
                let at = now + UNPAUSE_EVERY;
                state.unpauses_at = Some(at);
                self.unpausing.insert((at, host));
            }
        }
    }

    fn unpause(&mut self, now: Time, host: HostId) {
        let Some(state) = self.hosts.get_mut(&host) else { return };
        state.paused = None;
        self.note_pause(host);
        self.show_round(now, host);
        self.tell_circle(now, host);
        self.tell_news(now);
        self.start_runs_at(now, host, true);
        self.wake_turns(now);
    }

    /// It is not to work again at some time.
    pub(super) fn stop_unpausing(&mut self, host: HostId) {
        if let Some(at) = self.hosts.get_mut(&host).and_then(|state| state.unpauses_at.take()) {
            self.unpausing.remove(&(at, host));
        }
    }

    pub(super) fn next_unpausing(&self) -> Option<(Time, &'static str)> {
        let (at, _) = self.unpausing.first()?;
        Some((*at, "a host that paused too often works again"))
    }

    pub(super) fn time_out_unpausing(&mut self, now: Time) {
        while let Some((at, host)) = self.unpausing.first().copied().filter(|(at, _)| now >= *at) {
            self.unpausing.remove(&(at, host));
            if let Some(state) = self.hosts.get_mut(&host) {
                state.unpauses_at = None;
                state.unpauses.take(now, UNPAUSE_EVERY, UNPAUSES_AT_ONCE_MAX);
                self.unpause(now, host);
            }
        }
    }
}
