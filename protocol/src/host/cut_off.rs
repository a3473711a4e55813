//! Hosts that this one has cut off.

use std::collections::BTreeMap;

use crate::limits::CUT_OFF_HOSTS_MAX;
use crate::{HostId, Time};

/// Hosts whose messages are ignored, each with the time of its last offence.
#[derive(Debug, Default)]
pub struct CutOff {
    since: BTreeMap<HostId, Time>,
}

impl CutOff {
    /// A host is cut off; false if it was before. Of too many, the first is forgotten.
    pub fn note(&mut self, now: Time, host: HostId) -> bool {
        if self.since.insert(host, now).is_some() {
            return false;
        }
        if self.since.len() > CUT_OFF_HOSTS_MAX {
            let first = self.since.iter().min_by_key(|(_, since)| **since).map(|(host, _)| *host);
            first.map(|first| self.since.remove(&first));
        }
        true
    }

    /// Whether a host is cut off.
    pub fn has(&self, host: HostId) -> bool {
        self.since.contains_key(&host)
    }

    /// A host is not cut off any more.
    pub fn forget(&mut self, host: HostId) {
        self.since.remove(&host);
    }

    /// No host is cut off any more.
    pub fn clear(&mut self) {
        self.since.clear();
    }

    /// The number of hosts that are cut off.
    pub fn len(&self) -> usize {
        self.since.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_cut_off_once_and_the_first_of_too_many_is_forgotten() {
        let mut cut_off = CutOff::default();
        // The first has the greatest id.
        let host = |number: usize| HostId((2 * CUT_OFF_HOSTS_MAX - number) as u64);
        for number in 0..CUT_OFF_HOSTS_MAX {
            assert!(cut_off.note(Time(number as u64), host(number)));
            assert!(!cut_off.note(Time(number as u64), host(number)), "it was before");
        }
        assert!(cut_off.has(host(0)) && cut_off.has(host(1)));
        assert!(cut_off.note(Time(CUT_OFF_HOSTS_MAX as u64), host(CUT_OFF_HOSTS_MAX)));
        assert!(!cut_off.has(host(0)) && cut_off.has(host(1)) && cut_off.has(host(CUT_OFF_HOSTS_MAX)));
        assert_eq!(cut_off.len(), CUT_OFF_HOSTS_MAX);
        cut_off.forget(host(1));
        assert_eq!((cut_off.has(host(1)), cut_off.len()), (false, CUT_OFF_HOSTS_MAX - 1));
        cut_off.clear();
        assert_eq!(cut_off.len(), 0);
    }
}
