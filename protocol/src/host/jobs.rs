//! What is asked for: jobs of other hosts, by them of this one, and what became of lost ones.

use crate::{HostId, JobNumber, JobSpec, Scope, StealId, Time};

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
