//! A run's state in the coordinator.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use crate::message::Departure;
use crate::{Counts, FaultTolerance, HostId, RunSpec, RunState, Stealing, Table, Time, root_job};

use super::ledger::Ledger;
use super::meter::Meter;
use super::ready::Readiness;
use super::root_job::{RootBefore, RootJob};
use super::surface::{StoredRun, Submitter};
use super::tally::Tally;
use super::turn::Turn;
use super::validation::Validation;

/// Hosts are saving what they have of a run.
pub struct Suspending {
    /// Hosts that have not finished.
    pub hosts: BTreeSet<HostId>,
    /// Not all hosts have been asked.
    pub is_asking: bool,
    /// When they are no longer awaited.
    pub until: Time,
    /// The run then waits for another turn.
    pub gives_way: bool,
}

/// A run. Once it is over, only what its last counts need is kept (see `ended`).
pub struct CoordinatorRun {
    pub spec: Arc<RunSpec>,
    pub state: RunState,
    pub turn: Turn,
    pub root: RootJob,
    pub ledger: Ledger,
    pub readiness: Readiness,
    pub tally: Tally,
    pub progress: Option<(u64, u64)>,
    pub suspending: Option<Suspending>,
    pub meter: Meter,
    pub since: Time,
    /// It is over, and these hosts still have to send their last counts.
    pub awaited: BTreeSet<HostId>,
    pub submitter: Submitter,
    /// How its results are checked, if they are.
    pub validation: Option<Box<Validation>>,
    /// Its result is that of an earlier run, which took this much processor time for it, in nanoseconds.
    pub found_earlier_ns: Option<u64>,
}

/// Whether hosts of a run record finished work before they give it back.
fn keeps_what_is_finished(spec: &RunSpec) -> bool {
    matches!(spec.fault_tolerance, FaultTolerance::Full | FaultTolerance::FinishedOrphans)
}

impl CoordinatorRun {
    pub fn new(submitter: Submitter, spec: RunSpec, state: RunState, table: Table, now: Time) -> Self {
        let validation = Validation::new(spec.trust, root_job(&spec));
        Self {
            validation: validation.map(Box::new),
            submitter,
            state,
            turn: Turn::default(),
            root: RootJob::new(&spec, now),
            ledger: Ledger::new(table, spec.reuse),
            spec: Arc::new(spec),
            readiness: Readiness::default(),
            tally: Tally::default(),
            progress: None,
            suspending: None,
            meter: Meter::default(),
            since: now,
            awaited: BTreeSet::new(),
            found_earlier_ns: None,
        }
    }

    /// An audit of it draws units with this seed.
    pub fn with_seed(mut self, seed: u64) -> Self {
        self.validation.iter_mut().for_each(|validation| validation.seed(seed));
        self
    }

    pub fn restore(stored: StoredRun, table: Table, now: Time) -> Self {
        // Hosts that were asked to save have done so, or will be asked again.
        let state = match stored.state {
            RunState::Suspending => RunState::Suspended,
            state => state,
        };
        let mut coordinator_run = Self::new(stored.submitter, stored.spec, state, table, now);
        let was_begun = state != RunState::Queued || !stored.entries.is_empty();
        if was_begun {
            let is_given_back = state == RunState::Suspended && keeps_what_is_finished(&coordinator_run.spec);
            coordinator_run.root.begin_again(is_given_back);
        }
        coordinator_run.turn = Turn::restored(was_begun);
        coordinator_run.ledger.restore(stored.entries);
        let standing = stored.standing;
        let is_under_way = state == RunState::Running;
        let before = if is_under_way { RootBefore::of(&standing) } else { RootBefore::Nobody };
        coordinator_run.root.restore(before, standing.root_losses);
        coordinator_run.progress = standing.progress;
        coordinator_run.meter.under_way = Duration::from_millis(standing.under_way_ms);
        coordinator_run.tally = Tally::restore(standing.by_host, standing.counted, standing.long_gone);
        let validation = coordinator_run.validation.iter_mut();
        validation.for_each(|validation| validation.add_work(standing.checks_work_ns));
        coordinator_run
    }

    /// The root will be begun again: its host crashed, or has saved what was finished.
    pub fn note_root_begun(&mut self, how: Departure) {
        self.root.begin_again(how == Departure::Left && keeps_what_is_finished(&self.spec));
    }

    /// Whether a suspension loses only what jobs have not finished.
    pub fn keeps_what_is_finished(&self) -> bool {
        keeps_what_is_finished(&self.spec)
    }

    /// A host has given the root back, which counts if it had begun it: the message that assigned it may have been lost.
    pub fn count_root_given_back(&mut self, host: HostId) {
        if self.root.is_begun() {
            self.tally.count_root_given_back(host);
        }
    }

    /// Whether its time under way or the work of its jobs is limited.
    pub fn has_time_limit(&self) -> bool {
        self.spec.limits.time_ms_max.is_some() || self.spec.limits.cpu_ms_max.is_some()
    }

    /// Whether hosts steal only from the root's host.
    pub fn is_of_master_and_workers(&self) -> bool {
        self.spec.stealing == Stealing::MasterWorker
    }

    /// Frees up to `most` of each kind of its parts; returns whether any are left.
    pub fn shrink(&mut self, most: usize) -> bool {
        let mut is_left = self.shed(most);
        is_left |= self.tally.shrink(most);
        for _ in 0..most {
            self.awaited.pop_first();
        }
        is_left || !self.awaited.is_empty()
    }

    /// The same, but only for parts that are useless once the run is over.
    pub fn shed(&mut self, most: usize) -> bool {
        let mut is_left = self.ledger.shrink(most);
        is_left |= self.readiness.shrink(most);
        is_left |= self.validation.as_mut().is_some_and(|validation| validation.shrink(most));
        if let Some(suspending) = &mut self.suspending {
            for _ in 0..most {
                suspending.hosts.pop_first();
            }
            is_left |= !suspending.hosts.is_empty();
        }
        is_left
    }

    /// The number of parts that [`shrink`](Self::shrink) frees.
    pub fn len(&self) -> usize {
        self.shed_len() + self.tally.lists_len() + self.awaited.len()
    }

    /// The number of parts that [`shed`](Self::shed) frees.
    pub fn shed_len(&self) -> usize {
        let suspending = self.suspending.as_ref().map_or(0, |suspending| suspending.hosts.len());
        self.ledger.len() + self.readiness.len() + suspending
    }

    pub fn counts(&self) -> Counts {
        let mut counts = self.tally.sum();
        if let Some(work_ns) = self.found_earlier_ns {
            counts.earlier = counts.earlier.saturating_add(1);
            counts.earlier_work_ns = counts.earlier_work_ns.saturating_add(work_ns);
        }
        counts
    }

    /// Processor time of checks of its results, in nanoseconds.
    pub fn checks_work_ns(&self) -> u64 {
        self.validation.as_ref().map_or(0, |validation| validation.checks_work_ns())
    }
}
