//! What people can look at during a run and afterwards. Bounded; changes are saved now and then, so
//! that a restart loses no more than the last moment.
//!
//! `tree` keeps the jobs and their counts; `timeline` what workers did over time; `series` and `prospects` the progress of
//! the run, `hold_up` what slows it down, `waits` why it waits, `suspensions` when it was suspended, `absences` which hosts
//! are away, `silences` which do not answer, `roots` which has the root job, `worked` how many workers computed; `events`
//! and `log` its messages. `saved` is what the store keeps of all that; `all` has the chronicles of all runs; `shown` is
//! their interface for others, `record` for drawing.

mod absences;
mod all;
mod events;
mod forecasts;
mod hold_up;
mod log;
mod names;
mod pace;
mod prospects;
mod record;
mod roots;
mod saved;
mod series;
mod shown;
mod silences;
mod state;
mod suspensions;
mod timeline;
mod tree;
mod waits;
mod worked;

use std::collections::BTreeMap;

use sateen_protocol::message::{JobNote, LogLine, NoteKind, WorkerTimes};
use sateen_protocol::{HostId, ROOT_KIND};
use serde::{Deserialize, Serialize};

use crate::limits::SILENT;

use crate::clock::{Since, unix_ms};
use events::Events;
use log::Lines;
use prospects::Prospects;
use series::Series;
use timeline::Timeline;
use tree::Tree;
use waits::Settles;

pub use absences::Absences;
pub use all::{Chronicles, FoundJob};
pub use events::{Event, EventKind, Idle};
pub use hold_up::{Course, Findings, HoldUp, HoldUpKind, findings};
pub use log::Line;
pub use names::Names;
pub use pace::{Basis, Remaining};
pub use record::RECORD_BYTES;
pub use saved::{ChartData, ChronicleChanges, Latest, Summary};
pub use series::{Point, Sample};
pub use shown::{Shown, ShownJob};
pub use silences::Silent;
pub use tree::{DepthCounts, Missing, SavedJob, TreeHost};
pub use waits::{NOT_BEGUN, RESTARTED, SUSPENDED, Waits};

/// Maximum jobs of departed hosts that are marked as ended with each sample.
const ENDED_AT_ONCE_MAX: usize = 1024;
/// [`SILENT`] in milliseconds.
const SILENT_MS: u32 = SILENT.as_millis() as u32;

/// The chronicle of one run.
#[derive(Debug, Default)]
pub struct Chronicle {
    /// The time since the run was submitted: all times count from there.
    submitted: Since,
    tree: Tree,
    /// Notes that hosts report to have left out.
    left_out: u64,
    /// Hosts of the run that paused or were given up, and may come back.
    away: BTreeMap<HostId, Away>,
    lines: Lines,
    events: Events,
    timeline: Timeline,
    series: Series,
    prospects: Prospects,
    /// Why the run is and was idle.
    idle: Vec<Idle>,
    /// It has been suspended since it last ran.
    was_suspended: bool,
    /// It is suspended only to wait for another turn.
    gives_way: bool,
    is_over: bool,
    /// After a restart of the coordinator, until all returning hosts are back.
    settles: Option<Settles>,
    saved: saved::Saved,
}

/// A host, as chronicles refer to it.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// Its id.
    pub id: HostId,
    /// Its name.
    pub name: &'a str,
    /// Its site.
    pub site: &'a str,
}

/// How a host went, as recorded in the chronicles of its runs. Saved as its number in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Going {
    /// It left in order.
    Left,
    /// It paused, and gave back its jobs.
    Paused,
    /// It was given up.
    Crashed,
    /// It did not come back after a restart of the coordinator.
    NotBack,
    /// It was given up while it had no jobs of the run: the run was suspended, or the host paused.
    Resting,
}

impl Going {
    /// Whether its jobs are lost, unless the run was suspended.
    fn is_loss(self) -> bool {
        matches!(self, Self::Crashed | Self::NotBack | Self::Resting)
    }
}

/// A host of the run that paused or was given up, and may come back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Away {
    /// Why.
    pub how: Going,
    /// Since when, in milliseconds since the run was submitted.
    pub since_ms: u32,
}

impl Chronicle {
    /// The chronicle of a run that was submitted at this time.
    pub fn new(submitted_at_ms: u64) -> Self {
        Self { submitted: Since::unix_ms(submitted_at_ms), ..Self::default() }
    }

    /// A chronicle whose tree is soon full.
    #[cfg(test)]
    pub fn with_room_for(nodes_max: usize) -> Self {
        Self { tree: Tree::with_room_for(nodes_max), ..Self::default() }
    }

    /// The chronicle of a run that is submitted now, with that event.
    pub fn begin() -> Self {
        let mut chronicle = Self::new(unix_ms());
        chronicle.add_submitted(chronicle.now_ms());
        chronicle
    }

    fn add_submitted(&mut self, t_ms: u32) {
        self.events.add(t_ms, EventKind::Submitted, None, "the run was submitted".to_owned());
    }

    /// Milliseconds since the run was submitted.
    pub fn now_ms(&self) -> u32 {
        u32::try_from(self.submitted.ms()).unwrap_or(tree::NEVER).min(tree::NEVER - 1)
    }

    /// A host works on the run, at the latest since this time.
    fn host(&mut self, source: Source<'_>, t_ms: u32) -> u32 {
        let known = self.tree.hosts().len();
        let place = self.tree.host(source.id, source.name, source.site);
        if self.tree.hosts().len() > known {
            let text = format!("{} takes part", self.named(source));
            self.events.add(t_ms, EventKind::HostJoined, Some(source.id), text);
        }
        place
    }

    /// Records what happened to jobs at a host.
    pub fn note(&mut self, source: Source<'_>, notes: &[JobNote]) {
        let now_ms = self.now_ms();
        let first_ago_ms = notes.iter().map(|note| note.ago_ms).max().unwrap_or_default();
        let host = self.host(source, now_ms.saturating_sub(first_ago_ms));
        self.is_heard(host);
        self.is_done();
        for note in notes {
            let t_ms = now_ms.saturating_sub(note.ago_ms);
            self.tree.note(host, t_ms, note);
            if note.kind == ROOT_KIND && matches!(note.what, NoteKind::Begun { .. }) {
                self.root_begins(t_ms);
            }
            let kind = match note.what {
                NoteKind::Reused => EventKind::Reused,
                NoteKind::Adopted => EventKind::Adopted,
                _ => continue,
            };
            self.events.add_of_job(t_ms, kind, source.id, note.job);
        }
    }

    /// Records what a host's workers did since the series began.
    pub fn activity(&mut self, source: Source<'_>, series: u64, workers: &[WorkerTimes]) {
        let now_ms = self.now_ms();
        // Its first report is of the time since its series began.
        let longest_ms = workers.iter().map(WorkerTimes::all_ms).max().unwrap_or_default();
        let since_ms = now_ms.saturating_sub(u32::try_from(longest_ms).unwrap_or(u32::MAX));
        let host = self.host(source, since_ms);
        self.is_heard(host);
        let before_s = self.timeline.computed_s(host);
        if host != tree::NOWHERE {
            self.timeline.add(host, now_ms, series, workers);
        }
        if self.timeline.computed_s(host) > before_s {
            self.is_done();
        }
    }

    /// The process of a host has another id. What its workers did and its counts move with it.
    pub fn host_reborn(&mut self, was: HostId, is: Source<'_>) {
        let Some((place, _)) = self.tree.known_host(was) else { return };
        let host = if let Some(from) = self.away.remove(&was).filter(|_| !self.is_over) {
            self.add_return(is, from.how);
            self.tree.host(is.id, is.name, is.site)
        } else {
            self.host(is, self.now_ms())
        };
        if host != tree::NOWHERE {
            self.timeline.host_back(place, self.now_ms());
            self.timeline.rename(place, host);
            self.tree.rename_host(place, host);
            self.saved.save_charts_next();
        }
    }

    /// A host has left out this many more notes.
    pub fn left_out(&mut self, notes: u64) {
        self.left_out = self.left_out.saturating_add(notes);
    }

    /// Adds lines of the app's log.
    pub fn log(&mut self, host: HostId, lines: Vec<LogLine>) {
        self.lines.add(host, lines);
    }

    /// Adds a sample of the run's progress; called twice a second while the run is not over.
    pub fn sample(&mut self, sample: Sample, progress: Option<(u64, u64)>, waiting_for: Option<&str>) {
        match &self.settles {
            Some(settles) if sample.t_ms >= settles.by_ms => self.settle(sample.t_ms),
            Some(_) if sample.is_settling => self.series.gap(sample.t_ms),
            _ => self.series.add(sample, self.tree.redone()),
        }
        if let Some((done, total)) = progress {
            self.prospects.pace.add(sample.t_ms, done, total);
        }
        self.tree.end_some(ENDED_AT_ONCE_MAX);
        // The last moments before a restart may be lost.
        self.was_suspended |= sample.is_suspended;
        self.gives_way &= !sample.is_suspended;
        let why = if sample.is_suspended { Some(SUSPENDED) } else { waits::known(waiting_for) };
        self.idle_because(None, why, sample.t_ms);
    }

    /// Adds what hosts expect: processor time so far, and of the jobs spawned so far, in nanoseconds.
    pub fn forecast(&mut self, done_ns: u64, ahead_ns: Option<u64>) {
        let now_ms = self.now_ms();
        self.prospects.forecasts.add(now_ms, done_ns, ahead_ns);
    }

    /// Hosts that have not come back by now are gone.
    fn settle(&mut self, t_ms: u32) {
        self.settles = None;
        match self.tree.lose_unheard(t_ms, self.was_suspended) {
            0 => {}
            _ if self.was_suspended => {}
            1 => self.add_event(
                EventKind::JobsInterrupted,
                None,
                "a job was running at a host that did not come back; it is run again if its result is needed"
                    .to_owned(),
            ),
            jobs => {
                let text = format!(
                    "{jobs} jobs were running at hosts that did not come back; they are run again if their results are needed"
                );
                self.add_event(EventKind::JobsInterrupted, None, text);
            }
        }
    }

    /// A host in the sentences of events, told apart from others of the same name.
    pub fn named(&self, source: Source<'_>) -> String {
        self.tree.named(source.id, source.name, source.site)
    }

    /// Adds an event.
    pub fn add_event(&mut self, kind: EventKind, host: Option<HostId>, text: String) {
        let now_ms = self.now_ms();
        self.events.add(now_ms, kind, host, text);
    }

    /// A host has gone. Nothing is recorded if it had nothing to do with the run.
    pub fn host_gone(&mut self, source: Source<'_>, how: Going) {
        if !self.tree.has_host(source.id) || self.is_over {
            return;
        }
        let now_ms = self.now_ms();
        // No job of a suspended run is running.
        let is_given_back = !how.is_loss() || self.was_suspended;
        let running = self.tree.lose_host(source.id, now_ms, is_given_back);
        if let Some((place, _)) = self.tree.known_host(source.id) {
            self.timeline.host_rests(place);
            // After a pause, its reports are those of another series.
            if how.is_loss() {
                self.timeline.host_gone(place);
            }
        }
        self.note_absence(source.id, how, now_ms);
        self.end_silence(source.id);
        let (kind, text) = absences::event_of(&self.named(source), how);
        self.events.add(now_ms, kind, Some(source.id), text);
        // Jobs lost by hosts that had lent them are counted separately: see `EventKind::JobsInterrupted`.
        let named = self.named(source);
        let text = match running {
            0 => return,
            _ if is_given_back => return,
            1 => format!("a job was running at {named}; it is run again if its result is needed"),
            jobs => {
                format!("{jobs} jobs were running at {named}; they are run again if their results are needed")
            }
        };
        self.add_event(EventKind::JobsInterrupted, Some(source.id), text);
    }

    /// Hosts of the run that paused or were given up, and may come back.
    pub fn away(&self) -> &BTreeMap<HostId, Away> {
        &self.away
    }

    /// Workers that computed on average since the reports before the last ones; not known if there are too many workers.
    pub fn busy(&self) -> Option<f32> {
        self.timeline.busy_since(self.now_ms().saturating_sub(SILENT_MS))
    }

    /// A host that paused or was given up is back. Nothing is recorded if it had nothing to do with the run.
    pub fn host_back(&mut self, source: Source<'_>) {
        if let Some((place, _)) = self.tree.known_host(source.id) {
            self.timeline.host_back(place, self.now_ms());
        }
        let from = self.away.remove(&source.id).filter(|_| !self.is_over);
        if let Some(from) = from {
            self.add_return(source, from.how);
        }
    }

    fn add_return(&mut self, source: Source<'_>, from: Going) {
        let (kind, how) = match from {
            Going::Paused => (EventKind::HostResumed, "works again after its pause"),
            Going::Left | Going::Crashed | Going::NotBack | Going::Resting => {
                (EventKind::HostReturned, "came back after it was given up")
            }
        };
        let text = format!("{} {how}", self.named(source));
        self.add_event(kind, Some(source.id), text);
    }

    /// The run is over.
    pub fn end(&mut self, how: &str) {
        let now_ms = self.now_ms();
        self.tree.abort_all(now_ms);
        self.idle_because(None, None, now_ms);
        self.note_silent(&[]);
        self.is_over = true;
        self.add_event(EventKind::Ended, None, how.to_owned());
    }

    /// Ends at most `most` jobs whose host is gone or whose run is over. Returns whether more are left.
    pub fn end_some(&mut self, most: usize) -> bool {
        self.tree.end_some(most)
    }

    /// How many jobs the tree keeps.
    pub fn nodes(&self) -> usize {
        self.tree.len()
    }

    /// Whether somebody looks at the tree from now on.
    pub fn watch(&mut self, is_watched: bool) {
        self.tree.watch(is_watched);
    }

    /// Places of jobs that have changed since they were taken last, at most `limit`.
    pub fn take_fresh(&mut self, limit: usize) -> Vec<u32> {
        self.tree.take_fresh(limit)
    }
}

#[cfg(test)]
mod tests;
