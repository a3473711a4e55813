//! One run, as the coordinator has it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::{
    Counts, Entry, HostId, JobNumber, JobSpec, JobTag, RunId, RunSpec, RunState, Stealing, Table, Time,
};

use super::root::root_job;
use super::tally::Tally;
use super::turns::Turn;
use super::{RunView, StoredRun};

/// A run that is not over.
pub struct RunPart {
    pub spec: Arc<RunSpec>,
    pub state: RunState,
    /// It is given to hosts; at most `RUNS_ACTIVE_MAX` are.
    pub is_active: bool,
    pub turn: Turn,
    /// It was, at some time.
    pub was_active: bool,
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
    /// The same by host.
    pub subscribed: BTreeMap<HostId, Vec<JobTag>>,
    pub unsaved: Vec<Entry>,
    pub unsaved_since: Option<Time>,
    pub tally: Tally,
    pub progress: Option<(u64, u64)>,
    /// Hosts that have not yet saved what they have, and when they are no longer waited for.
    pub suspending: Option<(BTreeSet<HostId>, Time)>,
    pub since: Time,
}

impl RunPart {
    pub fn new(spec: RunSpec, state: RunState, table_bytes_max: usize, now: Time) -> Self {
        let root = root_job(&spec);
        Self {
            spec: Arc::new(spec),
            state,
            is_active: false,
            turn: Turn::default(),
            was_active: false,
            root,
            assigned: None,
            assigned_before: None,
            claims: BTreeSet::new(),
            next_number: 0,
            root_losses: 0,
            settles: (0, now),
            table: Table::new(table_bytes_max),
            subscribers: BTreeMap::new(),
            subscribed: BTreeMap::new(),
            unsaved: Vec::new(),
            unsaved_since: None,
            tally: Tally::default(),
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
        part.tally = Tally::restore(standing.by_host, standing.counted);
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
            spec: Arc::clone(&self.spec),
            state: self.state,
            waiting_for,
            root_host: self.root_host().or(self.assigned_before),
            root_losses: self.root_losses,
            counts: self.counts(),
            by_host: self.tally.rows().map(|(host, counts)| (host, is_there(host), counts)).collect(),
            counted: self.tally.begun_anew().collect(),
            progress: self.progress,
            table: (self.table.len(), self.table.bytes()),
            since: self.since,
        }
    }

    /// Whether hosts steal from nobody but the root's.
    pub fn is_of_master_and_workers(&self) -> bool {
        self.spec.stealing == Stealing::MasterWorker
    }

    /// A host is told from now on what comes below a job.
    pub fn subscribe(&mut self, host: HostId, job: JobTag) {
        if self.subscribers.entry(job).or_default().insert(host) {
            self.subscribed.entry(host).or_default().push(job);
        }
    }

    /// Frees up to `most` of each kind of thing that it consists of; whether something is left.
    pub fn shrink(&mut self, most: usize) -> bool {
        self.table.shrink(most);
        let mut is_left = !self.table.is_empty();
        fn pop<K: Ord, V>(map: &mut BTreeMap<K, V>, most: usize) -> bool {
            (0..most).all(|_| map.pop_first().is_some()) && !map.is_empty()
        }
        is_left |= self.tally.shrink(most);
        is_left |= pop(&mut self.subscribers, most);
        is_left |= pop(&mut self.subscribed, most);
        self.unsaved.truncate(self.unsaved.len().saturating_sub(most));
        is_left || !self.unsaved.is_empty()
    }

    /// Who has the root job.
    pub fn root_host(&self) -> Option<HostId> {
        self.assigned.map(|(host, _)| host)
    }

    pub fn counts(&self) -> Counts {
        self.tally.sum()
    }
}
