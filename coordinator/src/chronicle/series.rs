//! A run's progress over time: points at equal distances, which double when there are too many.

use serde::{Deserialize, Serialize};

use crate::limits::SERIES_POINTS_MAX;

/// The distance of points at the start.
const POINT_MS: u32 = 500;

/// A sample of a run.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sample {
    /// Milliseconds since the run was submitted.
    pub t_ms: u32,
    /// Workers that computed since the sample before, on average.
    pub busy: f32,
    /// The part of these that checked results of hosts.
    pub checking: f32,
    /// All workers.
    pub workers: u32,
    /// Jobs run so far.
    pub executed: u64,
    /// The run is suspended.
    pub is_suspended: bool,
    /// The coordinator was restarted, and not all hosts have had the time to return and send their counts.
    pub is_settling: bool,
}

/// A run's progress since the point before. All but the time is NaN if the coordinator was away then, or hosts had not
/// returned to it. Saved as a sequence of its fields.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Milliseconds since the run was submitted.
    pub t_ms: u32,
    /// Workers that computed.
    pub busy: f32,
    /// Workers.
    pub workers: f32,
    /// Jobs executed per second.
    pub jobs_per_s: f32,
    /// Jobs begun again per second.
    pub redone_per_s: f32,
}

/// The points.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Series {
    every_ms: u32,
    points: Vec<Point>,
    /// The end of the last point: its time, and the counts so far.
    last: Option<(u32, u64, u64)>,
    /// Since then: the number of samples, and the sums of computing workers and of all workers.
    samples: u32,
    busy: f32,
    workers: f32,
    /// Workers that checked results of hosts, for each point, and the sum since then. Saved apart.
    #[serde(skip)]
    checking: (Vec<f32>, f32),
}

impl Default for Series {
    fn default() -> Self {
        Self {
            every_ms: POINT_MS,
            points: Vec::new(),
            last: None,
            samples: 0,
            busy: 0.0,
            workers: 0.0,
            checking: (Vec::new(), 0.0),
        }
    }
}

impl Series {
    /// The coordinator was away until now: nothing is known of the time since the last point, and lines have a gap
    /// there.
    pub fn gap(&mut self, t_ms: u32) {
        if self.points.last().is_some_and(|last| !last.busy.is_nan() && last.t_ms < t_ms) {
            let (busy, workers, jobs_per_s, redone_per_s) = (f32::NAN, f32::NAN, f32::NAN, f32::NAN);
            self.points.push(Point { t_ms, busy, workers, jobs_per_s, redone_per_s });
            self.checking.0.push(0.0);
        }
        self.last = None;
        (self.samples, self.busy, self.workers, self.checking.1) = (0, 0.0, 0.0, 0.0);
    }

    /// Adds a sample, with the number of jobs that had been begun again until then.
    pub fn add(&mut self, sample: Sample, redone_now: u64) {
        let Some((from_ms, executed, redone)) = self.last else {
            // A point covers the time since the one before it, and a gap lasts until now.
            if let Some(gap) = self.points.last_mut().filter(|last| last.busy.is_nan()) {
                gap.t_ms = sample.t_ms;
            }
            self.last = Some((sample.t_ms, sample.executed, redone_now));
            return;
        };
        self.samples += 1;
        self.busy += sample.busy;
        self.checking.1 += sample.checking;
        self.workers += sample.workers as f32;
        let passed_ms = sample.t_ms.saturating_sub(from_ms);
        // Ticks come a little early or late.
        if passed_ms + POINT_MS / 4 < self.every_ms {
            return;
        }
        let count = self.samples as f32;
        let per_s =
            |now: u64, before: u64| now.saturating_sub(before) as f32 * 1000.0 / passed_ms.max(1) as f32;
        self.points.push(Point {
            t_ms: sample.t_ms,
            busy: self.busy / count,
            workers: self.workers / count,
            jobs_per_s: per_s(sample.executed, executed),
            redone_per_s: per_s(redone_now, redone),
        });
        self.checking.0.push(self.checking.1 / count);
        self.last = Some((sample.t_ms, sample.executed, redone_now));
        (self.samples, self.busy, self.workers, self.checking.1) = (0, 0.0, 0.0, 0.0);
        if self.points.len() > SERIES_POINTS_MAX {
            self.thin();
        }
    }

    fn thin(&mut self) {
        self.every_ms = self.every_ms.saturating_mul(2);
        let mut from_ms = self.points.first().map_or(0, |first| first.t_ms.saturating_sub(self.every_ms / 2));
        let merged = self.points.chunks(2).map(|pair| {
            // Each covers the time since the one before it. A gap stays one as long as nothing is known of the time next to
            // it.
            let lasted_ms = |point: &Point| {
                let lasted_ms = point.t_ms.saturating_sub(from_ms);
                from_ms = from_ms.max(point.t_ms);
                lasted_ms.max(1) as f32
            };
            let lasted_ms: Vec<f32> = pair.iter().map(lasted_ms).collect();
            let sums = |of: fn(&Point) -> f32| {
                let known = pair.iter().map(of).zip(&lasted_ms).filter(|(value, _)| !value.is_nan());
                known.fold((0.0, 0.0), |(sum, known_ms), (value, ms)| (sum + value * ms, known_ms + ms))
            };
            let mean = |of| {
                let (sum, known_ms) = sums(of);
                sum / known_ms
            };
            // The area below the line stays the same.
            let rate = |of| {
                let (sum, known_ms) = sums(of);
                if known_ms > 0.0 { sum / lasted_ms.iter().sum::<f32>() } else { f32::NAN }
            };
            Point {
                t_ms: pair.last().map_or(0, |point| point.t_ms),
                busy: mean(|point| point.busy),
                workers: mean(|point| point.workers),
                jobs_per_s: rate(|point| point.jobs_per_s),
                redone_per_s: rate(|point| point.redone_per_s),
            }
        });
        self.points = merged.collect();
        let mean = |pair: &[f32]| pair.iter().sum::<f32>() / pair.len() as f32;
        self.checking.0 = self.checking.0.chunks(2).map(mean).collect();
    }

    /// Workers that checked results of hosts, for each point.
    pub fn checking(&self) -> &[f32] {
        &self.checking.0
    }

    /// With these, as they were saved; there are none in a folder of a version that did not save them.
    pub fn with_checking(mut self, mut checking: Vec<f32>) -> Self {
        checking.resize(self.points.len(), 0.0);
        self.checking.0 = checking;
        self
    }

    /// The points that are kept.
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// The number of points, and the time of the newest.
    pub fn age(&self) -> (usize, u32) {
        (self.points.len(), self.points.last().map_or(0, |point| point.t_ms))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_thinned_and_stay_correct() {
        let mut series = Series::default();
        let steps = 20 * SERIES_POINTS_MAX as u32;
        for step in 0..=steps {
            let executed = u64::from(step) * 50;
            let t_ms = step * 500;
            let sample = Sample { t_ms, busy: 3.0, checking: 1.0, workers: 4, executed, ..Sample::default() };
            series.add(sample, executed / 10);
        }
        let points = series.points();
        assert!(points.len() <= SERIES_POINTS_MAX && points.len() >= SERIES_POINTS_MAX / 4);
        assert!(points.windows(2).all(|pair| pair[0].t_ms < pair[1].t_ms));
        assert!(points.iter().all(|point| (point.busy - 3.0).abs() < 0.005));
        assert_eq!(series.checking().len(), points.len());
        assert!(series.checking().iter().all(|checking| (checking - 1.0).abs() < 0.005));
        assert!(points.iter().all(|point| (point.jobs_per_s - 100.0).abs() < 0.1), "{points:?}");
        assert!(points.iter().all(|point| (point.redone_per_s - 10.0).abs() < 0.1));
    }

    #[test]
    fn thinning_a_gap_and_a_point_adds_no_jobs() {
        for first in [1, 2] {
            let mut series = Series::default();
            let sample =
                |t_ms, executed| Sample { t_ms, busy: 2.0, workers: 2, executed, ..Sample::default() };
            (0..=first).for_each(|step| series.add(sample(500 * step, 0), 0));
            series.gap(20_000);
            series.add(sample(400_000, 0), 0);
            for step in 1..=SERIES_POINTS_MAX as u32 {
                series.add(sample(400_000 + 500 * step, 100 * u64::from(step)), 0);
            }
            let points = series.points();
            assert!(points.len() < SERIES_POINTS_MAX, "it was thinned");
            let spans = points.windows(2).filter(|span| !span[1].jobs_per_s.is_nan());
            let ran: f64 = spans
                .map(|span| f64::from(span[1].jobs_per_s) * f64::from(span[1].t_ms - span[0].t_ms) / 1e3)
                .sum();
            let executed = 100.0 * SERIES_POINTS_MAX as f64;
            assert!(ran <= 1.02 * executed && ran > 0.9 * executed, "{ran} of {executed}, {first}");
        }
    }

    /// Hosts continue without a coordinator, and send the next one their counts.
    #[test]
    fn a_restart_is_a_gap_and_not_a_jump() {
        let mut series = Series::default();
        let sample = |t_ms, executed| Sample { t_ms, busy: 2.0, workers: 2, executed, ..Sample::default() };
        for step in 0..=10 {
            series.add(sample(500 * step, 100 * u64::from(step)), 0);
        }
        series.gap(20_000);
        series.gap(20_001);
        series.add(sample(24_000, 1_000_000), 0);
        for step in 1..=4 {
            series.add(sample(24_000 + 500 * step, 1_000_000 + 100 * u64::from(step)), 0);
        }
        let points = series.points();
        let rates: Vec<f32> = points.iter().map(|point| point.jobs_per_s).collect();
        assert_eq!(rates.iter().filter(|rate| rate.is_nan()).count(), 1, "{rates:?}");
        assert!(rates.iter().all(|rate| rate.is_nan() || (rate - 200.0).abs() < 1.0), "{rates:?}");
        let times: Vec<u32> = points[9..12].iter().map(|point| point.t_ms).collect();
        assert_eq!(times, [5_000, 24_000, 24_500], "no jobs are below the line of the gap");
        assert!(points[10].busy.is_nan() && points[11].busy == 2.0, "{points:?}");
        assert_eq!(series.checking().len(), points.len());
        let older = series.clone().with_checking(vec![1.0]);
        assert_eq!((older.checking()[..2].to_vec(), older.checking().len()), (vec![1.0, 0.0], points.len()));
    }
}
