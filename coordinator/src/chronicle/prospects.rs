//! When a run may end.

use super::forecasts::Forecasts;
use super::pace::{Pace, Remaining};

/// What is known of a run's end.
#[derive(Debug, Default)]
pub struct Prospects {
    /// From the progress that the app reports. It knows best, as it knows what it has not spawned yet.
    pub pace: Pace,
    /// From the jobs that have been spawned.
    pub forecasts: Forecasts,
}

impl Prospects {
    /// The remaining time; `reported` is the newest progress.
    ///
    /// # Errors
    /// Why no prediction can be made, in a sentence.
    pub fn remaining(&self, now_ms: u32, reported: Option<(u64, u64)>) -> Result<Remaining, String> {
        self.pace.remaining(now_ms, reported).or_else(|why| {
            let of_jobs = self.forecasts.remaining(now_ms);
            if reported.is_some() { of_jobs.map_err(|_| why) } else { of_jobs }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::pace::Basis;
    use super::*;

    #[test]
    fn what_the_app_reports_comes_before_what_hosts_expect() {
        let mut prospects = Prospects::default();
        let of_nothing = prospects.remaining(0, None).expect_err("nothing is known");
        assert!(of_nothing.contains("hosts"), "{of_nothing}");
        let of_progress = prospects.remaining(0, Some((1, 9))).expect_err("too little is known");
        assert!(of_progress.contains("the app"), "{of_progress}");
        let basis = |prospects: &Prospects, done: u64| {
            prospects.remaining(50_000, Some((done, 100))).map(|remaining| remaining.basis)
        };
        for t_s in 0..=50 {
            let ahead_ns = (100 - u64::from(t_s)) * 1_000_000_000;
            prospects.forecasts.add(t_s * 1000, u64::from(t_s) * 1_000_000_000, Some(ahead_ns));
        }
        assert_eq!(basis(&prospects, 50), Ok(Basis::Jobs));
        (0..=50).for_each(|t_s| prospects.pace.add(t_s * 1000, t_s.into(), 100));
        assert_eq!(basis(&prospects, 50), Ok(Basis::Progress));
    }
}
