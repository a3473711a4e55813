//! What a portion of a run has beyond a whole run: jobs that go to other hosts and come from them. `exchange` is
//! how they go and come, `computing` what the portion's driver and the heartbeat are told of its workers.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use crossbeam_deque::{Injector, Steal};
use parking_lot::{Mutex, RwLock};
use sateen_protocol::limits::NOTED_PARAMETERS_BYTES_MAX;
use sateen_protocol::message::{JobNote, NoteKind};
use sateen_protocol::{JobKey, JobNumber, JobTag};
use wasmtime::ModuleExport;

use super::activity::Activity;
use super::job::Job;
use super::keys::Keys;
use super::objects::Object;
use super::place::{Ancestry, Place};
use crate::portion::Notice;
use computing::Beat;
use room::TurnedAway;

mod computing;
mod exchange;
mod room;

/// The kind of a portion's root job, when it runs on this host.
pub const ROOT: usize = usize::MAX;
/// Jobs whose lookup is not answered; beyond, redone jobs are not looked up.
const LOOKUPS_MAX: usize = 4096;
/// After so many redone jobs in a row of which nothing is known, no more are looked up: they cost some
/// microseconds each.
const MISSES_MAX: usize = 100_000;

/// So long a recorded result waits for others at most: each time that the driver and the store are woken costs as
/// much as some dozen records.
const RECORDED_DELAY: Duration = Duration::from_millis(200);

/// What a [`Remote`] is made of.
pub struct RemoteParts {
    pub function: String,
    pub root: ModuleExport,
    pub keys: Arc<Keys>,
    /// What tells the run from others.
    pub run_name: Vec<u8>,
    pub record_every: Option<Duration>,
    pub notify: Arc<dyn Fn(Notice) + Send + Sync>,
}

/// The part of [`Shared`](super::Shared) that only portions have.
pub struct Remote {
    pub parts: RemoteParts,
    is_closed: AtomicBool,
    /// Jobs of other hosts that have no outcome.
    held: Mutex<HashMap<JobNumber, Arc<Job>>>,
    /// Lent and looked-up jobs. Their state changes only under this lock.
    away: Mutex<HashMap<JobNumber, Arc<Job>>>,
    /// Open jobs, by depth and age. An entry may be stale.
    open: Mutex<BTreeMap<(u32, u64), Arc<Job>>>,
    /// Jobs of other hosts to be begun, and jobs that came back.
    injected: Injector<Arc<Job>>,
    returned: Injector<Arc<Job>>,
    thieves: AtomicUsize,
    /// A lookup may find something.
    looks_up: AtomicBool,
    /// What: these jobs, or something below them. `None`: anything.
    sought: RwLock<Option<HashSet<JobTag>>>,
    /// How often that was told.
    told: AtomicU64,
    /// Jobs since the last one that was sought.
    misses: AtomicUsize,
    draining: AtomicBool,
    drains_since: OnceLock<Instant>,
    drained: AtomicBool,
    pub pause: super::pause::Pause,
    /// Workers that sleep, and the level that was announced.
    resting: AtomicUsize,
    announced: Mutex<usize>,
    beat: Beat,
    /// Notices of recorded results that wait for company, and since when the first does.
    recorded: Mutex<(Option<Instant>, Vec<Notice>)>,
    /// Since when jobs of other hosts wait for memory.
    crowded_since: Mutex<Option<Instant>>,
    turned_away: Mutex<TurnedAway>,
    pub figures: RemoteFigures,
    pub activity: Activity,
}

/// Counters that only portions have.
#[derive(Default)]
pub struct RemoteFigures {
    /// Jobs of other hosts that came here, the root among them.
    pub held: AtomicU64,
    /// Roots that were begun.
    pub roots: AtomicU64,
    /// Jobs of this host that were run by another.
    pub away: AtomicU64,
    pub reused: AtomicU64,
    pub redone: AtomicU64,
}

impl Remote {
    pub fn new(parts: RemoteParts, threads: usize) -> Self {
        Self {
            parts,
            activity: Activity::new(threads),
            is_closed: AtomicBool::new(false),
            held: Mutex::default(),
            away: Mutex::default(),
            open: Mutex::default(),
            injected: Injector::new(),
            returned: Injector::new(),
            thieves: AtomicUsize::new(0),
            looks_up: AtomicBool::new(true),
            sought: RwLock::new(None),
            told: AtomicU64::new(0),
            misses: AtomicUsize::new(0),
            draining: AtomicBool::new(false),
            drains_since: OnceLock::new(),
            drained: AtomicBool::new(false),
            pause: super::pause::Pause::default(),
            resting: AtomicUsize::new(0),
            announced: Mutex::new(0),
            beat: Beat::default(),
            recorded: Mutex::default(),
            crowded_since: Mutex::default(),
            turned_away: Mutex::default(),
            figures: RemoteFigures::default(),
        }
    }

    /// Tells the driver, after what was recorded before.
    pub fn notify(&self, notice: Notice) {
        self.tell(&mut self.recorded.lock(), Some(notice));
    }

    /// Tells the driver soon.
    pub fn notify_recorded(&self, notice: Notice) {
        let mut recorded = self.recorded.lock();
        recorded.0.get_or_insert_with(Instant::now);
        recorded.1.push(notice);
    }

    /// Tells the driver what was recorded, if that has waited for long enough, or nobody computes who would
    /// record more.
    pub fn send_recorded(&self, is_last: bool) {
        let mut recorded = self.recorded.lock();
        // A crash loses what waits: not much more than one interval of recording.
        let delay = self.parts.record_every.map_or(RECORDED_DELAY, |every| every.min(RECORDED_DELAY));
        if recorded.0.is_some_and(|since| is_last || since.elapsed() >= delay) {
            self.tell(&mut recorded, None);
        }
    }

    /// Under their lock, so that nothing overtakes them.
    fn tell(&self, (since, recorded): &mut (Option<Instant>, Vec<Notice>), more: Option<Notice>) {
        *since = None;
        let all = recorded.drain(..).chain(more);
        if !self.is_closed.load(SeqCst) {
            all.for_each(|notice| (self.parts.notify)(notice));
        }
    }

    /// Whoever stops a portion does not want to hear what becomes of its jobs.
    pub fn close(&self) {
        self.is_closed.store(true, SeqCst);
    }

    /// The key of a job of this kind, whose parameters mention these objects.
    pub fn key(&self, kind: usize, parameters: &[u8], objects: &[Arc<Object>]) -> JobKey {
        self.parts.keys.key(kind, parameters, objects)
    }

    pub fn thieves(&self) -> usize {
        self.thieves.load(SeqCst)
    }

    /// What lookups may find beside what they might before; nothing at all if that is empty.
    pub fn set_lookups(&self, jobs: &[JobTag]) {
        let mut sought = self.sought.write();
        let known = sought.get_or_insert_default();
        if jobs.is_empty() {
            known.clear();
        }
        known.extend(jobs);
        self.told.fetch_add(1, SeqCst);
        self.misses.store(0, Relaxed);
        self.looks_up.store(!jobs.is_empty(), SeqCst);
    }

    /// Whether to ask for a redone job: a question costs ten times as much as to look here. When nothing
    /// was found for long, something in the tree is not as it was, and nothing will be.
    pub fn may_find(&self, key: &JobKey) -> bool {
        let is_sought = self.sought.read().as_ref().is_none_or(|sought| sought.contains(&key.tag()));
        if is_sought {
            self.misses.store(0, Relaxed);
        } else if self.misses.fetch_add(1, Relaxed) >= MISSES_MAX {
            self.looks_up.store(false, SeqCst);
        }
        is_sought
    }

    /// Whether a job that is redone, or is below one, had been begun before, as far as that is known: it was lost
    /// itself, or it was recorded, or something below it. Where nothing is recorded, all may have been.
    pub fn was_begun(&self, is_lost: bool, tag: impl FnOnce() -> JobTag) -> bool {
        let is_sought = || {
            self.sought.read().as_ref().is_some_and(|sought| !sought.is_empty() && sought.contains(&tag()))
        };
        is_lost || self.parts.record_every.is_none() || is_sought()
    }

    pub fn looks_up(&self) -> bool {
        self.looks_up.load(SeqCst)
    }

    /// A job becomes open, and nothing is known of it now.
    pub fn note_asked(&self, job: &Job) {
        if let Some(place) = &job.place {
            place.asked.store(self.told.load(SeqCst), SeqCst);
        }
    }

    /// Whether something may have come to be known of an open job since that, as far as lookups have been told; each
    /// time is looked at once.
    fn is_known_since(&self, job: &Job, place: &Place) -> bool {
        let told = self.told.load(SeqCst);
        if place.asked.swap(told, SeqCst) == told {
            return false;
        }
        let (key, _) = place.identity(|| self.key(job.kind, &job.parameters(), &job.objects));
        self.sought.read().as_ref().is_some_and(|sought| sought.contains(&key.tag()))
    }

    pub fn is_draining(&self) -> bool {
        self.draining.load(SeqCst)
    }

    /// For how long this host has been about to leave.
    pub fn drains_for(&self) -> Option<Duration> {
        self.drains_since.get().map(Instant::elapsed)
    }

    /// A job begins in an instance of its own; whether it was begun before, as far as is known.
    pub fn count_begun(&self, job: &Job, ancestry: &Ancestry) -> bool {
        let is_again = ancestry.redone && self.was_begun(ancestry.is_lost, || ancestry.key.tag());
        if is_again && !ancestry.given_back {
            self.figures.redone.fetch_add(1, Relaxed);
        }
        if job.kind == ROOT {
            self.figures.roots.fetch_add(1, Relaxed);
        }
        is_again
    }

    /// Something happened to a job with an instance of its own, for the tree. Of other hosts' jobs, the machine
    /// takes notes.
    pub fn note(&self, job: &Job, ancestry: &Ancestry, what: NoteKind, parameters: Option<&[u8]>) {
        if job.place.as_ref().is_none_or(|place| place.held().is_some()) {
            return;
        }
        self.activity.note(|| JobNote {
            job: ancestry.key.tag(),
            parent: ancestry.lineage.0.last().copied(),
            kind: job.kind as u32,
            depth: ancestry.depth,
            what,
            ago_ms: 0,
            parameters: parameters
                .filter(|parameters| parameters.len() <= NOTED_PARAMETERS_BYTES_MAX)
                .map(<[u8]>::to_vec),
            shares: !job.objects.is_empty(),
        });
    }

    // ---- open jobs ----

    pub fn list_open(&self, job: &Arc<Job>) {
        let Some(place) = &job.place else { return };
        // A job of another host runs here. Lent on, it could come back to a host that waits for it: after a
        // crash, hosts would adopt it from one another in a circle.
        if place.held().is_some() {
            return;
        }
        let at = (place.depth, place.sequence);
        self.open.lock().insert(at, job.clone());
        // Claimed while it was on its way into the list: nobody else takes it out.
        if !job.is_open() {
            self.open.lock().remove(&at);
        }
    }

    pub fn unlist(&self, job: &Job) {
        if let Some(place) = &job.place {
            self.open.lock().remove(&(place.depth, place.sequence));
        }
    }

    pub fn is_injected(&self) -> bool {
        !self.injected.is_empty()
    }

    /// A job that came back.
    pub fn find_returned(&self) -> Option<Arc<Job>> {
        next_open(&self.returned)
    }

    /// A job of another host that nobody has begun.
    pub fn find_injected(&self) -> Option<Arc<Job>> {
        next_open(&self.injected)
    }

    // ---- jobs that are elsewhere ----

    /// How many there are.
    pub fn away_count(&self) -> usize {
        self.away.lock().len()
    }

    pub fn is_lookup_possible(&self) -> bool {
        self.away.lock().len() < LOOKUPS_MAX
    }

    /// Nobody wants this job any more; true if it was elsewhere.
    pub fn give_up(&self, job: &Job) -> bool {
        let Some(place) = &job.place else { return false };
        let mut away = self.away.lock();
        let was_looked_up = job.is_looked_up();
        let number = place.number();
        if !job.give_up() {
            return false;
        }
        away.remove(&number);
        drop(away);
        if !was_looked_up {
            self.figures.away.fetch_add(1, Relaxed);
        }
        self.notify(Notice::Abandoned { number });
        true
    }
}

fn next_open(queue: &Injector<Arc<Job>>) -> Option<Arc<Job>> {
    loop {
        match queue.steal() {
            Steal::Success(job) if job.is_open() => return Some(job),
            Steal::Success(_) | Steal::Retry => {}
            Steal::Empty => return None,
        }
    }
}
