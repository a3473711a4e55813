//! Hosts that were given up recently.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use crate::limits::{ACQUAINTANCES_MAX, IDENTITY_KEPT};
use crate::{HostId, Time};

/// Time for which a host that was given up is expected to come back.
const GIVEN_UP: Duration = IDENTITY_KEPT.saturating_mul(2);

/// Hosts that were given up, each with the time of that.
#[derive(Debug, Default)]
pub struct GivenUp {
    since: BTreeMap<HostId, Time>,
    /// The oldest first.
    order: VecDeque<(Time, HostId)>,
}

impl GivenUp {
    /// A host was given up. At most as many are kept as a host may have acquaintances.
    pub fn note(&mut self, now: Time, host: HostId) {
        while let Some((since, first)) = self.order.pop_front_if(|(since, _)| now >= *since + GIVEN_UP) {
            if self.since.get(&first) == Some(&since) {
                self.since.remove(&first);
            }
        }
        if self.order.len() < ACQUAINTANCES_MAX {
            self.since.insert(host, now);
            self.order.push_back((now, host));
        }
    }

    /// How many are kept, including those whose time is over.
    pub fn len(&self) -> usize {
        self.order.len().max(self.since.len())
    }

    /// Whether a host was given up so recently that it is expected back.
    pub fn has(&self, now: Time, host: HostId) -> bool {
        self.since.get(&host).is_some_and(|since| now < *since + GIVEN_UP)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_forgotten_in_time_and_later_if_they_are_given_up_again() {
        let later = |half: u64| Time(half * GIVEN_UP.as_nanos() as u64 / 2);
        let mut given_up = GivenUp::default();
        given_up.note(later(0), HostId(1));
        given_up.note(later(0), HostId(2));
        given_up.note(later(1), HostId(1));
        assert!(given_up.has(later(1), HostId(2)) && !given_up.has(later(1), HostId(3)));
        given_up.note(later(2), HostId(3));
        assert_eq!([1, 2, 3].map(|host| given_up.has(later(2), HostId(host))), [true, false, true]);
        assert_eq!((given_up.since.len(), given_up.order.len()), (2, 2));
        for host in 0..2 * ACQUAINTANCES_MAX as u64 {
            given_up.note(later(2), HostId(host));
        }
        assert_eq!(given_up.order.len(), ACQUAINTANCES_MAX);
    }
}
