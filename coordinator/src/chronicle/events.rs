//! The newest events of a run, and why the run was idle, for people.

use std::collections::{BTreeMap, VecDeque};

use sateen_protocol::{HostId, JobTag};
use serde::{Deserialize, Serialize};

use super::{Away, Going};
use crate::limits::RUN_EVENTS_MAX;
use crate::saved_id;

/// An event. Saved as a sequence of its fields.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Counts from 1, in the order in which events became known.
    pub number: u64,
    /// Milliseconds since the run was submitted.
    pub t_ms: u32,
    /// What.
    pub kind: EventKind,
    /// The host, if any.
    #[serde(with = "saved_id::option")]
    pub host: Option<HostId>,
    /// The job, if any.
    #[serde(with = "saved_id::option")]
    pub job: Option<JobTag>,
    /// The event in a sentence.
    pub text: String,
}

/// Kinds of events. Saved as their numbers in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum EventKind {
    /// The run was submitted.
    Submitted,
    /// A host has the run's root job.
    Started,
    /// A host works on the run.
    HostJoined,
    /// A host left in good order.
    HostLeft,
    /// A host was given up.
    HostLost,
    /// Jobs of the tree were running at a host that was given up. Jobs lost by hosts that had lent them are counted
    /// separately.
    JobsInterrupted,
    /// Orphans were adopted.
    Adopted,
    /// Results were found in the table.
    Reused,
    /// The root was lost with its host.
    RootLost,
    /// A host cannot take part.
    Unable,
    /// The run was suspended.
    Suspended,
    /// The run was resumed.
    Resumed,
    /// The coordinator was restarted.
    CoordinatorRestarted,
    /// The run is over.
    Ended,
    /// A host paused.
    HostPaused,
    /// A host that was given up is back; in folders of older versions, also one that had paused.
    HostReturned,
    /// A host works again after a pause.
    HostResumed,
    /// A kind that only newer versions know.
    #[serde(other)]
    Other,
}

/// Why the run was idle for a while. Saved as a sequence of its fields.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Idle {
    /// Its beginning, in milliseconds since the run was submitted.
    pub from_ms: u32,
    /// Its end; none while it lasts.
    pub to_ms: Option<u32>,
    /// The host that was idle, if not all were.
    #[serde(with = "saved_id::option")]
    pub host: Option<HostId>,
    /// The reason in a sentence.
    pub text: String,
}

/// Half of the room is for events of single jobs, of which there may be many, half for all others.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Events {
    last: u64,
    /// Number of changes.
    changes: u64,
    of_jobs: VecDeque<OfJobs>,
    others: VecDeque<Event>,
}

/// Events of one kind at one host within a moment; `event` is the first one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct OfJobs {
    event: Event,
    count: u32,
}

/// How long a moment is.
const MOMENT_MS: u32 = 1000;

impl OfJobs {
    fn shown(&self) -> Event {
        let text = match (self.event.kind, self.count) {
            (EventKind::Adopted, 1) => "a job keeps running and has a new owner".to_owned(),
            (EventKind::Adopted, count) => format!("{count} jobs keep running and have new owners"),
            (_, 1) => "the result of a job was known already".to_owned(),
            (_, count) => format!("the results of {count} jobs were known already"),
        };
        Event { text, ..self.event.clone() }
    }
}

impl Events {
    /// Adds an event. The run's end stays the last one: hosts report the last moments after it.
    pub fn add(&mut self, t_ms: u32, kind: EventKind, host: Option<HostId>, text: String) {
        let (number, t_ms) = self.place(t_ms);
        self.changes += 1;
        let end = self.others.pop_back_if(|last| last.kind == EventKind::Ended);
        self.others.push_back(Event { number, t_ms, kind, host, job: None, text });
        self.others.extend(end);
        if self.others.len() > RUN_EVENTS_MAX / 2 {
            self.others.pop_front();
        }
    }

    /// The number and time of the next event. After the end of the run, these are of before it.
    fn place(&mut self, t_ms: u32) -> (u64, u32) {
        self.last += 1;
        match self.others.back_mut().filter(|last| last.kind == EventKind::Ended) {
            Some(end) => (std::mem::replace(&mut end.number, self.last), t_ms.min(end.t_ms)),
            None => (self.last, t_ms),
        }
    }

    /// A job was reused or adopted at a host.
    pub fn add_of_job(&mut self, t_ms: u32, kind: EventKind, host: HostId, job: JobTag) {
        self.changes += 1;
        if let Some(OfJobs { event, count }) = self.of_jobs.back_mut()
            && event.kind == kind
            && event.host == Some(host)
            && t_ms.abs_diff(event.t_ms) < MOMENT_MS
        {
            *count = count.saturating_add(1);
            return;
        }
        let (number, t_ms) = self.place(t_ms);
        self.joined_by(host, t_ms);
        let (host, job, text) = (Some(host), Some(job), String::new());
        let event = Event { number, t_ms, kind, host, job, text };
        self.of_jobs.push_back(OfJobs { event, count: 1 });
        if self.of_jobs.len() > RUN_EVENTS_MAX / 2 {
            self.of_jobs.pop_front();
        }
    }

    /// A host took part at this time: what it reports first may be later than what it reports next.
    fn joined_by(&mut self, host: HostId, t_ms: u32) {
        let is_joined = |event: &&mut Event| event.kind == EventKind::HostJoined && event.host == Some(host);
        if let Some(joined) = self.others.iter_mut().rev().find(is_joined) {
            joined.t_ms = joined.t_ms.min(t_ms);
        }
    }

    /// The hosts that paused or were given up and are not back, as far as events say.
    pub fn away(&self) -> BTreeMap<HostId, Away> {
        let mut away = BTreeMap::new();
        for event in &self.others {
            let going = |how| Away { how, since_ms: event.t_ms };
            match (event.kind, event.host) {
                (EventKind::HostPaused, Some(host)) => away.insert(host, going(Going::Paused)),
                (EventKind::HostLost, Some(host)) => away.insert(host, going(Going::Crashed)),
                (EventKind::HostReturned | EventKind::HostResumed | EventKind::HostLeft, Some(host)) => {
                    away.remove(&host)
                }
                _ => None,
            };
        }
        away
    }

    /// When the first event of this kind was, if it is not one of jobs and all events are kept.
    pub fn first_ms(&self, kind: EventKind) -> Option<u32> {
        let is_first = self.others.front().is_some_and(|event| event.kind == EventKind::Submitted);
        self.others.iter().find(|event| event.kind == kind).filter(|_| is_first).map(|event| event.t_ms)
    }

    /// When the last event of this kind was, if it is not one of jobs.
    pub fn last_ms(&self, kind: EventKind) -> Option<u32> {
        self.others.iter().rfind(|event| event.kind == kind).map(|event| event.t_ms)
    }

    /// Whether a host paused, as far as events say.
    pub fn are_of_pauses(&self) -> bool {
        self.last_ms(EventKind::HostPaused).is_some()
    }

    /// Whether the run is suspended, as far as events say.
    pub fn are_of_suspended(&self) -> bool {
        let mut kinds = self.others.iter().rev().map(|event| event.kind);
        kinds.find(|kind| matches!(kind, EventKind::Suspended | EventKind::Resumed))
            == Some(EventKind::Suspended)
    }

    /// Changes whenever an event is added.
    pub fn version(&self) -> u64 {
        self.changes
    }

    /// The events that are kept, in order of time: hosts report some of them a moment later.
    pub fn all(&self) -> Vec<Event> {
        let mut all: Vec<Event> =
            self.of_jobs.iter().map(OfJobs::shown).chain(self.others.iter().cloned()).collect();
        all.sort_by_key(|event| (event.kind == EventKind::Ended, event.t_ms, event.number));
        all
    }
}
