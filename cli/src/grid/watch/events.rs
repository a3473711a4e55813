//! The events of a run: as the coordinator reports them, or derived from changes of the run.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use sateen_api::{EventKind, Run, RunEvent};

use super::super::view::predicate;
use super::row::Tone;
use crate::progress::counted;

/// Maximum events kept.
const KEPT_MAX: usize = 500;

/// Time without growth after which an event is complete. The coordinator adds what happens within a second to the last
/// event of its kind, and hosts report twice a second.
const COMPLETE_AFTER: Duration = Duration::from_secs(2);

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
    /// The last `count` events.
    pub fn last(&self, count: usize) -> impl Iterator<Item = &Event> {
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
mod tests {
    use serde_json::json;

    use super::super::super::view::read;
    use super::*;

    fn run(state: &str, there: bool, lost: u64, root_losses: u64) -> Run {
        read(&json!({
            "run": 7, "app": {"hash": "ab", "name": "fib"}, "function": "main", "state": state,
            "jobs": {"lost": lost, "reused": lost}, "root_losses": root_losses,
            "by_host": [{"host": "h1", "name": "ada", "there": there}],
        }))
        .expect("a run")
    }

    fn texts(events: &Events) -> Vec<&str> {
        events.last(9).map(|event| event.text.as_str()).collect()
    }

    #[test]
    fn changes_are_events() {
        let mut events = Events::default();
        events.compare(None, &run("queued", false, 0, 0));
        events.compare(Some(&run("queued", false, 0, 0)), &run("running", true, 0, 0));
        events.compare(Some(&run("running", true, 0, 0)), &run("running", true, 0, 0));
        events.compare(Some(&run("running", true, 0, 0)), &run("failed", false, 3, 1));
        let expected = [
            "run 7 is queued",
            "run 7 is running",
            "ada (h1) takes part",
            "ada (h1) is gone",
            "the root job was lost with its host",
            "3 stolen jobs were lost with a host",
            "3 results were reused",
            "run 7 has failed",
        ];
        assert_eq!(texts(&events), expected);
        assert_eq!((events.count, events.new_texts().len(), events.new_texts().len()), (8, 8, 0));
    }

    #[test]
    fn each_event_of_the_coordinator_is_shown_once() {
        let mut events = Events::default();
        let event = |number: u64, kind: &str, text: &str| -> RunEvent {
            read(&json!({"number": number, "kind": kind, "text": text})).expect("an event")
        };
        let told = [event(1, "host_lost", "a"), event(2, "only newer coordinators know it", "b")];
        events.take(&told);
        events.take(&told);
        events.compare(Some(&run("running", true, 0, 0)), &run("done", false, 3, 1));
        assert_eq!(texts(&events), ["a", "b"]);
        let tones: Vec<Tone> = events.last(9).map(|event| event.tone).collect();
        assert_eq!(tones, [Tone::Bad, Tone::Plain]);
        for number in 3..2000 {
            events.take(&[event(number, "adopted", "c")]);
        }
        assert_eq!((events.count, events.last(usize::MAX).count()), (1999, KEPT_MAX));
        events.take(&[event(2000, "ended", "d")]);
        events.take(&[event(2000, "host_joined", "e"), event(2001, "ended", "d")]);
        assert_eq!((events.count, texts(&events).split_off(7)), (2001, vec!["e", "d"]));
    }

    /// Hosts report a moment later what they did: the coordinator lists it among earlier events.
    #[test]
    fn late_events_are_shown_in_order_of_time_and_none_is_left_out() {
        let mut events = Events::default();
        let event = |number: u64, t_ms: u32, text: &str| -> RunEvent {
            read(&json!({"number": number, "t_ms": t_ms, "kind": "host_joined", "text": text}))
                .expect("an event")
        };
        events.take(&[event(1, 100, "a"), event(2, 900, "d")]);
        events.take(&[event(1, 100, "a"), event(4, 400, "b"), event(3, 500, "c"), event(2, 900, "d")]);
        assert_eq!(texts(&events), ["a", "b", "c", "d"]);
        // Lines that are written stay.
        assert_eq!(events.new_texts(), ["a", "b", "c", "d"]);
        events.take(&[event(5, 200, "e")]);
        assert_eq!((events.new_texts(), events.count), (vec!["e".to_owned()], 5));
    }

    #[test]
    fn an_event_that_may_grow_is_written_when_it_is_complete() {
        let event = |number: u64, kind: &str, text: &str| -> RunEvent {
            read(&json!({"number": number, "kind": kind, "text": text})).expect("an event")
        };
        let mut events = Events::default();
        events.take(&[
            event(1, "started", "a"),
            event(2, "reused", "2 results"),
            event(3, "host_joined", "b"),
        ]);
        assert_eq!(events.new_texts(), ["a"]);
        events.take(&[event(2, "reused", "27 results"), event(3, "host_joined", "b")]);
        assert_eq!((events.new_texts().len(), texts(&events)), (0, vec!["a", "27 results", "b"]));
        events.take(&[event(2, "reused", "27 results"), event(4, "adopted", "an orphan")]);
        assert_eq!(events.new_texts(), ["27 results", "b"]);
        events.take(&[event(2, "reused", "28 results"), event(4, "adopted", "2 orphans")]);
        assert_eq!(events.new_texts(), ["28 results (in all)"]);
        events.complete();
        assert_eq!((events.new_texts(), events.new_texts().len()), (vec!["2 orphans".to_owned()], 0));
        // The end has the number of an event that is reported after it, which was left out.
        events.take(&[event(5, "ended", "the end")]);
        for _ in 0..2 {
            events.take(&[event(5, "reused", "5 results"), event(6, "ended", "the end")]);
        }
        for _ in 0..2 {
            events.take(&[
                event(6, "host_lost", "c"),
                event(7, "host_lost", "d"),
                event(8, "ended", "the end"),
            ]);
        }
        let count = events.count;
        assert_eq!(texts(&events)[count - 4..], ["5 results", "c", "d", "the end"]);
    }

    #[test]
    fn an_event_that_no_longer_grows_is_written_after_a_moment() {
        let event: RunEvent = read(&json!({"number": 1, "kind": "reused", "text": "a"})).expect("an event");
        let mut events = Events::default();
        events.take(std::slice::from_ref(&event));
        assert_eq!(events.new_texts().len(), 0);
        for kept in &mut events.kept {
            kept.changed = kept.changed.and_then(|changed| changed.checked_sub(COMPLETE_AFTER));
        }
        events.take(&[event]);
        assert_eq!(events.new_texts(), ["a"]);
    }
}
