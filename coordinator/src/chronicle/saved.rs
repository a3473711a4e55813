//! A chronicle as the store keeps it, and how it is restored.

use std::collections::{BTreeMap, BTreeSet};

use sateen_protocol::limits::{COUNTS, RESTART_GRACE};
use sateen_protocol::{HostId, RunId};
use serde::{Deserialize, Serialize};

use super::Chronicle;
use super::absences::Absences;
use super::events::{EventKind, Events, Idle};
use super::log::{Line, Lines};
use super::pace::Pace;
use super::prospects::Prospects;
use super::series::Series;
use super::timeline::{LastReport, Timeline};
use super::tree::{SavedJob, Tree, TreeSummary};
use super::waits::Settles;
use crate::clock::Since;

/// Which parts of a chronicle are saved.
#[derive(Debug, Default)]
pub struct Saved {
    /// Lines up to this one are saved, or dropped.
    line: u64,
    summary: Summary,
    /// The saved versions of events, timeline and points of the series.
    charts: Option<(u64, u64, usize)>,
    /// Batches since charts were saved: they are larger.
    batches: u32,
}

/// After a restart, the time by which returning hosts are back and have sent their counts.
const SETTLED_MS: u32 = (RESTART_GRACE.as_millis() + 2 * COUNTS.as_millis()) as u32;
/// Charts are saved with one batch in this many, or with the next one on request.
const CHARTS_EVERY: u32 = 4;
/// Until a run is as old as this, they are saved with each batch, unless it has many hosts: they are small.
const YOUNG_MS: u32 = 5_000;
const YOUNG_HOSTS_MAX: usize = 256;

/// A chronicle except its jobs, lines and charts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    left_out: u64,
    last_line: u64,
    was_suspended: bool,
    tree: TreeSummary,
}

/// The part saved with each batch, so that it is consistent with what hosts have counted, which is too.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Latest {
    /// When the run was resumed last.
    went_on_ms: u32,
    /// Reports of workers since charts were saved, and the last one of each.
    workers: Vec<LastReport>,
    /// Hosts that are away, in a column of their own; `None` in a folder of a version that did not save them.
    #[serde(skip)]
    pub absences: Option<Absences>,
}

/// The data behind charts.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct ChartData {
    events: Events,
    timeline: Timeline,
    series: Series,
    pace: Pace,
    idle: Vec<Idle>,
}

impl ChartData {
    /// Workers that checked results of hosts, for each point of the series.
    pub fn checking(&self) -> &[f32] {
        self.series.checking()
    }

    /// With these, which are saved apart.
    pub fn with_checking(mut self, checking: Vec<f32>) -> Self {
        self.series = self.series.with_checking(checking);
        self
    }
}

/// Changes of a run's chronicle that are to be saved.
#[derive(Debug)]
pub struct ChronicleChanges {
    /// The run.
    pub run: RunId,
    /// Jobs that are new or have changed, each with its place.
    pub jobs: Vec<(u32, SavedJob)>,
    /// Lines that are new.
    pub lines: Vec<Line>,
    /// Lines before this one are dropped.
    pub first_line: u64,
    /// The chronicle except jobs, lines and charts.
    pub summary: Summary,
    /// Changes since the charts were saved.
    pub latest: Latest,
    /// Charts, if they are to be saved this time.
    pub charts: Option<ChartData>,
}

impl Summary {
    /// How many jobs of the run others got from each host.
    pub fn lent(&self) -> &[(HostId, u64)] {
        &self.tree.lent
    }

    /// With that, which is saved apart.
    pub fn with_lent(mut self, lent: Vec<(HostId, u64)>) -> Self {
        self.tree.lent = lent;
        self
    }
}

impl Saved {
    /// The next batch includes the charts: the saved ones no longer fit the summary.
    pub(super) fn save_charts_next(&mut self) {
        self.batches = CHARTS_EVERY;
    }
}

impl Chronicle {
    /// The changes since the last time, with at most `limit` jobs; `None` if there are none. `is_last` if
    /// nothing is saved after this.
    pub(super) fn changes(&mut self, run: RunId, jobs_max: usize, is_last: bool) -> Option<ChronicleChanges> {
        let summary = Summary {
            left_out: self.left_out,
            last_line: self.lines.last(),
            was_suspended: self.was_suspended,
            tree: self.tree.summary(),
        };
        let version = (self.events.version(), self.timeline.version(), self.series.age().0);
        let are_charts_new = self.saved.charts != Some(version);
        if !self.tree.is_unsaved() && summary == self.saved.summary && !are_charts_new {
            return None;
        }
        self.saved.batches += 1;
        let charts = (are_charts_new && (is_last || self.is_over || self.are_charts_due())).then(|| {
            self.saved.batches = 0;
            self.saved.charts = Some(version);
            self.timeline.taken();
            ChartData {
                events: self.events.clone(),
                timeline: self.timeline.clone(),
                series: self.series.clone(),
                pace: self.prospects.pace.clone(),
                idle: self.idle.clone(),
            }
        });
        let places: BTreeSet<u32> = self.tree.take_unsaved(jobs_max).into_iter().collect();
        let jobs = places.into_iter().filter_map(|place| Some((place, self.tree.saved(place)?))).collect();
        let lines = self.lines.after(self.saved.line).lines;
        self.saved.line = self.lines.last();
        self.saved.summary = summary.clone();
        // Nothing is added to a run that is over.
        let is_settled = self.is_over && charts.is_some();
        let workers =
            if is_settled { self.timeline.last_reports() } else { self.timeline.all_last_reports() };
        let absences = Some(Absences::new(self.away.clone(), self.timeline.absent().clone()));
        let latest = Latest { went_on_ms: self.tree.went_on_ms(), workers, absences };
        Some(ChronicleChanges { run, jobs, lines, first_line: self.lines.first(), summary, latest, charts })
    }

    fn are_charts_due(&self) -> bool {
        let is_young = self.now_ms() < YOUNG_MS && self.tree.hosts().len() <= YOUNG_HOSTS_MAX;
        is_young || self.saved.batches >= CHARTS_EVERY
    }

    /// Changes that were taken could not be saved: all of them are saved with the next batch.
    pub(super) fn save_again(&mut self, taken: &ChronicleChanges) {
        self.tree.save_again(taken.jobs.iter().map(|(place, _)| *place));
        self.timeline.save_again();
        self.saved = Saved::default();
    }

    /// The chronicle of a run of which nothing else was saved.
    pub fn restore_unsaved(submitted_at_ms: u64) -> Self {
        let nothing = (Summary::default(), Latest::default());
        Self::restore(submitted_at_ms, false, nothing, std::iter::empty(), Vec::new(), ChartData::default())
    }

    /// Restores a saved chronicle. Missing parts stay empty.
    pub fn restore(
        submitted_at_ms: u64,
        is_over: bool,
        (summary, latest): (Summary, Latest),
        jobs: impl Iterator<Item = SavedJob>,
        lines: Vec<Line>,
        charts: ChartData,
    ) -> Self {
        let tree = Tree::restore(&summary.tree, latest.went_on_ms, jobs);
        let lines = Lines::restore(lines, summary.last_line);
        // The calendar may have been set back.
        let newest_event_ms = charts.events.all().last().map_or(0, |event| event.t_ms);
        let newest_ms = u64::from(newest_event_ms);
        let (away, given_up) = match latest.absences {
            Some(absences) => absences.into_parts(),
            None => (charts.events.away(), BTreeMap::new()),
        };
        // A run whose begin is not known any more has begun at some time.
        let begun_ms = charts.events.first_ms(EventKind::Started).or((tree.len() > 0).then_some(0));
        let mut chronicle = Self {
            submitted: Since::unix_ms(submitted_at_ms).at_least(newest_ms),
            tree,
            left_out: summary.left_out,
            away,
            events: charts.events,
            timeline: charts.timeline.with(given_up, begun_ms).restored(&latest.workers),
            series: charts.series,
            prospects: Prospects { pace: charts.pace, ..Prospects::default() },
            idle: charts.idle,
            was_suspended: summary.was_suspended,
            is_over,
            ..Self::default()
        };
        chronicle.saved.line = lines.last();
        chronicle.lines = lines;
        chronicle.saved.charts =
            Some((chronicle.events.version(), chronicle.timeline.version(), chronicle.series.age().0));
        chronicle.saved.summary = summary;
        if !is_over {
            if chronicle.events.all().is_empty() {
                chronicle.add_submitted(0);
            }
            chronicle.add_lost_events(newest_event_ms);
            let newest_ms = newest_ms.max(chronicle.series.age().1.into());
            let newest_ms = u32::try_from(newest_ms).unwrap_or(u32::MAX);
            chronicle.interrupt_waits(newest_ms);
            let by_ms = chronicle.now_ms().saturating_add(SETTLED_MS);
            let hosts = chronicle.tree.hosts().len();
            // Reports are saved with each batch, events and samples only now and then.
            let last_ms = newest_ms.max(chronicle.timeline.last_report_ms()).min(chronicle.now_ms());
            // A host that had the root job may have computed until now.
            let idle_since_ms = Some(if chronicle.has_begun() { chronicle.now_ms() } else { last_ms });
            let quiet_since_ms = Some(last_ms);
            chronicle.settles = Some(Settles { by_ms, quiet_since_ms, idle_since_ms, hosts });
            chronicle.add_event(
                EventKind::CoordinatorRestarted,
                None,
                "the coordinator was started again".to_owned(),
            );
        } else if !chronicle.events.all().iter().any(|event| event.kind == EventKind::Ended) {
            // A run's end is saved at once, and its events a moment later.
            chronicle.end("the run ended just before the coordinator was started again");
            chronicle.end_some(usize::MAX);
        }
        chronicle
    }
}
