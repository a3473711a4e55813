//! How the guests that compute now are reached: by the words that their code reads (see `sateen_rewriter`).

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::job::Job;
use super::stands::{Ring, Stands};
use crate::guest::{Attends, Halt, Thread, processor_time};
use crate::memory::Eviction;
use crate::module::Words;

/// A paused host waits as long as this for loops that call nothing and cannot be made to stand still.
const PAUSED_FOR: Duration = Duration::from_millis(500);

/// One instance's words, and the reasons for which it must stop.
pub struct Signal {
    words: Arc<Words>,
    /// The job that it runs, unless that is the root of a run on this host alone.
    job: Option<Arc<Job>>,
    eviction: Option<Eviction>,
    /// Since when it has not answered.
    unanswered: Mutex<Option<Instant>>,
    is_given_back: AtomicBool,
    /// Whether it looks for news now, and perhaps stands still.
    is_answering: AtomicBool,
    /// The number of rings that it was there for, or has been notified of.
    heard: AtomicU64,
    /// The processor time of its worker when it last reported its work, in nanoseconds.
    reported_ns: AtomicU64,
}

impl Signal {
    /// The signal of a new instance; `rings` is the number of rings so far.
    pub fn new(words: Arc<Words>, job: Option<Arc<Job>>, eviction: Option<Eviction>, rings: u64) -> Self {
        Self {
            words,
            job,
            eviction,
            unanswered: Mutex::default(),
            is_given_back: AtomicBool::new(false),
            is_answering: AtomicBool::new(false),
            heard: AtomicU64::new(rings),
            reported_ns: AtomicU64::new(0),
        }
    }

    /// Whether the instance was asked to stop.
    pub fn is_stopped(&self) -> bool {
        self.words.is_stopped()
    }

    /// The words of the instance.
    pub fn words(&self) -> &Arc<Words> {
        &self.words
    }

    /// Whether the job goes back because the instance did not hear of a pause.
    pub fn is_given_back(&self) -> bool {
        self.is_given_back.load(SeqCst)
    }

    /// The instance looks for news until [`end_answer`](Self::end_answer).
    pub fn begin_answer(&self) {
        self.is_answering.store(true, SeqCst);
        self.words.begin_poll();
    }

    /// It has reported its work.
    pub fn end_answer(&self) {
        self.note_reported();
        self.is_answering.store(false, SeqCst);
    }

    fn note_reported(&self) {
        let (_, time) = processor_time();
        self.reported_ns.store(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX), SeqCst);
    }

    fn has_answered(&self) -> bool {
        !self.words.is_poll_due() || self.is_answering.load(SeqCst)
    }

    /// For how long it has not answered.
    fn unanswered_for(&self) -> Option<Duration> {
        self.unanswered.lock().map(|since| since.elapsed())
    }

    /// Asks the instance to look for news, or to stop.
    fn ring(&self, ring: &Ring<'_>, stands: &mut Stands) {
        let is_aborted = self.job.as_ref().is_some_and(|job| job.is_aborted());
        let is_evicted = self.eviction.as_ref().is_some_and(Eviction::has_come);
        if ring.is_stopping || is_aborted || is_evicted {
            self.words.stop();
        }
        {
            let mut unanswered = self.unanswered.lock();
            *unanswered = (!self.has_answered()).then(|| unanswered.unwrap_or_else(Instant::now));
        }
        self.words.ask_to_poll();
        stands.look(ring, self.is_stopped(), self.unanswered_for());
        if ring.is_paused && self.job.is_some() && !stands.is_still() {
            self.give_back_if_overdue();
        }
    }

    fn give_back_if_overdue(&self) {
        if self.unanswered_for().is_some_and(|unanswered| unanswered >= PAUSED_FOR) {
            self.is_given_back.store(true, SeqCst);
            self.words.stop();
        }
    }
}

/// An instance that computes, and its worker's thread.
struct Computing {
    signal: Arc<Signal>,
    thread: Thread,
    stands: Stands,
}

/// One worker.
#[derive(Default)]
struct Place {
    computing: Mutex<Option<Computing>>,
    halt: Arc<Halt>,
}

/// The instances that compute now, by worker.
pub struct Signals {
    /// How often it has rung.
    rings: AtomicU64,
    by_worker: Vec<Place>,
}

impl Signals {
    pub fn new(threads: usize) -> Self {
        Self { rings: AtomicU64::new(0), by_worker: (0..threads).map(|_| Place::default()).collect() }
    }

    /// This thread is the worker with this number, whose guests' code is at these addresses, until the value is dropped.
    pub fn attend(&self, worker: usize, code: &Range<*const u8>) -> Option<Attends> {
        Some(self.by_worker.get(worker)?.halt.attend(code))
    }

    /// How often it has rung.
    pub fn rings(&self) -> u64 {
        self.rings.load(SeqCst)
    }

    /// An instance computes on this worker until [`leave`](Self::leave). If it has missed a ring, it looks for news.
    pub fn enter(&self, worker: usize, signal: &Arc<Signal>) {
        let Some(place) = self.by_worker.get(worker) else { return };
        let mut computing = place.computing.lock();
        // A ring that is not counted yet finds the instance here.
        let rings = self.rings();
        if signal.heard.swap(rings, SeqCst) != rings {
            signal.words.ask_to_poll();
        }
        signal.note_reported();
        let stands = Stands::this(worker, place.halt.clone());
        *computing = Some(Computing { signal: signal.clone(), thread: Thread::this(), stands });
    }

    /// When this returns, nobody writes to the instance's words any more.
    pub fn leave(&self, worker: usize) {
        if let Some(place) = self.by_worker.get(worker) {
            *place.computing.lock() = None;
        }
    }

    /// The work of instances that have not answered and so have not reported it: of loops that call nothing.
    pub fn unreported_work(&self) -> Duration {
        let of = |place: &Place| {
            let computing = place.computing.lock();
            let Computing { signal, thread, .. } = computing.as_ref()?;
            let (signal, thread) = (signal.clone(), *thread);
            // Read without the lock, for which the worker would wait.
            drop(computing);
            if signal.has_answered() {
                return None;
            }
            let reported = Duration::from_nanos(signal.reported_ns.load(SeqCst));
            Some(thread.processor_time().saturating_sub(reported))
        };
        self.by_worker.iter().filter_map(of).sum()
    }

    /// Every instance that computes looks for news soon, or stops if it must.
    pub fn ring(&self, ring: &Ring<'_>) {
        let number = self.rings.fetch_add(1, SeqCst) + 1;
        for place in &self.by_worker {
            if let Some(Computing { signal, stands, .. }) = &mut *place.computing.lock() {
                signal.heard.fetch_max(number, SeqCst);
                signal.ring(ring, stands);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ring(is_stopping: bool, is_paused: bool) -> Ring<'static> {
        Ring { is_stopping, is_paused, is_draining: false, turns: None, activity: None }
    }

    fn signal(signals: &Signals, job: Option<Arc<Job>>) -> Arc<Signal> {
        let mut config = wasmtime::Config::new();
        let engine = wasmtime::Engine::new(config.shared_memory(true)).expect("an engine");
        let words = Arc::new(Words::new(&engine).expect("words"));
        Arc::new(Signal::new(words, job, None, signals.rings()))
    }

    #[test]
    fn computing_workers_notice_a_ring_and_others_notice_it_when_they_come() {
        let signals = Signals::new(1);
        let (here, waiting) = (signal(&signals, None), signal(&signals, None));
        signals.enter(0, &here);
        assert!(!here.words.is_poll_due(), "nobody has rung");
        signals.ring(&ring(false, false));
        assert!(here.words.is_poll_due() && !waiting.words.is_poll_due());
        here.begin_answer();
        here.end_answer();
        signals.leave(0);
        signals.ring(&ring(false, false));
        assert!(!here.words.is_poll_due(), "it is not there");
        signals.enter(0, &waiting);
        assert!(waiting.words.is_poll_due() && !waiting.words.is_stopped());
        signals.leave(0);
        waiting.begin_answer();
        signals.enter(0, &waiting);
        assert!(!waiting.words.is_poll_due(), "it has heard of all");
    }

    #[test]
    fn an_instance_stops_at_the_end_of_the_run_or_if_its_job_was_aborted() {
        let signals = Signals::new(2);
        let job = Arc::new(Job::new(0, sateen_protocol::Bytes::default(), 1, Duration::ZERO));
        let (working, aborted) = (signal(&signals, None), signal(&signals, Some(job.clone())));
        signals.enter(0, &working);
        signals.enter(1, &aborted);
        signals.ring(&ring(false, false));
        assert!(!working.words.is_stopped() && !aborted.words.is_stopped());
        job.abort();
        signals.ring(&ring(false, false));
        assert!(!working.words.is_stopped() && aborted.words.is_stopped());
        signals.ring(&ring(true, false));
        assert!(working.words.is_stopped());
    }

    #[test]
    fn a_job_that_does_not_notice_a_pause_goes_back() {
        let signals = Signals::new(2);
        let job = || Some(Arc::new(Job::new(0, sateen_protocol::Bytes::default(), 1, Duration::ZERO)));
        let (deaf, standing) = (signal(&signals, job()), signal(&signals, job()));
        signals.enter(0, &deaf);
        signals.enter(1, &standing);
        let began = Instant::now();
        signals.ring(&ring(false, true));
        standing.begin_answer();
        while began.elapsed() < PAUSED_FOR {
            assert!(began.elapsed() + Duration::from_millis(5) >= PAUSED_FOR || !deaf.words.is_stopped());
            std::thread::sleep(Duration::from_millis(1));
            signals.ring(&ring(false, true));
        }
        std::thread::sleep(Duration::from_millis(10));
        signals.ring(&ring(false, true));
        assert!(deaf.words.is_stopped() && deaf.is_given_back());
        assert!(!standing.words.is_stopped() && !standing.is_given_back());
    }
}
