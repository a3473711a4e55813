//! The disturbances of a world, and what each may cost: laws allow this much, and no more.

use std::collections::{BTreeMap, BTreeSet};

use sateen_protocol::{HostId, RunId, Time};

use super::World;
use crate::event::ProcessIndex;
use crate::process::HostPlan;
use crate::tree::NodeIndex;

/// Disturbances so far, and what they may have cost.
#[derive(Debug, Default)]
pub struct Disturbances {
    /// The last disturbance.
    at: Time,
    /// The last time when more messages waited at a link than its buffer holds, chunks not counted.
    jammed_at: Time,
    /// The time of the last crash of a host.
    crashed_at: Option<Time>,
    /// Workers of hosts that crashed or left, and their speed in percent.
    lost_workers: Vec<(usize, u64)>,
    /// Workers that may have lost their present work, counted each time and weighted by speed.
    upset_workers: u64,
    /// The number of all workers, added up over all disturbances.
    shaken_workers: u64,
    /// The number of times that a host was given up, or departed.
    ids_gone: usize,
    /// Maximum work of workers while their host was given up without knowing it.
    away_ns: u64,
    /// Present work of returned hosts that others had begun again meanwhile, by run: neither stops before the other is
    /// done.
    begun_elsewhere_ns: BTreeMap<RunId, u64>,
    /// Links that were away for a while: the number of workers, weighted by speed, and the duration.
    blips: Vec<(u64, u64)>,
}

impl Disturbances {
    /// The time of the last disturbance.
    pub fn last(&self) -> Time {
        self.at
    }

    /// The last time when more messages waited at a link than its buffer holds, chunks not counted.
    pub fn jammed_at(&self) -> Time {
        self.jammed_at
    }

    /// Workers of hosts that crashed or left, and their speed in percent.
    pub fn lost_workers(&self) -> &[(usize, u64)] {
        &self.lost_workers
    }

    /// Workers that may have lost their present work, counted each time and weighted by speed.
    pub fn upset_workers(&self) -> u64 {
        self.upset_workers
    }

    /// The number of all workers, added up over all disturbances.
    pub fn shaken_workers(&self) -> u64 {
        self.shaken_workers
    }

    /// The number of times that a host was given up, or departed.
    pub fn ids_gone(&self) -> usize {
        self.ids_gone
    }

    /// Maximum work of workers while their host was given up without knowing it.
    pub fn away_ns(&self) -> u64 {
        self.away_ns
    }

    /// Present work of returned hosts that others had begun again meanwhile.
    pub fn begun_elsewhere_ns(&self, run: RunId) -> u64 {
        self.begun_elsewhere_ns.get(&run).copied().unwrap_or(0)
    }

    /// Links that were away for a while: the number of workers, weighted by speed, and the duration.
    pub fn blips(&self) -> &[(u64, u64)] {
        &self.blips
    }

    /// The time since the last crash of a host, if there was one.
    pub(crate) fn since_crash_ns(&self, now: Time) -> Option<u64> {
        self.crashed_at.map(|at| now.0 - at.0)
    }

    /// A host crashes.
    pub(crate) fn note_crash(&mut self, now: Time) {
        self.crashed_at = Some(now);
    }

    /// A host with these workers ends.
    pub(crate) fn note_lost(&mut self, plan: &HostPlan) {
        self.upset(plan.workers_by_speed());
        self.lost_workers.push((plan.workers, plan.speed_percent));
    }

    /// These workers, weighted by speed, may lose their present work.
    pub(crate) fn upset(&mut self, workers: u64) {
        self.upset_workers += workers;
    }

    /// The link of a host with these workers, weighted by speed, is away for a while.
    pub(crate) fn note_blip(&mut self, workers: u64, for_ns: u64) {
        self.blips.push((workers, for_ns));
    }

    /// Messages that exceed the buffer wait at a link.
    pub(crate) fn note_jam(&mut self, now: Time) {
        self.jammed_at = now;
    }
}

impl World {
    /// Records a disturbance.
    pub fn disturb(&mut self) {
        self.disturbances.at = self.now;
        let workers = self.alive().map(|(_, process)| process.plan.workers as u64).sum::<u64>();
        self.disturbances.shaken_workers += workers;
    }

    /// The workers of a process may lose their present work.
    pub(crate) fn upset(&mut self, process: ProcessIndex) {
        self.disturbances.upset(self.processes[process as usize].plan.workers_by_speed());
    }

    /// The workers of all processes may.
    pub(crate) fn upset_all(&mut self) {
        let workers = self.alive().map(|(_, process)| process.plan.workers_by_speed()).sum::<u64>();
        self.disturbances.upset(workers);
    }

    /// The coordinator has given a host up, or it left.
    pub(crate) fn note_gone(&mut self, host: HostId) {
        self.disturbances.ids_gone += 1;
        // A process that has ended was counted then.
        if let Some(process) = self.directory.get(host) {
            self.upset(process);
            self.processes[process as usize].absence.begin(self.now);
        }
    }

    /// A host has ended, or knows that it was given up.
    pub(crate) fn note_back(&mut self, process: ProcessIndex) {
        self.count_away(process);
        self.processes[process as usize].absence.end();
    }

    /// Counts a host's possibly unreported work, if any, as it stops or learns that it was given up.
    pub(crate) fn count_away(&mut self, process: ProcessIndex) {
        let state = &self.processes[process as usize];
        if let Some(since) = state.absence.since() {
            let work_ns = (self.now.0 - since.0) * state.plan.speed_percent / 100;
            self.disturbances.away_ns += work_ns * state.plan.workers as u64;
        }
    }

    /// A host is back: its present work that others have begun again meanwhile is done twice.
    pub(crate) fn note_begun_elsewhere(&mut self, process: ProcessIndex) {
        for (run, portion) in &self.processes[process as usize].runtime.portions {
            let others = self.alive().filter(|(index, _)| *index != process);
            let theirs: BTreeSet<NodeIndex> = others
                .filter_map(|(_, other)| other.runtime.portions.get(run))
                .flat_map(|portion| portion.tasks.values().flat_map(|task| &task.frames))
                .map(|frame| frame.node)
                .collect();
            let mine = portion.tasks.values().filter_map(|task| task.frames.first());
            let twice = mine.filter(|frame| theirs.contains(&frame.node));
            let twice_ns: u64 = twice.map(|frame| portion.tree.node(frame.node).most_ns).sum();
            *self.disturbances.begun_elsewhere_ns.entry(*run).or_default() += twice_ns;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_workers_of_a_host_that_ends_are_upset_and_lost() {
        let mut disturbances = Disturbances::default();
        disturbances.upset(2);
        disturbances.note_lost(&HostPlan { site: 0, workers: 3, speed_percent: 200 });
        assert_eq!((disturbances.upset_workers(), disturbances.lost_workers()), (8, &[(3, 200)][..]));
    }

    #[test]
    fn the_last_crash_counts() {
        let mut disturbances = Disturbances::default();
        assert_eq!(disturbances.since_crash_ns(Time(5)), None);
        disturbances.note_crash(Time(1));
        disturbances.note_crash(Time(3));
        assert_eq!(disturbances.since_crash_ns(Time(5)), Some(2));
    }
}
