//! What pages show of hosts and runs.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::message::HostReport;
use crate::{Counts, HostId, RunId, RunSpec, RunState, Time};

use super::Standing;
use super::hosts::HostState;
use super::part::RunPart;

/// A host as pages show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostView {
    /// Who.
    pub id: HostId,
    /// What it says of itself.
    pub report: Arc<HostReport>,
    /// When it joined.
    pub since: Time,
    /// Whether its link is open.
    pub connected: bool,
    /// Why it takes no new work.
    pub paused: Option<String>,
    /// Runs under way whose app it has loaded.
    pub ready: Vec<RunId>,
    /// Its counts over all runs that are not over.
    pub counts: Counts,
}

/// A run as pages show it. Looking at one copies nothing that grows with the grid.
pub struct RunView<'a> {
    /// Which.
    pub run: RunId,
    /// Why nothing happens, if nothing does.
    pub waiting_for: Option<String>,
    pub(super) part: &'a RunPart,
    pub(super) hosts: &'a BTreeMap<HostId, HostState>,
}

impl<'a> RunView<'a> {
    /// What it is.
    pub fn spec(&self) -> &'a Arc<RunSpec> {
        &self.part.spec
    }

    /// How far it is.
    pub fn state(&self) -> RunState {
        self.part.state
    }

    /// Who has the root job.
    pub fn root_host(&self) -> Option<HostId> {
        self.part.root_host().or(self.part.assigned_before)
    }

    /// How often the root was lost with its host.
    pub fn root_losses(&self) -> u32 {
        self.part.root_losses
    }

    /// Summed over all hosts, those that are gone as well.
    pub fn counts(&self) -> Counts {
        self.part.counts()
    }

    /// Workers of the hosts that have counted anything of it and are not gone.
    pub fn workers(&self) -> u32 {
        self.part.tally.workers()
    }

    /// The counts of each host that worked on it, and whether it is still there.
    pub fn by_host(&self) -> impl Iterator<Item = (HostId, bool, Counts)> + use<'a> {
        let hosts = self.hosts;
        self.part.tally.rows().map(|(host, counts)| (host, hosts.contains_key(&host), counts))
    }

    /// What the root reported: done, of how much.
    pub fn progress(&self) -> Option<(u64, u64)> {
        self.part.progress
    }

    /// Entries of its result table, and their bytes.
    pub fn table(&self) -> (usize, usize) {
        (self.part.table.len(), self.part.table.bytes())
    }

    /// How often it gave its turn up to others because no host had loaded it.
    pub fn turns_given_up(&self) -> u32 {
        self.part.turn.yields()
    }

    /// Since it was submitted or restored.
    pub fn since(&self) -> Time {
        self.part.since
    }

    /// What is to be saved of it now and then.
    pub fn standing(&self) -> Standing {
        Standing {
            root_host: self.root_host(),
            root_losses: self.root_losses(),
            by_host: self.part.tally.rows().collect(),
            counted: self.part.tally.begun_anew().collect(),
            progress: self.progress(),
            under_way_ms: u64::try_from(self.part.meter.under_way.as_millis()).unwrap_or(u64::MAX),
        }
    }
}
