//! One run, as the coordinator has it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use crate::message::Departure;
use crate::{Counts, FaultTolerance, HostId, JobNumber, JobSpec, RunSpec, RunState, Stealing, Table, Time};

use super::meter::Meter;
use super::ready::Readiness;
use super::root_job::root_job;
use super::subscriptions::Subscriptions;
use super::tally::Tally;
use super::turn::Turn;
use super::unsaved::Unsaved;
use super::{Standing, StoredRun};

/// Who had the root job when the coordinator was stopped, until that host is back with it, or it is lost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RootBefore {
    /// Nobody, or what became of it is known.
    #[default]
    Nobody,
    /// This host.
    Host(HostId),
    /// Perhaps a host that is not known: the coordinator was stopped before it saved anything of how the run stood.
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

/// Hosts save what they have of a run.
pub struct Suspending {
    /// Hosts that have not yet done so.
    pub hosts: BTreeSet<HostId>,
    /// Not all hosts have been asked.
    pub is_asking: bool,
    /// When they are no longer waited for.
    pub until: Time,
}

/// A run that is not over.
pub struct CoordinatorRun {
    pub spec: Arc<RunSpec>,
    pub state: RunState,
    /// It is given to hosts; at most `RUNS_ACTIVE_MAX` are.
    pub is_active: bool,
    pub turn: Turn,
    /// It was, at some time; also before the coordinator was started again.
    pub was_active: bool,
    pub root: JobSpec,
    /// Who has the root job, and under which number.
    pub assigned: Option<(HostId, JobNumber)>,
    /// Who had it when the coordinator was stopped.
    pub root_before: RootBefore,
    /// All whose result of the root counts.
    pub claims: BTreeSet<(HostId, JobNumber)>,
    /// Those whose root was withdrawn because an earlier host came back with it.
    pub withdrawn: BTreeSet<(HostId, JobNumber)>,
    pub next_number: u64,
    pub root_losses: u32,
    /// The root is not given away again before all hosts have recovered from this, or until then.
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
    /// Hosts that are to say what they counted last of it: it is over.
    pub awaited: BTreeSet<HostId>,
}

/// Whether hosts of a run record what is finished before they give it back.
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

    /// The root will be begun again: its host crashed, or has saved what is finished of it.
    pub fn note_root_begun(&mut self, how: Departure) {
        self.root.redone = true;
        self.root.given_back = how == Departure::Left && keeps_what_is_finished(&self.spec);
    }

    /// Whether hosts steal from nobody but the root's.
    pub fn is_of_master_and_workers(&self) -> bool {
        self.spec.stealing == Stealing::MasterWorker
    }

    /// Frees up to `most` of each kind of thing that it consists of; whether something is left.
    pub fn shrink(&mut self, most: usize) -> bool {
        let mut is_left = self.shed(most);
        is_left |= self.tally.shrink(most);
        for _ in 0..most {
            self.awaited.pop_first();
        }
        is_left || !self.awaited.is_empty()
    }

    /// The same of all that is of no use once it is over.
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

    /// How many things it consists of that [`shrink`](Self::shrink) frees.
    pub fn len(&self) -> usize {
        self.shed_len() + self.tally.lists_len() + self.awaited.len()
    }

    /// How many of them [`shed`](Self::shed) frees.
    pub fn shed_len(&self) -> usize {
        let suspending = self.suspending.as_ref().map_or(0, |suspending| suspending.hosts.len());
        self.table.len() + self.subscriptions.len() + self.readiness.len() + suspending + self.unsaved.len()
    }

    /// Who has the root job.
    pub fn root_host(&self) -> Option<HostId> {
        self.assigned.map(|(host, _)| host)
    }

    /// Whether this host was given the root job, or came back with it and proved that.
    pub fn is_claimed_by(&self, host: HostId) -> bool {
        let first = self.claims.range((host, JobNumber(0))..).next();
        first.is_some_and(|(claimant, _)| *claimant == host)
    }

    pub fn counts(&self) -> Counts {
        self.tally.sum()
    }
}
