//! What a host counts of its part of a run.

use sateen_protocol::message::WorkerTimes;
use sateen_protocol::{Counts, Jobs, Time};

use super::tally::Tally;
use super::times::{Now, Times};

/// The figures of a host's part of a run.
#[derive(Debug)]
pub struct Figures {
    /// As the host reports them; its work and busy workers are added in reports.
    counts: Counts,
    /// Counts of other ways in which jobs begin or move.
    tally: Tally,
    /// Work done here.
    executed_ns: u64,
    /// The workers' use of time.
    times: Times,
}

impl Figures {
    /// The figures of `workers` workers that begin at a moment of the host's own time.
    pub fn new(workers: usize, began: Time) -> Self {
        Self {
            counts: Counts { workers: workers as u32, ..Counts::default() },
            tally: Tally::default(),
            executed_ns: 0,
            times: Times::new(workers, began),
        }
    }

    /// Counts of jobs.
    pub fn jobs(&self) -> &Jobs {
        &self.counts.jobs
    }

    /// Counts of jobs, to be added to.
    pub fn jobs_mut(&mut self) -> &mut Jobs {
        &mut self.counts.jobs
    }

    /// Counts of other ways in which jobs begin or move.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// The same, to be added to.
    pub fn tally_mut(&mut self) -> &mut Tally {
        &mut self.tally
    }

    /// Work done here.
    pub fn executed_ns(&self) -> u64 {
        self.executed_ns
    }

    /// A root begins.
    pub fn begin_root(&mut self) {
        self.tally.roots += 1;
        // Hosts count the root as a spawn, so that every executed job was spawned.
        self.counts.jobs.spawned += 1;
    }

    /// A worker has computed.
    pub fn compute(&mut self, worker: usize, cost_ns: u64, speed_percent: u64) {
        self.executed_ns += cost_ns;
        self.times.compute(worker, (u128::from(cost_ns) * 100 / u128::from(speed_percent)) as u64);
    }

    /// The counts as they are reported, while this number of workers is busy.
    pub fn counts(&self, busy: u32) -> Counts {
        Counts { work_ns: self.executed_ns, busy, ..self.counts }
    }

    /// The workers' use of time as it is reported, given each worker's activity.
    pub fn times(&mut self, own_time: Time, doing: impl Fn(usize) -> Now) -> Vec<WorkerTimes> {
        self.times.tell(own_time, doing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_have_the_work_and_the_busy_workers() {
        let mut figures = Figures::new(2, Time(0));
        figures.begin_root();
        figures.compute(1, 300, 50);
        let counts = figures.counts(1);
        assert_eq!((counts.workers, counts.busy, counts.work_ns, counts.jobs.spawned), (2, 1, 300, 1));
        assert_eq!((figures.tally().roots, figures.executed_ns()), (1, 300));
    }
}
