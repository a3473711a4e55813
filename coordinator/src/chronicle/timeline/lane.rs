//! What one worker did over time, from reports that come now and then and may be late.

use sateen_protocol::message::WorkerTimes;
use serde::{Deserialize, Serialize};

/// Kinds of activity: work, recover, steal, wait.
pub const KINDS: usize = 4;
/// A stretch without reports.
pub const NOT_THERE: [f32; KINDS] = [f32::NAN; KINDS];

/// One worker's activity.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Lane {
    /// The last report, and its time.
    pub last: [u64; KINDS],
    pub last_ms: u32,
    /// Its series, which is saved with the last reports; not known if those are from a version that did not save it.
    #[serde(skip)]
    pub series: Option<u64>,
    /// The share of other runs in the last report; not known after a restart.
    #[serde(skip)]
    last_others_ms: Option<u64>,
    /// Shares by kind; NaN in stretches without reports.
    pub shares: Vec<[f32; KINDS]>,
}

/// The last report of a worker. All stretches are many bytes and are saved only now and then; this is saved each time,
/// like what hosts have counted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LastReport {
    pub host: u32,
    pub worker: u16,
    pub series: Option<u64>,
    pub t_ms: u32,
    pub times: [u64; KINDS],
}

impl LastReport {
    pub fn of((host, worker): (u32, u16), lane: &Lane) -> Self {
        Self { host, worker, series: lane.series, t_ms: lane.last_ms, times: lane.last }
    }
}

/// What a report has changed.
#[derive(Debug, Clone, Copy)]
pub struct Added {
    /// The moment from which on something has changed.
    pub from_ms: u32,
    /// For how long the worker has computed since the last report.
    pub computed_ms: f64,
    /// The share of the time since then for which it has.
    pub busy: f32,
}

/// The times of each kind.
pub fn kinds(times: &WorkerTimes) -> [u64; KINDS] {
    [times.work_ms, times.recover_ms, times.steal_ms, times.wait_ms]
}

/// Averages over stretches; stretches without reports count as 0.
pub fn mean(part: &[[f32; KINDS]], count: usize) -> [f32; KINDS] {
    if part.iter().all(|shares| shares[0].is_nan()) {
        return NOT_THERE;
    }
    let there = part.iter().filter(|shares| !shares[0].is_nan());
    let mut sum = [0.0; KINDS];
    for shares in there {
        (0..KINDS).for_each(|kind| sum[kind] += shares[kind]);
    }
    sum.map(|sum| sum / count.max(1) as f32)
}

/// Shares before and since the run was begun, `part` before the end, of shares of all this time: nobody computed before.
fn since_begun([work, recover, steal, wait]: [f32; KINDS], part: f32) -> [[f32; KINDS]; 2] {
    // There is room for this much beside the work, as a share of all the time; the rest was before.
    let (worked, rested) = (work + recover, steal + wait);
    let rests = rested.min((part - worked).max(0.0)) / rested.max(f32::MIN_POSITIVE);
    let before = [0.0, 0.0, steal, wait].map(|share| share * (1.0 - rests) / (1.0 - part));
    let since = [work, recover, steal * rests, wait * rests].map(|share| share / part);
    [before, since]
}

impl Lane {
    /// For how long other runs had their turn since the last report, in milliseconds: no longer than the time that has
    /// passed. After a restart, the first report only says from where the next ones count.
    pub fn others_since(&mut self, now_ms: u32, series: u64, others_ms: u64) -> u64 {
        let is_anew = self.series.is_some_and(|known| known != series);
        let is_new = self.series.is_none() && self.shares.is_empty();
        let before = match self.last_others_ms.replace(others_ms) {
            _ if is_anew || is_new => 0,
            Some(before) => before,
            None => return 0,
        };
        let more = others_ms.checked_sub(before).unwrap_or(others_ms);
        more.min(now_ms.saturating_sub(self.last_ms).into())
    }

    /// Adds a report: totals since its series began, and for how long since the last report other runs had their turn, for
    /// which there is no share. Nothing is entered into the time before the moment from which on its host has been in the grid,
    /// and no work into that before the run was begun.
    pub fn add(
        &mut self,
        bucket_ms: u32,
        (there_from_ms, begun_ms, now_ms): (u32, u32, u32),
        series: Option<u64>,
        (times, others_ms): ([u64; KINDS], u64),
    ) -> Added {
        let is_anew = match (self.series, series) {
            (Some(known), Some(series)) => known != series,
            _ => (0..KINDS).any(|kind| times[kind] < self.last[kind]),
        };
        let (from_ms, before) = if is_anew || self.shares.is_empty() {
            // A new series: its activity is recent.
            let all = times.iter().fold(others_ms, |sum, time| sum.saturating_add(*time));
            (now_ms.saturating_sub(u32::try_from(all).unwrap_or(u32::MAX)).max(self.last_ms), [0; KINDS])
        } else {
            (self.last_ms, self.last)
        };
        // Times never fall within a series, but may appear to when read while they change.
        self.last = std::array::from_fn(|kind| times[kind].max(before[kind]));
        (self.last_ms, self.series) = (now_ms, series.or(self.series));
        let passed_ms = now_ms.saturating_sub(from_ms);
        let told_ms: [f64; KINDS] =
            std::array::from_fn(|kind| times[kind].saturating_sub(before[kind]) as f64);
        let all_ms = told_ms.iter().sum::<f64>() + others_ms as f64;
        // There is no more activity than time. The excess was reported late, or is a lie.
        let in_time = if all_ms > 0.0 { (f64::from(passed_ms) / all_ms).min(1.0) } else { 1.0 };
        let computed_ms = (told_ms[0] + told_ms[1]) * in_time;
        let busy = ((told_ms[0] + told_ms[1]) / all_ms.max(passed_ms.into()).max(1.0)) as f32;
        let shown_from_ms = from_ms.max(there_from_ms);
        let shown_ms = f64::from(now_ms.saturating_sub(shown_from_ms));
        if shown_ms > 0.0 {
            // What it did before it was given up, and did not report, has no place.
            let told_in_time_ms = (all_ms * in_time).max(shown_ms);
            let shares = told_ms.map(|ms| (ms * in_time / told_in_time_ms) as f32);
            let part = f64::from(now_ms.saturating_sub(begun_ms)) / shown_ms;
            match (begun_ms > shown_from_ms && begun_ms < now_ms).then(|| since_begun(shares, part as f32)) {
                Some([before, since]) => {
                    self.spread(bucket_ms, shown_from_ms, begun_ms, before);
                    self.spread(bucket_ms, begun_ms, now_ms, since);
                }
                None => self.spread(bucket_ms, shown_from_ms, now_ms, shares),
            }
        }
        let late_ms = all_ms * (1.0 - in_time);
        if late_ms < 1.0 {
            return Added { from_ms, computed_ms, busy };
        }
        let (first_ms, placed_ms) =
            self.catch_up(bucket_ms, (there_from_ms, now_ms), told_ms.map(|ms| ms / all_ms), late_ms);
        let computed = (told_ms[0] + told_ms[1]) / all_ms;
        Added { from_ms: first_ms.min(from_ms), computed_ms: computed_ms + placed_ms * computed, busy }
    }

    /// Adds the activity between two moments.
    fn spread(&mut self, bucket_ms: u32, from_ms: u32, now_ms: u32, shares: [f32; KINDS]) {
        let (first, last) = (from_ms / bucket_ms, (now_ms - 1) / bucket_ms);
        if self.shares.len() <= last as usize {
            self.shares.resize(last as usize + 1, NOT_THERE);
        }
        for bucket in first..=last {
            let (begins, ends) = (bucket * bucket_ms, (bucket + 1).saturating_mul(bucket_ms));
            let part = (ends.min(now_ms) - begins.max(from_ms)) as f32 / bucket_ms as f32;
            let Some(known) = self.shares.get_mut(bucket as usize) else { continue };
            for kind in 0..KINDS {
                let before = if known[kind].is_nan() { 0.0 } else { known[kind] };
                known[kind] = (before + part * shares[kind]).min(1.0);
            }
        }
    }

    /// Adds activity that is reported late: the coordinator was held up, say, and received all reports at once. It belongs to
    /// the newest stretches with unexplained time, or without reports: the worker's first report may have been late, too, or
    /// all its reports for long. Returns the moment from which on something has changed, and for how much time there was room.
    fn catch_up(
        &mut self,
        bucket_ms: u32,
        (there_from_ms, now_ms): (u32, u32),
        parts: [f64; KINDS],
        late_ms: f64,
    ) -> (u32, f64) {
        let (length_ms, mut left_ms, mut first_ms) = (f64::from(bucket_ms), late_ms, now_ms);
        let stretches = now_ms.div_ceil(bucket_ms) as usize;
        if self.shares.len() < stretches {
            self.shares.resize(stretches, NOT_THERE);
        }
        for (place, known) in self.shares.iter_mut().enumerate().rev() {
            let begins_ms = place as u32 * bucket_ms;
            if begins_ms < there_from_ms {
                break;
            }
            let passed_ms = f64::from(now_ms.saturating_sub(begins_ms)).min(length_ms);
            let before = if known[0].is_nan() { [0.0; KINDS] } else { *known };
            let known_ms = before.iter().map(|share| f64::from(*share)).sum::<f64>() * length_ms;
            let placed_ms = (passed_ms - known_ms).min(left_ms);
            if placed_ms > 0.0 {
                *known = before;
                for (known, part) in known.iter_mut().zip(parts) {
                    *known = (*known + (placed_ms * part / length_ms) as f32).min(1.0);
                }
                left_ms -= placed_ms;
                first_ms = begins_ms;
            }
            if left_ms < 1.0 {
                break;
            }
        }
        (first_ms, late_ms - left_ms)
    }
}
