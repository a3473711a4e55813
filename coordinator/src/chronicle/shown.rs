//! The interface of chronicles for other modules.

use std::collections::BTreeMap;
use std::time::Duration;

use sateen_protocol::coordinator::LONG_GONE;
use sateen_protocol::{HostId, JobTag};

use super::Chronicle;
use super::events::{Event, EventKind, Idle};
use super::log::LinesAfter;
use super::pace::Remaining;
use super::series::Point;
use super::timeline::Row;
use super::tree::{DepthCounts, Missing, NEVER, NO_WORKER, Node, ROOT, TreeHost};
use crate::clock::seconds;
use crate::figures::{Figures, HostFigures, JobCounts};

/// A job in a list.
#[derive(Debug, Clone, Copy)]
pub struct Shown {
    /// The beginning of its key.
    pub job: JobTag,
    /// The job above it.
    pub parent: Option<JobTag>,
    /// The number of its name in the app.
    pub kind: u16,
    /// Spawns below the root.
    pub depth: u16,
    /// Its host's place in the table of hosts.
    pub host: u32,
    /// The number of the worker that ran it.
    pub worker: Option<u16>,
    /// The name of its state.
    pub state: &'static str,
    /// It was lost, and begun again.
    pub redone: bool,
    /// When it began, in milliseconds since the run was submitted.
    pub begun_ms: u32,
    /// When it ended.
    pub ended_ms: Option<u32>,
    /// Processor time, descendants included.
    pub work_s: Option<f64>,
    /// Jobs below it that are not kept.
    pub rolled: u32,
}

impl Shown {
    /// It is the root of its run.
    pub fn is_root(&self) -> bool {
        self.kind == ROOT
    }
}

/// A job, with its parameters and children.
#[derive(Debug, Clone)]
pub struct ShownJob<'a> {
    /// The job.
    pub job: Shown,
    /// Its parameters, encoded; those of a root are its run's arguments.
    pub parameters: Result<&'a [u8], Missing>,
    /// Some of its children that are kept, those that took longest.
    pub children: Vec<Shown>,
    /// The number of its other children.
    pub children_left_out: u32,
}

/// How much of a tree is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// The number of jobs that are kept.
    pub kept: u64,
    /// Jobs that were begun in instances of their own.
    pub begun: u64,
    /// The number of jobs that are not kept, as far as it is known.
    pub left_out: u64,
}

/// A part of a timeline.
#[derive(Debug, Clone)]
pub struct TimelinePart {
    /// The length of a stretch.
    pub bucket_ms: u32,
    /// When the first one begins, in milliseconds since the run was submitted.
    pub from_ms: u32,
    /// Each worker's activity.
    pub rows: Vec<Row>,
}

fn some(time_ms: u32) -> Option<u32> {
    (time_ms != NEVER).then_some(time_ms)
}

impl Chronicle {
    /// How much of the tree is kept.
    pub fn extent(&self) -> Extent {
        let (kept, without_room) = (self.tree.len() as u64, self.tree.without_room());
        let begun = kept.saturating_add(without_room);
        Extent { kept, begun, left_out: without_room.saturating_add(self.left_out) }
    }

    /// The hosts of the tree, in the order of its table.
    pub fn hosts(&self) -> &[TreeHost] {
        self.tree.hosts()
    }

    /// A host of the tree's table.
    pub fn host_at(&self, place: u32) -> Option<&TreeHost> {
        self.tree.hosts().get(place as usize)
    }

    /// Jobs from one place on, at most `limit`.
    pub fn shown(&self, from: u32, limit: usize) -> Vec<Shown> {
        let places = (from..).take(limit).map_while(|place| Some((place, self.tree.get(place)?)));
        places.map(|(place, node)| self.shown_one(place, node)).collect()
    }

    fn shown_one(&self, place: u32, node: &Node) -> Shown {
        Self::shown_below(self.tree.parent_tag(place), node)
    }

    fn shown_below(parent: Option<JobTag>, node: &Node) -> Shown {
        Shown {
            job: node.tag,
            parent,
            kind: node.kind,
            depth: node.depth,
            host: node.host,
            worker: (node.worker != NO_WORKER).then_some(node.worker),
            state: node.state.word(),
            redone: node.is_redone(),
            begun_ms: node.begun_ms,
            ended_ms: some(node.ended_ms),
            work_s: node.work_ns().map(seconds),
            rolled: node.rolled,
        }
    }

    /// The encoded parameters of the job at this place.
    pub fn parameters(&self, place: u32) -> Result<&[u8], Missing> {
        self.tree.parameters(place)
    }

    /// One job, with at most `limit` of its children.
    pub fn job(&self, tag: JobTag, children_max: usize) -> Option<ShownJob<'_>> {
        let place = self.tree.place(tag)?;
        let node = self.tree.get(place)?;
        let mut children: Vec<&Node> = self.tree.nodes().filter(|child| child.parent == place).collect();
        children.sort_by_key(|child| std::cmp::Reverse(child.work_ns()));
        let children_left_out = children.len().saturating_sub(children_max) as u32 + node.rolled;
        let children = children.into_iter().take(children_max);
        Some(ShownJob {
            job: self.shown_one(place, node),
            parameters: self.tree.parameters(place),
            children: children.map(|child| Self::shown_below(Some(tag), child)).collect(),
            children_left_out,
        })
    }

    /// The name of a host, with its id if another host of the run has the same one; none if it has taken no part.
    pub fn label_of(&self, host: HostId) -> Option<String> {
        self.tree.known_host(host).map(|(_, known)| known.label())
    }

    /// Jobs by depth.
    pub fn depths(&self) -> BTreeMap<u16, DepthCounts> {
        self.tree.depths()
    }

    /// The critical path from the root down, as far as it is known and up to a maximum number of jobs.
    pub fn critical_path(&self, jobs_max: usize) -> Vec<Shown> {
        let path = self.tree.critical_path(jobs_max).into_iter();
        path.filter_map(|place| Some(self.shown_one(place, self.tree.get(place)?))).collect()
    }

    /// The progress over time.
    pub fn points(&self) -> &[Point] {
        self.series.points()
    }

    /// The events.
    pub fn events(&self) -> Vec<Event> {
        self.events.all()
    }

    /// When the last event of a kind was, if it is kept. Not for events of jobs.
    pub fn last_event_ms(&self, kind: EventKind) -> Option<u32> {
        self.events.last_ms(kind)
    }

    /// For how long the run has not been suspended since it began, or was resumed last.
    pub fn active_for(&self) -> Duration {
        let begins = [EventKind::Started, EventKind::Resumed].map(|kind| self.last_event_ms(kind));
        let since_ms = begins.into_iter().flatten().max().unwrap_or(0);
        Duration::from_millis(self.now_ms().saturating_sub(since_ms).into())
    }

    /// The remaining time, or why it cannot be predicted; `reported` is the newest progress.
    ///
    /// # Errors
    /// See [`Prospects::remaining`](super::prospects::Prospects::remaining).
    pub fn remaining(&self, reported: Option<(u64, u64)>) -> Result<Remaining, String> {
        self.prospects.remaining(self.now_ms(), reported)
    }

    /// Changes whenever the timeline does.
    pub fn timeline_version(&self) -> u64 {
        self.timeline.version()
    }

    /// The length of its stretches.
    pub fn timeline_bucket_ms(&self) -> u32 {
        self.timeline.bucket_ms()
    }

    /// The moment from which on the timeline differs from this version.
    pub fn timeline_changed_from(&self, version: u64) -> u32 {
        self.timeline.changed_from(version)
    }

    /// Changes whenever the run becomes idle or stops being idle.
    pub fn idle_count(&self) -> usize {
        self.idle.iter().map(|idle| 1 + usize::from(idle.to_ms.is_some())).sum()
    }

    /// What workers did from one moment to another, in a limited number of stretches.
    pub fn timeline(&self, from_ms: u32, to_ms: u32, buckets_max: usize) -> TimelinePart {
        let (bucket_ms, from_ms, rows) = self.timeline.rows(from_ms, to_ms, buckets_max);
        TimelinePart { bucket_ms, from_ms, rows }
    }

    /// Why nothing is done, and was.
    pub fn idle(&self) -> &[Idle] {
        &self.idle
    }

    /// The lines after this one.
    pub fn lines_after(&self, after: u64) -> LinesAfter {
        self.lines.after(after)
    }

    /// By host, in the order of the tree's table: jobs that other hosts got from it, and jobs that it began again after
    /// they had been lost, and was the last to begin.
    pub fn lent_and_redone(&self) -> impl Iterator<Item = (HostId, u64, u64)> {
        self.tree.hosts().iter().map(|host| (host.id, host.lent, host.redone))
    }

    /// Jobs that were begun again after they had been lost, each once.
    pub fn redone(&self) -> u64 {
        self.tree.redone()
    }

    /// Adds to a run's figures what hosts do not count: jobs that were begun again, and how long workers computed.
    pub fn complete(&self, figures: &mut Figures) {
        figures.jobs.redone = self.redone();
        let computed = (0_u32..).zip(self.tree.hosts()).map(|(place, _)| self.timeline.computed_s(place));
        // Figures are saved a moment before the timeline, and a restart may have come in between. The sum of nothing would
        // be a negative zero.
        let computed_s = &mut figures.times.computed_s;
        *computed_s = computed.fold(0.0, |sum, of_host| sum + of_host).max(*computed_s);
        let mut of_others = figures.jobs.redone;
        for row in &mut figures.by_host {
            let known = self.tree.known_host(row.host);
            let (redone, computed_s) =
                known.map(|(place, host)| (host.redone, self.timeline.computed_s(place))).unwrap_or_default();
            (row.jobs.redone, row.computed_s) = (redone, row.computed_s.max(computed_s));
            of_others = of_others.saturating_sub(redone);
        }
        if of_others > 0 {
            Self::add_redone_elsewhere(&mut figures.by_host, of_others);
        }
    }

    /// Jobs that were begun again by hosts without a row: hosts that were added up because they went long ago, or an id that a
    /// host's process had before the coordinator was restarted.
    fn add_redone_elsewhere(rows: &mut Vec<HostFigures>, redone: u64) {
        match rows.iter_mut().find(|row| row.host == LONG_GONE) {
            Some(row) => row.jobs.redone = row.jobs.redone.saturating_add(redone),
            None => {
                let jobs = JobCounts { redone, ..JobCounts::default() };
                rows.push(HostFigures { jobs, ..HostFigures::of(LONG_GONE) });
            }
        }
    }
}
