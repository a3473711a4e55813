//! The topic `timeline/N`.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use sateen_protocol::RunId;

use super::run::json;
use crate::api::shown::timeline;
use crate::api::{Api, Problem, chronicle_of};
use crate::chronicle::Chronicle;
use crate::limits::{TIMELINE_BUCKETS_MAX, WATCH_TICKS_KEPT};

/// A timeline with its recent changes.
#[derive(Debug)]
pub struct TimelineNews {
    chronicle: Arc<Mutex<Chronicle>>,
    /// Counts the versions.
    pub version: u64,
    bucket_ms: u32,
    /// The newest versions, and the moment from which on each differs from the one before.
    changes: VecDeque<(u64, u32)>,
    /// The changes of this version, for clients that are up to date; and the whole timeline.
    newest: Arc<str>,
    whole: OnceLock<Arc<str>>,
}

/// A timeline as sent to pages.
pub struct TimelineFeed {
    run: RunId,
    chronicle: Arc<Mutex<Chronicle>>,
    known: Option<(u64, u32, usize)>,
    version: u64,
    bucket_ms: u32,
    changes: VecDeque<(u64, u32)>,
}

impl TimelineNews {
    /// The whole timeline.
    pub fn whole(&self) -> Arc<str> {
        Arc::clone(self.whole.get_or_init(|| part(&self.chronicle, 0).into()))
    }

    /// The changes for a client that has this version, with stretches of that length; `None` if it has to start over.
    pub fn since(&self, version: u64, bucket_ms: u32) -> Option<Arc<str>> {
        if bucket_ms != self.bucket_ms {
            return None;
        }
        if version + 1 == self.version {
            return Some(self.newest.clone());
        }
        let is_known = self.changes.front().is_some_and(|(first, _)| *first <= version + 1);
        let from_ms =
            self.changes.iter().filter(|(change, _)| *change > version).map(|(_, from)| *from).min()?;
        is_known.then(|| part(&self.chronicle, from_ms).into())
    }

    /// The length of its stretches.
    pub fn bucket_ms(&self) -> u32 {
        self.bucket_ms
    }
}

fn part(chronicle: &Mutex<Chronicle>, from_ms: u32) -> String {
    let chronicle = chronicle.lock().unwrap_or_else(PoisonError::into_inner);
    let timeline = timeline(&chronicle, from_ms, u32::MAX, TIMELINE_BUCKETS_MAX);
    drop(chronicle);
    json(&timeline)
}

impl TimelineFeed {
    /// Of a run.
    pub async fn new(api: &Api, run: RunId) -> Result<Self, Problem> {
        let chronicle = chronicle_of(api, run).await?;
        Ok(Self { run, chronicle, known: None, version: 0, bucket_ms: 0, changes: VecDeque::new() })
    }

    /// The changes since the last tick.
    pub fn next(&mut self, api: &Api) -> Result<Option<Arc<TimelineNews>>, Problem> {
        if api.driver.chronicles.get(self.run).is_none() {
            return Err(Problem::gone_run(self.run));
        }
        let (known, from_ms) = {
            let chronicle = self.chronicle.lock().unwrap_or_else(PoisonError::into_inner);
            let known =
                (chronicle.timeline_version(), chronicle.timeline_bucket_ms(), chronicle.idle_count());
            (known, chronicle.timeline_changed_from(self.known.map_or(0, |(version, ..)| version)))
        };
        if self.known == Some(known) {
            return Ok(None);
        }
        self.known = Some(known);
        self.bucket_ms = known.1;
        self.version += 1;
        self.changes.push_back((self.version, from_ms));
        if self.changes.len() > WATCH_TICKS_KEPT {
            self.changes.pop_front();
        }
        Ok(Some(Arc::new(TimelineNews {
            chronicle: Arc::clone(&self.chronicle),
            version: self.version,
            bucket_ms: self.bucket_ms,
            changes: self.changes.clone(),
            newest: part(&self.chronicle, from_ms).into(),
            whole: OnceLock::new(),
        })))
    }
}
