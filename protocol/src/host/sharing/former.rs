//! Hosts that were given up while they had a replica of one shared object. They may only be asleep.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::limits::{FORMER_SHARERS_PER_MESSAGE_MAX, SHARED_FORMER_MAX, SHARERS_PER_MESSAGE_MAX};
use crate::shared::FormerSharer;
use crate::{HostId, Random, Time};

/// What a host that was given up is known to have of an object, in case it comes back.
#[derive(Debug, Clone, Copy)]
struct Former {
    /// The number of this host's updates that it has.
    own: u64,
    /// The number of all updates that there were when it was given up.
    total: u64,
    /// When that was.
    since: Time,
}

/// Hosts that had a replica when they were given up.
#[derive(Debug, Default)]
pub struct FormerSharers {
    hosts: BTreeMap<HostId, Former>,
}

impl FormerSharers {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.hosts.is_empty()
    }

    /// Their number.
    pub fn len(&self) -> usize {
        self.hosts.len()
    }

    /// Whether a host is one of them.
    pub fn contains(&self, host: HostId) -> bool {
        self.hosts.contains_key(&host)
    }

    /// All of them.
    pub fn hosts(&self) -> impl Iterator<Item = HostId> {
        self.hosts.keys().copied()
    }

    /// Some of them, as a message names them.
    pub fn named(&self, now: Time, random: &mut Random) -> Vec<FormerSharer> {
        let most = self.hosts.len().min(FORMER_SHARERS_PER_MESSAGE_MAX);
        let skip = if most < self.hosts.len() { random.below(self.hosts.len()) } else { 0 };
        let some = self.hosts.iter().cycle().skip(skip).take(most);
        let named = some.map(|(host, former)| FormerSharer {
            host: *host,
            total: former.total,
            ago_ms: u64::try_from(now.since(former.since).as_millis()).unwrap_or(u64::MAX),
        });
        named.collect()
    }

    /// Whether one of them lacks any of this host's `own` updates, or any of the `total` updates of all hosts.
    pub fn are_owed(&self, own: u64, total: u64) -> bool {
        self.hosts.values().any(|former| former.own < own || former.total < total)
    }

    /// A host was given up that had this number of this host's updates, when there were `total` of all hosts.
    pub fn note(&mut self, now: Time, host: HostId, own: u64, total: u64) {
        if self.hosts.len() < SHARERS_PER_MESSAGE_MAX {
            self.hosts.insert(host, Former { own, total, since: now });
        }
    }

    /// Another host says that a host was given up that had a replica. What that one has of this host's updates is unknown.
    pub fn hear(&mut self, now: Time, heard: FormerSharer) {
        let FormerSharer { host, total, ago_ms } = heard;
        let ago = Duration::from_millis(ago_ms);
        if ago < SHARED_FORMER_MAX && self.hosts.len() < SHARERS_PER_MESSAGE_MAX {
            self.hosts.entry(host).or_insert(Former { own: 0, total, since: now - ago });
        }
    }

    /// This host's updates are in another log from now on.
    pub fn begin_log(&mut self) {
        self.hosts.values_mut().for_each(|former| former.own = 0);
    }

    /// A host has a replica again, or none if it comes back.
    pub fn forget(&mut self, host: HostId) {
        self.hosts.remove(&host);
    }

    /// Nothing is kept any longer for hosts that have not come back for long.
    pub fn expire(&mut self, now: Time) {
        self.hosts.retain(|_, former| now < former.since + SHARED_FORMER_MAX);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const NOW: Time = Time(5);
    const ONE: HostId = HostId(1);

    #[test]
    fn hosts_that_were_given_up_are_owed_updates_for_a_while() {
        for (own, total, is_owed) in [(2, 3, false), (1, 3, true), (2, 2, true), (0, 0, true)] {
            let mut former = FormerSharers::default();
            former.note(NOW, ONE, own, total);
            assert_eq!(former.are_owed(2, 3), is_owed, "{own} of 2, {total} of 3");
            former.begin_log();
            assert!(former.are_owed(1, 0), "it has nothing of another log");
            let until = NOW + SHARED_FORMER_MAX;
            former.expire(Time(until.0 - 1));
            assert_eq!(former.len(), 1);
            former.expire(until);
            assert!(former.is_empty() && !former.are_owed(9, 9));
        }
    }

    #[test]
    fn hosts_that_were_given_up_elsewhere_are_owed_updates_for_the_same_time() {
        let ago = Duration::from_secs(5);
        let heard = FormerSharer { host: ONE, total: 3, ago_ms: 5_000 };
        let given_up = Time(0);
        let mut former = FormerSharers::default();
        former.hear(given_up + ago, heard);
        former.hear(given_up + ago, FormerSharer { total: 9, ago_ms: 0, ..heard });
        assert!(!former.are_owed(0, 3) && former.are_owed(0, 4), "what was heard first counts");
        assert!(former.are_owed(1, 3), "what it has of this host's updates is unknown");
        let named = former.named(given_up + 2 * ago, &mut Random::new(1));
        assert_eq!(named, [FormerSharer { ago_ms: 10_000, ..heard }]);
        former.expire(given_up + SHARED_FORMER_MAX);
        assert!(former.is_empty());
        let most = u64::try_from(SHARED_FORMER_MAX.as_millis()).expect("some minutes");
        for (ago_ms, count) in [(u64::MAX, 0), (most, 0), (most - 1, 1)] {
            former.hear(given_up + SHARED_FORMER_MAX, FormerSharer { ago_ms, ..heard });
            assert_eq!(former.len(), count, "{ago_ms}");
        }
    }

    #[test]
    fn a_bounded_number_is_known_and_few_are_named_at_a_time() {
        let (mut noted, mut former) = (FormerSharers::default(), FormerSharers::default());
        for host in (0..2 * SHARERS_PER_MESSAGE_MAX as u64).map(HostId) {
            noted.note(NOW, host, 0, 0);
            former.hear(NOW, FormerSharer { host, total: 1, ago_ms: 0 });
        }
        assert_eq!((noted.len(), former.len()), (SHARERS_PER_MESSAGE_MAX, SHARERS_PER_MESSAGE_MAX));
        let mut all = BTreeSet::new();
        for seed in 0..100 {
            let named = former.named(NOW, &mut Random::new(seed));
            let different: BTreeSet<HostId> = named.iter().map(|former| former.host).collect();
            assert_eq!((named.len(), different.len()), (FORMER_SHARERS_PER_MESSAGE_MAX, named.len()));
            all.extend(different);
        }
        assert_eq!(all.len(), SHARERS_PER_MESSAGE_MAX, "all of them after a while");
    }
}
