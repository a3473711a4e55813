//! Time in which hosts did not answer or were lost, or the coordinator was away: what was not done then is not the program's
//! fault.

use super::figures::{percent, time_of};
use super::{Evidence, sum};
use crate::chronicle::Chronicle;
use crate::chronicle::events::EventKind;
use crate::chronicle::silences::past;
use crate::chronicle::timeline::Totals;
use crate::chronicle::waits::NONE_CAME_BACK;
use crate::limits::TIMELINE_WORKERS_MAX;

/// For this long before and after a host is given up, in milliseconds, others wait for what is lost with it.
const GIVEN_UP_MS: u32 = 500;

/// A disturbance.
#[derive(Debug, Clone, PartialEq)]
pub struct Disturbance {
    /// When it began and ended, in seconds since the run was submitted.
    pub from_s: f64,
    pub to_s: f64,
    /// What happened, in a clause.
    pub what: String,
    /// It lasts, and hosts may still report what they did meanwhile.
    pub may_be_reported: bool,
}

/// What samples and events say.
#[derive(Debug, Clone, Default)]
pub struct Sampled {
    /// From when to when, in seconds since the run was submitted, the run had this many workers.
    pub workers: Vec<(f64, f64, f64)>,
    /// For how long workers together checked results of hosts, in seconds.
    pub checking_s: f64,
    /// In any order.
    pub disturbances: Vec<Disturbance>,
}

/// The stretches of a run, with and without disturbances.
#[derive(Debug, Clone, Default)]
pub struct Weighed {
    /// All workers, whether they reported or not, those that computed, and, in stretches without disturbances, those that
    /// looked for work or waited for results.
    pub all: Totals,
    /// Workers that did not compute in stretches with disturbances,
    pub lost: f64,
    /// and the one with the largest share of that.
    pub worst: Option<Disturbance>,
    /// It has almost all of it.
    pub is_only: bool,
    /// Whether each stretch is one with a disturbance.
    pub is_disturbed: Vec<bool>,
}

impl Chronicle {
    /// What samples and events say until now.
    pub(super) fn sampled(&self, now_ms: u32) -> Sampled {
        let seconds = |ms: u32| f64::from(ms) / 1e3;
        let of = |from_ms: u32, to_ms: u32, what: String| Disturbance {
            from_s: seconds(from_ms),
            to_s: seconds(to_ms.min(now_ms).max(from_ms)),
            what,
            may_be_reported: false,
        };
        let mut sampled = Sampled::default();
        let points = self.points();
        let mut from_ms = self.first_from_ms();
        for (place, point) in points.iter().enumerate() {
            if point.workers.is_nan() {
                let lasts = place + 1 == points.len() && !self.is_over;
                let to_ms = if lasts { now_ms } else { point.t_ms };
                let gap = of(from_ms, to_ms, "the coordinator was started again".to_owned());
                sampled.disturbances.push(Disturbance { may_be_reported: lasts, ..gap });
            } else {
                sampled.workers.push((seconds(from_ms), seconds(point.t_ms), f64::from(point.workers)));
                let checking = self.series.checking().get(place).copied().unwrap_or_default();
                sampled.checking_s += f64::from(checking) * seconds(point.t_ms.saturating_sub(from_ms));
            }
            from_ms = point.t_ms;
        }
        // Samples know nothing of it, as the coordinator was away.
        for idle in self.idle.iter().filter(|idle| idle.text == NONE_CAME_BACK) {
            let to_ms = idle.to_ms.unwrap_or(now_ms);
            sampled.workers.push((seconds(idle.from_ms), seconds(to_ms), 0.0));
        }
        sampled.workers.sort_by(|one, other| one.0.total_cmp(&other.0));
        for idle in self.idle.iter().filter(|idle| idle.host.is_some()) {
            sampled.disturbances.push(of(idle.from_ms, idle.to_ms.unwrap_or(now_ms), past(&idle.text)));
        }
        let events = self.events();
        for (place, event) in events.iter().enumerate() {
            let to_ms = match event.kind {
                EventKind::HostLost => event.t_ms.saturating_add(GIVEN_UP_MS),
                EventKind::RootLost => {
                    let mut later = events[place..].iter();
                    later.find(|later| later.kind == EventKind::Started).map_or(now_ms, |later| later.t_ms)
                }
                _ => continue,
            };
            let from_ms = event.t_ms.saturating_sub(GIVEN_UP_MS);
            sampled.disturbances.push(of(from_ms, to_ms, event.text.clone()));
        }
        sampled
    }
}

impl Sampled {
    /// For how much of a span the number of workers is known, in seconds.
    pub fn known_s(&self, from_s: f64, to_s: f64) -> f64 {
        self.spans(from_s, to_s).map(|(lasted_s, _)| lasted_s).sum()
    }

    /// The mean number of workers in a span, if it is known for any of it.
    pub fn workers(&self, from_s: f64, to_s: f64) -> Option<f64> {
        let add = |(all_s, sum), (lasted_s, workers)| (all_s + lasted_s, sum + lasted_s * workers);
        let (lasted_s, worker_s) = self.spans(from_s, to_s).fold((0.0, 0.0), add);
        (lasted_s > 0.0).then(|| worker_s / lasted_s)
    }

    fn spans(&self, from_s: f64, to_s: f64) -> impl Iterator<Item = (f64, f64)> {
        self.workers.iter().filter_map(move |(begins_s, ends_s, workers)| {
            let lasted_s = ends_s.min(to_s) - begins_s.max(from_s);
            (lasted_s > 0.0).then_some((lasted_s, *workers))
        })
    }

    /// The workers that the run had before this moment, or at it.
    fn workers_before(&self, at_s: f64) -> f64 {
        let known = self.workers.iter().rfind(|(begins_s, ..)| *begins_s <= at_s);
        known.map_or(0.0, |(.., workers)| workers.min(TIMELINE_WORKERS_MAX as f64))
    }
}

impl Evidence {
    /// Tells apart what was not done for reasons of the program from what disturbances kept from being done.
    pub(super) fn weighed(&self) -> Weighed {
        let Sampled { disturbances, .. } = &self.sampled;
        let mut costs = vec![0.0; disturbances.len()];
        let started_s = self.elapsed_s.map_or(0.0, |elapsed_s| self.passed_s - elapsed_s);
        let mut weighed = Weighed::default();
        let mut calm = Vec::new();
        let until = (self.passed_s / self.bucket_s.max(f64::MIN_POSITIVE)) as usize;
        for place in 0..self.totals.len().max(if disturbances.is_empty() { 0 } else { until }) {
            let totals = self.totals.get(place).copied().unwrap_or_default();
            let (from_s, to_s) = (place as f64 * self.bucket_s, (place + 1) as f64 * self.bucket_s);
            let shares = disturbances.iter().enumerate().map(|(at, disturbance)| {
                (at, (disturbance.to_s.min(to_s) - disturbance.from_s.max(from_s)).max(0.0))
            });
            let largest = shares.max_by(|one, other| one.1.total_cmp(&other.1));
            let disturbance =
                largest.filter(|(_, lasted_s)| *lasted_s >= self.bucket_s / 2.0 && to_s > started_s);
            weighed.is_disturbed.push(disturbance.is_some());
            let Some((at, _)) = disturbance else {
                calm.push(totals);
                continue;
            };
            let had = self.sampled.workers_before(from_s);
            let workers =
                if disturbances[at].may_be_reported { totals.workers } else { totals.workers.max(had) };
            let lost = (workers - totals.work).max(0.0);
            weighed.all.workers += workers;
            weighed.all.work += totals.work;
            weighed.lost += lost;
            costs[at] += lost;
        }
        let calm = sum(&calm);
        weighed.all.workers += calm.workers;
        weighed.all.work += calm.work;
        (weighed.all.steal, weighed.all.wait) = (calm.steal, calm.wait);
        let worst = costs.iter().enumerate().max_by(|one, other| one.1.total_cmp(other.1));
        if let Some((at, cost)) = worst {
            weighed.worst = disturbances.get(at).cloned();
            weighed.is_only = *cost > 0.9 * weighed.lost;
        }
        weighed
    }

    /// What failures cost, and the one that cost most.
    pub(super) fn failures(&self, lost: f64, worst: &Disturbance, is_only: bool, of_workers: &str) -> String {
        let Disturbance { from_s, to_s, what, .. } = worst;
        format!(
            "Failures {} it {} of its workers' time, {}from {} to {} after its submission: {what}; {of_workers}.",
            self.tense("have cost", "cost"),
            percent(lost),
            if is_only { "" } else { "most of it " },
            time_of(*from_s, self.passed_s),
            time_of(*to_s, self.passed_s),
        )
    }
}
