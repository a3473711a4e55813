//! The time that a run may still take, from the work that its hosts expect of the jobs spawned so far.

use std::ops::RangeInclusive;

use super::pace::{Basis, Remaining};

/// Maximum moments that are kept; every second one is dropped when there are more.
const MOMENTS_MAX: usize = 256;
/// Minimum moments for a prediction.
const MOMENTS_MIN: usize = 8;
/// From this share of the work on, not too little is done.
const SHARE_MIN: f64 = 0.2;
/// The pace is measured over the last part of the run: this share of its time so far.
const RECENT_SHARE: f64 = 0.25;
/// Minimum time over which it is measured, in milliseconds.
const RECENT_MS_MIN: u32 = 2_000;
/// The decline of the work ahead is measured from moments at which this share of the present work was done.
const DECLINE_FROM: RangeInclusive<f64> = 0.4..=0.8;
/// The range is wider than past errors by this factor at either end.
const MARGIN: f64 = 1.25;
/// Maximum ratio of a range's ends. A wider range means that the hosts' expectations were too wrong to be shown.
const WIDEST: f64 = 2.5;
/// A time this short is not told apart from others.
const GRAIN_S: f64 = 0.5;

const UNTOLD: &str = "its hosts cannot tell how much is ahead: they have just begun, or the root job spawns jobs in rounds; the app \
                      reports no progress (`sateen::progress`)";

/// What was known at one time.
#[derive(Debug, Clone, Copy)]
struct Moment {
    t_ms: u32,
    /// Processor time so far, and that which was expected still to come, in seconds.
    done_s: f64,
    ahead_s: f64,
    /// The time that was left, in seconds, at the pace of that time; none if nothing was being computed.
    left_s: Option<f64>,
}

/// The forecasts of a run.
#[derive(Debug, Clone, Default)]
pub struct Forecasts {
    /// One in `2^thinned` of all moments.
    moments: Vec<Moment>,
    thinned: u32,
    /// The number of all moments.
    all: u64,
    last: Option<Moment>,
}

impl Forecasts {
    /// Adds what is known now: processor time so far and expected, in nanoseconds.
    pub fn add(&mut self, t_ms: u32, done_ns: u64, ahead_ns: Option<u64>) {
        self.last = None;
        let Some(ahead_ns) = ahead_ns else { return };
        let mut moment =
            Moment { t_ms, done_s: done_ns as f64 / 1e9, ahead_s: ahead_ns as f64 / 1e9, left_s: None };
        moment.left_s = self.pace(&moment).map(|pace| moment.ahead_s / pace);
        self.last = Some(moment);
        if self.all.is_multiple_of(1 << self.thinned) {
            self.moments.push(moment);
        }
        self.all += 1;
        if self.moments.len() > MOMENTS_MAX {
            let mut place = 0_u32;
            self.moments.retain(|_| {
                place += 1;
                !place.is_multiple_of(2)
            });
            self.thinned += 1;
        }
    }

    /// The processor time that hosts have spent in a second, on average over the last part of the run.
    fn pace(&self, now: &Moment) -> Option<f64> {
        let first = self.moments.first()?;
        let recent_ms = (f64::from(now.t_ms.saturating_sub(first.t_ms)) * RECENT_SHARE) as u32;
        let since_ms = now.t_ms.saturating_sub(recent_ms.max(RECENT_MS_MIN));
        let since = self.moments.iter().rfind(|moment| moment.t_ms <= since_ms).unwrap_or(first);
        let seconds = f64::from(now.t_ms.saturating_sub(since.t_ms)) / 1000.0;
        let pace = (now.done_s - since.done_s) / seconds;
        (seconds > 0.0 && pace > 0.0).then_some(pace)
    }

    /// Minimum and maximum of the work that it took, since past moments, to reduce the work ahead by a second. It is more than a
    /// second if jobs spawn others that no host expected. `None` if the work ahead has not declined since one of these moments.
    fn decline(&self, now: &Moment) -> Option<(f64, f64)> {
        let from = self.moments.iter().filter(|moment| DECLINE_FROM.contains(&(moment.done_s / now.done_s)));
        from.map(|moment| (now.done_s - moment.done_s) / (moment.ahead_s - now.ahead_s)).try_fold(
            (1.0_f64, 1.0_f64),
            |(least, most), work_s| {
                (work_s.is_finite() && work_s > 0.0).then(|| (least.min(work_s), most.max(work_s)))
            },
        )
    }

    /// The remaining time, as a range around the time that the work ahead takes at the present pace. What was predicted at each
    /// past moment is compared with what is known now, and the range covers these errors, in both directions. It also covers the
    /// time that it takes if the work ahead declines as it has so far.
    ///
    /// # Errors
    /// Why no prediction can be made, in a sentence.
    pub fn remaining(&self, now_ms: u32) -> Result<Remaining, String> {
        let not_known = |why: &str| Err(format!("not known yet: {why}"));
        let Some(last) = self.last else {
            return not_known(UNTOLD);
        };
        if last.ahead_s <= 0.0 {
            return not_known(
                "all jobs that were spawned have begun, and how long the last ones take is not known",
            );
        }
        if last.done_s < SHARE_MIN * (last.done_s + last.ahead_s) {
            return not_known("too little is done");
        }
        let Some(left_s) = last.left_s else { return not_known("nothing was computed in the last seconds") };
        // Earlier moments know too little to show how well later ones predict.
        let from_s = last.done_s / 2.0;
        let past = self.moments.iter().filter(|moment| moment.done_s >= from_s && moment.t_ms < last.t_ms);
        let errors: Vec<f64> = past
            .filter_map(|moment| {
                let passed_s = f64::from(last.t_ms.saturating_sub(moment.t_ms)) / 1000.0;
                Some((passed_s + left_s + GRAIN_S) / (moment.left_s? + GRAIN_S))
            })
            .collect();
        if errors.len() < MOMENTS_MIN {
            return not_known(&format!(
                "an estimate is shown once {MOMENTS_MIN} trial ones have been compared with what really happened ({} \
                 so far)",
                errors.len()
            ));
        }
        let least = errors.iter().fold(1.0, |least: f64, error| least.min(*error).min(1.0 / error));
        let (low, high) = (least / MARGIN, MARGIN / least);
        if high > WIDEST * low {
            let wrong = 1.0 / least;
            let why = format!(
                "predictions made earlier in the run would have been wrong by up to a factor of {wrong:.1}"
            );
            return not_known(&why);
        }
        let unexpected = "jobs spawn others that no host expected";
        let Some((least, most)) = self.decline(&last) else { return not_known(unexpected) };
        let (low, high) = (low.min(least / MARGIN), high.max(most * MARGIN));
        if high > WIDEST * low {
            return not_known(unexpected);
        }
        let since_s = f64::from(now_ms.saturating_sub(last.t_ms)) / 1000.0;
        let left =
            |factor: f64, more_s: f64| ((factor * left_s + more_s - since_s).max(0.0) * 10.0).round() / 10.0;
        let (low_s, likely_s, high_s) = (left(low, -GRAIN_S), left(1.0, 0.0), left(high, GRAIN_S));
        Ok(Remaining { basis: Basis::Jobs, low_s, likely_s, high_s })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Twice a second, two workers compute: of `all_s` seconds of work, the hosts expect what `expect` makes of the rest.
    fn forecasts(all_s: f64, share: f64, mut expect: impl FnMut(f64) -> f64) -> (Forecasts, u32) {
        let mut forecasts = Forecasts::default();
        let (mut t_ms, mut done_s) = (0, 0.0);
        while done_s <= share * all_s {
            let ahead_s = expect(all_s - done_s);
            forecasts.add(t_ms, (done_s * 1e9) as u64, Some((ahead_s * 1e9) as u64));
            (t_ms, done_s) = (t_ms + 500, done_s + 1.0);
        }
        (forecasts, t_ms - 500)
    }

    fn why(forecasts: &Forecasts, now_ms: u32) -> String {
        forecasts.remaining(now_ms).expect_err("nothing is predicted")
    }

    #[test]
    fn what_is_ahead_takes_as_long_as_before() {
        let (forecasts, now_ms) = forecasts(200.0, 0.5, |left_s| left_s);
        let left = forecasts.remaining(now_ms).expect("known");
        assert!((left.likely_s - 50.0).abs() < 0.2, "{left:?}");
        assert!((36.0..46.0).contains(&left.low_s) && (55.0..68.0).contains(&left.high_s), "{left:?}");
        let later = forecasts.remaining(now_ms + 10_000).expect("known");
        assert!((later.likely_s - 40.0).abs() < 0.2, "{later:?}");
    }

    #[test]
    fn nothing_is_predicted_before_enough_is_known() {
        let mut none = Forecasts::default();
        assert!(why(&none, 0).contains("cannot tell how much is ahead"));
        none.add(0, 1_000_000_000, None);
        assert!(why(&none, 0).contains("cannot tell how much is ahead"));
        let (young, now_ms) = forecasts(1000.0, 0.15, |left_s| left_s);
        assert!(why(&young, now_ms).ends_with("too little is done"));
        let (short, now_ms) = forecasts(10.0, 0.5, |left_s| left_s);
        assert!(why(&short, now_ms).contains("once 8 trial ones"));
        let (mut last, now_ms) = forecasts(100.0, 0.9, |left_s| left_s);
        last.add(now_ms + 500, 95_000_000_000, Some(0));
        assert!(why(&last, now_ms).contains("have begun"));
    }

    #[test]
    fn a_forecast_that_was_wrong_before_widens_the_range_or_ends_it() {
        let mut sign = 1.0;
        let mut swings = |by: f64| {
            forecasts(200.0, 0.5, |left_s| {
                sign = -sign;
                left_s * (1.0 + sign * by)
            })
        };
        let (little, now_ms) = swings(0.015);
        let (steady, _) = forecasts(200.0, 0.5, |left_s| left_s);
        let width = |forecasts: &Forecasts| {
            let left = forecasts.remaining(now_ms).expect("known");
            left.high_s / left.low_s
        };
        assert!(width(&little) > 1.1 * width(&steady));
        let (wild, now_ms) = swings(0.6);
        assert!(why(&wild, now_ms).contains("wrong by up to a factor of"));
        // A tree that turns out to be larger and larger.
        let mut expected_s = 20.0;
        let (growing, now_ms) = forecasts(200.0, 0.5, |_| {
            expected_s *= 1.02;
            expected_s
        });
        assert!(why(&growing, now_ms).contains("wrong by up to a factor of"));
    }

    #[test]
    fn jobs_that_spawn_more_than_expected_widen_the_range_or_end_it() {
        // Predictions agree with one another, and are too low by the same factor all the time.
        let (low, now_ms) = forecasts(200.0, 0.5, |left_s| 0.8 * left_s);
        let left = low.remaining(now_ms).expect("known");
        assert!(left.low_s < 50.0 && left.high_s > 50.0, "{left:?}");
        let (lower, now_ms) = forecasts(200.0, 0.5, |left_s| 0.3 * left_s);
        assert!(lower.remaining(now_ms).is_err());
        // What is done is replaced by what jobs spawn, since a short time.
        let (replaced, now_ms) = forecasts(200.0, 0.5, |left_s| left_s.max(125.0));
        assert!(why(&replaced, now_ms).contains("spawn others"));
    }

    #[test]
    fn a_long_run_keeps_a_bounded_number_of_moments() {
        let (forecasts, now_ms) = forecasts(20_000.0, 0.5, |left_s| left_s);
        assert!(forecasts.moments.len() <= MOMENTS_MAX, "{}", forecasts.moments.len());
        let left = forecasts.remaining(now_ms).expect("known");
        assert!((left.likely_s - 5_000.0).abs() < 20.0, "{left:?}");
    }
}
