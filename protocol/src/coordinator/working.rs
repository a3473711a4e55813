//! Which hosts work, that is, are not paused; and which resume work soon.

use std::collections::BTreeSet;

use crate::{HostId, Time};

use super::slices::from;

/// Hosts that are working, and those that are about to.
#[derive(Default)]
pub struct Working {
    hosts: BTreeSet<HostId>,
    /// Hosts that resumed work too often, in order of when they may do so again.
    resuming: BTreeSet<(Time, HostId)>,
}

impl Working {
    /// Notes whether a host works.
    pub fn set(&mut self, host: HostId, works: bool) {
        if works {
            self.hosts.insert(host);
        } else {
            self.hosts.remove(&host);
        }
    }

    /// Whether a host works.
    pub fn contains(&self, host: HostId) -> bool {
        self.hosts.contains(&host)
    }

    /// The number of hosts that work.
    pub fn len(&self) -> usize {
        self.hosts.len()
    }

    /// Whether no host works.
    pub fn is_empty(&self) -> bool {
        self.hosts.is_empty()
    }

    /// Hosts that work, in order of their ids.
    pub fn iter(&self) -> impl Iterator<Item = &HostId> {
        self.hosts.iter()
    }

    /// Up to `most` of them, from the one after `after` on.
    pub fn after(&self, after: Option<HostId>, most: usize) -> Vec<HostId> {
        self.hosts.range(from(after)).take(most).copied().collect()
    }

    /// A host resumes work at this time.
    pub fn resume_at(&mut self, at: Time, host: HostId) {
        self.resuming.insert((at, host));
    }

    /// A host does not resume work at this time, or has just done so.
    pub fn stop_resuming(&mut self, at: Time, host: HostId) {
        self.resuming.remove(&(at, host));
    }

    /// When the next host resumes work, and which.
    pub fn next_resuming(&self) -> Option<(Time, HostId)> {
        self.resuming.first().copied()
    }

    /// The number of hosts that resume work now.
    pub fn resuming_len(&self, now: Time) -> usize {
        self.resuming.iter().take_while(|(at, _)| now >= *at).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_work_or_wait_to_resume() {
        let [one, two, three] = [1, 2, 3].map(HostId);
        let mut working = Working::default();
        assert!(working.is_empty());
        [three, one, two].into_iter().for_each(|host| working.set(host, true));
        assert_eq!((working.after(None, 2), working.after(Some(one), 9)), (vec![one, two], vec![two, three]));
        working.set(one, false);
        assert_eq!((working.contains(one), working.len()), (false, 2));
        assert!(working.iter().eq([&two, &three]));
        working.resume_at(Time(9), one);
        working.resume_at(Time(5), two);
        assert_eq!((working.next_resuming(), working.resuming_len(Time(5))), (Some((Time(5), two)), 1));
        working.stop_resuming(Time(5), two);
        assert_eq!((working.next_resuming(), working.resuming_len(Time(5))), (Some((Time(9), one)), 0));
    }
}
