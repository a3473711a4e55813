//! A host's state in one run.

use crate::{EntryState, Finished, HostId, JobSpec, RunSpec, Stealing, Table, Time, root_job};

use super::held::{Held, HeldJobs};
use super::lent::Loans;
use super::lost::Recovery;
use super::numbers::Numbers;
use super::outbox::Outbox;
use super::reporting::Reporting;
use super::sharing::SharedObjects;
use super::stage::Stage;
use super::thief::{Request, Thief};
use super::victim::Victim;

/// A run that is being suspended: the coordinator waits for the message that everything is saved.
#[derive(Debug, Clone, Copy)]
pub struct Suspending {
    /// Whether the run was given to this host again meanwhile.
    pub starts_again: bool,
}

/// A host's state in one run.
pub struct HostRun {
    pub spec: RunSpec,
    pub stage: Stage,
    pub suspending: Option<Suspending>,
    /// Why the host cannot take part; `None` if it can.
    pub unable: Option<String>,
    pub numbers: Numbers,
    pub thief: Thief,
    pub held: HeldJobs,
    pub victim: Victim,
    pub loans: Loans,
    /// When hosts next report to one another which jobs they hold.
    pub next_reconcile: Time,
    /// This host's part of the result table.
    pub table: Table,
    pub recovery: Recovery,
    pub outbox: Outbox,
    pub shared: SharedObjects,
    pub reporting: Reporting,
}

impl HostRun {
    /// Makes the state of a run whose app is not loaded.
    pub fn new(spec: RunSpec, table_bytes_max: usize, now: Time) -> Self {
        let root = root_job(&spec).key;
        Self {
            spec,
            stage: Stage::Loading,
            suspending: None,
            unable: None,
            numbers: Numbers::after(0),
            thief: Thief::default(),
            held: HeldJobs::default(),
            victim: Victim::default(),
            loans: Loans::default(),
            next_reconcile: now,
            table: Table::new(table_bytes_max),
            recovery: Recovery::new(root),
            outbox: Outbox::default(),
            shared: SharedObjects::new(now),
            reporting: Reporting::new(now),
        }
    }

    /// Whether this host must be notified if that host departs.
    pub fn has_to_do_with(&self, host: HostId) -> bool {
        (self.spec.stealing == Stealing::MasterWorker && self.thief.master() == Some(host))
            || self.thief.asks(host)
            || self.victim.of(host).next().is_some()
            || self.loans.to(host).next().is_some()
            || self.held.of_host(host).next().is_some()
            || self.recovery.wanted_from(Some(host)).next().is_some()
            || self.outbox.has_any_for(host)
            || self.table.refers_to(host)
            || self.shared.needs(host)
    }

    /// Gives up the requests that satisfy `is_dropped`.
    pub fn drop_requests(&mut self, is_dropped: impl Fn(&Request) -> bool) {
        self.thief.drop_requests(&mut self.reporting.own_mut().steals, is_dropped);
    }

    /// Whether a job has the name of the run's root job and is another. The coordinator may assign the root to this host
    /// later, which then continues with the job of that name.
    pub fn is_other_root(&self, job: &JobSpec) -> bool {
        let is_root = |root: &JobSpec| (job.kind, &job.parameters) == (root.kind, &root.parameters);
        self.recovery.is_root(&job.key) && !(is_root(&root_job(&self.spec)) && job.objects.is_empty())
    }

    /// Whether a host may wait for the result of a held job that it asks for: it has lent the job, or the job was
    /// announced as an orphan.
    pub fn may_adopt(&self, host: HostId, held: &Held, me: Option<HostId>) -> bool {
        let is_announced = || {
            let state = self.table.get(&held.spec().key).map(|entry| &entry.state);
            matches!(state, Some(EntryState::Running(runner)) if Some(*runner) == me)
        };
        held.is_orphan()
            || held.finished().is_some()
            || held.lender() == Some(host)
            || held.is_for(host)
            || is_announced()
    }

    /// Whether a result fits into the table at all: a larger one would displace all others, and then be dropped itself.
    pub fn may_record(&self, finished: &Finished) -> bool {
        finished.outcome.bytes().len() <= self.table.bytes_max()
    }
}
