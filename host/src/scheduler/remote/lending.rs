//! Jobs that are given up for thieves.

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

use sateen_protocol::host::Notice;
use sateen_protocol::limits::JOBS_BYTES_MAX;
use sateen_protocol::{JobSpec, RuntimeJobId};

use super::{Registry, Remote};
use crate::scheduler::job::Job;

impl Remote {
    /// At most `most` open jobs that are not redone and of which one is like the other, if there are more than the workers
    /// here need.
    pub fn spare(&self, registry: &Registry, most: usize) -> Vec<(RuntimeJobId, JobSpec)> {
        // First: a worker that begins its sleep meanwhile either is seen here, or sees this.
        self.thieves.may_have_spare.store(true, SeqCst);
        registry.deques.demand.note_wanted(most);
        let spare = registry.deques.open_count().saturating_sub(registry.threads());
        if spare == 0 || registry.idle.hungry() > 0 || self.is_draining() {
            return Vec::new();
        }
        let most = most.min(spare.div_ceil(2)).max(1);
        self.lend(registry, most, |job| job.place.as_ref().is_some_and(|place| !place.redone.load(SeqCst)))
    }

    /// An open job, and at most `more` that are like it: half of the open jobs stay here.
    pub fn offer(&self, registry: &Registry, more: usize) -> Vec<(RuntimeJobId, JobSpec)> {
        registry.deques.demand.note_wanted(2 * more);
        let most = (1 + more).min(registry.deques.open_count().div_ceil(2)).max(1);
        self.lend(registry, most, |_| true)
    }

    /// Sends the driver jobs that were lent, or none. If one was given up before that, the driver ignored it, and is notified
    /// again.
    pub fn send_lent(
        &self,
        lent: Vec<(RuntimeJobId, JobSpec)>,
        send: impl FnOnce(Vec<(RuntimeJobId, JobSpec)>),
    ) {
        let numbers: Vec<RuntimeJobId> = lent.iter().map(|(number, _)| *number).collect();
        send(lent);
        for number in numbers {
            if self.away.lock().was_given_up(number) {
                self.notify(Notice::Abandoned { number });
            }
        }
    }

    /// Lends at most `most` jobs: the first open one, if it may be lent, and siblings of it. Thieves take several only of
    /// short jobs, and will take more.
    fn lend(
        &self,
        registry: &Registry,
        most: usize,
        may_lend: impl Fn(&Job) -> bool,
    ) -> Vec<(RuntimeJobId, JobSpec)> {
        let Some((first, lent)) = self.lend_first(registry, may_lend) else { return Vec::new() };
        let mut all = vec![lent];
        if most > 1 {
            let mut bytes = all[0].1.parameters.len();
            for sibling in self.last_siblings(&first, most - 1) {
                bytes += sibling.parameters().len();
                if bytes > JOBS_BYTES_MAX {
                    break;
                }
                all.extend(self.lend_one(registry, &sibling));
            }
        }
        all
    }

    /// At most `most` open siblings of a job that are not redone: the last ones, as their parent comes to the first ones
    /// itself.
    fn last_siblings(&self, first: &Arc<Job>, most: usize) -> Vec<Arc<Job>> {
        let Some(place) = &first.place else { return Vec::new() };
        let listed = self.open.listed.lock();
        let same_depth = listed.range((place.depth, 0)..=(place.depth, u64::MAX)).rev();
        let siblings = same_depth.map(|(_, job)| job).filter(|job| {
            job.is_sibling_of(first) && job.place.as_ref().is_some_and(|place| !place.redone.load(SeqCst))
        });
        siblings.take(most).cloned().collect()
    }

    /// Lends the first open job, if it may be lent.
    fn lend_first(
        &self,
        registry: &Registry,
        may_lend: impl Fn(&Job) -> bool,
    ) -> Option<(Arc<Job>, (RuntimeJobId, JobSpec))> {
        loop {
            let job = self.open.listed.lock().first_key_value()?.1.clone();
            if !may_lend(&job) {
                return None;
            }
            if let Some(lent) = self.lend_one(registry, &job) {
                return Some((job, lent));
            }
        }
    }

    /// Lends a listed job, unless it is looked up or somebody else has claimed it; either way, it is no longer listed.
    fn lend_one(&self, registry: &Registry, job: &Arc<Job>) -> Option<(RuntimeJobId, JobSpec)> {
        self.unlist(job);
        let place = job.place.as_ref()?;
        if self.ask_first(registry, job) {
            return None;
        }
        let (number, parameters) = self.send_away(job, place, Job::lend)?;
        registry.count_closed();
        Some((number, self.spec(job, place, parameters)))
    }
}
