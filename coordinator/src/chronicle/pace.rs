//! How long a run may still take: told only where something is known, and as a range.

use serde::{Deserialize, Serialize};

use crate::api::types::Remaining;

/// What the root job reported, at most so many times; thinned when there are more.
const REPORTS_MAX: usize = 64;
/// Before so much of it is done, nothing is said.
const SHARE_MIN: f64 = 0.02;
/// Fewer reports say nothing.
const REPORTS_MIN: usize = 4;

/// What the root job has reported of its progress.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Pace {
    /// When, in milliseconds since the run was submitted, and which share was done.
    reports: Vec<(u32, f64)>,
}

impl Pace {
    /// Takes down that so much of so much is done.
    pub fn add(&mut self, t_ms: u32, done: u64, total: u64) {
        if total == 0 {
            return;
        }
        let share = (done as f64 / total as f64).min(1.0);
        match self.reports.last() {
            Some((_, last)) if *last == share => return,
            // The total has grown, or another host has the root: what was before says nothing.
            Some((_, last)) if *last > share => self.reports.clear(),
            _ => {}
        }
        self.reports.push((t_ms, share));
        if self.reports.len() > REPORTS_MAX {
            let mut place = 0;
            self.reports.retain(|_| {
                place += 1;
                place % 2 == 1
            });
        }
    }

    /// The time that is left at the paces of the whole, of its second half and of its last quarter: the least,
    /// the middle, the most.
    ///
    /// # Errors
    /// Why nothing can be said, in a sentence.
    pub fn remaining(&self, now_ms: u32) -> Result<Remaining, String> {
        let (Some((first_ms, first)), Some((_, last))) = (self.reports.first(), self.reports.last()) else {
            return Err("the app does not report its progress (`sateen::progress`)".to_owned());
        };
        if *last >= 1.0 {
            return Ok(Remaining { low_s: 0.0, likely_s: 0.0, high_s: 0.0 });
        }
        if self.reports.len() < REPORTS_MIN || *last < SHARE_MIN {
            return Err("too little is done yet to say".to_owned());
        }
        let pace = |from: usize| {
            let (from_ms, share) = self.reports.get(from).copied().unwrap_or((*first_ms, *first));
            let passed_s = f64::from(now_ms.saturating_sub(from_ms)) / 1000.0;
            let gained = last - share;
            if gained > 0.0 { (1.0 - last) * passed_s / gained } else { f64::INFINITY }
        };
        let count = self.reports.len();
        let mut left = [pace(0), pace(count / 2), pace(count - 1 - (count / 4).max(1))];
        left.sort_by(f64::total_cmp);
        if !left[2].is_finite() {
            return Err("there was no progress for too long to say".to_owned());
        }
        let round = |seconds: f64| (seconds * 10.0).round() / 10.0;
        Ok(Remaining { low_s: round(left[0]), likely_s: round(left[1]), high_s: round(left[2]) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_said_before_something_is_known() {
        let mut pace = Pace::default();
        assert!(pace.remaining(1000).is_err_and(|why| why.contains("does not report")));
        pace.add(100, 0, 0);
        pace.add(100, 1, 1000);
        assert!(pace.remaining(1000).is_err_and(|why| why.contains("too little")));
    }

    #[test]
    fn a_steady_pace_goes_on() {
        let mut pace = Pace::default();
        for step in 0..=500 {
            pace.add(step * 100, u64::from(step), 1000);
        }
        let left = pace.remaining(50_000).expect("known");
        assert!(left.low_s >= 45.0 && left.high_s <= 55.0, "{left:?}");
        assert!(left.low_s <= left.likely_s && left.likely_s <= left.high_s);
    }

    #[test]
    fn a_pace_that_slows_widens_the_range() {
        let mut pace = Pace::default();
        for step in 0..=50_u32 {
            pace.add(step * 100 + step.saturating_sub(25) * 900, u64::from(step), 100);
        }
        let left = pace.remaining(30_000).expect("known");
        assert!(left.high_s > 1.5 * left.low_s, "{left:?}");
    }

    #[test]
    fn a_root_that_begins_anew_begins_a_new_pace() {
        let mut pace = Pace::default();
        for step in 0..10 {
            pace.add(step * 100, u64::from(step), 10);
        }
        pace.add(2000, 1, 10);
        assert!(pace.remaining(2100).is_err());
    }
}
