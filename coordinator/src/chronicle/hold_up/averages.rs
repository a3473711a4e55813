//! How many workers a run had on average, and shares of its work.

use super::{Evidence, TIME_S_MIN};
use crate::figures::{Figures, HostFigures};
use crate::limits::TIMELINE_BUCKETS_MAX;

/// Workers of a run on average, from its start on.
pub struct Averages {
    /// Workers that computed, for the run or to check its results: no more than those that were connected.
    pub busy: f64,
    /// Workers that were connected.
    pub workers: f64,
}

impl Evidence {
    /// Over the time of which anything is known. None if the run has not started, or nothing is known of it.
    pub(super) fn averages(&self) -> Option<Averages> {
        let elapsed_s = self.elapsed_s.filter(|elapsed_s| *elapsed_s > 0.0)?;
        let (from_s, until_s) = (self.passed_s - elapsed_s, self.passed_s);
        let (mut known_s, mut worker_s) = (0.0, 0.0);
        let stretches = (until_s / self.bucket_s.max(f64::MIN_POSITIVE)) as usize + 1;
        for place in 0..stretches.min(TIMELINE_BUCKETS_MAX) {
            // The run may have started or ended within a stretch.
            let begins_s = (place as f64 * self.bucket_s).max(from_s);
            let ends_s = ((place + 1) as f64 * self.bucket_s).min(until_s);
            let lasted_s = (ends_s - begins_s).max(0.0);
            let workers = self.totals.get(place).map_or(0.0, |totals| totals.workers);
            known_s += if workers > 0.0 { lasted_s } else { self.sampled.known_s(begins_s, ends_s) };
            worker_s += workers * lasted_s;
        }
        if known_s <= 0.0 {
            return None;
        }
        let workers = self.sampled.workers(from_s, until_s).unwrap_or(worker_s / known_s);
        // Hosts report the last time computed after the end, so that the mean could exceed the number of workers.
        let computed_s = self.computed_s + self.sampled.checking_s;
        Some(Averages { busy: (computed_s / known_s).min(workers), workers })
    }
}

/// The share of the work that is not part of the result, if jobs were lost with hosts and there is a result.
pub fn lost_with_hosts(figures: &Figures) -> Option<f64> {
    let times = &figures.times;
    let has_lost = figures.jobs.of_hosts.lost > 0 || figures.root_losses > 0;
    let lost_s = times.answer_work_s.and(times.lost_work_s).filter(|_| has_lost && times.work_s > 0.0)?;
    Some(lost_s / times.work_s)
}

/// Of hosts whose workers computed for long enough, the one that got the smallest share of its processors. Of a run under way,
/// hosts that are gone do not count.
pub fn least(by_host: &[HostFigures], is_over: bool) -> Option<(String, f64)> {
    let is_known = |host: &&HostFigures| host.computed_s >= TIME_S_MIN && (is_over || host.is_there);
    let known = by_host.iter().filter(is_known);
    let named = |host: &HostFigures| {
        let has_namesake = |other: &HostFigures| other.name == host.name && other.host != host.host;
        match by_host.iter().any(has_namesake) {
            true => format!("{} {}", host.name, host.host),
            false => host.name.clone(),
        }
    };
    let mut shares: Vec<(&HostFigures, f64)> =
        known.map(|host| (host, (host.work_s / host.computed_s).min(1.0))).collect();
    shares.sort_by(|one, other| one.1.total_cmp(&other.1));
    let is_one_of_many = shares.len() > 1;
    shares.into_iter().next().filter(|_| is_one_of_many).map(|(host, share)| (named(host), share))
}
