//! A run's account at its end.

use std::collections::BTreeMap;

use crate::{Counts, HostId};

use super::{AtWork, Checked};

/// Facts about a run when it ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Account {
    /// The counts of each host that took part, also of one that found nothing to do.
    pub by_host: BTreeMap<HostId, Counts>,
    /// The progress that the root reported: done, total.
    pub progress: Option<(u64, u64)>,
    /// The host of the root job.
    pub root_host: Option<HostId>,
    /// How often the root was lost with its host.
    pub root_losses: u32,
    /// Entries of its result table, and their bytes.
    pub table: (usize, usize),
    /// Hosts that have computed part of it.
    pub at_work: AtWork,
    /// All hosts that were connected at its end have sent their last counts.
    pub is_complete: bool,
    /// How far its results were checked; `None` if hosts were trusted.
    pub checked: Option<Checked>,
}
