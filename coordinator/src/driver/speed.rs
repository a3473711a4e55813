//! How fast hosts are: from their jobs, so that nothing has to be run to find out.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use sateen_protocol::{Counts, HostId};

/// Less of a run tells nothing of a host,
const WORK_MIN: Duration = Duration::from_secs(1);
/// and neither do fewer jobs: some are long, some are short.
const JOBS_MIN: u64 = 100;

/// What is known of hosts' speeds. It stays known when their runs are over.
#[derive(Debug, Default)]
pub struct Speeds {
    of: BTreeMap<HostId, f64>,
}

/// How fast a host is in one run.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    host: HostId,
    /// Jobs in a second of processor time.
    rate: f64,
    /// What it worked.
    weight: f64,
}

impl Pace {
    /// By what a host counts of the run, if it is there and that tells anything.
    pub fn of(host: HostId, is_there: bool, counts: &Counts) -> Option<Self> {
        let rate = rate(counts).filter(|_| is_there)?;
        Some(Self { host, rate, weight: counts.work_ns as f64 })
    }
}

/// Compares hosts by their paces in each run. Takes time in a large grid.
pub fn compare(runs: impl Iterator<Item = Vec<Pace>>) -> Vec<(HostId, f64)> {
    // By host: its relations to others, weighted by what it worked, and these weights.
    let mut sums: HashMap<HostId, (f64, f64)> = HashMap::new();
    for paces in runs {
        // Alone, nobody is fast or slow.
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
    /// Takes over what [`compare`] found, of hosts that are there still.
    pub fn learn(&mut self, found: &[(HostId, f64)], is_there: impl Fn(HostId) -> bool) {
        self.of.extend(found.iter().filter(|(host, _)| is_there(*host)).copied());
    }

    /// The host has gone.
    pub fn forget(&mut self, host: HostId) {
        self.of.remove(&host);
    }

    /// Of a host.
    pub fn of(&self, host: HostId) -> Option<f64> {
        self.of.get(&host).copied()
    }
}

/// Jobs in a second of processor time.
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

    /// Of a host that is there: seconds of work, and what it ran in them.
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
    fn who_runs_more_in_its_time_is_faster_whoever_had_more_time() {
        let mut speeds = Speeds::default();
        let run = vec![counts(1, 10, 1000), counts(2, 5, 1000), counts(3, 100, 5000)];
        assert_eq!(looked(&mut speeds, std::slice::from_ref(&run)), [Some(1.0), Some(2.0), Some(0.5)]);
        // The jobs of another run are longer for all.
        let other = vec![counts(1, 10, 100), counts(2, 5, 100)];
        let [one, two, three] = looked(&mut speeds, &[run, other]);
        assert!(one.is_some_and(|one| one < 1.0) && two.is_some_and(|two| two > 1.0), "{one:?} {two:?}");
        assert_eq!(three, Some(0.5));
        // When both are over, it is still known; not of who has gone.
        assert_eq!(looked(&mut speeds, &[]), [one, two, three]);
        speeds.forget(HostId(1));
        assert_eq!((speeds.of(HostId(1)), speeds.of(HostId(2))), (None, two));
        // Nor is it learned anew of one that went meanwhile.
        speeds.learn(&[(HostId(1), 1.0), (HostId(3), 2.0)], |host| host != HostId(1));
        assert_eq!((speeds.of(HostId(1)), speeds.of(HostId(3))), (None, Some(2.0)));
    }

    #[test]
    fn nothing_is_said_of_who_did_little_or_was_alone() {
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
    fn hosts_may_say_anything() {
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
