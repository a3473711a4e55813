//! The events of a run: as the coordinator reports them, or derived from changes of the run.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use sateen_api::{EventKind, Run, RunEvent};

use super::super::view::predicate;
use super::row::{Row, Tone};
use crate::progress::counted;

/// Maximum events kept.
const KEPT_MAX: usize = 500;

/// Time without growth after which an event is complete. The coordinator adds what happens within a second to the last
/// event of its kind, and hosts report twice a second.
const COMPLETE_AFTER: Duration = Duration::from_secs(2);

/// Minimum columns in which a text is wrapped; in fewer, it is cut.
const WRAPPED_MIN: usize = 24;

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    pub tone: Tone,
    pub text: String,
    /// Milliseconds since the run was submitted.
    t_ms: u32,
    /// The coordinator's number of an event whose count may grow.
    number: Option<u64>,
    /// When its text last changed, until it is complete.
    changed: Option<Instant>,
    /// The end of the run, which stays the last one.
    is_end: bool,
}

impl Event {
    fn time(&self) -> String {
        format!("{:<5} ", clock(self.t_ms))
    }

    /// Its time and text.
    fn row(&self) -> Row {
        Row::of(Tone::Dim, &self.time()).and(self.tone, &self.text)
    }

    /// The same in rows of `width` columns.
    fn rows(&self, width: usize) -> Vec<Row> {
        if width < WRAPPED_MIN { vec![self.row()] } else { self.row().wrap(self.time().len(), width) }
    }
}

/// A time since the run was submitted, as its page shows it: 0:05, 12:30, 1:02:03.
fn clock(t_ms: u32) -> String {
    let all_s = (u64::from(t_ms) + 500) / 1000;
    let (hours, minutes, seconds) = (all_s / 3600, all_s / 60 % 60, all_s % 60);
    if hours > 0 { format!("{hours}:{minutes:02}:{seconds:02}") } else { format!("{minutes}:{seconds:02}") }
}

/// The newest events, and how many there were in all.
#[derive(Debug, Default)]
pub struct Events {
    kept: VecDeque<Event>,
    pub count: usize,
    /// The number of those that were written as lines.
    written: usize,
    /// Texts of events that have grown since they were written.
    grown: Vec<String>,
    /// The last event that the coordinator reported.
    told: u64,
    is_told: bool,
    /// The number of the end, if it was among them. An event that is reported after it gets this number, and the end the next.
    ended: Option<u64>,
}

impl Events {
    /// The newest events in at most `lines` rows of `width` columns, and how many events these are.
    pub fn rows(&self, lines: usize, width: usize) -> (Vec<Row>, usize) {
        let mut shown: Vec<Vec<Row>> = Vec::new();
        let mut left = lines;
        for event in self.kept.iter().rev() {
            let mut rows = event.rows(width);
            if shown.is_empty() && rows.len() > lines {
                rows = vec![event.row()];
            }
            if rows.len() > left {
                break;
            }
            left -= rows.len();
            shown.push(rows);
        }
        let count = shown.len();
        (shown.into_iter().rev().flatten().collect(), count)
    }

    /// The last `count` events.
    #[cfg(test)]
    fn last(&self, count: usize) -> impl Iterator<Item = &Event> {
        self.kept.iter().skip(self.kept.len().saturating_sub(count))
    }

    /// The texts of events since the last call. An event is left for later while it may still grow, and with it those after it.
    pub fn new_texts(&mut self) -> Vec<String> {
        let mut texts = std::mem::take(&mut self.grown);
        let grown = texts.len();
        let dropped = self.count - self.kept.len();
        self.written = self.written.max(dropped);
        let new = self.kept.iter().skip(self.written - dropped).take_while(|event| event.changed.is_none());
        texts.extend(new.map(|event| event.text.clone()));
        self.written += texts.len() - grown;
        texts
    }

    /// Adds the events that the coordinator reports.
    pub fn take(&mut self, events: &[RunEvent]) {
        self.is_told = true;
        let (known, ended) = (self.told, self.ended);
        for event in events {
            let may_grow = matches!(event.kind, EventKind::Adopted | EventKind::Reused);
            let is_end = event.kind == EventKind::Ended;
            let is_late = !is_end && ended == Some(event.number);
            self.told = self.told.max(event.number);
            if event.number > known || is_late {
                if !(is_end && ended.is_some()) {
                    let (number, changed) = (may_grow.then_some(event.number), may_grow.then(Instant::now));
                    let (tone, text, t_ms) = (tone(event.kind), event.text.clone(), event.t_ms);
                    self.insert(Event { tone, text, t_ms, number, changed, is_end });
                }
                self.ended = if is_end { Some(event.number) } else { self.ended };
            } else if may_grow {
                self.grow(event);
            }
        }
        let newest = self.kept.iter().filter_map(|event| event.number).max();
        for event in &mut self.kept {
            let is_complete = event.number != newest
                || event.changed.is_some_and(|changed| changed.elapsed() >= COMPLETE_AFTER);
            event.changed = event.changed.filter(|_| !is_complete);
        }
    }

    /// Takes in that an event has grown, if it has.
    fn grow(&mut self, now: &RunEvent) {
        let dropped = self.count - self.kept.len();
        let place = self.kept.iter().rposition(|event| event.number == Some(now.number));
        let Some(place) = place else { return };
        let Some(event) = self.kept.get_mut(place) else { return };
        if event.text == now.text {
            return;
        }
        event.text.clone_from(&now.text);
        if dropped + place < self.written {
            self.grown.push(format!("{} (in all)", now.text));
        } else {
            event.changed = Some(Instant::now());
        }
    }

    /// There will be no more news.
    pub fn complete(&mut self) {
        self.kept.iter_mut().for_each(|event| event.changed = None);
    }

    /// Derives events from two states of the run, unless the coordinator reports events.
    pub fn compare(&mut self, before: Option<&Run>, after: &Run) {
        if self.is_told {
            return;
        }
        let Some(before) = before else {
            return self.add(Tone::Plain, format!("run {} {}", after.run, predicate(&after.state)));
        };
        // Causes come before what follows from them: the end of a run is the last thing.
        if !after.is_over() {
            self.compare_states(before, after);
        }
        self.compare_hosts(before, after);
        let more = |before: u64, after: u64| Some(after.saturating_sub(before)).filter(|more| *more > 0);
        if let Some(times) = more(before.figures.root_losses.into(), after.figures.root_losses.into()) {
            let times = if times == 1 { String::new() } else { format!(" {times} times") };
            self.add(Tone::Bad, format!("the root job was lost with its host{times}"));
        }
        let jobs = |of: &Run| (of.figures.jobs.lost, of.figures.jobs.adopted, of.figures.jobs.reused);
        let ((lost, adopted, reused), (lost_now, adopted_now, reused_now)) = (jobs(before), jobs(after));
        if let Some(jobs) = more(lost, lost_now) {
            self.add(
                Tone::Bad,
                format!("{} lost with a host", counted(jobs, "stolen job was", "stolen jobs were")),
            );
        }
        if let Some(jobs) = more(adopted, adopted_now) {
            self.add(Tone::Good, format!("{} adopted", counted(jobs, "orphan was", "orphans were")));
        }
        if let Some(jobs) = more(reused, reused_now) {
            self.add(Tone::Good, format!("{} reused", counted(jobs, "result was", "results were")));
        }
        if after.is_over() {
            self.compare_states(before, after);
        }
    }

    fn compare_states(&mut self, before: &Run, after: &Run) {
        if before.state != after.state {
            let tone = match after.state.as_str() {
                "done" => Tone::Good,
                "failed" | "cancelled" => Tone::Bad,
                _ => Tone::Plain,
            };
            self.add(tone, format!("run {} {}", after.run, predicate(&after.state)));
        }
    }

    fn compare_hosts(&mut self, before: &Run, after: &Run) {
        let there = |run: &Run| -> BTreeMap<String, (String, bool)> {
            let hosts =
                run.figures.by_host.iter().map(|host| (host.host.clone(), (host.name.clone(), host.there)));
            hosts.collect()
        };
        let (before, after) = (there(before), there(after));
        for (host, (name, is_there)) in &after {
            match (before.get(host).map(|(_, was_there)| *was_there), is_there) {
                (None | Some(false), true) => self.add(Tone::Plain, format!("{name} ({host}) takes part")),
                (Some(true), false) => self.add(Tone::Warn, format!("{name} ({host}) is gone")),
                _ => {}
            }
        }
    }

    /// Adds an event to the end.
    pub fn add(&mut self, tone: Tone, text: String) {
        let t_ms = self.kept.back().map_or(0, |last| last.t_ms);
        self.insert(Event { tone, text, t_ms, number: None, changed: None, is_end: false });
    }

    /// Adds an event before those that happened later, if these were not written as lines.
    fn insert(&mut self, event: Event) {
        let unwritten = self.written.saturating_sub(self.count - self.kept.len());
        let earlier = self.kept.iter().rposition(|other| other.t_ms <= event.t_ms && !other.is_end);
        self.kept.insert(earlier.map_or(0, |place| place + 1).max(unwritten), event);
        self.count += 1;
        if self.kept.len() > KEPT_MAX {
            self.kept.pop_front();
        }
    }
}

fn tone(kind: EventKind) -> Tone {
    match kind {
        EventKind::HostLost | EventKind::JobsInterrupted | EventKind::RootLost => Tone::Bad,
        EventKind::Adopted | EventKind::Reused => Tone::Good,
        EventKind::HostLeft
        | EventKind::HostPaused
        | EventKind::Suspended
        | EventKind::CoordinatorRestarted => Tone::Warn,
        EventKind::Submitted
        | EventKind::Started
        | EventKind::HostJoined
        | EventKind::HostReturned
        | EventKind::HostResumed
        | EventKind::Unable
        | EventKind::Resumed
        | EventKind::Ended
        | EventKind::Other => Tone::Plain,
    }
}

#[cfg(test)]
mod tests;
