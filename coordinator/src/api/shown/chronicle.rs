//! The progress of a run.

use super::{alike, host_at};
use crate::chronicle::{
    Basis, Chronicle, DepthCounts, Event, EventKind, HoldUp, HoldUpKind, Idle, Line, Point, Remaining,
};
use crate::limits::DEPTHS_SHOWN_MAX;

alike!(EventKind => sateen_api::EventKind:
    Submitted, Started, HostJoined, HostLeft, HostLost, JobsInterrupted, Adopted, Reused, RootLost, Unable, Suspended,
    Resumed, CoordinatorRestarted, Ended, HostPaused, HostReturned, HostResumed, Other,
);
alike!(HoldUpKind => sateen_api::HoldUpKind:
    Nothing, Waiting, Starved, Sharing, Recovery, Straggler, Parameters, Parallelism,
);

impl From<Event> for sateen_api::RunEvent {
    fn from(Event { number, t_ms, kind, host, job, text }: Event) -> Self {
        let (host, job) = (host.map(|host| host.to_string()), job.map(|job| job.to_string()));
        Self { number, t_ms, kind: kind.into(), host, job, text }
    }
}

impl From<HoldUp> for sateen_api::HoldUp {
    fn from(HoldUp { kind, text }: HoldUp) -> Self {
        Self { kind: kind.into(), text }
    }
}

impl From<Remaining> for sateen_api::Remaining {
    fn from(Remaining { basis, low_s, likely_s, high_s }: Remaining) -> Self {
        let basis = match basis {
            Basis::Progress => "progress",
            Basis::Jobs => "jobs",
        };
        Self { basis: basis.to_owned(), low_s, likely_s, high_s }
    }
}

impl From<Line> for sateen_api::LogLine {
    fn from(Line { number, host, job, tag, text }: Line) -> Self {
        Self { number, host: host.to_string(), job, tag: tag.map(|tag| tag.to_string()), text }
    }
}

/// The events of a run, in order.
pub fn events(chronicle: &Chronicle) -> Vec<sateen_api::RunEvent> {
    chronicle.events().into_iter().map(Into::into).collect()
}

/// Jobs by depth. The last depth that is shown includes all below it.
pub fn depths(chronicle: &Chronicle) -> Vec<sateen_api::Depth> {
    let mut shown: Vec<sateen_api::Depth> = Vec::new();
    for (depth, counts) in chronicle.depths() {
        if counts.total() == 0 {
            continue;
        }
        let DepthCounts { running, done, other } = counts;
        if shown.len() >= DEPTHS_SHOWN_MAX
            && let Some(last) = shown.last_mut()
        {
            last.running = last.running.saturating_add(running);
            last.done = last.done.saturating_add(done);
            last.other = last.other.saturating_add(other);
            continue;
        }
        shown.push(sateen_api::Depth { depth: u32::from(depth), running, done, other });
    }
    shown
}

/// A value rounded to significant decimals; none if it is not known.
fn rounded(value: f32, parts: f64) -> Option<f64> {
    (!value.is_nan()).then(|| (f64::from(value) * parts).round() / parts)
}

/// The points of a run's charts.
pub fn series(points: &[Point]) -> sateen_api::SeriesOfRun {
    let of = |of: fn(&Point) -> f32| points.iter().map(|point| rounded(of(point), 100.0)).collect();
    sateen_api::SeriesOfRun {
        t_ms: points.iter().map(|point| point.t_ms).collect(),
        busy: of(|point| point.busy),
        workers: of(|point| point.workers),
        jobs_per_s: of(|point| point.jobs_per_s),
        redone_per_s: of(|point| point.redone_per_s),
    }
}

/// The timeline of a run between two moments, in at most `buckets_max` stretches.
pub fn timeline(chronicle: &Chronicle, from_ms: u32, to_ms: u32, buckets_max: usize) -> sateen_api::Timeline {
    let part = chronicle.timeline(from_ms, to_ms, buckets_max);
    let rows = part.rows.into_iter().map(|row| {
        let (host, host_name, site) = host_at(chronicle, row.host);
        let of = |kind: usize| row.shares.iter().map(|shares| rounded(shares[kind], 1000.0)).collect();
        sateen_api::TimelineRow {
            host,
            host_name,
            site,
            worker: row.worker,
            work: of(0),
            steal: of(1),
            wait: of(2),
        }
    });
    sateen_api::Timeline {
        bucket_ms: part.bucket_ms,
        from_ms: part.from_ms,
        rows: rows.collect(),
        idle_why: chronicle.idle_times().into_iter().map(Into::into).collect(),
    }
}

impl From<Idle> for sateen_api::IdleWhy {
    fn from(Idle { from_ms, to_ms, host, text }: Idle) -> Self {
        Self { from_ms, to_ms, host: host.map(|host| host.to_string()), text }
    }
}

/// The lines after this one.
pub fn log(chronicle: &Chronicle, after: u64) -> sateen_api::Log {
    let after = chronicle.lines_after(after);
    sateen_api::Log { lines: after.lines.into_iter().map(Into::into).collect(), dropped: after.dropped }
}
