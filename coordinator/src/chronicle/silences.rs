//! Hosts that do not answer although they have something to do: what they do is not known, and others may wait for them.

use sateen_protocol::HostId;

use super::{Chronicle, Idle, SILENT_MS};
use crate::limits::IDLE_REASONS_MAX;

/// Maximum silences of hosts that are kept, beside the reasons of the whole run.
const KEPT_MAX: usize = IDLE_REASONS_MAX / 2;
/// The end of the reason of a host that does not answer.
const DOES_NOT_ANSWER: &str = " does not answer";

/// A host without reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Silent {
    /// The host.
    pub host: HostId,
    /// When its last report came, or when it was back from a pause, or the run from a suspension, if that was later; in
    /// milliseconds since the run was submitted.
    pub since_ms: u32,
}

/// A silence in the past tense.
pub fn past(text: &str) -> String {
    text.strip_suffix(DOES_NOT_ANSWER)
        .map_or_else(|| text.to_owned(), |host| format!("{host} did not answer"))
}

impl Chronicle {
    /// Hosts that have reported nothing for a while, although they may still count as computing.
    pub fn silent_hosts(&self) -> Vec<Silent> {
        let before_ms = self.now_ms().saturating_sub(SILENT_MS);
        let hosts = self.tree.hosts();
        let silent = self.timeline.silent_since(before_ms, self.tree.went_on_ms());
        silent
            .filter_map(|(place, since_ms)| Some(Silent { host: hosts.get(place as usize)?.id, since_ms }))
            .collect()
    }

    /// Whether jobs of the run are under way at a host, as far as is known.
    pub fn has_jobs_at(&self, host: HostId) -> bool {
        self.tree.has_running_at(host)
    }

    /// Of the hosts that have something to do, these do not answer.
    pub fn note_silent(&mut self, silent: &[Silent]) {
        let now_ms = self.now_ms();
        for idle in self.idle.iter_mut().filter(|idle| idle.to_ms.is_none()) {
            if idle.host.is_some_and(|host| !silent.iter().any(|silent| silent.host == host)) {
                idle.to_ms = Some(now_ms.max(idle.from_ms));
            }
        }
        for Silent { host, since_ms } in silent {
            let is_open = |idle: &Idle| idle.to_ms.is_none() && idle.host == Some(*host);
            if self.is_over || self.idle.iter().any(is_open) {
                continue;
            }
            let Some((_, known)) = self.tree.known_host(*host) else { continue };
            if self.idle.iter().filter(|idle| idle.host.is_some()).count() >= KEPT_MAX {
                break;
            }
            let text = format!("host {}{DOES_NOT_ANSWER}", known.label());
            self.add_idle(Idle { from_ms: *since_ms, to_ms: None, host: Some(*host), text });
        }
    }

    /// A host that is silent no longer counts as such: it was given up, say.
    pub(super) fn end_silence(&mut self, of: HostId) {
        let now_ms = self.now_ms();
        for idle in self.idle.iter_mut().filter(|idle| idle.host == Some(of) && idle.to_ms.is_none()) {
            idle.to_ms = Some(now_ms.max(idle.from_ms));
        }
    }

    /// The run stood still until this host answered.
    pub fn answers(&mut self, host: HostId) {
        self.end_silence(host);
        self.idle_because(None, None, self.now_ms());
    }

    /// Nothing is done, for this reason, as these hosts do not answer: since their last report, or since others last computed.
    pub fn stands_still(&mut self, silent: &[Silent], reason: &str) {
        let place = |host| self.tree.known_host(host).map(|(place, _)| place);
        let places: Vec<u32> = silent.iter().filter_map(|silent| place(silent.host)).collect();
        let silent_ms = silent.iter().map(|silent| silent.since_ms).max().unwrap_or_default();
        let worked_ms = self.timeline.worked_until(|host| !places.contains(&host));
        let waited_ms =
            self.idle.iter().filter(|idle| idle.host.is_none()).filter_map(|idle| idle.to_ms).max();
        let from_ms = silent_ms.max(worked_ms).max(waited_ms.unwrap_or_default()).min(self.now_ms());
        if !self.is_over {
            self.idle_because(None, Some(reason), from_ms);
        }
    }
}
