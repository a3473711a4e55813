//! A run's state in the coordinator.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use crate::message::Departure;
use crate::{
    AssignmentId, Counts, FaultTolerance, HostId, JobSpec, RunSpec, RunState, Stealing, Table, Time,
};

use super::meter::Meter;
use super::ready::Readiness;
use super::root_job::root_job;
use super::subscriptions::Subscriptions;
use super::tally::Tally;
use super::turn::Turn;
use super::unsaved::Unsaved;
use super::{Standing, StoredRun};

/// Which host had the root job when the coordinator was stopped, until that host is back with it, or it is lost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RootBefore {
    /// None, or the root's fate is known.
    #[default]
    Nobody,
    /// This host.
    Host(HostId),
    /// Possibly an unknown host: the coordinator was stopped before it had saved the run's standing.
    Unknown,
}

impl RootBefore {
    fn of(standing: &Standing) -> Self {
        match standing.root_host {
            Some(host) => Self::Host(host),
            None if *standing == Standing::default() => Self::Unknown,
            None => Self::Nobody,
        }
    }

    /// The host, if it is known.
    pub fn host(self) -> Option<HostId> {
        match self {
            Self::Host(host) => Some(host),
            Self::Nobody | Self::Unknown => None,
        }
    }
}

/// Hosts are saving what they have of a run.
pub struct Suspending {
    /// Hosts that have not finished.
    pub hosts: BTreeSet<HostId>,
    /// Not all hosts have been asked.
    pub is_asking: bool,
    /// When they are no longer awaited.
    pub until: Time,
}

/// A run that is not over.
pub struct CoordinatorRun {
    pub spec: Arc<RunSpec>,
    pub state: RunState,
    /// It is given to hosts; at most `RUNS_ACTIVE_MAX` are.
    pub is_active: bool,
    pub turn: Turn,
    /// It was given to hosts at some time, possibly before the coordinator was restarted.
    pub was_active: bool,
    pub root: JobSpec,
    /// The host of the root job, and the number of the assignment.
    pub assigned: Option<(HostId, AssignmentId)>,
    /// The host that had it when the coordinator was stopped.
    pub root_before: RootBefore,
    /// All hosts whose result of the root counts.
    pub claims: BTreeSet<(HostId, AssignmentId)>,
    /// Hosts whose root was withdrawn because an earlier host came back with it.
    pub withdrawn: BTreeSet<(HostId, AssignmentId)>,
    pub next_number: u64,
    pub root_losses: u32,
    /// The root is not assigned again before all hosts have recovered from this epoch, or before this time.
    pub settles: (u64, Time),
    pub table: Table,
    /// More of the table is being swept.
    pub is_swept: bool,
    pub subscriptions: Subscriptions,
    pub readiness: Readiness,
    pub unsaved: Unsaved,
    pub unsaved_since: Option<Time>,
    pub tally: Tally,
    pub progress: Option<(u64, u64)>,
    pub suspending: Option<Suspending>,
    pub meter: Meter,
    pub since: Time,
    /// It is over, and these hosts still have to send their last counts.
    pub awaited: BTreeSet<HostId>,
}

/// Whether hosts of a run record finished work before they give it back.
fn keeps_what_is_finished(spec: &RunSpec) -> bool {
    matches!(spec.fault_tolerance, FaultTolerance::Full | FaultTolerance::FinishedOrphans)
}

impl CoordinatorRun {
    pub fn new(spec: RunSpec, state: RunState, table: Table, now: Time) -> Self {
        let root = root_job(&spec);
        Self {
            spec: Arc::new(spec),
            state,
            is_active: false,
            turn: Turn::default(),
            was_active: false,
            root,
            assigned: None,
            root_before: RootBefore::Nobody,
            claims: BTreeSet::new(),
            withdrawn: BTreeSet::new(),
            next_number: 0,
            root_losses: 0,
            settles: (0, now),
            table,
            is_swept: false,
            subscriptions: Subscriptions::default(),
            readiness: Readiness::default(),
            unsaved: Unsaved::default(),
            unsaved_since: None,
            tally: Tally::default(),
            progress: None,
            suspending: None,
            meter: Meter::default(),
            since: now,
            awaited: BTreeSet::new(),
        }
    }

    pub fn restore(stored: StoredRun, table: Table, now: Time) -> Self {
        // Hosts that were asked to save have done so, or will be asked again.
        let state = match stored.state {
            RunState::Suspending => RunState::Suspended,
            state => state,
        };
        let mut part = Self::new(stored.spec, state, table, now);
        part.root.redone = state != RunState::Queued || !stored.entries.is_empty();
        part.root.given_back = state == RunState::Suspended && keeps_what_is_finished(&part.spec);
        part.was_active = part.root.redone;
        for entry in stored.entries {
            part.table.insert(entry);
        }
        part.table.sweep(usize::MAX);
        let standing = stored.standing;
        if state == RunState::Running {
            part.root_before = RootBefore::of(&standing);
        }
        part.root_losses = standing.root_losses;
        part.progress = standing.progress;
        part.meter.under_way = Duration::from_millis(standing.under_way_ms);
        part.tally = Tally::restore(standing.by_host, standing.counted, standing.long_gone);
        part
    }

    /// The root will be begun again: its host crashed, or has saved what was finished.
    pub fn note_root_begun(&mut self, how: Departure) {
        self.root.redone = true;
        self.root.given_back = how == Departure::Left && keeps_what_is_finished(&self.spec);
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
        self.table.shrink(most);
        let mut is_left = !self.table.is_empty();
        is_left |= self.subscriptions.shrink(most);
        is_left |= self.readiness.shrink(most);
        if let Some(suspending) = &mut self.suspending {
            for _ in 0..most {
                suspending.hosts.pop_first();
            }
            is_left |= !suspending.hosts.is_empty();
        }
        drop(self.unsaved.take(most));
        is_left || !self.unsaved.is_empty()
    }

    /// The number of parts that [`shrink`](Self::shrink) frees.
    pub fn len(&self) -> usize {
        self.shed_len() + self.tally.lists_len() + self.awaited.len()
    }

    /// The number of parts that [`shed`](Self::shed) frees.
    pub fn shed_len(&self) -> usize {
        let suspending = self.suspending.as_ref().map_or(0, |suspending| suspending.hosts.len());
        self.table.len() + self.subscriptions.len() + self.readiness.len() + suspending + self.unsaved.len()
    }

    /// The host of the root job.
    pub fn root_host(&self) -> Option<HostId> {
        self.assigned.map(|(host, _)| host)
    }

    /// Whether this host was assigned the root job, or came back with it and proved that.
    pub fn is_claimed_by(&self, host: HostId) -> bool {
        let first = self.claims.range((host, AssignmentId(0))..).next();
        first.is_some_and(|(claimant, _)| *claimant == host)
    }

    pub fn counts(&self) -> Counts {
        self.tally.sum()
    }
}
