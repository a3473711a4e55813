//! The runs that are not over, and indexes of them: which are given to hosts, which have a pending timer, and which wait to
//! be tried again.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeBounds;
use std::time::Duration;

use crate::limits::{RUNS_ACTIVE_MAX, TABLES_TOGETHER_MAX};
use crate::table::Total;
use crate::{HostId, RunId, Table, Time};

use super::check_runs::CheckRuns;
use super::meter::METER_EVERY;
use super::run::{CoordinatorRun, Suspending};
use super::surface::Submitter;
use super::turn::Asked;

/// Maximum entries that one event drops because all tables together are too large.
const ENTRIES_EVICTED_AT_ONCE_MAX: usize = 64;

/// The runs that are not over.
pub struct Roster {
    all: BTreeMap<RunId, CoordinatorRun>,
    /// The memory of their tables.
    tables: Total,
    /// Runs that are given to hosts: those whose turn it is.
    active: BTreeSet<RunId>,
    /// Runs with entries that wait to be saved, or that are being suspended.
    attended: BTreeSet<RunId>,
    /// Runs that gave their turn up, in order of their next turn.
    resting: BTreeSet<(Time, RunId)>,
    /// The runs in which hosts check units of these.
    pub checks: CheckRuns,
    /// When runs with time limits were last checked.
    metered_at: Time,
    /// Minimum time for which a run keeps its place.
    place_kept: Duration,
    /// When a run gives its place to another submitter, if that is to happen.
    gives_way_at: Option<Time>,
}

impl Roster {
    /// No runs yet. A run keeps its place for `place_kept` at least.
    pub fn new(now: Time, place_kept: Duration) -> Self {
        Self {
            all: BTreeMap::new(),
            tables: Total::default(),
            active: BTreeSet::new(),
            attended: BTreeSet::new(),
            resting: BTreeSet::new(),
            checks: CheckRuns::default(),
            metered_at: now,
            place_kept,
            gives_way_at: None,
        }
    }

    /// Adds a run, which waits for its turn. `create` is given its table, which keeps to about `table_bytes_max`.
    pub fn add(&mut self, run: RunId, table_bytes_max: usize, create: impl FnOnce(Table) -> CoordinatorRun) {
        self.all.insert(run, create(Table::among(table_bytes_max, &self.tables)));
    }

    /// A run is over.
    pub fn remove(&mut self, run: RunId) -> Option<CoordinatorRun> {
        let mut coordinator_run = self.all.remove(&run)?;
        self.active.remove(&run);
        self.attended.remove(&run);
        if let Some(until) = coordinator_run.turn.wake() {
            self.resting.remove(&(until, run));
        }
        Some(coordinator_run)
    }

    // ---- all of them, in order of their ids ----

    /// A run, if it is not over.
    pub fn get(&self, run: &RunId) -> Option<&CoordinatorRun> {
        self.all.get(run)
    }

    /// The same, to be changed.
    pub fn get_mut(&mut self, run: &RunId) -> Option<&mut CoordinatorRun> {
        self.all.get_mut(run)
    }

    /// Whether a run is not over.
    pub fn contains_key(&self, run: &RunId) -> bool {
        self.all.contains_key(run)
    }

    /// The number of runs.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Their ids.
    pub fn keys(&self) -> impl Iterator<Item = &RunId> {
        self.all.keys()
    }

    /// The runs.
    pub fn values(&self) -> impl Iterator<Item = &CoordinatorRun> {
        self.all.values()
    }

    /// The runs, to be changed.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut CoordinatorRun> {
        self.all.values_mut()
    }

    /// The runs and their ids.
    pub fn iter(&self) -> impl Iterator<Item = (&RunId, &CoordinatorRun)> {
        self.all.iter()
    }

    /// The same, to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&RunId, &mut CoordinatorRun)> {
        self.all.iter_mut()
    }

    /// Some of them.
    pub fn range(&self, runs: impl RangeBounds<RunId>) -> impl Iterator<Item = (&RunId, &CoordinatorRun)> {
        self.all.range(runs)
    }

    /// The same, to be changed.
    pub fn range_mut(
        &mut self,
        runs: impl RangeBounds<RunId>,
    ) -> impl Iterator<Item = (&RunId, &mut CoordinatorRun)> {
        self.all.range_mut(runs)
    }

    // ---- checks ----

    /// Workers of a host that compute to check units.
    pub fn busy_with_checks(&self, host: HostId) -> u32 {
        let busy = self
            .checks
            .of(host)
            .filter_map(|(_, run)| Some(self.all.get(&run)?.validation.as_ref()?.checkers.busy_of(host)));
        busy.fold(0, u32::saturating_add)
    }

    // ---- turns ----

    /// Runs that are given to hosts, in order of their ids.
    pub fn active(&self) -> impl Iterator<Item = (RunId, &CoordinatorRun)> {
        self.active.iter().filter_map(|run| Some((*run, self.all.get(run)?)))
    }

    /// Their ids, where runs may be changed meanwhile.
    pub fn active_ids(&self) -> Vec<RunId> {
        self.active.iter().copied().collect()
    }

    /// How many more may be given to hosts.
    pub fn turns_free(&self) -> usize {
        RUNS_ACTIVE_MAX.saturating_sub(self.active.len())
    }

    /// The number of runs that each submitter has given to hosts.
    pub fn places(&self) -> BTreeMap<Submitter, usize> {
        let mut places = BTreeMap::new();
        for (_, coordinator_run) in self.active() {
            *places.entry(coordinator_run.submitter).or_default() += 1;
        }
        places
    }

    /// The run that gives its place to another submitter, and when: the newest of the submitter that has the most, if it
    /// has several. Runs that lose nothing by it are preferred.
    pub fn next_to_give_way(&self) -> Option<(Time, RunId)> {
        let places = self.places();
        let most = places.values().copied().max().filter(|most| *most > 1)?;
        let may = self
            .active()
            .filter(|(_, coordinator_run)| places.get(&coordinator_run.submitter) == Some(&most));
        let (run, coordinator_run) =
            may.max_by_key(|(run, coordinator_run)| (coordinator_run.keeps_what_is_finished(), *run))?;
        Some((coordinator_run.turn.since() + self.place_kept, run))
    }

    /// Notes when a run gives its place to another submitter: if all are taken and a submitter without a place waits,
    /// unless no host could load the run that waits.
    pub fn plan_giving_way(&mut self) {
        let at = self.next_to_give_way().filter(|_| self.turns_free() == 0).map(|(at, _)| at);
        self.gives_way_at = at.filter(|_| {
            let places = self.places();
            let is_shut_out = |coordinator_run: &CoordinatorRun| {
                coordinator_run.waits_for_its_turn()
                    && coordinator_run.turn.yields() == 0
                    && !places.contains_key(&coordinator_run.submitter)
            };
            self.all.values().any(is_shut_out)
        });
    }

    /// When a run gives its place to another submitter, as planned.
    pub fn gives_way_at(&self) -> Option<Time> {
        self.gives_way_at
    }

    /// A run's turn begins; returns the run, which hosts are asked to load it, and the number of the turn.
    pub fn begin_turn(&mut self, now: Time, run: RunId) -> Option<(&mut CoordinatorRun, Asked, u32)> {
        let coordinator_run = self.all.get_mut(&run)?;
        let (asked, turn) = coordinator_run.turn.begin(now);
        self.active.insert(run);
        Some((coordinator_run, asked, turn))
    }

    /// A run is suspended; returns whether it had the turn.
    pub fn end_turn(&mut self, run: RunId) -> bool {
        self.active.remove(&run);
        self.all.get_mut(&run).is_some_and(|run| run.turn.end())
    }

    /// A run that no host can load gives its turn up, and rests.
    pub fn give_turn_up(&mut self, now: Time, run: RunId) {
        if let Some(coordinator_run) = self.all.get_mut(&run) {
            self.resting.insert((coordinator_run.turn.give_up(now), run));
            self.active.remove(&run);
        }
    }

    /// A run is resumed: hosts have dropped it, and it waits for its turn like a new one.
    pub fn renew_turn(&mut self, run: RunId) {
        if let Some(coordinator_run) = self.all.get_mut(&run) {
            coordinator_run.turn = coordinator_run.turn.anew();
        }
        self.resting.retain(|(_, resting)| *resting != run);
    }

    /// A host has loaded a run; returns whether the run rested, and need not any longer.
    pub fn wake(&mut self, run: RunId) -> bool {
        let Some(until) = self.all.get_mut(&run).and_then(|run| run.turn.wake()) else { return false };
        self.resting.remove(&(until, run));
        true
    }

    /// No run need rest any longer; returns whether any did.
    pub fn wake_all(&mut self) -> bool {
        let resting = std::mem::take(&mut self.resting);
        for (_, run) in &resting {
            if let Some(coordinator_run) = self.all.get_mut(run) {
                coordinator_run.turn.wake();
            }
        }
        !resting.is_empty()
    }

    /// Runs that have rested are tried again by all hosts; returns whether there are any.
    pub fn wake_rested(&mut self, now: Time) -> bool {
        let mut is_any = false;
        while let Some((until, run)) = self.resting.first().copied().filter(|(until, _)| now >= *until) {
            self.resting.remove(&(until, run));
            if let Some(coordinator_run) = self.all.get_mut(&run) {
                coordinator_run.turn.try_again();
                is_any = true;
            }
        }
        is_any
    }

    /// When the next run has rested.
    pub fn next_rested(&self) -> Option<Time> {
        self.resting.first().map(|(until, _)| *until)
    }

    // ---- timers ----

    /// A run has entries to be saved.
    pub fn attend(&mut self, run: RunId) {
        self.attended.insert(run);
    }

    /// A run is being suspended.
    pub fn begin_suspending(&mut self, run: RunId, suspending: Suspending) {
        if let Some(coordinator_run) = self.all.get_mut(&run) {
            coordinator_run.suspending = Some(suspending);
            self.attended.insert(run);
        }
    }

    /// A run that has no such timer any more is not looked at.
    pub fn stop_attending_if_idle(&mut self, run: RunId) {
        let is_needed = |coordinator_run: &CoordinatorRun| {
            coordinator_run.ledger.save_due().is_some() || coordinator_run.suspending.is_some()
        };
        if !self.all.get(&run).is_some_and(is_needed) {
            self.attended.remove(&run);
        }
    }

    /// Runs with entries that wait to be saved, or that are being suspended.
    pub fn attended(&self) -> impl Iterator<Item = &CoordinatorRun> {
        self.attended.iter().filter_map(|run| self.all.get(run))
    }

    /// Whether a run is under way, or has a pending timer.
    pub fn is_urgent(&self, run: RunId) -> bool {
        self.active.contains(&run) || self.attended.contains(&run)
    }

    /// Runs under way, and those with a pending timer.
    pub fn urgent_ids(&self) -> Vec<RunId> {
        self.active.union(&self.attended).copied().collect()
    }

    /// When runs with limits on their time are checked, if any are under way.
    pub fn next_metering(&self) -> Option<Time> {
        let limited = self.active().filter(|(_, coordinator_run)| coordinator_run.has_time_limit());
        let at = |coordinator_run: &CoordinatorRun| {
            let regularly = self.metered_at + METER_EVERY;
            coordinator_run.time_limit_met_at().map_or(regularly, |met| met.min(regularly))
        };
        limited.map(|(_, coordinator_run)| at(coordinator_run)).min()
    }

    /// The runs to be checked now, each of which has a limit on its time.
    pub fn begin_metering(&mut self, now: Time) -> Vec<RunId> {
        if self.next_metering().is_none_or(|at| now < at) {
            return Vec::new();
        }
        self.metered_at = now;
        self.active()
            .filter(|(_, coordinator_run)| coordinator_run.has_time_limit())
            .map(|(run, _)| run)
            .collect()
    }

    // ---- memory ----

    /// The memory of all tables, including those of runs that are over and not freed.
    pub fn tables_bytes(&self) -> usize {
        self.tables.bytes()
    }

    /// Drops entries of the largest table while all together are too large: some now, the others when more arrive;
    /// everything far above the bound at once.
    pub fn keep_tables_to_bound(&mut self, table_bytes_max: usize) {
        let most = table_bytes_max.saturating_mul(TABLES_TOGETHER_MAX);
        if self.tables_bytes() <= most {
            return;
        }
        let far_too_much = most.saturating_add(most / 4);
        let mut room = ENTRIES_EVICTED_AT_ONCE_MAX;
        let Some(largest) = self.all.values_mut().max_by_key(|run| run.ledger.size().1) else { return };
        while (room > 0 && self.tables.bytes() > most) || self.tables.bytes() > far_too_much {
            if !largest.ledger.evict() {
                break;
            }
            room = room.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests;
