//! What each worker did over time: shares of equal stretches of time, which double in length when there are too many.

mod lane;
mod totals;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use sateen_protocol::limits::WORKERS_REPORTED_MAX;
use sateen_protocol::message::WorkerTimes;
use serde::{Deserialize, Serialize};

use crate::limits::{TIMELINE_BUCKETS_MAX, TIMELINE_WORKERS_MAX};
pub use lane::LastReport;
use lane::{Added, KINDS, Lane, NOT_THERE, kinds, mean};
pub use totals::Totals;

/// The length of a stretch at the start.
const BUCKET_MS: u32 = 250;
/// Kinds of activity that are shown.
const SHOWN: usize = 3;
/// Versions whose changes are remembered.
const CHANGES_MAX: usize = 4096;
/// Maximum reports of series that ended since the timeline was saved: hosts begin anew when a run is resumed.
const ENDED_MAX: usize = TIMELINE_WORKERS_MAX;

/// The workers of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Timeline {
    bucket_ms: u32,
    /// By the host's place in the tree and the worker's number.
    lanes: BTreeMap<(u32, u16), Lane>,
    /// Changes with every report.
    version: u64,
    /// The newest versions, and the moment from which on each changed something.
    #[serde(skip)]
    changes: VecDeque<(u64, u32)>,
    /// Time for which each host's workers computed, in milliseconds, by the host's place in the tree.
    #[serde(skip)]
    computed_ms: BTreeMap<u32, f64>,
    /// Workers of each host that computed on average between its last two reports, and when the last one came.
    #[serde(skip)]
    busy: BTreeMap<u32, (u32, f32)>,
    /// Time for which workers waited until other runs of their hosts had had their turn, in milliseconds; since the
    /// coordinator was started.
    #[serde(skip)]
    others_ms: u64,
    /// Workers with reports since the timeline was last taken to be saved.
    #[serde(skip)]
    recent: BTreeSet<(u32, u16)>,
    /// Hosts that were given up, and since when they are back; by their places in the tree. Nothing is known of the time
    /// before that. Saved each time, like the last reports.
    #[serde(skip)]
    absent: BTreeMap<u32, Option<u32>>,
    /// When hosts that paused or were given up were back last: before, no report was to be expected of them.
    #[serde(skip)]
    back: BTreeMap<u32, u32>,
    /// What was reported last of workers that have begun anew since then.
    #[serde(skip)]
    ended: Vec<LastReport>,
    /// When a host first got the root job: nobody computed before. Events have it after a restart.
    #[serde(skip)]
    begun_ms: Option<u32>,
}

/// A worker's row in the part that is shown.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The host's place in the tree.
    pub host: u32,
    /// The worker's number.
    pub worker: u16,
    /// Shares of work, steal and wait; NaN where the worker was not connected.
    pub shares: Vec<[f32; SHOWN]>,
}

/// Hosts tell apart work that they think was done before, but cannot know it: it is shown as work.
fn shown([work, recover, steal, wait]: [f32; KINDS]) -> [f32; SHOWN] {
    let work = work + recover;
    [if work > 1.0 { 1.0 } else { work }, steal, wait]
}

impl Default for Timeline {
    fn default() -> Self {
        Self {
            bucket_ms: BUCKET_MS,
            lanes: BTreeMap::new(),
            version: 0,
            changes: VecDeque::new(),
            computed_ms: BTreeMap::new(),
            busy: BTreeMap::new(),
            others_ms: 0,
            recent: BTreeSet::new(),
            absent: BTreeMap::new(),
            back: BTreeMap::new(),
            ended: Vec::new(),
            begun_ms: None,
        }
    }
}

impl Timeline {
    /// Adds what a host's workers have done since a series of reports began.
    pub fn add(&mut self, host: u32, now_ms: u32, series: u64, workers: &[WorkerTimes]) {
        self.make_room_until(now_ms);
        self.version += 1;
        let mut changed_from = now_ms;
        self.host_back(host, now_ms);
        let there_from_ms = self.absent.get(&host).copied().flatten().unwrap_or_default();
        let mut all_busy = 0.0;
        for (worker, times) in (0_u16..).zip(workers) {
            let bucket_ms = self.bucket_ms;
            self.keep_ended((host, worker), Some(series));
            let begun_ms = self.begun_ms.unwrap_or_default();
            let Some(lane) = self.lane((host, worker)) else { continue };
            let others_ms = lane.others_since(now_ms, series, times.others_ms);
            let Added { from_ms, computed_ms, busy } = lane.add(
                bucket_ms,
                (there_from_ms, begun_ms, now_ms),
                Some(series),
                (kinds(times), others_ms),
            );
            changed_from = changed_from.min(from_ms);
            self.others_ms = self.others_ms.saturating_add(others_ms);
            *self.computed_ms.entry(host).or_default() += computed_ms;
            self.recent.insert((host, worker));
            all_busy += busy;
        }
        // Of more workers than are reported, nobody knows how many computed.
        let is_known = workers.len() < WORKERS_REPORTED_MAX;
        self.busy.insert(host, (now_ms, if is_known { all_busy } else { f32::NAN }));
        self.changes.push_back((self.version, changed_from));
        if self.changes.len() > CHANGES_MAX {
            self.changes.pop_front();
        }
    }

    /// A host has the root job.
    pub fn begin_at(&mut self, now_ms: u32) {
        self.begun_ms.get_or_insert(now_ms);
    }

    /// A host does not work on the run any more.
    pub fn host_rests(&mut self, host: u32) {
        self.busy.remove(&host);
    }

    /// Workers that computed on average between the last two reports of their hosts, of the hosts that have reported since this
    /// moment; not known if there are too many workers.
    pub fn busy_since(&self, t_ms: u32) -> Option<f32> {
        let is_known = !self.lanes.is_empty() && self.lanes.len() < TIMELINE_WORKERS_MAX;
        let busy = self.busy.values().filter(|(last_ms, _)| *last_ms >= t_ms).map(|(_, busy)| busy);
        is_known.then(|| busy.fold(0.0, |sum, busy| sum + busy)).filter(|sum| !sum.is_nan())
    }

    /// The moment up to which all hosts at work have reported, without those that have not reported since `silent_ms`. If no host
    /// has, `silent_ms`.
    pub fn reported_until(&self, silent_ms: u32) -> u32 {
        let last = self.busy.values().map(|(last_ms, _)| *last_ms);
        last.filter(|last_ms| *last_ms >= silent_ms).min().unwrap_or(silent_ms)
    }

    /// Whether it has all workers.
    pub fn is_complete(&self) -> bool {
        let is_last = |worker: u16| usize::from(worker) + 1 >= WORKERS_REPORTED_MAX;
        let has_all = !self.lanes.keys().any(|(_, worker)| is_last(*worker));
        has_all && !self.lanes.is_empty() && self.lanes.len() < TIMELINE_WORKERS_MAX
    }

    /// A host is no longer in the grid. Nothing is known of its workers from its last report until it is back.
    pub fn host_gone(&mut self, host: u32) {
        if self.has_reports_of(host) {
            self.absent.insert(host, None);
        }
    }

    /// It is back.
    pub fn host_back(&mut self, host: u32, now_ms: u32) {
        if self.has_reports_of(host) {
            self.back.insert(host, now_ms);
        }
        if let Some(back_ms) = self.absent.get_mut(&host) {
            back_ms.get_or_insert(now_ms);
        }
    }

    /// Hosts that were given up, and since when they are back.
    pub fn absent(&self) -> &BTreeMap<u32, Option<u32>> {
        &self.absent
    }

    fn has_reports_of(&self, host: u32) -> bool {
        self.lanes.range((host, 0)..=(host, u16::MAX)).next().is_some()
    }

    /// Hosts without a report since this moment that were not given up, and since when they owe one: they are away, or cannot
    /// answer. Before `went_on_ms`, none was owed.
    pub fn silent_since(&self, t_ms: u32, went_on_ms: u32) -> impl Iterator<Item = (u32, u32)> {
        let first = self.lanes.iter().filter(|((_, worker), _)| *worker == 0);
        let owes = move |((host, _), lane): (&(u32, u16), &Lane)| {
            let back_ms = self.back.get(host).copied().unwrap_or_default();
            (*host, lane.last_ms.max(back_ms).max(went_on_ms))
        };
        let silent = first.map(owes).filter(move |(_, since_ms)| *since_ms < t_ms);
        silent.filter(|(host, _)| self.absent.get(host).is_none_or(Option::is_some))
    }

    /// When the last report came.
    pub fn last_report_ms(&self) -> u32 {
        self.lanes.values().map(|lane| lane.last_ms).max().unwrap_or_default()
    }

    /// The end of the last stretch in which one of these hosts computed.
    pub fn worked_until(&self, is_one: impl Fn(u32) -> bool) -> u32 {
        let lanes = self.lanes.iter().filter(|((host, _), _)| is_one(*host));
        let ends = lanes.filter_map(|(_, lane)| {
            let place = lane.shares.iter().rposition(|shares| shares[0] + shares[1] > 0.0)?;
            Some(((place as u32 + 1).saturating_mul(self.bucket_ms)).min(lane.last_ms))
        });
        ends.max().unwrap_or_default()
    }

    /// Adds stretches up to this moment.
    fn make_room_until(&mut self, now_ms: u32) {
        while now_ms / self.bucket_ms >= TIMELINE_BUCKETS_MAX as u32 {
            self.double();
        }
    }

    /// The lane of a worker, if there is room for it.
    fn lane(&mut self, of: (u32, u16)) -> Option<&mut Lane> {
        let has_room = self.lanes.len() < TIMELINE_WORKERS_MAX || self.lanes.contains_key(&of);
        has_room.then(|| self.lanes.entry(of).or_default())
    }

    /// Keeps the last report of a worker's series when it begins another: a timeline that was saved earlier lacks it.
    fn keep_ended(&mut self, of: (u32, u16), series: Option<u64>) {
        if self.recent.contains(&of)
            && self.ended.len() < ENDED_MAX
            && let Some(lane) = self.lanes.get(&of)
            && lane.series.is_some()
            && lane.series != series
        {
            self.ended.push(LastReport::of(of, lane));
        }
    }

    /// A host's process has another id, and thus another place in the tree.
    pub fn rename(&mut self, was: u32, is: u32) {
        if was == is || self.has_reports_of(is) {
            return;
        }
        let workers: Vec<u16> =
            self.lanes.range((was, 0)..=(was, u16::MAX)).map(|((_, worker), _)| *worker).collect();
        for worker in workers {
            let lane = self.lanes.remove(&(was, worker));
            self.recent.remove(&(was, worker));
            self.lanes.extend(lane.map(|lane| ((is, worker), lane)));
            self.recent.insert((is, worker));
        }
        for report in self.ended.iter_mut().filter(|report| report.host == was) {
            report.host = is;
        }
        let busy = self.busy.remove(&was);
        self.busy.extend(busy.map(|busy| (is, busy)));
        let absent = self.absent.remove(&was);
        self.absent.extend(absent.map(|absent| (is, absent)));
        let computed_ms = self.computed_ms.remove(&was).unwrap_or_default();
        *self.computed_ms.entry(is).or_default() += computed_ms;
        // All of these rows are new.
        self.version += 1;
        self.changes.clear();
    }

    /// Reports of workers since the timeline was last taken to be saved.
    pub fn last_reports(&self) -> Vec<LastReport> {
        let newest = self.recent.iter().filter_map(|of| Some(LastReport::of(*of, self.lanes.get(of)?)));
        self.ended.iter().cloned().chain(newest).collect()
    }

    /// The same for all workers: a timeline that is saved lacks the series of their last reports, without which a worker that
    /// begins anew while the coordinator is away would be taken for one that continues.
    pub fn all_last_reports(&self) -> Vec<LastReport> {
        let newest = self.lanes.iter().map(|(of, lane)| LastReport::of(*of, lane));
        self.ended.iter().cloned().chain(newest).collect()
    }

    /// The whole timeline is being saved.
    pub fn taken(&mut self) {
        self.recent.clear();
        self.ended.clear();
    }

    /// The part that was taken could not be saved.
    pub fn save_again(&mut self) {
        self.recent = self.lanes.keys().copied().collect();
    }

    /// A saved timeline with the hosts that were given up, of a run that was begun at this time, if that is known.
    pub fn with(self, absent: BTreeMap<u32, Option<u32>>, begun_ms: Option<u32>) -> Self {
        Self { absent, begun_ms, ..self }
    }

    /// Restores a saved timeline with the reports that came after it.
    pub fn restored(mut self, reports: &[LastReport]) -> Self {
        for LastReport { host, worker, series, t_ms, times } in reports {
            self.make_room_until(*t_ms);
            let bucket_ms = self.bucket_ms;
            let back_ms = self.absent.get(host).copied().flatten().filter(|back_ms| back_ms <= t_ms);
            self.keep_ended((*host, *worker), *series);
            let begun_ms = self.begun_ms.unwrap_or_default();
            let Some(lane) = self.lane((*host, *worker)) else { continue };
            let is_saved = (lane.last, lane.last_ms) == (*times, *t_ms);
            if is_saved && lane.series.is_none() {
                lane.series = *series;
                continue;
            }
            lane.add(bucket_ms, (back_ms.unwrap_or_default(), begun_ms, *t_ms), *series, (*times, 0));
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

    /// The moment from which on the timeline differs from this version.
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

    /// Changes with every report.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The length of its stretches.
    pub fn bucket_ms(&self) -> u32 {
        self.bucket_ms
    }

    /// The rows from one moment to another, in a limited number of stretches: their length, when the first begins,
    /// and the rows.
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
                shown(mean(&part, part.len()))
            });
            Row { host: *host, worker: *worker, shares: shares.collect() }
        });
        let rows = rows.filter(|row| row.shares.iter().any(|shares| !shares[0].is_nan()));
        (self.bucket_ms.saturating_mul(merged as u32), from as u32 * self.bucket_ms, rows.collect())
    }
}

#[cfg(test)]
mod tests;
