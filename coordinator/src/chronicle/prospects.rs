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
    /// The remaining time; `reported` is the newest progress. If the app reports progress, only that is used: the work of the jobs
    /// spawned so far may be a small part of the rest.
    ///
    /// # Errors
    /// Why no prediction can be made, in a sentence.
    pub fn remaining(&self, now_ms: u32, reported: Option<(u64, u64)>) -> Result<Remaining, String> {
        match reported {
            Some(_) => self.pace.remaining(now_ms, reported),
            None => self.forecasts.remaining(now_ms),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::pace::Basis;
    use super::*;

    #[test]
    fn only_the_progress_is_used_if_the_app_reports_any() {
        let mut prospects = Prospects::default();
        let of_nothing = prospects.remaining(0, None).expect_err("nothing is known");
        assert!(of_nothing.contains("hosts"), "{of_nothing}");
        for t_s in 0..=50 {
            let ahead_ns = (100 - u64::from(t_s)) * 1_000_000_000;
            prospects.forecasts.add(t_s * 1000, u64::from(t_s) * 1_000_000_000, Some(ahead_ns));
        }
        let basis = |prospects: &Prospects, reported: Option<(u64, u64)>| {
            prospects.remaining(50_000, reported).map(|remaining| remaining.basis)
        };
        assert_eq!(basis(&prospects, None), Ok(Basis::Jobs));
        let of_progress = basis(&prospects, Some((50, 100))).expect_err("too little was reported");
        assert!(of_progress.contains("the app"), "{of_progress}");
        (0..=50).for_each(|t_s| prospects.pace.add(t_s * 1000, t_s.into(), 100));
        assert_eq!(basis(&prospects, Some((50, 100))), Ok(Basis::Progress));
    }
}
