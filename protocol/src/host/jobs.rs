//! Jobs on their way between hosts: what this one has of others, what others have of it, and what is asked for.

use std::time::Duration;

use crate::{Finished, HostId, JobNumber, JobSpec, Scope, StealId, Time};

/// For whom a job is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Owner {
    /// It is a root.
    Coordinator,
    /// It was stolen from there, or adopted by it.
    Host(HostId),
    /// A redone job of this host's runtime waits for it; the number is the runtime's.
    Here,
}

/// A job that this host runs for others.
#[derive(Debug)]
pub struct Held {
    pub spec: JobSpec,
    /// Who waits for it, and under which number there. Empty: it is an orphan.
    pub owners: Vec<(Owner, JobNumber)>,
    /// Its outcome, until all owners have it.
    pub finished: Option<Finished>,
    /// Since when its owners have been told of it.
    pub since: Time,
    /// Who lent it.
    pub lender: Option<HostId>,
    /// The request that it answered; until it begins.
    pub asked: Option<Request>,
    /// Its first instructions have run: a worker has taken it.
    pub begun: bool,
}

/// How sure it is that the thief has a loan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoanState {
    /// Given in answer to this request.
    Given(StealId),
    /// The host that runs the orphan was asked to adopt this owner.
    Asked,
    /// It has agreed.
    Agreed,
}

/// A job of this host's runtime that another host runs.
#[derive(Debug)]
pub struct Loan {
    /// The runtime's number.
    pub number: JobNumber,
    pub spec: JobSpec,
    pub thief: HostId,
    pub state: LoanState,
    /// Holdings with a greater number were made after the thief knew of the loan.
    pub holding: u64,
    /// When the thief was last heard to have it, and whether it ever was.
    pub heard: Time,
    pub is_heard: bool,
    /// When its job was last sent, unless that is known to be lost.
    pub sent: Option<Time>,
    /// Since it was asked to adopt, the host has said again that it has the job.
    pub is_renewed: bool,
}

impl Loan {
    /// Whether its job may be on its way to the thief, if that takes no longer than `wait`.
    pub fn is_on_its_way(&self, now: Time, wait: Duration) -> bool {
        self.sent.is_some_and(|sent| now < sent + wait)
    }
}

/// A steal request under way.
#[derive(Debug)]
pub struct Request {
    pub victim: HostId,
    pub since: Time,
    /// It is the one asynchronous request to another site.
    pub is_wide: bool,
    pub scope: Scope,
    /// The loan's number, if the job comes as a parcel.
    pub arriving: Option<JobNumber>,
}

/// A thief that waits here.
#[derive(Debug)]
pub struct Parked {
    pub thief: HostId,
    pub steal: StealId,
    pub holding: u64,
    pub until: Time,
}

/// A lost or looked-up job of the runtime's whose fate is not clear yet.
#[derive(Debug)]
pub struct Unresolved {
    pub spec: JobSpec,
    pub since: Time,
    /// Who was asked for its result; `None` while the coordinator looks for entries.
    pub wanted_from: Option<HostId>,
}
