//! Claims on exposed jobs: by a thief or by the owner.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed, Ordering::Release};

use sateen_protocol::Bytes;

use super::deques::{own_index, push_own, trim_own};
use super::job::{Job, Task};
use super::registry::{Grid, Registry};

impl<G: Grid> Registry<G> {
    /// Makes a job visible to thieves. Called on a worker.
    pub fn expose(&self, job: Arc<Job>) {
        self.counters.exposed.fetch_add(1, Release);
        self.count_open();
        self.grid.list_open(&job);
        push_own(job);
        self.idle.wake_one();
        self.grid.announce_exposed();
    }

    /// Takes an exposed job back for its owner, if nobody has claimed it.
    pub fn reclaim(&self, job: &Arc<Job>) -> Option<Bytes> {
        // In pristine mode every job runs in an instance of its own, as long as there are any.
        if self.is_pristine() && self.instances.are_left() {
            return None;
        }
        if G::ask_first(self, job) {
            return None;
        }
        let parameters = self.withdraw(job)?;
        trim_own();
        Some(parameters)
    }

    fn withdraw(&self, job: &Job) -> Option<Bytes> {
        let parameters = job.withdraw()?;
        self.close(job);
        Some(parameters)
    }

    /// An open job was claimed.
    pub fn close(&self, job: &Job) {
        self.count_closed();
        self.grid.unlist(job);
    }

    pub fn count_open(&self) {
        self.deques.count_open();
    }

    pub fn count_closed(&self) {
        self.deques.count_closed();
        // A hungry worker may have expected that job, and would get another only with the next beat.
        if self.is_hungry() {
            self.hasten();
        }
    }

    /// This job will not be synced any more.
    pub fn abandon(&self, job: &Job) {
        loop {
            if self.withdraw(job).is_some() {
                self.counters.aborted.fetch_add(1, Relaxed);
                return;
            }
            if self.grid.give_up(&self.counters, job) || job.is_gone() {
                return;
            }
            if job.is_taken() {
                self.tasks.wake(job.abort());
                // If it computes, it can stop before the next beat.
                self.rouse();
                // This worker may continue with its guest for a long time; the other side need not wait for
                // that.
                self.idle.wake_one();
                return;
            }
            // The job went elsewhere or came back in between.
        }
    }

    /// Claims `job` for a new task.
    pub fn take(&self, job: &Arc<Job>) -> Option<Task> {
        let id = self.tasks.new_id();
        // A job that may be put back keeps its parameters, to begin again: if memory is short, or this host is paused.
        let may_be_put_back = self.room.memory().is_some() || self.grid.has_hosts();
        let parameters = if may_be_put_back { job.take_copy(id) } else { job.take(id) }?;
        self.close(job);
        self.counters.taken.fetch_add(1, Relaxed);
        let (ancestry, repeats) = self.grid.begin(job, &parameters).unzip();
        Some(Task {
            id,
            is_urgent: Arc::default(),
            repeats: Arc::new(AtomicBool::new(repeats.unwrap_or(false))),
            parameters,
            ancestry: ancestry.map(Arc::new),
        })
    }

    /// Counts a job that `from` exposed and this worker runs.
    pub fn note_steal(&self, from: usize) {
        if own_index() != Some(from) {
            self.counters.stolen.fetch_add(1, Relaxed);
            self.deques.demand.note_taken();
        }
    }
}
