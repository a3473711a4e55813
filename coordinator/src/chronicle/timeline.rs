//! What each worker did when: shares of equal stretches of time, which double when there are too many.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Bound;

use sateen_protocol::message::WorkerTimes;
use serde::{Deserialize, Serialize};

use crate::limits::{TIMELINE_BUCKETS_MAX, TIMELINE_WORKERS_MAX};

/// A stretch at the start.
const BUCKET_MS: u32 = 250;
/// Kinds of doing: work, recover, steal, wait.
const KINDS: usize = 4;
/// The newest stretches to which something is added that is told late.
const LATE_BUCKETS_MAX: usize = 128;
/// Versions of which it is known what they changed.
const CHANGES_MAX: usize = 4096;

/// Of all workers of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Timeline {
    bucket_ms: u32,
    /// By the host's place in the tree and the worker's number.
    lanes: BTreeMap<(u32, u16), Lane>,
    /// Changes with every report.
    version: u64,
    /// The newest versions, and from which moment on each changed something.
    #[serde(skip)]
    changes: VecDeque<(u64, u32)>,
    /// Time for which each host's workers computed, in milliseconds, by the host's place in the tree.
    #[serde(skip)]
    computed_ms: BTreeMap<u32, f64>,
    /// Time for which workers waited until other runs of their hosts had had their turn, in milliseconds; since the
    /// coordinator was started.
    #[serde(skip)]
    others_ms: u64,
    /// Workers of which something was reported since the timeline was last taken to be saved.
    #[serde(skip)]
    recent: BTreeSet<(u32, u16)>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Lane {
    /// What was reported last, and when.
    last: [u64; KINDS],
    last_ms: u32,
    /// Of which series; not known after a restart, until it is reported again.
    #[serde(skip)]
    series: Option<u64>,
    /// The part of other runs, as it was reported last.
    #[serde(skip)]
    last_others_ms: u64,
    /// Stretches that it knows nothing of are NaN.
    shares: Vec<[f32; KINDS]>,
}

/// What was reported last of a worker. All stretches are many bytes and are saved now and then; this is saved each time, as
/// what hosts have counted is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LastReport {
    host: u32,
    worker: u16,
    series: Option<u64>,
    t_ms: u32,
    times: [u64; KINDS],
}

/// A worker's part of what is shown.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The host's place in the tree.
    pub host: u32,
    /// The worker's number.
    pub worker: u16,
    /// By kind; NaN where the worker was not there.
    pub shares: Vec<[f32; KINDS]>,
}

impl Default for Timeline {
    fn default() -> Self {
        Self {
            bucket_ms: BUCKET_MS,
            lanes: BTreeMap::new(),
            version: 0,
            changes: VecDeque::new(),
            computed_ms: BTreeMap::new(),
            others_ms: 0,
            recent: BTreeSet::new(),
        }
    }
}

fn kinds(times: &WorkerTimes) -> [u64; KINDS] {
    [times.work_ms, times.recover_ms, times.steal_ms, times.wait_ms]
}

const NOT_THERE: [f32; KINDS] = [f32::NAN; KINDS];

impl Timeline {
    /// What a host's workers have done until now since a series of reports began.
    pub fn add(&mut self, host: u32, now_ms: u32, series: u64, workers: &[WorkerTimes]) {
        self.make_room_until(now_ms);
        self.version += 1;
        let mut changed_from = now_ms;
        for (worker, times) in (0_u16..).zip(workers) {
            let bucket_ms = self.bucket_ms;
            let Some(lane) = self.lane((host, worker)) else { continue };
            let others_ms = lane.others_since(now_ms, series, times.others_ms);
            let (from_ms, computed_ms) = lane.add(bucket_ms, now_ms, Some(series), kinds(times));
            changed_from = changed_from.min(from_ms);
            self.others_ms = self.others_ms.saturating_add(others_ms);
            *self.computed_ms.entry(host).or_default() += computed_ms;
            self.recent.insert((host, worker));
        }
        self.changes.push_back((self.version, changed_from));
        if self.changes.len() > CHANGES_MAX {
            self.changes.pop_front();
        }
    }

    /// There is a stretch for this moment.
    fn make_room_until(&mut self, now_ms: u32) {
        while now_ms / self.bucket_ms >= TIMELINE_BUCKETS_MAX as u32 {
            self.double();
        }
    }

    /// What is known of a worker, if there is room for it.
    fn lane(&mut self, of: (u32, u16)) -> Option<&mut Lane> {
        let has_room = self.lanes.len() < TIMELINE_WORKERS_MAX || self.lanes.contains_key(&of);
        has_room.then(|| self.lanes.entry(of).or_default())
    }

    /// A host's process has another id, and thus another place in the tree.
    pub fn rename(&mut self, was: u32, is: u32) {
        let all_of = |host| (host, 0)..=(host, u16::MAX);
        if was == is || self.lanes.range(all_of(is)).next().is_some() {
            return;
        }
        let workers: Vec<u16> = self.lanes.range(all_of(was)).map(|((_, worker), _)| *worker).collect();
        for worker in workers {
            let lane = self.lanes.remove(&(was, worker));
            self.recent.remove(&(was, worker));
            self.lanes.extend(lane.map(|lane| ((is, worker), lane)));
            self.recent.insert((is, worker));
        }
        let computed_ms = self.computed_ms.remove(&was).unwrap_or_default();
        *self.computed_ms.entry(is).or_default() += computed_ms;
        // All of these rows are new.
        self.version += 1;
        self.changes.clear();
    }

    /// What was reported of workers since the timeline was last taken to be saved.
    pub fn last_reports(&self) -> Vec<LastReport> {
        let reports = self.recent.iter().filter_map(|(host, worker)| {
            let Lane { last, last_ms, series, .. } = self.lanes.get(&(*host, *worker))?;
            Some(LastReport { host: *host, worker: *worker, series: *series, t_ms: *last_ms, times: *last })
        });
        reports.collect()
    }

    /// All of it is taken to be saved.
    pub fn taken(&mut self) {
        self.recent.clear();
    }

    /// What was taken could not be saved.
    pub fn save_again(&mut self) {
        self.recent = self.lanes.keys().copied().collect();
    }

    /// As it was saved, with what was reported last until then, and with what follows from that.
    pub fn restored(mut self, reports: &[LastReport]) -> Self {
        for LastReport { host, worker, series, t_ms, times } in reports {
            self.make_room_until(*t_ms);
            let bucket_ms = self.bucket_ms;
            if let Some(lane) = self.lane((*host, *worker)) {
                lane.add(bucket_ms, *t_ms, *series, *times);
            }
            self.recent.insert((*host, *worker));
        }
        self.computed_ms.clear();
        for ((host, _), lane) in &self.lanes {
            let known = lane.shares.iter().filter(|shares| !shares[0].is_nan());
            let stretches: f64 = known.map(|shares| f64::from(shares[0] + shares[1])).sum();
            *self.computed_ms.entry(*host).or_default() += stretches * f64::from(self.bucket_ms);
        }
        self
    }

    /// For how long a host's workers computed, together, in seconds of the clock; by the host's place in the tree.
    pub fn computed_s(&self, host: u32) -> f64 {
        self.computed_ms.get(&host).copied().unwrap_or_default() / 1e3
    }

    /// For how long workers waited until other runs of their hosts had had their turn, together, in seconds.
    pub fn others_s(&self) -> f64 {
        self.others_ms as f64 / 1e3
    }

    /// From when on something is new for who knew this version.
    pub fn changed_from(&self, version: u64) -> u32 {
        if self.changes.front().is_none_or(|(first, _)| *first > version + 1) {
            return 0;
        }
        let newer = self.changes.iter().filter(|(change, _)| *change > version);
        newer.map(|(_, from)| *from).min().unwrap_or(u32::MAX)
    }

    fn double(&mut self) {
        self.bucket_ms = self.bucket_ms.saturating_mul(2);
        for lane in self.lanes.values_mut() {
            lane.shares = lane.shares.chunks(2).map(|pair| mean(pair, 2)).collect();
        }
    }

    /// Changes whenever something was added.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The length of its stretches.
    pub fn bucket_ms(&self) -> u32 {
        self.bucket_ms
    }

    /// The rows from one moment to another, in at most so many stretches: their length, when the first begins,
    /// and they.
    pub fn rows(&self, from_ms: u32, to_ms: u32, buckets_max: usize) -> (u32, u32, Vec<Row>) {
        let from = (from_ms / self.bucket_ms) as usize;
        let known = self.lanes.values().map(|lane| lane.shares.len()).max().unwrap_or(0);
        let to = (to_ms.div_ceil(self.bucket_ms) as usize).min(known).max(from);
        let merged = (to - from).div_ceil(buckets_max.max(1)).max(1);
        // A stretch that is shown begins at a multiple of its length.
        let from = from / merged * merged;
        let rows = self.lanes.iter().map(|((host, worker), lane)| {
            let of = |place: usize| lane.shares.get(place).copied().unwrap_or(NOT_THERE);
            let shares = (from..to).step_by(merged).map(|first| {
                let part: Vec<[f32; KINDS]> = (first..(first + merged).min(to)).map(of).collect();
                mean(&part, part.len())
            });
            Row { host: *host, worker: *worker, shares: shares.collect() }
        });
        let rows = rows.filter(|row| row.shares.iter().any(|shares| !shares[0].is_nan()));
        (self.bucket_ms.saturating_mul(merged as u32), from as u32 * self.bucket_ms, rows.collect())
    }
}

/// What all workers did in one stretch, in workers: 2.5 of `work` is as much as two and a half workers do in it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Totals {
    /// Workers that were connected.
    pub workers: f64,
    /// They computed.
    pub work: f64,
    /// They computed what had been lost.
    pub recover: f64,
    /// They looked for work.
    pub steal: f64,
    /// They waited for results.
    pub wait: f64,
}

impl Timeline {
    /// Adds up to `most` workers to the totals, stretch by stretch from the run's submission on: those after the worker
    /// `after`. The last of them, if there may be more.
    pub fn add_totals(
        &self,
        after: Option<(u32, u16)>,
        most: usize,
        totals: &mut Vec<Totals>,
    ) -> Option<(u32, u16)> {
        let first = after.map_or(Bound::Unbounded, Bound::Excluded);
        let mut last = None;
        let mut left = most;
        for (worker, lane) in self.lanes.range((first, Bound::Unbounded)).take(most) {
            (last, left) = (Some(*worker), left - 1);
            if totals.len() < lane.shares.len() {
                totals.resize(lane.shares.len(), Totals::default());
            }
            for (total, shares) in totals.iter_mut().zip(&lane.shares) {
                if shares[0].is_nan() {
                    continue;
                }
                let [work, recover, steal, wait] = shares.map(f64::from);
                total.workers += 1.0;
                total.work += work;
                total.recover += recover;
                total.steal += steal;
                total.wait += wait;
            }
        }
        last.filter(|_| left == 0)
    }
}

/// Over stretches, of which those count as nothing in which it was not there.
fn mean(part: &[[f32; KINDS]], count: usize) -> [f32; KINDS] {
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

impl Lane {
    /// For how long other runs had their turn since the last report, in milliseconds: no longer than it has been.
    fn others_since(&mut self, now_ms: u32, series: u64, others_ms: u64) -> u64 {
        let is_anew = self.series.is_some_and(|known| known != series);
        let before = std::mem::replace(&mut self.last_others_ms, others_ms);
        let before = if is_anew { 0 } else { before };
        let more = others_ms.checked_sub(before).unwrap_or(others_ms);
        more.min(now_ms.saturating_sub(self.last_ms).into())
    }

    /// Gives the moment from which on something has changed, and for how many milliseconds it has computed since.
    fn add(&mut self, bucket_ms: u32, now_ms: u32, series: Option<u64>, times: [u64; KINDS]) -> (u32, f64) {
        let is_anew = match (self.series, series) {
            (Some(known), Some(series)) => known != series,
            _ => (0..KINDS).any(|kind| times[kind] < self.last[kind]),
        };
        let (from_ms, before) = if is_anew || self.shares.is_empty() {
            // It has begun, or begun anew: what it did was done just now.
            let all = times.iter().fold(0_u64, |sum, time| sum.saturating_add(*time));
            (now_ms.saturating_sub(u32::try_from(all).unwrap_or(u32::MAX)).max(self.last_ms), [0; KINDS])
        } else {
            (self.last_ms, self.last)
        };
        // No time falls within a series; one that was read while it changed may seem to.
        self.last = std::array::from_fn(|kind| times[kind].max(before[kind]));
        (self.last_ms, self.series) = (now_ms, series.or(self.series));
        let passed_ms = now_ms.saturating_sub(from_ms);
        let told_ms: [f64; KINDS] =
            std::array::from_fn(|kind| times[kind].saturating_sub(before[kind]) as f64);
        let all_ms: f64 = told_ms.iter().sum();
        // Nobody does more than there is time for. What is told beyond was told late, or is a lie.
        let in_time = if all_ms > 0.0 { (f64::from(passed_ms) / all_ms).min(1.0) } else { 1.0 };
        let computed_ms = (told_ms[0] + told_ms[1]) * in_time;
        if passed_ms > 0 {
            let shares = told_ms.map(|ms| (ms * in_time / f64::from(passed_ms)) as f32);
            self.spread(bucket_ms, from_ms, now_ms, shares);
        }
        let late_ms = all_ms * (1.0 - in_time);
        if late_ms < 1.0 {
            return (from_ms, computed_ms);
        }
        let (first_ms, placed_ms) = self.catch_up(bucket_ms, now_ms, told_ms.map(|ms| ms / all_ms), late_ms);
        let computed = (told_ms[0] + told_ms[1]) / all_ms;
        (first_ms.min(from_ms), computed_ms + placed_ms * computed)
    }

    /// What was done from one moment to another.
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

    /// What was done before, and is heard only now: the coordinator was held up, say, and heard all at once. It was done
    /// in the newest stretches of which less is known than there was time for, or nothing: the first that was heard of the
    /// worker may have been late, too. Gives the moment from which on something has changed, and how much there was room for.
    fn catch_up(&mut self, bucket_ms: u32, now_ms: u32, parts: [f64; KINDS], late_ms: f64) -> (u32, f64) {
        let (length_ms, mut left_ms, mut first_ms) = (f64::from(bucket_ms), late_ms, now_ms);
        let stretches = now_ms.div_ceil(bucket_ms) as usize;
        if self.shares.len() < stretches {
            self.shares.resize(stretches, NOT_THERE);
        }
        for (place, known) in self.shares.iter_mut().enumerate().rev().take(LATE_BUCKETS_MAX) {
            let begins_ms = place as u32 * bucket_ms;
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

#[cfg(test)]
mod tests {
    use super::*;

    fn times(work_ms: u64, steal_ms: u64) -> WorkerTimes {
        WorkerTimes { work_ms, steal_ms, ..WorkerTimes::default() }
    }

    #[test]
    fn turns_of_other_runs_are_no_longer_than_the_time() {
        let mut timeline = Timeline::default();
        let others = |others_ms| WorkerTimes { others_ms, ..times(100, 0) };
        timeline.add(0, 1000, 1, &[others(900)]);
        timeline.add(0, 2000, 1, &[others(1500), others(u64::MAX)]);
        assert_eq!(timeline.others_s(), 0.9 + 0.6 + 2.0);
        // Another process of the host begins anew.
        timeline.add(0, 3000, 1, &[others(400)]);
        assert_eq!(timeline.others_s(), 3.9);
        timeline.add(0, 4000, 2, &[others(700)]);
        assert_eq!(timeline.others_s(), 4.6);
    }

    fn sums(timeline: &Timeline) -> [f64; KINDS] {
        let (bucket_ms, _, rows) = timeline.rows(0, u32::MAX, usize::MAX);
        let mut sums = [0.0; KINDS];
        for shares in rows.iter().flat_map(|row| &row.shares).filter(|shares| !shares[0].is_nan()) {
            (0..KINDS).for_each(|kind| sums[kind] += f64::from(shares[kind]) * f64::from(bucket_ms));
        }
        sums
    }

    #[test]
    fn what_was_done_is_where_it_was_done_and_no_more() {
        let mut timeline = Timeline::default();
        timeline.add(0, 1000, 1, &[times(500, 0)]);
        timeline.add(0, 2000, 1, &[times(500, 1000)]);
        timeline.add(0, 3000, 1, &[times(1500, 1000)]);
        let (bucket_ms, from_ms, rows) = timeline.rows(0, 3000, 600);
        assert_eq!((bucket_ms, from_ms, rows.len(), rows[0].shares.len()), (250, 0, 1, 12));
        let kind_of = |bucket: usize| rows[0].shares[bucket].map(|share| (share * 100.0).round());
        assert!(rows[0].shares[1][0].is_nan(), "before it began");
        assert_eq!(kind_of(2), [100.0, 0.0, 0.0, 0.0]);
        assert_eq!(kind_of(5), [0.0, 0.0, 100.0, 0.0]);
        assert_eq!(kind_of(11), [100.0, 0.0, 0.0, 0.0]);
    }

    #[test]
    fn time_for_which_workers_computed_is_known_by_host() {
        let mut timeline = Timeline::default();
        let recovers = WorkerTimes { recover_ms: 300, ..WorkerTimes::default() };
        timeline.add(0, 1000, 1, &[times(500, 500), times(1000, 0)]);
        timeline.add(1, 1000, 1, &[recovers]);
        // Again the same, more, and one that has begun anew.
        timeline.add(0, 1000, 1, &[times(500, 500), times(1000, 0)]);
        timeline.add(0, 2000, 1, &[times(750, 1250), times(1000, 0)]);
        timeline.add(1, 2000, 2, &[times(400, 0)]);
        let restored = timeline.clone().restored(&[]);
        for timeline in [timeline, restored] {
            let computed_s = [0, 1, 2].map(|host| (timeline.computed_s(host) * 100.0).round());
            assert_eq!(computed_s, [175.0, 70.0, 0.0]);
        }
    }

    /// What hosts said in the meantime is all heard at once.
    #[test]
    fn no_time_is_missing_after_the_coordinator_was_held_up() {
        let mut timeline = Timeline::default();
        for step in 1..=4 {
            timeline.add(0, step * 500, 1, &[times(u64::from(step) * 500, 0)]);
        }
        // Ten seconds of work, told every half second.
        for step in 1..=20 {
            timeline.add(0, 12_000 + u32::from(step > 10), 1, &[times(2_000 + step * 500, 0)]);
        }
        let sums = sums(&timeline);
        assert!((sums[0] - 12_000.0).abs() < 20.0, "{sums:?}");
        assert!((timeline.computed_s(0) - 12.0).abs() < 0.02, "{}", timeline.computed_s(0));
        let (.., rows) = timeline.rows(0, u32::MAX, usize::MAX);
        let shares = rows[0].shares.iter().filter(|shares| !shares[0].is_nan());
        assert!(shares.map(|shares| shares.iter().sum::<f32>()).all(|all| all < 1.001));
        // Who says that it did more than there was time for is not believed.
        timeline.add(0, 12_500, 1, &[times(100_000, 0)]);
        assert!(timeline.computed_s(0) < 12.52, "{}", timeline.computed_s(0));
    }

    /// The coordinator was held up when the host began, and hears all at once what it did.
    #[test]
    fn what_is_heard_at_once_of_a_worker_that_nobody_knew_is_all_there() {
        let mut timeline = Timeline::default();
        for step in 1..=10 {
            timeline.add(0, 6_000, 1, &[times(step * 500, 30)]);
        }
        let sums = sums(&timeline);
        assert!((sums[0] - 5_000.0).abs() < 10.0 && (sums[2] - 30.0).abs() < 10.0, "{sums:?}");
        assert!((timeline.computed_s(0) - 5.0).abs() < 0.01, "{}", timeline.computed_s(0));
        // There are not more than six seconds before.
        timeline.add(0, 6_000, 1, &[times(100_000, 30)]);
        assert!(timeline.computed_s(0) < 6.0, "{}", timeline.computed_s(0));
    }

    #[test]
    fn a_worker_that_begins_anew_is_not_taken_for_one_that_goes_on() {
        for (series, computed_s) in [(1, 2.0), (2, 2.2)] {
            let mut timeline = Timeline::default();
            timeline.add(0, 2_100, 1, &[times(2_000, 100)]);
            // It has looked for work for longer than before.
            timeline.add(0, 3_000, series, &[times(200, 300)]);
            timeline.add(0, 3_000, series, &[times(200, 300)]);
            assert!((timeline.computed_s(0) - computed_s).abs() < 0.01, "{}", timeline.computed_s(0));
        }
    }

    #[test]
    fn what_was_reported_since_it_was_taken_to_be_saved_is_not_lost() {
        let mut timeline = Timeline::default();
        timeline.add(0, 1_000, 1, &[times(500, 500), times(0, 1_000)]);
        timeline.taken();
        let saved = timeline.clone();
        assert_eq!(saved.last_reports(), []);
        timeline.add(0, 2_000, 1, &[times(1_500, 500)]);
        timeline.add(7, 3_000, 4, &[times(700, 0)]);
        let reports = timeline.last_reports();
        assert_eq!(reports.len(), 2, "the other worker did nothing since");
        let restored = saved.restored(&reports);
        for (host, computed_s) in [(0, 1.5), (7, 0.7)] {
            let is = [&timeline, &restored].map(|timeline| timeline.computed_s(host));
            assert!(is.iter().all(|is| (is - computed_s).abs() < 0.01), "{is:?}");
        }
        // They are reported until the whole of it is saved.
        assert_eq!(restored.last_reports(), reports);
        timeline.taken();
        timeline.save_again();
        assert_eq!(timeline.last_reports().len(), 3);
    }

    #[test]
    fn a_process_with_another_id_has_computed_once() {
        let mut timeline = Timeline::default();
        timeline.add(0, 1_000, 1, &[times(600, 400)]);
        let version = timeline.version();
        timeline.rename(0, 5);
        assert_eq!(timeline.changed_from(version), 0, "all of it is new");
        timeline.add(5, 2_000, 1, &[times(1_100, 900)]);
        let computed_s = [0, 5].map(|host| (timeline.computed_s(host) * 10.0).round());
        assert_eq!(computed_s, [0.0, 11.0]);
        let (.., rows) = timeline.rows(0, u32::MAX, 600);
        assert_eq!(rows.iter().map(|row| row.host).collect::<Vec<_>>(), [5]);
        // What another did is not overwritten.
        timeline.add(0, 2_000, 1, &[times(1, 0)]);
        timeline.rename(0, 5);
        assert!(timeline.computed_s(5) < 1.2);
    }

    #[test]
    fn doubling_keeps_sums() {
        let mut timeline = Timeline::default();
        for step in 1..=4000_u32 {
            let done = u64::from(step) * 500;
            timeline.add(0, step * 500, 1, &[times(done / 2, done / 4)]);
        }
        assert!(timeline.bucket_ms() > BUCKET_MS);
        let sums = sums(&timeline);
        let all = 4000.0 * 500.0;
        assert!((sums[0] / (all / 2.0) - 1.0).abs() < 0.01 && (sums[2] / (all / 4.0) - 1.0).abs() < 0.01);
        let (bucket_ms, from_ms, rows) = timeline.rows(1_000_000, 1_500_000, 50);
        assert!(rows[0].shares.len() <= 51 && from_ms <= 1_000_000 && from_ms % bucket_ms == 0);
    }

    #[test]
    fn hosts_may_say_anything() {
        let mut timeline = Timeline::default();
        let absurd = WorkerTimes {
            work_ms: u64::MAX,
            recover_ms: u64::MAX,
            steal_ms: 7,
            wait_ms: u64::MAX,
            others_ms: u64::MAX,
        };
        for now_ms in [0, 1, 5000, 5000, u32::MAX - 1, 3] {
            timeline.add(7, now_ms, 1, &[absurd; 300]);
            timeline.add(8, now_ms, 1, &[WorkerTimes::default(); 2]);
        }
        let (.., rows) = timeline.rows(0, u32::MAX, 600);
        let shares = rows.iter().flat_map(|row| row.shares.iter().flatten());
        assert!(shares.filter(|share| !share.is_nan()).all(|share| (0.0..=1.0).contains(share)));
        for host in 0..2 * TIMELINE_WORKERS_MAX as u32 {
            timeline.add(host, 10_000, 1, &[times(1, 1)]);
        }
        assert!(timeline.lanes.len() <= TIMELINE_WORKERS_MAX);
    }
}
