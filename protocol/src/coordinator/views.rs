//! Views of hosts and runs, for pages.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::{Counts, HostId, PublicKey, RunId, RunSpec, RunState, Share, Time};

use super::hosts::HostState;
use super::run::CoordinatorRun;
use super::{AtWork, Checked, Coordinator, HostView, Row, Standing};

/// Details of why nothing happens with a run; they change all the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waiting {
    /// Other runs have all places.
    Turn,
    /// Its result is being sent to the coordinator.
    Result {
        /// The sending host.
        from: HostId,
        /// Bytes received.
        bytes: usize,
        /// Total bytes.
        total: usize,
    },
}

/// A run, as shown on pages. Creating it copies nothing that grows with the grid.
pub struct RunView<'a> {
    /// The run.
    pub run: RunId,
    /// Why nothing happens, if nothing does.
    pub waiting_for: Option<String>,
    /// Details of that.
    pub waiting: Option<Waiting>,
    pub(super) coordinator_run: &'a CoordinatorRun,
    pub(super) table: (usize, usize),
    pub(super) hosts: &'a BTreeMap<HostId, HostState>,
}

impl Coordinator {
    /// Views of all hosts, computed lazily.
    pub fn hosts(&self) -> impl Iterator<Item = HostView> {
        self.hosts_from(HostId(0))
    }

    /// The hosts from `first` on in the order of their ids, each as it is looked at. One that has left to pause is
    /// one of them until it comes back: it has not left.
    pub fn hosts_from(&self, first: HostId) -> impl Iterator<Item = HostView> {
        let mut there = self.hosts.range(first..).peekable();
        let mut resting = self.missing.resting_from(first).peekable();
        let hosts = std::iter::from_fn(move || match (there.peek(), resting.peek()) {
            (Some((is, _)), Some((rests, _))) if rests < is => resting.next(),
            (None, Some(_)) => resting.next(),
            _ => there.next(),
        });
        hosts.map(|(id, state)| {
            let loaded =
                self.runs.active().filter(|(_, coordinator_run)| coordinator_run.readiness.is_ready(*id));
            let ready = loaded.map(|(run, _)| run).collect();
            let busy_with_checks = self.runs.busy_with_checks(*id);
            state.view(*id, ready, busy_with_checks, |run| !self.runs.contains_key(run))
        })
    }
}

/// Of a host's workers that check units, those that do not count as busy with the run itself.
fn free_for_checks(row: &Counts, busy: u32) -> u32 {
    busy.min(row.workers.saturating_sub(row.busy))
}

impl<'a> RunView<'a> {
    /// What it is.
    pub fn spec(&self) -> &'a Arc<RunSpec> {
        &self.coordinator_run.spec
    }

    /// Its state.
    pub fn state(&self) -> RunState {
        self.coordinator_run.state
    }

    /// The host of the root job.
    pub fn root_host(&self) -> Option<HostId> {
        self.coordinator_run.root.known_host()
    }

    /// Whether that host is known to have begun it.
    pub fn is_root_begun(&self) -> bool {
        self.coordinator_run.root.is_begun()
    }

    /// How often the root was lost with its host.
    pub fn root_losses(&self) -> u32 {
        self.coordinator_run.root.losses()
    }

    /// The sum over all hosts, including those that are gone. Workers that check its results compute as well.
    pub fn counts(&self) -> Counts {
        let counts = self.coordinator_run.counts();
        Counts { busy: counts.busy.saturating_add(self.busy_with_checks()), ..counts }
    }

    /// Workers that check its results. A host's worker that does cannot compute for the run as well, but counts of both are
    /// reported at different times: none counts twice.
    pub fn busy_with_checks(&self) -> u32 {
        let busy = self.busy_checkers();
        busy.fold(0, |sum, (row, busy)| {
            sum.saturating_add(row.map_or(busy, |row| free_for_checks(&row, busy)))
        })
    }

    /// Of these, workers of hosts that have counted nothing of the run itself, and have no row.
    pub fn busy_with_checks_only(&self) -> u32 {
        let only = self.busy_checkers().filter(|(row, _)| row.is_none());
        only.fold(0, |sum, (_, busy)| sum.saturating_add(busy))
    }

    /// For each host that checks its results, the host's row, and the workers that do.
    fn busy_checkers(&self) -> impl Iterator<Item = (Option<Counts>, u32)> {
        let validation = self.coordinator_run.validation.as_ref();
        let checkers = validation.into_iter().flat_map(|validation| validation.checkers.iter());
        checkers.map(|(host, checker)| (self.coordinator_run.tally.row(host), checker.busy))
    }

    /// Workers of the hosts that have counted anything of it and are not gone.
    pub fn workers(&self) -> u32 {
        self.coordinator_run.tally.workers()
    }

    /// The counts of each host that took part, also of one that found nothing to do, and whether it is still there.
    pub fn by_host(&self) -> impl Iterator<Item = (HostId, bool, Counts)> + use<'a> {
        self.by_host_from(HostId(0))
    }

    /// The same of the hosts from `first` on in the order of their ids.
    pub fn by_host_from(&self, first: HostId) -> impl Iterator<Item = (HostId, bool, Counts)> + use<'a> {
        let (hosts, coordinator_run) = (self.hosts, self.coordinator_run);
        let checkers = coordinator_run.validation.as_ref().map(|validation| &validation.checkers);
        coordinator_run.tally.rows_from(first).map(move |(host, counts)| {
            let checks = checkers.map_or(0, |checkers| free_for_checks(&counts, checkers.busy_of(host)));
            let busy = counts.busy.saturating_add(checks);
            (host, hosts.contains_key(&host), Counts { busy, ..counts })
        })
    }

    /// Hosts that have computed anything of it, each host process once.
    pub fn at_work(&self) -> AtWork {
        self.coordinator_run.tally.at_work()
    }

    /// The progress that the root reported: done, total.
    pub fn progress(&self) -> Option<(u64, u64)> {
        self.coordinator_run.progress
    }

    /// The work that is ahead, of the jobs that have been spawned so far, as its hosts expect, in nanoseconds of processor time; none
    /// if they cannot tell.
    pub fn ahead_ns(&self) -> Option<u64> {
        self.coordinator_run.tally.forecast.ahead_ns()
    }

    /// Entries of its result table, and their bytes.
    pub fn table(&self) -> (usize, usize) {
        self.table
    }

    /// How often it gave its turn up to others because no host had loaded it.
    pub fn turns_given_up(&self) -> u32 {
        self.coordinator_run.turn.yields()
    }

    /// How far its results are checked; `None` if hosts are trusted.
    pub fn checked(&self) -> Option<Checked> {
        self.coordinator_run.validation.as_ref().map(|validation| validation.checked())
    }

    /// For an audit, the units that the owner of a host has executed, without those after it was found to lie.
    pub fn units_reported(&self, owner: &PublicKey) -> Option<u64> {
        self.coordinator_run.validation.as_ref()?.units_reported(owner)
    }

    /// When it was submitted or restored.
    pub fn since(&self) -> Time {
        self.coordinator_run.since
    }

    /// What is to be saved of it now and then, beside what each host has counted: see
    /// [`Coordinator::take_changed`](super::Coordinator::take_changed).
    pub fn standing(&self) -> Standing {
        Standing {
            root_host: self.root_host(),
            root_losses: self.root_losses(),
            by_host: Vec::new(),
            counted: Vec::new(),
            progress: self.progress(),
            under_way_ms: u64::try_from(self.coordinator_run.meter.under_way.as_millis()).unwrap_or(u64::MAX),
            checks_work_ns: self.coordinator_run.checks_work_ns(),
            long_gone: self.coordinator_run.tally.long_gone(),
        }
    }
}

impl Coordinator {
    /// Processor time of checks since the start, in nanoseconds.
    pub fn checks_work_ns(&self) -> u64 {
        self.runs.checks.work_ns()
    }

    /// Runs that are given to hosts, and for how long, the time before a restart included.
    pub fn active_runs(&self, now: Time) -> impl Iterator<Item = (RunId, Duration)> {
        (self.runs.active()).map(move |(run, coordinator_run)| {
            (run, now.since(coordinator_run.turn.since()).max(coordinator_run.meter.under_way))
        })
    }

    /// The shares of the runs that are given to hosts.
    pub fn shares(&self) -> impl Iterator<Item = (RunId, Share)> {
        self.runs.active().map(|(run, coordinator_run)| (run, coordinator_run.spec.share))
    }

    /// Whether there is something to take by [`Self::take_changed`].
    pub fn has_changed(&self, run: RunId) -> bool {
        let over = || self.over.get(&run).map(|over| &*over.coordinator_run);
        self.runs.get(&run).or_else(over).is_some_and(|run| run.tally.has_changed())
    }

    /// At most `most` of what hosts have counted of a run that has changed since it was taken last, to be saved, until its
    /// counts are final; the hosts after `after` come first, so that it is each one's turn. There is nothing in place of rows that are no
    /// more.
    pub fn take_changed(
        &mut self,
        run: RunId,
        after: Option<HostId>,
        most: usize,
    ) -> Vec<(HostId, Option<Row>)> {
        let over = self.over.get_mut(&run).map(|over| &mut *over.coordinator_run);
        let coordinator_run = self.runs.get_mut(&run).or(over);
        coordinator_run.map_or_else(Vec::new, |run| run.tally.take_changed(after, most))
    }
}
