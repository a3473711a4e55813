//! What happened to a run, for people: the newest of it; and why nothing did.

use std::collections::VecDeque;

use sateen_protocol::{HostId, JobTag};
use serde::{Deserialize, Serialize};

use crate::limits::RUN_EVENTS_MAX;
use crate::saved_id;

/// What happened. It is saved by the places of its fields.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Counts from 1.
    pub number: u64,
    /// Milliseconds since the run was submitted.
    pub t_ms: u32,
    /// What.
    pub kind: EventKind,
    /// At which host.
    #[serde(with = "saved_id::option")]
    pub host: Option<HostId>,
    /// To which job.
    #[serde(with = "saved_id::option")]
    pub job: Option<JobTag>,
    /// In a sentence.
    pub text: String,
}

/// Kinds of events. They are saved by their places here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum EventKind {
    /// The run was submitted.
    Submitted,
    /// A host has its root job.
    Started,
    /// A host works on it.
    HostJoined,
    /// A host left in good order, or paused.
    HostLeft,
    /// A host was given up.
    HostLost,
    /// Jobs of the tree were running at a host that was given up. Hosts that had lent it jobs count those as lost, which are
    /// others.
    JobsInterrupted,
    /// Orphans have new owners.
    Adopted,
    /// Results came from the table.
    Reused,
    /// Its root was lost with its host.
    RootLost,
    /// A host cannot take part.
    Unable,
    /// It rests.
    Suspended,
    /// It goes on.
    Resumed,
    /// The coordinator was started again.
    CoordinatorRestarted,
    /// It is over.
    Ended,
    /// What only newer versions know.
    #[serde(other)]
    Other,
}

/// Why nothing was done for a while. It is saved by the places of its fields.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Idle {
    /// From when on, in milliseconds since the run was submitted.
    pub from_ms: u32,
    /// Until when; none while it lasts.
    pub to_ms: Option<u32>,
    /// At which host, if not at all of them.
    #[serde(with = "saved_id::option")]
    pub host: Option<HostId>,
    /// In a sentence.
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
            (EventKind::Adopted, 1) => "an orphan goes on and has a new owner".to_owned(),
            (EventKind::Adopted, count) => format!("{count} orphans go on and have new owners"),
            (_, 1) => "the result of a lost job was known already".to_owned(),
            (_, count) => format!("the results of {count} lost jobs were known already"),
        };
        Event { text, ..self.event.clone() }
    }
}

impl Events {
    /// Adds an event.
    pub fn add(&mut self, t_ms: u32, kind: EventKind, host: Option<HostId>, text: String) {
        self.last += 1;
        self.changes += 1;
        self.others.push_back(Event { number: self.last, t_ms, kind, host, job: None, text });
        if self.others.len() > RUN_EVENTS_MAX / 2 {
            self.others.pop_front();
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
        self.last += 1;
        let (host, job, text) = (Some(host), Some(job), String::new());
        let event = Event { number: self.last, t_ms, kind, host, job, text };
        self.of_jobs.push_back(OfJobs { event, count: 1 });
        if self.of_jobs.len() > RUN_EVENTS_MAX / 2 {
            self.of_jobs.pop_front();
        }
    }

    /// Changes whenever an event is added.
    pub fn version(&self) -> u64 {
        self.changes
    }

    /// The events that are kept, in order.
    pub fn all(&self) -> Vec<Event> {
        let mut all: Vec<Event> =
            self.of_jobs.iter().map(OfJobs::shown).chain(self.others.iter().cloned()).collect();
        all.sort_by_key(|event| event.number);
        all
    }
}
