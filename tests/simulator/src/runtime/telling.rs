//! Notices that a host's runtime sends the state machine without being asked.

use sateen_protocol::Time;
use sateen_protocol::host::Notice;

use super::times::Now;
use super::{Runtime, Worker};

/// Minimum interval between reports of counts.
const COUNTS_EVERY_NS: u64 = 400_000_000;

/// What was reported of a portion.
#[derive(Debug, Default)]
pub struct Told {
    /// Whether it was reported that all guests are suspended.
    is_drained: bool,
    /// The number of idle workers known to the machine.
    idle: usize,
    /// The time of the last report of counts.
    counts_at: Time,
}

impl Told {
    /// The machine expects a worker to take a job, and none will: it is notified again how many are idle.
    pub fn forget_idle(&mut self) {
        self.idle = usize::MAX;
    }
}

impl Runtime {
    /// Reports how many workers are idle, the counts, and whether guests have come to rest.
    pub(super) fn tell(&mut self, now: Time) {
        let busy = self.busy();
        let own_time = self.stops.own_time(now);
        let idle = if self.is_resting { 0 } else { self.workers.len() - busy };
        for (run, portion) in &mut self.portions {
            let computes = |worker: &Worker| worker.running.is_some_and(|(other, _)| other == *run);
            if portion.exchange.is_draining() {
                if !portion.told.is_drained && !self.workers.iter().any(computes) {
                    portion.told.is_drained = true;
                    portion.exchange.notify(Notice::Drained);
                }
                continue;
            }
            if portion.told.idle != idle || now.0 > portion.told.counts_at.0 + COUNTS_EVERY_NS {
                if portion.told.idle != idle {
                    portion.told.idle = idle;
                    portion.exchange.notify(Notice::Idle(idle));
                }
                portion.told.counts_at = now;
                portion.drop_objects();
                let busy = self.workers.iter().filter(|worker| computes(worker)).count() as u32;
                let is_away = portion.exchange.away().len() > 0;
                let doing = |worker: &Worker| match (worker.running, is_away) {
                    (Some((other, _)), _) if other == *run => {
                        let since = worker.stretch.map_or(now, |stretch| stretch.began);
                        Now::Computes(now.since(since).as_nanos() as u64)
                    }
                    (Some(_), _) => Now::Others,
                    (None, true) => Now::Waits,
                    (None, false) => Now::Steals,
                };
                let doing: Vec<Now> = self.workers.iter().map(doing).collect();
                let workers = portion.figures.times(own_time, |worker| doing[worker]);
                portion.exchange.notify(Notice::Activity {
                    workers,
                    ahead_ns: None,
                    jobs: Vec::new(),
                    jobs_dropped: 0,
                });
                portion.exchange.notify(Notice::Counts(Box::new(portion.figures.counts(busy))));
            }
        }
    }
}
