//! The work that is ahead in a run, as its hosts expect.

use std::collections::BTreeMap;

use crate::HostId;

/// What the hosts expect of the jobs that have been spawned so far.
#[derive(Default)]
pub struct Forecast {
    by_host: BTreeMap<HostId, Option<u64>>,
    /// Of those that can tell, in nanoseconds of processor time.
    sum_ns: u128,
    /// The number of those that cannot.
    unknown: usize,
}

impl Forecast {
    /// A host expects this much work, in nanoseconds of processor time, or cannot tell.
    pub fn expect(&mut self, host: HostId, ahead_ns: Option<u64>) {
        self.forget(host);
        self.by_host.insert(host, ahead_ns);
        self.unknown += usize::from(ahead_ns.is_none());
        self.sum_ns += u128::from(ahead_ns.unwrap_or(0));
    }

    /// A host is gone.
    pub fn forget(&mut self, host: HostId) {
        if let Some(ahead_ns) = self.by_host.remove(&host) {
            self.unknown -= usize::from(ahead_ns.is_none());
            self.sum_ns -= u128::from(ahead_ns.unwrap_or(0));
        }
    }

    /// All work that is ahead, in nanoseconds of processor time; none if a host cannot tell.
    pub fn ahead_ns(&self) -> Option<u64> {
        let is_known = self.unknown == 0 && !self.by_host.is_empty();
        is_known.then(|| u64::try_from(self.sum_ns).unwrap_or(u64::MAX))
    }

    /// The number of hosts that have reported it.
    pub fn len(&self) -> usize {
        self.by_host.len()
    }

    /// Forgets up to `most` hosts; whether some are left.
    pub fn shrink(&mut self, most: usize) -> bool {
        for _ in 0..most {
            let Some(host) = self.by_host.keys().next().copied() else { break };
            self.forget(host);
        }
        !self.by_host.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hosts_expect_is_added_up_while_all_can_tell() {
        let mut forecast = Forecast::default();
        assert_eq!(forecast.ahead_ns(), None);
        forecast.expect(HostId(1), Some(500));
        forecast.expect(HostId(2), Some(u64::MAX));
        forecast.expect(HostId(1), Some(7));
        assert_eq!(forecast.ahead_ns(), Some(u64::MAX));
        forecast.expect(HostId(3), None);
        assert_eq!(forecast.ahead_ns(), None);
        forecast.forget(HostId(3));
        forecast.expect(HostId(2), Some(0));
        assert_eq!((forecast.ahead_ns(), forecast.len()), (Some(7), 2));
        assert!(forecast.shrink(1) && !forecast.shrink(1));
        assert_eq!(forecast.ahead_ns(), None);
    }
}
