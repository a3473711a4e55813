//! The time that a run may still take: a range, and only where enough is known.

use serde::{Deserialize, Serialize};

/// Maximum reports of the root job that are kept; they are thinned when there are more.
const REPORTS_MAX: usize = 64;
/// Minimum past moments for a prediction.
const MOMENTS_MIN: usize = 10;
/// From this share on, it is not too little.
const SHARE_MIN: f64 = 0.1;
/// The range is wider than all past errors by this factor at either end: paces drift.
const MARGIN: f64 = 1.25;
/// Maximum ratio of a range's ends; a wider range is useless.
const WIDEST: f64 = 4.0;

/// What a remaining time is estimated from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// The progress that the app reports.
    Progress,
    /// The work that hosts expect of the jobs spawned so far.
    Jobs,
}

/// The remaining time of a run, in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Remaining {
    /// What it is estimated from.
    pub basis: Basis,
    /// Its minimum.
    pub low_s: f64,
    /// Its value at the mean pace so far.
    pub likely_s: f64,
    /// Its maximum.
    pub high_s: f64,
}

/// The progress that the root job has reported.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Pace {
    /// When, in milliseconds since the run was submitted, and the share that was done.
    reports: Vec<(u32, f64)>,
}

impl Pace {
    /// Adds a report: `done` of `total`.
    pub fn add(&mut self, t_ms: u32, done: u64, total: u64) {
        if total == 0 {
            return;
        }
        let share = (done as f64 / total as f64).min(1.0);
        match self.reports.last() {
            Some((_, last)) if *last == share => return,
            // The total has grown, or another host has the root: earlier reports are useless.
            Some((_, last)) if *last > share => self.reports.clear(),
            _ => {}
        }
        self.reports.push((t_ms, share));
        if self.reports.len() > REPORTS_MAX {
            self.thin();
        }
    }

    /// Keeps about half of the reports, at equal distances, and the newest.
    fn thin(&mut self) {
        let (Some((_, first)), Some((newest, last))) = (self.reports.first(), self.reports.last()) else {
            return;
        };
        let (step, mut next, newest) = ((last - first) / (REPORTS_MAX / 2) as f64, *first, *newest);
        self.reports.retain(|(t_ms, share)| {
            let is_kept = *share >= next || *t_ms == newest;
            if is_kept {
                next = share + step;
            }
            is_kept
        });
    }

    /// The remaining time, as a range around the prediction of the mean pace. From each past moment, the present one
    /// could have been predicted in the same way, with an error that is known now. The range covers these errors, in
    /// both directions, for all moments from which the present was as far, relative to the work done, as the end is
    /// now.
    ///
    /// `reported` is the newest report, which may not have been added yet: `done` of `total`.
    ///
    /// # Errors
    /// Why no prediction can be made, in a sentence.
    pub fn remaining(&self, now_ms: u32, reported: Option<(u64, u64)>) -> Result<Remaining, String> {
        let not_known = |why: &str| Err(format!("not known yet: {why}"));
        let (Some((first_ms, first)), Some((last_ms, last))) = (self.reports.first(), self.reports.last())
        else {
            return match reported {
                None => not_known("the app has reported no progress so far (`sateen::progress`)"),
                Some((_, 0)) => not_known("the app does not report how much there is to do"),
                Some(_) => not_known("the app reported its first progress a moment ago"),
            };
        };
        if *last >= 1.0 {
            return not_known("all that the app reports is done, but its result has not arrived");
        }
        let errors = self.errors();
        if errors.len() < MOMENTS_MIN {
            return not_known(&self.too_few(errors.len()));
        }
        let least = errors.iter().fold(1.0, |least: f64, error| least.min(*error).min(1.0 / error));
        let (low, likely, high) = (least / MARGIN, 1.0, MARGIN / least);
        if high > WIDEST * low {
            let wrong = 1.0 / least;
            let why = format!(
                "predictions made earlier in the run would have been wrong by up to a factor of {wrong:.1}"
            );
            return not_known(&why);
        }
        let seconds = |from_ms: u32, to_ms: u32| f64::from(to_ms.saturating_sub(from_ms)) / 1000.0;
        let expected_s = (1.0 - last) * seconds(*first_ms, *last_ms) / (last - first);
        let since_s = seconds(*last_ms, now_ms);
        if since_s > high * expected_s {
            return not_known("there was no progress for longer than expected");
        }
        let left = |error: f64| ((error * expected_s - since_s).max(0.0) * 10.0).round() / 10.0;
        let (low_s, likely_s, high_s) = (left(low), left(likely), left(high));
        Ok(Remaining { basis: Basis::Progress, low_s, likely_s, high_s })
    }

    /// Why so few past moments do not allow a prediction.
    fn too_few(&self, moments: usize) -> String {
        let (Some((_, first)), Some((_, last))) = (self.reports.first(), self.reports.last()) else {
            return String::new();
        };
        let percent = |share: f64| format!("{:.0} %", 100.0 * share);
        if last - first < SHARE_MIN {
            return match percent(*first).as_str() {
                "0 %" => "too little is done".to_owned(),
                seen => format!("too little has been done since its progress was first seen, at {seen}"),
            };
        }
        if self.reports.len() <= MOMENTS_MIN {
            return match self.reports.len() - 1 {
                1 => "its progress was seen to advance only once".to_owned(),
                steps => format!("its progress was seen to advance only {steps} times"),
            };
        }
        format!(
            "an estimate is shown once {MOMENTS_MIN} trial ones have been compared with what really happened \
             ({moments} so far, with {} done)",
            percent(*last)
        )
    }

    /// For each past moment that could predict the present one: the time it took over the predicted time.
    fn errors(&self) -> Vec<f64> {
        let (Some((first_ms, first)), Some((last_ms, last))) = (self.reports.first(), self.reports.last())
        else {
            return Vec::new();
        };
        let far = (1.0 - last) / (last - first).max(f64::MIN_POSITIVE);
        let error = |(at_ms, share): &(u32, f64)| {
            let (done, ahead) = (share - first, last - share);
            let passed_ms = f64::from(at_ms.saturating_sub(*first_ms));
            let expected_ms = passed_ms * ahead / done;
            let is_far = done > 0.0 && ahead >= far * done && ahead > 0.0 && expected_ms > 0.0;
            is_far.then(|| f64::from(last_ms.saturating_sub(*at_ms)) / expected_ms)
        };
        self.reports.iter().filter_map(error).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_predicted_before_enough_is_known() {
        let mut pace = Pace::default();
        let why = pace.remaining(1000, None).expect_err("nothing was reported");
        assert!(why.starts_with("not known yet: ") && why.contains("no progress so far"), "{why}");
        // What is reported is added now and then.
        assert!(
            pace.remaining(10, Some((11, 20))).is_err_and(|why| why.contains("first progress a moment ago"))
        );
        assert!(pace.remaining(10, Some((11, 0))).is_err_and(|why| why.contains("how much there is to do")));
        pace.add(100, 0, 0);
        pace.add(100, 1, 1000);
        assert!(pace.remaining(1000, None).is_err_and(|why| why.contains("too little is done")));
        // A few long steps.
        (2..=9).for_each(|step| pace.add(step * 1000, u64::from(step) * 100, 1000));
        assert!(
            pace.remaining(9000, None).is_err_and(|why| why.ends_with("was seen to advance only 8 times"))
        );
        // Many short ones.
        let mut pace = Pace::default();
        (0..=30).for_each(|step| pace.add(step * 1000, u64::from(step) * 10, 1000));
        let why = pace.remaining(30_000, None).expect_err("too few are early enough");
        assert!(why.contains("once 10 trial ones") && why.ends_with("(9 so far, with 30 % done)"), "{why}");
        // The root job was begun again, and found results.
        pace.add(31_000, 290, 1000);
        let why = pace.remaining(31_000, None).expect_err("it is the first report");
        assert!(why.ends_with("since its progress was first seen, at 29 %"), "{why}");
    }

    #[test]
    fn a_steady_pace_continues() {
        let mut pace = Pace::default();
        for step in 0..=500 {
            pace.add(step * 100, u64::from(step), 1000);
        }
        let left = pace.remaining(50_000, None).expect("known");
        assert!(left.low_s >= 39.0 && left.high_s <= 63.0, "{left:?}");
        assert!(left.low_s <= left.likely_s && left.likely_s <= left.high_s);
    }

    #[test]
    fn a_pace_that_varies_a_little_has_a_range_and_one_that_varies_much_has_none() {
        let reports = |slower: u32| {
            let mut pace = Pace::default();
            let mut t_ms = 0;
            for step in 0..=50 {
                pace.add(t_ms, step, 100);
                t_ms += if step % 10 < 5 { 100 } else { 100 * slower };
            }
            (pace, t_ms)
        };
        let (pace, now_ms) = reports(2);
        let left = pace.remaining(now_ms, None).expect("known");
        // The second half takes as long as the first.
        let true_s = f64::from(now_ms) / 1000.0;
        assert!(left.low_s < true_s && true_s < left.high_s, "{left:?}");
        // At the start ten times as fast as at the end.
        let mut slowed = Pace::default();
        for step in 0..=50_u32 {
            slowed.add(step * 100 + step.saturating_sub(25) * 900, u64::from(step), 100);
        }
        let why = slowed.remaining(30_000, None).expect_err("its pace is not known");
        assert!(why.contains("not known yet") && why.contains("wrong by up to a factor of 10.0"), "{why}");
    }

    /// Runs whose pace changes every twentieth, and varies within these.
    #[test]
    fn nine_of_ten_ranges_hold_the_actual_time() {
        const STEPS: u64 = 200;
        let (mut told, mut held) = (0, 0);
        for seed in 0..300 {
            let mut random = sateen_protocol::Random::new(seed);
            let (mut times, mut factor) = (vec![0], 1);
            for step in 0..STEPS {
                if step % (STEPS / 20) == 0 {
                    factor = 1 + random.below(3) as u32;
                }
                let before = times.last().copied().unwrap_or_default();
                times.push(before + factor * (50 + random.below(150) as u32));
            }
            for part in [STEPS / 4, STEPS / 2, 3 * STEPS / 4] {
                let mut pace = Pace::default();
                (0..=part).zip(&times).for_each(|(step, t_ms)| pace.add(*t_ms, step, STEPS));
                let now_ms = times[part as usize];
                let Ok(left) = pace.remaining(now_ms, None) else { continue };
                let true_s = f64::from(times[STEPS as usize] - now_ms) / 1000.0;
                told += 1;
                held += usize::from((left.low_s - 0.1..=left.high_s + 0.1).contains(&true_s));
            }
        }
        assert!(told >= 200 && held * 10 >= told * 9, "{held} of {told}");
    }

    #[test]
    fn nothing_is_predicted_for_a_run_that_is_late() {
        let mut pace = Pace::default();
        for step in 0..=50 {
            pace.add(step * 100, u64::from(step), 100);
        }
        let left = pace.remaining(7_000, None).expect("known");
        assert!(left.low_s <= 3.0 && left.likely_s == 3.0 && left.high_s <= 4.3, "{left:?}");
        assert!(pace.remaining(60_000, None).is_err_and(|why| why.contains("no progress for longer")));
    }

    #[test]
    fn a_run_that_has_reported_all_and_continues_is_not_predicted_to_end_now() {
        let mut pace = Pace::default();
        for step in 0..=50 {
            pace.add(step * 100, u64::from(step), 50);
        }
        let why = pace.remaining(60_000, None).expect_err("it has not ended");
        assert!(why.starts_with("not known yet: ") && why.contains("result"), "{why}");
    }

    #[test]
    fn a_root_that_begins_again_begins_a_new_pace() {
        let mut pace = Pace::default();
        for step in 0..10 {
            pace.add(step * 100, u64::from(step), 10);
        }
        pace.add(2000, 1, 10);
        assert!(pace.remaining(2100, None).is_err());
    }
}
