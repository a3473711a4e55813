//! Which hosts are sent new entries below which jobs, in one run.
//!
//! A host that has searched for a job redoes it, and can use entries that arrive later. The bounds hold for any
//! requests: the oldest subscriptions are dropped.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::limits::{SUBSCRIBED_JOBS_MAX, SUBSCRIBERS_PER_JOB_MAX};
use crate::{HostId, JobTag};

/// The subscriptions of one run.
#[derive(Default)]
pub struct Subscriptions {
    next: u64,
    all: BTreeMap<u64, (JobTag, HostId)>,
    /// In order of age, the oldest first.
    by_job: BTreeMap<JobTag, VecDeque<(u64, HostId)>>,
    by_host: BTreeSet<(HostId, u64)>,
}

impl Subscriptions {
    /// The number of subscriptions.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Subscribes a host to entries below a job.
    pub fn add(&mut self, host: HostId, job: JobTag) {
        let subscribers = self.by_job.entry(job).or_default();
        if subscribers.iter().any(|(_, known)| *known == host) {
            return;
        }
        let oldest = (subscribers.len() >= SUBSCRIBERS_PER_JOB_MAX).then(|| subscribers[0].0);
        let number = self.next;
        self.next += 1;
        subscribers.push_back((number, host));
        self.by_host.insert((host, number));
        self.all.insert(number, (job, host));
        if let Some(oldest) = oldest {
            self.remove(oldest);
        }
        while self.all.len() > SUBSCRIBED_JOBS_MAX
            && let Some((oldest, _)) = self.all.first_key_value()
        {
            self.remove(*oldest);
        }
    }

    /// The hosts to which an entry below these jobs is sent: up to `most`, those of the nearest jobs first.
    pub fn of(&self, nearest_first: impl Iterator<Item = JobTag>, most: usize) -> BTreeSet<HostId> {
        let subscribers = nearest_first.filter_map(|job| self.by_job.get(&job)).flatten();
        let mut hosts = BTreeSet::new();
        for (_, host) in subscribers {
            hosts.insert(*host);
            if hosts.len() == most {
                break;
            }
        }
        hosts
    }

    /// A job has a result: entries below it are no longer needed.
    pub fn forget_job(&mut self, job: JobTag) {
        for (number, host) in self.by_job.remove(&job).into_iter().flatten() {
            self.all.remove(&number);
            self.by_host.remove(&(host, number));
        }
    }

    /// Drops up to `most` of a departed host; returns whether any are left.
    pub fn forget_host(&mut self, host: HostId, most: usize) -> bool {
        let numbers: Vec<u64> =
            self.by_host.range((host, 0)..=(host, u64::MAX)).take(most).map(|(_, number)| *number).collect();
        numbers.iter().for_each(|number| self.remove(*number));
        numbers.len() == most
    }

    /// Drops up to `most`; returns whether any are left.
    pub fn shrink(&mut self, most: usize) -> bool {
        for _ in 0..most {
            let Some((number, _)) = self.all.first_key_value() else { return false };
            self.remove(*number);
        }
        !self.all.is_empty()
    }

    fn remove(&mut self, number: u64) {
        let Some((job, host)) = self.all.remove(&number) else { return };
        self.by_host.remove(&(host, number));
        if let Some(subscribers) = self.by_job.get_mut(&job) {
            subscribers.retain(|(known, _)| *known != number);
            if subscribers.is_empty() {
                self.by_job.remove(&job);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tag(job: u64) -> JobTag {
        JobTag(job)
    }

    #[test]
    fn the_newest_of_a_job_and_the_nearest_of_an_entry_count() {
        let mut subscriptions = Subscriptions::default();
        for host in 1..=SUBSCRIBERS_PER_JOB_MAX as u64 + 1 {
            subscriptions.add(HostId(host), tag(1));
            subscriptions.add(HostId(host), tag(1));
        }
        subscriptions.add(HostId(1000), tag(2));
        assert_eq!(subscriptions.len(), SUBSCRIBERS_PER_JOB_MAX + 1);
        let all = subscriptions.of([tag(2), tag(1)].into_iter(), 100);
        assert!(!all.contains(&HostId(1)) && all.contains(&HostId(2)) && all.contains(&HostId(1000)));
        assert_eq!(subscriptions.of([tag(2), tag(1)].into_iter(), 1), BTreeSet::from([HostId(1000)]));
    }

    #[test]
    fn subscriptions_are_bounded_and_nothing_is_left_of_past_ones() {
        let mut subscriptions = Subscriptions::default();
        for job in 0..SUBSCRIBED_JOBS_MAX as u64 + 10 {
            subscriptions.add(HostId(job % 3), tag(job));
        }
        assert_eq!(subscriptions.len(), SUBSCRIBED_JOBS_MAX);
        assert!(subscriptions.of([tag(9)].into_iter(), 1).is_empty(), "the oldest give way");
        subscriptions.forget_job(tag(10));
        assert_eq!(subscriptions.len(), SUBSCRIBED_JOBS_MAX - 1);
        while subscriptions.forget_host(HostId(0), 100) {}
        assert!(subscriptions.all.values().all(|(_, host)| *host != HostId(0)));
        while subscriptions.shrink(100) {}
        assert_eq!((subscriptions.len(), subscriptions.by_job.len(), subscriptions.by_host.len()), (0, 0, 0));
    }
}
