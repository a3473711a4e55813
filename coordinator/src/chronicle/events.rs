//! What happened to a run, for people: the newest of it.

use std::collections::VecDeque;

use sateen_api::{EventKind, RunEvent};
use serde::{Deserialize, Serialize};

use crate::limits::RUN_EVENTS_MAX;

/// Half for what happens to single jobs, of which there may be many, half for all else.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Events {
    last: u64,
    /// How often anything was new.
    changes: u64,
    of_jobs: VecDeque<OfJobs>,
    others: VecDeque<RunEvent>,
}

/// The same at one host within a moment; the event is the first one's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct OfJobs {
    event: RunEvent,
    count: u32,
}

/// How long a moment is.
const MOMENT_MS: u32 = 1000;

impl OfJobs {
    fn shown(&self) -> RunEvent {
        let text = match (self.event.kind, self.count) {
            (EventKind::Adopted, 1) => "an orphan goes on and has a new owner".to_owned(),
            (EventKind::Adopted, count) => format!("{count} orphans go on and have new owners"),
            (_, 1) => "the result of a lost job was known already".to_owned(),
            (_, count) => format!("the results of {count} lost jobs were known already"),
        };
        RunEvent { text, ..self.event.clone() }
    }
}

impl Events {
    /// Takes an event down.
    pub fn add(&mut self, t_ms: u32, kind: EventKind, host: Option<String>, text: String) {
        self.last += 1;
        self.changes += 1;
        self.others.push_back(RunEvent { number: self.last, t_ms, kind, host, job: None, text });
        if self.others.len() > RUN_EVENTS_MAX / 2 {
            self.others.pop_front();
        }
    }

    /// A job was reused or adopted at a host.
    pub fn add_of_job(&mut self, t_ms: u32, kind: EventKind, host: String, job: String) {
        self.changes += 1;
        if let Some(OfJobs { event, count }) = self.of_jobs.back_mut()
            && event.kind == kind
            && event.host.as_ref() == Some(&host)
            && t_ms.abs_diff(event.t_ms) < MOMENT_MS
        {
            *count = count.saturating_add(1);
            return;
        }
        self.last += 1;
        let (host, job, text) = (Some(host), Some(job), String::new());
        let event = RunEvent { number: self.last, t_ms, kind, host, job, text };
        self.of_jobs.push_back(OfJobs { event, count: 1 });
        if self.of_jobs.len() > RUN_EVENTS_MAX / 2 {
            self.of_jobs.pop_front();
        }
    }

    /// Another number whenever anything is new.
    pub fn version(&self) -> u64 {
        self.changes
    }

    /// Those that are kept, in their order.
    pub fn all(&self) -> Vec<RunEvent> {
        let mut all: Vec<RunEvent> =
            self.of_jobs.iter().map(OfJobs::shown).chain(self.others.iter().cloned()).collect();
        all.sort_by_key(|event| event.number);
        all
    }
}
