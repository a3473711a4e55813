//! How many workers computed over time, by all reports that have come by now. A sample knows only those that had come
//! by then: a host that is busy reports some work late.

use std::sync::Mutex;

use super::timeline::Totals;
use super::{Chronicle, Point, SILENT_MS};
use crate::locked;

/// Maximum workers whose stretches are added up while the chronicle is locked.
const WORKERS_AT_ONCE_MAX: usize = 32;

/// What all workers did together.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Worked {
    /// The length of a stretch in milliseconds.
    pub bucket_ms: u32,
    /// What they did in each stretch from the run's submission on.
    pub totals: Vec<Totals>,
}

impl Worked {
    /// Reads the timeline, a part at a time.
    pub fn of(chronicle: &Mutex<Chronicle>) -> Self {
        let (mut worked, mut last) = (Self::default(), None);
        loop {
            let timeline = &locked(chronicle).timeline;
            if timeline.bucket_ms() != worked.bucket_ms {
                // Stretches have become longer meanwhile.
                (worked, last) = (Self { bucket_ms: timeline.bucket_ms(), totals: Vec::new() }, None);
            }
            last = timeline.add_totals(last, WORKERS_AT_ONCE_MAX, &mut worked.totals);
            if last.is_none() {
                return worked;
            }
        }
    }

    /// Workers that computed on average between two moments.
    fn mean(&self, from_ms: u32, to_ms: u32) -> f32 {
        let bucket_ms = self.bucket_ms.max(1);
        let first = (from_ms / bucket_ms) as usize;
        let mut sum = 0.0;
        for (place, totals) in (0_u32..).zip(&self.totals).skip(first) {
            let (begins, ends) = (place.saturating_mul(bucket_ms), (place + 1).saturating_mul(bucket_ms));
            if begins >= to_ms {
                break;
            }
            sum += totals.work * f64::from(ends.min(to_ms).saturating_sub(begins.max(from_ms)));
        }
        (sum / f64::from(to_ms.saturating_sub(from_ms).max(1))) as f32
    }
}

impl Chronicle {
    /// The progress over time, as far as all hosts have reported it, with the workers that checked results. For runs with more
    /// workers than the timeline has, the samples.
    pub fn points_with(&self, worked: &Worked) -> Vec<Point> {
        let mut points = self.points().to_vec();
        if !self.timeline.is_complete() {
            return points;
        }
        if !self.is_over {
            let until_ms = self.timeline.reported_until(self.now_ms().saturating_sub(SILENT_MS));
            points.retain(|point| point.t_ms <= until_ms);
        }
        let mut from_ms = self.first_from_ms();
        for (point, checking) in points.iter_mut().zip(self.series.checking()) {
            if !point.busy.is_nan() {
                point.busy = (worked.mean(from_ms, point.t_ms) + checking).min(point.workers);
            }
            from_ms = point.t_ms;
        }
        points
    }

    /// Workers that checked results of hosts, for each point.
    #[cfg(test)]
    pub fn checking(&self) -> &[f32] {
        self.series.checking()
    }

    /// When the time begins that the first point covers.
    pub(super) fn first_from_ms(&self) -> u32 {
        match self.points() {
            [first, second, ..] => first.t_ms.saturating_sub(second.t_ms.saturating_sub(first.t_ms)),
            _ => 0,
        }
    }
}
