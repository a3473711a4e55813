//! How the guests that compute now are reached: by the words that their code reads (see `sateen_rewriter`).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::job::Job;
use crate::memory::Eviction;
use crate::module::Words;

/// Loops that call nothing hear of a pause only at their end, for which a paused host waits as long as this.
const PAUSED_FOR: Duration = Duration::from_millis(500);

/// One instance's words, and the reasons for which it must stop.
pub struct Signal {
    words: Arc<Words>,
    /// The job that it runs, unless that is the root of a run on this host alone.
    job: Option<Arc<Job>>,
    eviction: Option<Eviction>,
    /// Since when it has not answered although this host is paused.
    unanswered: Mutex<Option<Instant>>,
    is_given_back: AtomicBool,
}

impl Signal {
    pub fn new(words: Arc<Words>, job: Option<Arc<Job>>, eviction: Option<Eviction>) -> Self {
        Self { words, job, eviction, unanswered: Mutex::default(), is_given_back: AtomicBool::new(false) }
    }

    /// Whether the job goes back because the instance did not hear of a pause.
    pub fn is_given_back(&self) -> bool {
        self.is_given_back.load(SeqCst)
    }

    /// The instance looks for news soon.
    pub fn ask_to_poll(&self) {
        self.words.ask_to_poll();
    }

    /// Tells the instance to look for news, or to stop.
    fn ring(&self, is_stopping: bool, is_paused: bool) {
        let is_aborted = self.job.as_ref().is_some_and(|job| job.is_aborted());
        let is_evicted = self.eviction.as_ref().is_some_and(Eviction::has_come);
        if is_stopping || is_aborted || is_evicted || self.is_overdue(is_paused) {
            self.words.stop();
        }
        self.words.ask_to_poll();
    }

    fn is_overdue(&self, is_paused: bool) -> bool {
        let mut unanswered = self.unanswered.lock();
        if !is_paused || !self.words.is_poll_due() || self.job.is_none() {
            *unanswered = None;
            return false;
        }
        let is_overdue = unanswered.get_or_insert_with(Instant::now).elapsed() >= PAUSED_FOR;
        self.is_given_back.fetch_or(is_overdue, SeqCst);
        is_overdue
    }
}

/// The instances that compute now, by worker.
pub struct Signals {
    by_worker: Vec<Mutex<Option<Arc<Signal>>>>,
}

impl Signals {
    pub fn new(threads: usize) -> Self {
        Self { by_worker: (0..threads).map(|_| Mutex::default()).collect() }
    }

    /// An instance computes on this worker until [`leave`](Self::leave).
    pub fn enter(&self, worker: usize, signal: &Arc<Signal>) {
        if let Some(place) = self.by_worker.get(worker) {
            *place.lock() = Some(signal.clone());
        }
    }

    /// When this returns, nobody writes to the instance's words any more.
    pub fn leave(&self, worker: usize) {
        if let Some(place) = self.by_worker.get(worker) {
            *place.lock() = None;
        }
    }

    /// Every instance that computes looks for news soon, or stops if it must.
    pub fn ring(&self, is_stopping: bool, is_paused: bool) {
        for place in &self.by_worker {
            if let Some(signal) = &*place.lock() {
                signal.ring(is_stopping, is_paused);
            }
        }
    }
}
