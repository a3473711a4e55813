//! What happened to a run, for people: the newest of it.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::api::types::{EventKind, RunEvent};
use crate::limits::RUN_EVENTS_MAX;

/// Half for what happens to single jobs, of which there may be many, half for all else.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Events {
    last: u64,
    of_jobs: VecDeque<RunEvent>,
    others: VecDeque<RunEvent>,
}

impl Events {
    /// Takes an event down.
    pub fn add(
        &mut self,
        t_ms: u32,
        kind: EventKind,
        host: Option<String>,
        job: Option<String>,
        text: String,
    ) {
        self.last += 1;
        let ring = if job.is_some() { &mut self.of_jobs } else { &mut self.others };
        ring.push_back(RunEvent { number: self.last, t_ms, kind, host, job, text });
        if ring.len() > RUN_EVENTS_MAX / 2 {
            ring.pop_front();
        }
    }

    /// How many there were.
    pub fn count(&self) -> u64 {
        self.last
    }

    /// Those that are kept, in their order.
    pub fn all(&self) -> Vec<RunEvent> {
        let mut all: Vec<RunEvent> = self.of_jobs.iter().chain(&self.others).cloned().collect();
        all.sort_by_key(|event| event.number);
        all
    }
}
