//! Hosts that paused and work again: the machine has no event for that.

use std::collections::BTreeSet;
use std::ops::Bound;

use sateen_protocol::HostId;
use sateen_protocol::coordinator::HostView;

use super::Driver;
use crate::chronicle::Source;

/// Maximum hosts that are looked at in one event.
const LOOKED_AT_ONCE_MAX: usize = 64;

/// Hosts that paused, or were given up before a restart.
#[derive(Debug, Default)]
pub struct Resting {
    all: BTreeSet<HostId>,
    /// The host that was looked at last.
    last: u64,
}

impl Resting {
    /// Hosts that runs miss.
    pub fn restore(all: BTreeSet<HostId>) -> Self {
        Self { all, ..Self::default() }
    }

    /// The host no longer works.
    pub fn begins(&mut self, host: HostId) {
        self.all.insert(host);
    }

    /// The host works again, or has gone.
    pub fn ends(&mut self, host: HostId) -> bool {
        self.all.remove(&host)
    }

    /// The next hosts, each in turn.
    fn next(&mut self) -> Vec<HostId> {
        let after = self.all.range((Bound::Excluded(HostId(self.last)), Bound::Unbounded));
        let next: Vec<HostId> = after.take(LOOKED_AT_ONCE_MAX).copied().collect();
        self.last = next.last().filter(|_| next.len() == LOOKED_AT_ONCE_MAX).map_or(0, |host| host.0);
        next
    }
}

impl Driver {
    /// Informs runs of hosts that work again.
    pub(super) fn look_for_returns(&mut self) {
        for host in self.hosts.resting.next() {
            self.look_for_return(host);
        }
    }

    pub(super) fn look_for_return(&mut self, host: HostId) {
        let is_back = self.seen(host).is_some_and(|seen| seen.connected && seen.paused.is_none());
        if is_back && self.hosts.resting.ends(host) {
            self.is_back(host);
        }
    }

    /// The machine's view of a host, if it is in the grid.
    pub(super) fn seen(&self, host: HostId) -> Option<HostView> {
        self.machine.hosts_from(host).next().filter(|seen| seen.id == host)
    }

    /// Informs all runs that the host had to do with.
    pub(super) fn is_back(&self, host: HostId) {
        let name = self.hosts.name_of(host);
        for run in self.machine.run_ids() {
            let source = Source { id: host, name: &name.name, site: &name.site };
            self.record(run, |chronicle| chronicle.host_back(source));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_hosts_are_looked_at_in_turn() {
        let most = LOOKED_AT_ONCE_MAX as u64;
        let mut resting = Resting::restore((1..=most).map(HostId).collect());
        resting.begins(HostId(most + 1));
        let lens: Vec<usize> = (0..3).map(|_| resting.next().len()).collect();
        assert_eq!(lens, [LOOKED_AT_ONCE_MAX, 1, LOOKED_AT_ONCE_MAX]);
        assert!(resting.ends(HostId(1)) && !resting.ends(HostId(1)));
        assert_eq!(Resting::default().next(), []);
    }
}
