//! The chronicles of all runs.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use sateen_protocol::{JobTag, ROOT_KIND, RunId};

use super::{Chronicle, ChronicleChanges, Going, Missing, Source};
use crate::limits::{NODES_OF_ENDED_RUNS_MAX, TREES_KEPT};

/// The chronicles of all runs.
#[derive(Debug)]
pub struct Chronicles {
    runs: Mutex<Runs>,
    /// Maximum runs that are over and have one.
    ended_max: usize,
}

impl Default for Chronicles {
    fn default() -> Self {
        Self::new(TREES_KEPT)
    }
}

#[derive(Debug, Default)]
struct Runs {
    of: HashMap<RunId, Arc<Mutex<Chronicle>>>,
    ended: VecDeque<RunId>,
    /// Chronicles to be deleted from the disk.
    dropped: Vec<RunId>,
    /// Runs with jobs that no longer run and are still to be marked as ended.
    ending: BTreeSet<RunId>,
}

/// Maximum jobs ended in one call. Only the largest trees need a second.
const ENDED_AT_ONCE: usize = 1024;

/// A job, as needed to run it again.
#[derive(Debug, Clone)]
pub struct FoundJob {
    /// The beginning of its key.
    pub job: JobTag,
    /// As in a [`JobSpec`](sateen_protocol::JobSpec).
    pub kind: u32,
    /// Spawns below the root.
    pub depth: u32,
    /// Its parameters, encoded. The root has its run's arguments in their place.
    pub parameters: Result<Vec<u8>, Missing>,
    /// Its parameters mention shared objects, which only the hosts of its run have.
    pub shares: bool,
}

impl FoundJob {
    /// Whether the coordinator has everything needed to run it again.
    pub fn can_run_alone(&self) -> bool {
        self.kind == ROOT_KIND || (self.parameters.is_ok() && !self.shares)
    }
}

impl Chronicles {
    /// Keeps the chronicles of at most `ended_max` runs that are over, and always that of the newest.
    pub fn new(ended_max: usize) -> Self {
        Self { runs: Mutex::default(), ended_max }
    }

    /// A run begins.
    pub fn begin(&self, run: RunId) {
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        runs.of.entry(run).or_insert_with(|| Arc::new(Mutex::new(Chronicle::begin())));
    }

    /// The chronicle of a run, if it has one.
    pub fn get(&self, run: RunId) -> Option<Arc<Mutex<Chronicle>>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner).of.get(&run).cloned()
    }

    /// The chronicles of all runs, the newest first.
    pub fn all(&self) -> Vec<(RunId, Arc<Mutex<Chronicle>>)> {
        let mut all: Vec<_> = {
            let runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
            runs.of.iter().map(|(run, chronicle)| (*run, Arc::clone(chronicle))).collect()
        };
        all.sort_by_key(|(run, _)| std::cmp::Reverse(*run));
        all
    }

    /// Jobs whose tags are `from` to `to`, of one run or of all, at most `limit`; those of the newest run
    /// first.
    pub fn find(&self, run: Option<RunId>, from: JobTag, to: JobTag, limit: usize) -> Vec<(RunId, FoundJob)> {
        let mut found = Vec::new();
        for (of, chronicle) in self.all() {
            if run.is_some_and(|run| run != of) {
                continue;
            }
            let chronicle = chronicle.lock().unwrap_or_else(PoisonError::into_inner);
            let jobs = chronicle.find(from, to, limit - found.len());
            found.extend(jobs.into_iter().map(|job| (of, job)));
        }
        found
    }

    /// Adds a run's chronicle from before a restart.
    pub fn restore(&self, run: RunId, is_over: bool, chronicle: Chronicle) {
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        runs.of.insert(run, Arc::new(Mutex::new(chronicle)));
        if is_over {
            runs.ended.push_back(run);
            runs.drop_oldest(self.ended_max);
        }
    }

    /// The changes of all chronicles that are to be saved, with at most `limit` jobs; and the runs whose chronicles are to be
    /// deleted. `is_last` if nothing is saved after this.
    pub fn changes(&self, jobs_max: usize, is_last: bool) -> (Vec<ChronicleChanges>, Vec<RunId>) {
        let dropped = std::mem::take(&mut self.runs.lock().unwrap_or_else(PoisonError::into_inner).dropped);
        let mut left = jobs_max;
        let mut changes = Vec::new();
        for (run, chronicle) in self.all() {
            let mut chronicle = chronicle.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(change) = chronicle.changes(run, left, is_last) {
                left -= change.jobs.len();
                changes.push(change);
            }
            if left == 0 {
                break;
            }
        }
        (changes, dropped)
    }

    /// Changes that were taken could not be saved.
    pub fn save_again(&self, taken: &[ChronicleChanges], dropped: Vec<RunId>) {
        for change in taken {
            if let Some(chronicle) = self.get(change.run) {
                chronicle.lock().unwrap_or_else(PoisonError::into_inner).save_again(change);
            }
        }
        self.runs.lock().unwrap_or_else(PoisonError::into_inner).dropped.extend(dropped);
    }

    /// A run is over: its chronicle is kept until newer ones displace it.
    pub fn end(&self, run: RunId, how: &str) {
        if let Some(chronicle) = self.get(run) {
            chronicle.lock().unwrap_or_else(PoisonError::into_inner).end(how);
            self.end_some(run, &chronicle, ENDED_AT_ONCE);
        }
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        runs.ended.push_back(run);
        runs.drop_oldest(self.ended_max);
    }

    /// A host has gone: runs that it had to do with lose it.
    pub fn host_gone(&self, run: RunId, source: Source<'_>, how: Going) {
        let Some(chronicle) = self.get(run) else { return };
        chronicle.lock().unwrap_or_else(PoisonError::into_inner).host_gone(source, how);
        self.end_some(run, &chronicle, ENDED_AT_ONCE);
    }

    fn end_some(&self, run: RunId, chronicle: &Mutex<Chronicle>, most: usize) {
        let is_left = chronicle.lock().unwrap_or_else(PoisonError::into_inner).end_some(most);
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        if is_left {
            runs.ending.insert(run);
        } else {
            runs.ending.remove(&run);
        }
    }

    /// Ends up to about `most` jobs that no longer run.
    pub fn proceed(&self, most: usize) {
        let first = self.runs.lock().unwrap_or_else(PoisonError::into_inner).ending.pop_first();
        let Some(run) = first else { return };
        if let Some(chronicle) = self.get(run) {
            self.end_some(run, &chronicle, most);
        }
    }

    /// The run was deleted.
    pub fn forget(&self, run: RunId) {
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        runs.of.remove(&run);
        runs.ended.retain(|ended| *ended != run);
        runs.dropped.push(run);
    }
}

impl Runs {
    fn drop_oldest(&mut self, ended_max: usize) {
        while self.has_too_many(ended_max) {
            let Some(oldest) = self.ended.pop_front() else { break };
            self.of.remove(&oldest);
            self.dropped.push(oldest);
        }
    }

    /// The newest is always kept.
    fn has_too_many(&self, ended_max: usize) -> bool {
        let nodes = self.ended.iter().filter_map(|run| self.of.get(run));
        let nodes: usize =
            nodes.map(|chronicle| chronicle.lock().unwrap_or_else(PoisonError::into_inner).nodes()).sum();
        self.ended.len() > ended_max.max(1) || (self.ended.len() > 1 && nodes > NODES_OF_ENDED_RUNS_MAX)
    }
}

impl Chronicle {
    /// The jobs whose tags are `from` to `to`, in their order, at most `limit`.
    pub fn find(&self, from: JobTag, to: JobTag, limit: usize) -> Vec<FoundJob> {
        let places = self.tree.between(from, to, limit).into_iter();
        let found = places.filter_map(|place| {
            let node = self.tree.get(place)?;
            Some(FoundJob {
                job: node.tag,
                kind: node.kind(),
                depth: u32::from(node.depth),
                shares: node.shares(),
                parameters: self.tree.parameters(place).map(<[u8]>::to_vec),
            })
        });
        found.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(chronicles: &Chronicles) -> Vec<u64> {
        chronicles.all().into_iter().map(|(run, _)| run.0).collect()
    }

    #[test]
    fn at_most_the_configured_number_of_trees_is_kept() {
        let chronicles = Chronicles::new(2);
        for run in 1..=4 {
            chronicles.begin(RunId(run));
        }
        for run in 1..=3 {
            chronicles.end(RunId(run), "it ended");
        }
        assert_eq!(kept(&chronicles), [4, 3, 2]);
        assert_eq!(chronicles.changes(9, false).1, [RunId(1)], "the disk forgets it as well");
        // A coordinator that is restarted with a lower limit.
        let fewer = Chronicles::new(0);
        for run in 2..=3 {
            fewer.restore(RunId(run), true, Chronicle::default());
        }
        fewer.restore(RunId(4), false, Chronicle::default());
        assert_eq!(kept(&fewer), [4, 3], "the newest that is over is kept");
        assert_eq!(fewer.changes(9, false).1, [RunId(2)]);
    }
}
