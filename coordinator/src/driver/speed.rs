//! How fast hosts are, derived from their jobs, so that no benchmark has to be run.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use sateen_protocol::{Counts, HostId};

/// Minimum work of a host in a run,
const WORK_MIN: Duration = Duration::from_secs(1);
/// and minimum jobs: some are long, some are short.
const JOBS_MIN: u64 = 100;

/// Hosts' relative speeds. They are kept when runs are over.
#[derive(Debug, Default)]
pub struct Speeds {
    of: BTreeMap<HostId, f64>,
}

/// How fast a host is in one run.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    host: HostId,
    /// Jobs per second of processor time.
    rate: f64,
    /// Its work.
    weight: f64,
}

impl Pace {
    /// From a host's counts of the run, if the host is connected and has done enough.
    pub fn of(host: HostId, is_there: bool, counts: &Counts) -> Option<Self> {
        let rate = rate(counts).filter(|_| is_there)?;
        Some(Self { host, rate, weight: counts.work_ns as f64 })
    }
}

/// Compares hosts by their paces in each run. Takes time in a large grid.
pub fn compare(runs: impl Iterator<Item = Vec<Pace>>) -> Vec<(HostId, f64)> {
    // By host: its paces relative to others, weighted by its work, and the sum of these weights.
    let mut sums: HashMap<HostId, (f64, f64)> = HashMap::new();
    for paces in runs {
        // A host alone is neither fast nor slow.
        let median = median(paces.iter().map(|pace| pace.rate)).filter(|_| paces.len() > 1);
        let Some(median) = median else { continue };
        for Pace { host, rate, weight } in paces {
            let (sum, weights) = sums.entry(host).or_default();
            *sum += rate / median * weight;
            *weights += weight;
        }
    }
    sums.into_iter().map(|(host, (sum, weights))| (host, sum / weights)).collect()
}

impl Speeds {
    /// Adds the findings of [`compare`], for hosts that are still connected.
    pub fn learn(&mut self, found: &[(HostId, f64)], is_there: impl Fn(HostId) -> bool) {
        self.of.extend(found.iter().filter(|(host, _)| is_there(*host)).copied());
    }

    /// The host has gone.
    pub fn forget(&mut self, host: HostId) {
        self.of.remove(&host);
    }

    /// The relative speed of a host.
    pub fn of(&self, host: HostId) -> Option<f64> {
        self.of.get(&host).copied()
    }
}

/// Jobs per second of processor time.
fn rate(counts: &Counts) -> Option<f64> {
    let is_enough = u128::from(counts.work_ns) >= WORK_MIN.as_nanos() && counts.jobs.executed >= JOBS_MIN;
    is_enough.then(|| counts.jobs.executed as f64 * 1e9 / counts.work_ns as f64)
}

fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let upper = *values.get(values.len() / 2)?;
    let lower = if values.len().is_multiple_of(2) { values[values.len() / 2 - 1] } else { upper };
    Some(f64::midpoint(lower, upper))
}

#[cfg(test)]
mod tests {
    use sateen_protocol::Jobs;

    use super::*;

    /// Counts of a connected host: seconds of work, and jobs run in them.
    fn counts(host: u64, work_s: u64, executed: u64) -> (HostId, bool, Counts) {
        let jobs = Jobs { executed, ..Jobs::default() };
        (HostId(host), true, Counts { jobs, work_ns: work_s * 1_000_000_000, ..Counts::default() })
    }

    fn looked(speeds: &mut Speeds, runs: &[Vec<(HostId, bool, Counts)>]) -> [Option<f64>; 3] {
        let paces = |run: &Vec<(HostId, bool, Counts)>| {
            run.iter().filter_map(|(host, is_there, counts)| Pace::of(*host, *is_there, counts)).collect()
        };
        speeds.learn(&compare(runs.iter().map(paces)), |_| true);
        [1, 2, 3].map(|host| speeds.of(HostId(host)))
    }

    #[test]
    fn a_host_that_runs_more_in_its_time_is_faster_whatever_its_time() {
        let mut speeds = Speeds::default();
        let run = vec![counts(1, 10, 1000), counts(2, 5, 1000), counts(3, 100, 5000)];
        assert_eq!(looked(&mut speeds, std::slice::from_ref(&run)), [Some(1.0), Some(2.0), Some(0.5)]);
        // The jobs of another run take all hosts longer.
        let other = vec![counts(1, 10, 100), counts(2, 5, 100)];
        let [one, two, three] = looked(&mut speeds, &[run, other]);
        assert!(one.is_some_and(|one| one < 1.0) && two.is_some_and(|two| two > 1.0), "{one:?} {two:?}");
        assert_eq!(three, Some(0.5));
        // When both runs are over, speeds are still known, except those of hosts that have gone.
        assert_eq!(looked(&mut speeds, &[]), [one, two, three]);
        speeds.forget(HostId(1));
        assert_eq!((speeds.of(HostId(1)), speeds.of(HostId(2))), (None, two));
        // Nor are those learned again of a host that went meanwhile.
        speeds.learn(&[(HostId(1), 1.0), (HostId(3), 2.0)], |host| host != HostId(1));
        assert_eq!((speeds.of(HostId(1)), speeds.of(HostId(3))), (None, Some(2.0)));
    }

    #[test]
    fn no_speed_is_known_of_hosts_that_did_little_or_were_alone() {
        let mut speeds = Speeds::default();
        let gone = (HostId(2), false, counts(2, 10, 1000).2);
        for run in [
            vec![counts(1, 10, 1000)],
            vec![counts(1, 10, 1000), gone],
            vec![counts(1, 10, 1000), counts(2, 10, 99)],
            vec![counts(1, 10, 1000), counts(2, 0, 1000)],
        ] {
            assert_eq!(looked(&mut speeds, &[run]), [None; 3]);
        }
    }

    #[test]
    fn absurd_counts_are_harmless() {
        let mut speeds = Speeds::default();
        let jobs = Jobs { executed: u64::MAX, ..Jobs::default() };
        let absurd = Counts { jobs, work_ns: u64::MAX, ..Counts::default() };
        let run = vec![(HostId(1), true, absurd), counts(2, 1, u64::MAX), counts(3, 1 << 33, 100)];
        let speeds = looked(&mut speeds, &[run]);
        assert!(
            speeds.iter().all(|speed| speed.is_some_and(|speed| speed.is_finite() && speed >= 0.0)),
            "{speeds:?}"
        );
    }
}
