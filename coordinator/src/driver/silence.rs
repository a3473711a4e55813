//! Hosts whose reports do not come: their process was stopped, say. They are given up only later, and until then nobody knows
//! whether they compute, so their workers do not count as computing anywhere.

use std::collections::BTreeMap;
use std::time::Duration;

use sateen_protocol::{HostId, RunId, RunState, Time};

use super::Driver;
use crate::limits::{SILENT, SILENT_IDLE};

/// When each host last reported what it counted.
#[derive(Debug, Default)]
pub struct Reports {
    last: BTreeMap<HostId, Time>,
    /// When the driver was last held up, and could hear no host.
    held_up: Option<Time>,
}

impl Reports {
    /// A host reported.
    pub fn reported(&mut self, host: HostId, now: Time) {
        self.last.insert(host, now);
    }

    /// Whether a host has reported lately, of any run.
    pub fn are_recent(&self, host: HostId, now: Time) -> bool {
        self.last.get(&host).is_some_and(|last| now < *last + SILENT)
    }

    /// A host has gone.
    pub fn went(&mut self, host: HostId) {
        self.last.remove(&host);
    }

    /// The driver was held up until now.
    pub fn stalled(&mut self, now: Time) {
        self.held_up = Some(now);
    }

    /// Whether the driver was held up a moment ago, so that what hosts do is not known.
    pub fn are_late(&self, now: Time) -> bool {
        self.held_up.is_some_and(|held_up| now < held_up + SILENT)
    }

    /// For how long nothing has come from a host, if that is long: of one that computes, reports are due, and of all others
    /// answers to pings. `heard` is when something last arrived on its link.
    fn silence(&self, host: HostId, heard: Option<Time>, is_busy: bool, now: Time) -> Option<Duration> {
        let reported = self.last.get(&host).copied();
        let known = if is_busy { reported } else { reported.max(heard) };
        let last = [self.held_up, heard].into_iter().flatten().fold(known?, Time::max);
        let silence = now.since(last);
        (silence >= if is_busy { SILENT } else { SILENT_IDLE }).then_some(silence)
    }
}

impl Driver {
    /// For how long nothing has come from a host, if that is so long that nobody knows what it does; `busy` workers computed
    /// when it last reported.
    pub(super) fn silence(&self, host: HostId, busy: u32) -> Option<Duration> {
        let heard = self.links.of_host(host).map(|link| link.last_heard());
        self.hosts.reports.silence(host, heard, busy > 0, self.clock.now())
    }

    /// The workers of a host that compute now, for a run or at all, if that is known; `busy` computed when it last reported.
    pub(super) fn busy_now(
        &self,
        host: HostId,
        run: Option<RunId>,
        is_connected: bool,
        busy: u32,
    ) -> Option<u32> {
        let is_silent = || self.silence(host, busy).is_some();
        (is_connected && !is_silent() && !self.is_unheard(host, run, busy)).then_some(busy)
    }

    /// Whether a host has not said yet what it does, for a run or for one of those that are under way.
    fn is_unheard(&self, host: HostId, run: Option<RunId>, busy: u32) -> bool {
        let is_running = |run| self.machine.run(run).is_some_and(|run| run.state() == RunState::Running);
        let mut runs = self.hosts.unheard.runs(host, run, self.clock.now());
        let is_back = || self.hosts.unheard.is_back(host, self.clock.now());
        (busy == 0 && runs.any(is_running)) || (is_back() && self.machine.run_ids().next().is_some())
    }

    /// Whether a host has a link.
    pub(super) fn is_connected(&self, host: HostId) -> bool {
        // Looking at a host adds up all that it counted.
        self.hosts.profiles().names().away_since_ms(host).is_none()
            || self.machine.hosts_from(host).next().is_some_and(|seen| seen.id == host && seen.connected)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_silent_if_neither_reports_nor_anything_else_comes() {
        let mut reports = Reports::default();
        let silence = |reports: &Reports, host, heard, now| reports.silence(host, heard, true, now);
        let (one, two) = (HostId(1), HostId(2));
        let after = |time: Time, ms| time + Duration::from_millis(ms);
        let start = Time(7_000_000_000);
        reports.reported(one, start);
        assert_eq!(silence(&reports, one, None, after(start, 1_499)), None);
        assert_eq!(silence(&reports, one, None, after(start, 3_000)), Some(Duration::from_secs(3)));
        assert_eq!(silence(&reports, one, Some(after(start, 2_000)), after(start, 3_000)), None);
        assert_eq!(silence(&reports, two, None, after(start, 3_000)), None, "it never reported");
        reports.stalled(after(start, 2_500));
        assert_eq!(silence(&reports, one, None, after(start, 3_000)), None, "it could not be heard");
        assert!(reports.are_late(after(start, 3_999)) && !reports.are_late(after(start, 4_000)));
        assert_eq!(silence(&reports, one, None, after(start, 4_000)), Some(SILENT));
        reports.went(one);
        assert_eq!(silence(&reports, one, None, after(start, 9_000)), None);
    }

    /// A host without work says nothing of itself: until it was given up, it was idle and "asks for jobs".
    #[test]
    fn a_host_without_work_is_silent_if_it_answers_no_pings() {
        let mut reports = Reports::default();
        let (host, heard) = (HostId(1), Time(7_000_000_000));
        let silence = |reports: &Reports, heard, ms: u64| {
            reports.silence(host, heard, false, Time(7_000_000_000 + ms * 1_000_000))
        };
        assert_eq!(silence(&reports, Some(heard), 2_999), None);
        assert_eq!(silence(&reports, Some(heard), 3_000), Some(SILENT_IDLE));
        assert_eq!(silence(&reports, None, 9_000), None, "it has no link, and never reported");
        reports.reported(host, Time(9_000_000_000));
        assert_eq!(silence(&reports, Some(heard), 4_500), None);
        assert_eq!(silence(&reports, Some(heard), 5_500), Some(Duration::from_millis(3_500)));
        reports.stalled(Time(9_500_000_000));
        assert_eq!(silence(&reports, Some(heard), 5_400), None, "it could not be heard");
    }
}
