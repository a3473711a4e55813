//! The jobs that one instance has exposed and not synced.

use std::sync::Arc;

use crate::scheduler::{DEPTHS, Job};

/// Exposed jobs, by the numbers from 1 upwards that the guest knows them by.
#[derive(Default)]
pub struct Children {
    jobs: Vec<Option<Arc<Job>>>,
    free_numbers: Vec<u32>,
    /// The job that the guest last had begun in an instance of its own rather than call it in place.
    begun: Option<Arc<Job>>,
}

impl Children {
    /// How many numbers are in use.
    pub fn outstanding(&self) -> usize {
        self.jobs.len() - self.free_numbers.len()
    }

    /// How many numbers there are, in use or not.
    pub fn numbers(&self) -> usize {
        self.jobs.len()
    }

    /// Keeps an exposed job; returns its number.
    pub fn add(&mut self, job: Arc<Job>) -> u32 {
        match self.free_numbers.pop() {
            Some(number) => {
                self.jobs[number as usize - 1] = Some(job);
                number
            }
            None => {
                self.jobs.push(Some(job));
                self.jobs.len() as u32
            }
        }
    }

    /// An exposed job that has not been synced.
    pub fn get(&self, number: u32) -> Option<&Arc<Job>> {
        self.jobs.get((number as usize).checked_sub(1)?)?.as_ref()
    }

    /// Gives up an exposed job and its number; `None` if that is not in use.
    pub fn remove(&mut self, number: u32) -> Option<Arc<Job>> {
        let job = self.take(number)?;
        self.free(number);
        Some(job)
    }

    /// Like `remove`, but the number is not reused before it is freed.
    pub fn take(&mut self, number: u32) -> Option<Arc<Job>> {
        self.jobs.get_mut((number as usize).checked_sub(1)?)?.take()
    }

    /// The number of a job that was taken may be reused.
    pub fn free(&mut self, number: u32) {
        self.free_numbers.push(number);
    }

    /// How many there are by the depth of their spawn, and how many of these no worker has begun. Those below the deepest count as
    /// that deep.
    pub fn by_depth(&self) -> ([u32; DEPTHS], [u32; DEPTHS]) {
        let (mut all, mut open) = ([0; DEPTHS], [0; DEPTHS]);
        for job in self.jobs.iter().flatten() {
            let at = (job.spawned_at as usize).min(DEPTHS - 1);
            all[at] += 1;
            open[at] += u32::from(job.is_open());
        }
        (all, open)
    }

    /// Notes that the guest had `job` begun in an instance of its own.
    pub fn note_begun(&mut self, job: Arc<Job>) {
        self.begun = Some(job);
    }

    /// Whether `job` is the last that was begun in this way.
    pub fn is_begun(&self, job: &Arc<Job>) -> bool {
        self.begun.as_ref().is_some_and(|begun| Arc::ptr_eq(job, begun))
    }

    /// Removes all jobs that have not been synced.
    pub fn take_all(&mut self) -> impl Iterator<Item = Arc<Job>> {
        self.jobs.drain(..).flatten()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use sateen_protocol::Bytes;

    use super::*;

    fn job() -> Arc<Job> {
        Arc::new(Job::new(0, Bytes::default(), 1, Duration::ZERO))
    }

    #[test]
    fn a_number_is_given_out_again_only_when_it_is_freed() {
        let mut children = Children::default();
        let (first, second) = (job(), job());
        assert_eq!((children.add(first.clone()), children.add(second.clone())), (1, 2));
        assert!(children.get(0).is_none() && children.get(3).is_none());
        assert!(children.take(1).is_some_and(|job| Arc::ptr_eq(&job, &first)));
        assert!(children.get(1).is_none() && children.take(1).is_none());
        assert_eq!((children.outstanding(), children.add(job())), (2, 3), "the first is in use still");
        children.free(1);
        assert_eq!((children.outstanding(), children.add(job())), (2, 1));
        assert!(children.remove(2).is_some_and(|job| Arc::ptr_eq(&job, &second)));
        assert_eq!((children.outstanding(), children.take_all().count()), (2, 2));
    }

    #[test]
    fn the_job_that_was_begun_last_is_known() {
        let mut children = Children::default();
        let (begun, other) = (job(), job());
        assert!(!children.is_begun(&begun));
        children.note_begun(begun.clone());
        assert!(children.is_begun(&begun) && !children.is_begun(&other));
    }
}
