//! One run, as the coordinator has it.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    Counts, Entry, HostId, JobNumber, JobSpec, JobTag, RunId, RunSpec, RunState, Stealing, Table, Time,
};

use super::root::root_job;
use super::{RunView, StoredRun};

/// A run that is not over.
pub struct RunPart {
    pub spec: RunSpec,
    pub state: RunState,
    /// It is given to hosts; at most `RUNS_ACTIVE_MAX` are.
    pub is_active: bool,
    pub root: JobSpec,
    /// Who has the root job, and under which number.
    pub assigned: Option<(HostId, JobNumber)>,
    /// Who had it when the coordinator was stopped; until that host is back with it, or it is lost.
    pub assigned_before: Option<HostId>,
    /// All whose result of the root counts.
    pub claims: BTreeSet<(HostId, JobNumber)>,
    pub next_number: u64,
    pub root_losses: u32,
    /// The root is not given away again before all hosts have recovered from this, or until then.
    pub settles: (u64, Time),
    pub table: Table,
    /// Who is told of new entries below which job.
    pub subscribers: BTreeMap<JobTag, BTreeSet<HostId>>,
    pub unsaved: Vec<Entry>,
    pub unsaved_since: Option<Time>,
    pub by_host: BTreeMap<HostId, Counts>,
    /// Of these, what hosts counted before they began the run anew, and what they said last.
    pub counted: BTreeMap<HostId, (Counts, Counts)>,
    pub progress: Option<(u64, u64)>,
    /// Hosts that have not yet saved what they have, and when they are no longer waited for.
    pub suspending: Option<(BTreeSet<HostId>, Time)>,
    pub since: Time,
}

impl RunPart {
    pub fn new(spec: RunSpec, state: RunState, table_bytes_max: usize, now: Time) -> Self {
        let root = root_job(&spec);
        Self {
            spec,
            state,
            is_active: false,
            root,
            assigned: None,
            assigned_before: None,
            claims: BTreeSet::new(),
            next_number: 0,
            root_losses: 0,
            settles: (0, now),
            table: Table::new(table_bytes_max),
            subscribers: BTreeMap::new(),
            unsaved: Vec::new(),
            unsaved_since: None,
            by_host: BTreeMap::new(),
            counted: BTreeMap::new(),
            progress: None,
            suspending: None,
            since: now,
        }
    }

    pub fn restore(stored: StoredRun, table_bytes_max: usize, now: Time) -> Self {
        // Hosts that were asked to save have done so, or will be asked again.
        let state = match stored.state {
            RunState::Suspending => RunState::Suspended,
            state => state,
        };
        let mut part = Self::new(stored.spec, state, table_bytes_max, now);
        part.root.redone = state != RunState::Queued || !stored.entries.is_empty();
        for entry in stored.entries {
            part.table.insert(entry);
        }
        let standing = stored.standing;
        if state == RunState::Running {
            part.assigned_before = standing.root_host;
        }
        part.root_losses = standing.root_losses;
        part.progress = standing.progress;
        // Those that are still there will say so.
        let at_rest = |(host, counts)| (host, Counts { busy: 0, ..counts });
        part.by_host = standing.by_host.into_iter().map(at_rest).collect();
        let counted = standing.counted.into_iter();
        part.counted = counted.map(|(host, before, since)| (host, (before, since))).collect();
        part
    }

    pub fn view(
        &self,
        run: RunId,
        waiting_for: Option<String>,
        is_there: impl Fn(HostId) -> bool,
    ) -> RunView {
        RunView {
            run,
            spec: self.spec.clone(),
            state: self.state,
            waiting_for,
            root_host: self.root_host().or(self.assigned_before),
            root_losses: self.root_losses,
            counts: self.counts(),
            by_host: (self.by_host.iter()).map(|(host, counts)| (*host, is_there(*host), *counts)).collect(),
            counted: self.begun_anew().collect(),
            progress: self.progress,
            table: (self.table.len(), self.table.bytes()),
            since: self.since,
        }
    }

    /// Whether hosts steal from nobody but the root's.
    pub fn is_of_master_and_workers(&self) -> bool {
        self.spec.stealing == Stealing::MasterWorker
    }

    /// Who has the root job.
    pub fn root_host(&self) -> Option<HostId> {
        self.assigned.map(|(host, _)| host)
    }

    /// A host's counts begin anew when it drops the run and is given it again, after a suspension, say: what
    /// it counted before is not forgotten. Gives its sums.
    pub fn count(&mut self, host: HostId, counts: Counts) -> Counts {
        let before = || (Counts::default(), self.by_host.get(&host).copied().unwrap_or_default());
        let (base, last) = self.counted.entry(host).or_insert_with(before);
        if counts.began_anew_after(last) {
            base.add(&Counts { busy: 0, workers: 0, ..*last });
        }
        *last = counts;
        let mut sum = *base;
        sum.add(&counts);
        self.by_host.insert(host, sum);
        sum
    }

    /// Hosts that have begun to count anew: what they counted before, and what since. Of the others, what they
    /// counted is the sum.
    fn begun_anew(&self) -> impl Iterator<Item = (HostId, Counts, Counts)> {
        let anew = self.counted.iter().filter(|(_, (before, _))| *before != Counts::default());
        anew.map(|(host, (before, since))| (*host, *before, *since))
    }

    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        self.by_host.values().for_each(|more| counts.add(more));
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Jobs;
    use crate::{BlobHash, FaultTolerance, RunLimits};

    fn counts(work_ns: u64) -> Counts {
        let jobs = Jobs { executed: work_ns, ..Jobs::default() };
        Counts { jobs, work_ns, ..Counts::default() }
    }

    fn spec() -> RunSpec {
        RunSpec {
            app: BlobHash([7; 32]),
            function: "main".to_owned(),
            arguments: Vec::new(),
            inputs: Vec::new(),
            limits: RunLimits::default(),
            strict_nan: false,
            stealing: Stealing::default(),
            fault_tolerance: FaultTolerance::default(),
            record_every_ms: 100,
        }
    }

    #[test]
    fn what_a_host_counts_is_counted_once_whoever_begins_anew() {
        let host = HostId(3);
        let mut part = RunPart::new(spec(), RunState::Running, 1 << 20, Time::default());
        assert_eq!(part.count(host, counts(100)).work_ns, 100);
        // It was given the run again, after a suspension.
        assert_eq!(part.count(host, counts(10)).work_ns, 110);
        // The coordinator began anew, and the host did not.
        let standing = part.view(RunId(1), None, |_| true).standing();
        let stored = StoredRun {
            run: RunId(1),
            spec: spec(),
            state: RunState::Running,
            entries: Vec::new(),
            standing,
        };
        let mut part = RunPart::restore(stored, 1 << 20, Time::default());
        assert_eq!(part.counts().work_ns, 110);
        assert_eq!(part.count(host, counts(20)).work_ns, 120);
        assert_eq!(part.count(host, counts(5)).work_ns, 125);
    }
}
