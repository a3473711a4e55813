//! The workers' use of time in a run, as a host reports it: see [`WorkerTimes`]. The part that
//! is done again is an estimate of the real runtime, which the model lacks.

use sateen_protocol::Time;
use sateen_protocol::message::WorkerTimes;

const NS_PER_MS: u64 = 1_000_000;

/// The times of all workers in one run, without the time in which the process was stopped.
#[derive(Debug, Default)]
pub struct Times {
    /// The portion's start, by the clock of [`Times::tell`].
    began_ns: u64,
    of: Vec<Spent>,
}

/// One worker's time, in nanoseconds.
#[derive(Debug, Clone, Copy, Default)]
struct Spent {
    work: u64,
    steal: u64,
    wait: u64,
    others: u64,
}

/// A worker's activity at a moment.
#[derive(Debug, Clone, Copy)]
pub enum Now {
    /// It has computed for this run for this time, in nanoseconds.
    Computes(u64),
    /// It computes for another run.
    Others,
    /// It has no work, and jobs wait for results from elsewhere.
    Waits,
    /// It has no work.
    Steals,
}

impl Times {
    /// The times of `workers` workers.
    pub fn new(workers: usize, began: Time) -> Self {
        Self { began_ns: began.0, of: vec![Spent::default(); workers] }
    }

    /// A worker has computed for `for_ns`.
    pub fn compute(&mut self, worker: usize, for_ns: u64) {
        if let Some(spent) = self.of.get_mut(worker) {
            spent.work += for_ns;
        }
    }

    /// The report at a moment, given each worker's activity.
    pub fn tell(&mut self, now: Time, doing: impl Fn(usize) -> Now) -> Vec<WorkerTimes> {
        let all = now.0.saturating_sub(self.began_ns);
        let tell = |(worker, spent): (usize, &mut Spent)| {
            let doing = doing(worker);
            let computing = if let Now::Computes(for_ns) = doing { for_ns } else { 0 };
            let known = spent.work + spent.steal + spent.wait + spent.others + computing;
            let idle = all.saturating_sub(known);
            match doing {
                Now::Others => spent.others += idle,
                Now::Waits => spent.wait += idle,
                Now::Computes(_) | Now::Steals => spent.steal += idle,
            }
            WorkerTimes {
                work_ms: (spent.work + computing) / NS_PER_MS,
                recover_ms: 0,
                steal_ms: spent.steal / NS_PER_MS,
                wait_ms: spent.wait / NS_PER_MS,
                others_ms: spent.others / NS_PER_MS,
            }
        };
        self.of.iter_mut().enumerate().map(tell).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_a_workers_time_is_reported_once() {
        let mut times = Times::new(2, Time(5 * NS_PER_MS));
        times.compute(0, 30 * NS_PER_MS);
        let at = |times: &mut Times, ms: u64, doing: Now| {
            let told = times.tell(Time((5 + ms) * NS_PER_MS), |_| doing);
            told.iter().map(|of| [of.work_ms, of.steal_ms, of.wait_ms, of.others_ms]).collect()
        };
        let told: Vec<[u64; 4]> = at(&mut times, 100, Now::Waits);
        assert_eq!(told, [[30, 0, 70, 0], [0, 0, 100, 0]]);
        let told: Vec<[u64; 4]> = at(&mut times, 150, Now::Computes(40 * NS_PER_MS));
        assert_eq!(told, [[70, 10, 70, 0], [40, 10, 100, 0]]);
    }
}
