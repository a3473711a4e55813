//! A host, as shown on pages.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::limits::RUNS_ACTIVE_MAX;
use crate::message::HostReport;
use crate::{Counts, HostId, RunId, Time};

/// A host, as shown on pages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostView {
    /// Its id.
    pub id: HostId,
    /// Its description of itself.
    pub report: Arc<HostReport>,
    /// When it joined.
    pub since: Time,
    /// Whether its link is open.
    pub connected: bool,
    /// Why it accepts no new work.
    pub paused: Option<String>,
    /// Why its guests stand still for a moment, and keep their jobs.
    pub holds: Option<String>,
    /// Runs under way whose app it has loaded. Of as many as are under way at once, they are on no heap: there is a view of
    /// each host, and pages free them on other threads.
    pub ready: SmallVec<[RunId; RUNS_ACTIVE_MAX]>,
    /// Its counts over all runs that are not over. Workers that check results of other hosts compute as well.
    pub counts: Counts,
}
