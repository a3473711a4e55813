//! Jobs of this host that are lent or being looked up.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use sateen_protocol::RuntimeJobId;

use crate::scheduler::job::Job;

/// Maximum jobs that are remembered as given up. One that is forgotten counts as run elsewhere.
const GIVEN_UP_MAX: usize = 4096;

/// Jobs that are lent or being looked up, by their numbers. Their state changes only under the lock of this.
#[derive(Default)]
pub struct Away {
    jobs: HashMap<RuntimeJobId, Arc<Job>>,
    /// The last jobs that were given up while they were lent. No number is used twice, and later ones are greater.
    given_up: BTreeSet<RuntimeJobId>,
}

/// What a job was that was given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GivenUp {
    /// Lent: another host has begun it, or will drop it, and counts it.
    Lent,
    /// Looked up: nobody else counts it.
    LookedUp,
}

impl Away {
    /// The number of jobs that are elsewhere.
    pub fn len(&self) -> usize {
        self.jobs.len()
    }

    /// The job is lent or looked up from now on.
    pub fn insert(&mut self, number: RuntimeJobId, job: Arc<Job>) {
        self.jobs.insert(number, job);
    }

    /// A job has come back, or its outcome has come.
    pub fn remove(&mut self, number: RuntimeJobId) -> Option<Arc<Job>> {
        self.jobs.remove(&number)
    }

    /// The job with this number is no longer wanted; `None` if it is not elsewhere.
    pub fn give_up(&mut self, number: RuntimeJobId, job: &Job) -> Option<GivenUp> {
        let was_looked_up = job.is_looked_up();
        if !job.give_up() {
            return None;
        }
        self.jobs.remove(&number);
        if was_looked_up {
            return Some(GivenUp::LookedUp);
        }
        self.given_up.insert(number);
        if self.given_up.len() > GIVEN_UP_MAX {
            self.given_up.pop_first();
        }
        Some(GivenUp::Lent)
    }

    /// Whether this job was given up while it was lent.
    pub fn was_given_up(&self, number: RuntimeJobId) -> bool {
        self.given_up.contains(&number)
    }

    /// A job that was given up while it was lent has come back, so no other host has it.
    pub fn take_back_given_up(&mut self, number: RuntimeJobId) -> bool {
        self.given_up.remove(&number)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use sateen_protocol::Bytes;

    use super::*;

    fn lent() -> Arc<Job> {
        let job = Job::new(0, Bytes::default(), 1, Duration::ZERO);
        assert!(job.lend());
        Arc::new(job)
    }

    #[test]
    fn a_lent_job_that_was_given_up_can_come_back_once() {
        let (mut away, number, job) = (Away::default(), RuntimeJobId(1), lent());
        away.insert(number, job.clone());
        assert!(!away.was_given_up(number));
        assert_eq!(away.give_up(number, &job), Some(GivenUp::Lent));
        assert_eq!(away.give_up(number, &job), None, "it is gone");
        assert_eq!(away.len(), 0);
        assert!(away.was_given_up(number) && away.remove(number).is_none());
        assert!(away.take_back_given_up(number) && !away.take_back_given_up(number));
    }

    #[test]
    fn a_job_that_was_looked_up_does_not_come_back() {
        let (mut away, number) = (Away::default(), RuntimeJobId(1));
        let job = Arc::new(Job::new(0, Bytes::default(), 1, Duration::ZERO).looked_up());
        away.insert(number, job.clone());
        assert_eq!(away.give_up(number, &job), Some(GivenUp::LookedUp));
        assert!(!away.take_back_given_up(number));
    }

    #[test]
    fn the_first_jobs_that_were_given_up_are_forgotten_first() {
        let mut away = Away::default();
        for number in 0..=GIVEN_UP_MAX as u64 {
            let job = lent();
            away.insert(RuntimeJobId(number), job.clone());
            away.give_up(RuntimeJobId(number), &job);
        }
        assert!(!away.was_given_up(RuntimeJobId(0)) && away.was_given_up(RuntimeJobId(1)));
    }
}
