//! The part of a portion that a run on one host does not have: jobs that go to other hosts and come from them. `hook`
//! is its interface to local scheduling, `exchange` moves jobs and results, `lookups` knows which results may exist
//! elsewhere, `computing` reports the state of workers to the portion's driver and the heartbeat, `notices` sends
//! notices to the driver.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};
use std::time::Duration;

use crossbeam_deque::{Injector, Steal};
use parking_lot::Mutex;
use sateen_protocol::host::Notice;
use sateen_protocol::limits::NOTED_PARAMETERS_BYTES_MAX;
use sateen_protocol::message::{JobNote, NoteKind};
use sateen_protocol::{HeldId, JobKey, JobTag};

use super::activity::Activity;
use super::job::{Job, ROOT};
use super::keys::Keys;
use super::objects::Object;
use super::pause::Pause;
use super::place::Ancestry;
use super::registry;
use away::{Away, GivenUp};
use beat::{Beat, Drain, Resting};
use crowding::Crowding;
use lookups::Lookups;
use notices::Notices;
pub use notices::TakeNotices;

mod away;
mod beat;
mod computing;
mod crowding;
mod exchange;
mod guest_hook;
mod hook;
mod lending;
mod lookups;
mod notices;
mod room;

/// Maximum jobs whose lookup is not answered; above it, redone jobs are not looked up.
const LOOKUPS_MAX: usize = 4096;

/// One run, as the workers of this host see it, whether it goes beyond this host or not.
pub type Registry = registry::Registry<Option<Remote>>;

/// Which results are recorded.
#[derive(Debug, Clone, Copy)]
pub struct Recorded {
    /// How often finished work is; `None` if it is not.
    pub every: Option<Duration>,
    /// Whether all results that are worth it are, and not only those that a crash would lose.
    pub keeps_all: bool,
}

/// The parameters of a [`Remote`].
pub struct RemoteParts {
    pub keys: Arc<Keys>,
    pub recording: Recorded,
    pub notify: TakeNotices,
    /// See [`PortionOptions`](crate::portion::PortionOptions).
    pub reclaim: Arc<dyn Fn() + Send + Sync>,
}

/// The part of a [`Registry`] that only portions have.
pub struct Remote {
    pub keys: Arc<Keys>,
    pub recording: Recorded,
    pub notices: Arc<Notices>,
    pub lookups: Lookups,
    /// Jobs of other hosts that have no outcome.
    held: Mutex<HashMap<HeldId, Arc<Job>>>,
    away: Mutex<Away>,
    open: OpenJobs,
    thieves: Thieves,
    drain: Drain,
    pub pause: Pause,
    resting: Resting,
    beat: Beat,
    crowding: Crowding,
    figures: RemoteFigures,
    pub activity: Arc<Activity>,
}

/// Open jobs that involve other hosts.
struct OpenJobs {
    /// By depth and age. An entry may be stale.
    listed: Mutex<BTreeMap<(u32, u64), Arc<Job>>>,
    /// Jobs of other hosts that have not begun, and jobs that came back.
    injected: Injector<Arc<Job>>,
    returned: Injector<Arc<Job>>,
}

/// Thieves elsewhere.
struct Thieves {
    /// How many of them wait.
    waiting: AtomicUsize,
    /// A job may have been given up for one that has not come yet.
    may_have_spare: AtomicBool,
    /// Asks for that job.
    reclaim: Arc<dyn Fn() + Send + Sync>,
}

/// Counters that only portions have.
#[derive(Default)]
struct RemoteFigures {
    /// Jobs of other hosts that came here, the root among them.
    held: AtomicU64,
    /// Roots that were begun.
    roots: AtomicU64,
    /// Jobs of this host that were run by another.
    away: AtomicU64,
    reused: AtomicU64,
    redone: AtomicU64,
}

impl Remote {
    pub fn new(parts: RemoteParts, threads: usize) -> Self {
        let RemoteParts { keys, recording, notify, reclaim } = parts;
        Self {
            keys,
            recording,
            notices: Arc::new(Notices::new(notify, recording.every)),
            lookups: Lookups::new(),
            held: Mutex::default(),
            away: Mutex::default(),
            open: OpenJobs { listed: Mutex::default(), injected: Injector::new(), returned: Injector::new() },
            thieves: Thieves {
                waiting: AtomicUsize::new(0),
                may_have_spare: AtomicBool::new(false),
                reclaim,
            },
            drain: Drain::default(),
            pause: Pause::default(),
            resting: Resting::default(),
            beat: Beat::default(),
            crowding: Crowding::default(),
            figures: RemoteFigures::default(),
            activity: Arc::new(Activity::new(threads)),
        }
    }

    /// Notifies the driver, after earlier recorded results.
    pub fn notify(&self, notice: Notice) {
        self.notices.notify(notice);
    }

    /// The key of a job of this kind, whose parameters mention these objects.
    pub fn key(&self, kind: usize, parameters: &[u8], objects: &[Arc<Object>]) -> JobKey {
        self.keys.key(kind, parameters, objects)
    }

    /// Whether to ask others for a redone job of this kind.
    pub fn may_find(&self, kind: usize, parameters: &[u8], objects: &[Arc<Object>]) -> bool {
        self.lookups.may_find(self.key(kind, parameters, objects).tag())
    }

    fn thieves(&self) -> usize {
        self.thieves.waiting.load(SeqCst)
    }

    /// Whether a redone job, or one below a redone job, had been begun before, as far as is known: it was lost
    /// itself, or it or a job below it was recorded. If nothing is recorded, every job may have been begun.
    pub fn was_begun(&self, is_lost: bool, tag: impl FnOnce() -> JobTag) -> bool {
        is_lost || self.recording.every.is_none() || self.lookups.is_recorded(tag)
    }

    /// Whether a job was begun and given back. New jobs below such a job repeat nothing.
    pub fn was_given_back(&self, ancestry: &Ancestry) -> bool {
        ancestry.given_back && self.was_begun(ancestry.is_lost, || ancestry.key.tag())
    }

    /// Notes that a job becomes open, and that nothing is known about it now.
    fn note_asked(&self, job: &Job) {
        if let Some(place) = &job.place {
            self.lookups.note_asked(place);
        }
    }

    /// Notes that a job begins in an instance of its own; returns whether it was begun before, as far as is
    /// known.
    fn count_begun(&self, job: &Job, ancestry: &Ancestry) -> bool {
        let is_again = ancestry.redone && self.was_begun(ancestry.is_lost, || ancestry.key.tag());
        if is_again && !ancestry.given_back {
            self.figures.redone.fetch_add(1, Relaxed);
        }
        if job.kind == ROOT {
            self.figures.roots.fetch_add(1, Relaxed);
        }
        is_again
    }

    /// Notes an event of a job with an instance of its own, for the tree. The state machine notes events of
    /// other hosts' jobs.
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

    fn list_open(&self, job: &Arc<Job>) {
        let Some(place) = &job.place else { return };
        // A job of another host runs here, and is never lent on. It could come back to a host that waits for
        // it: after a crash, hosts would adopt it from one another in a circle.
        if place.held().is_some() {
            return;
        }
        let at = (place.depth, place.sequence);
        self.open.listed.lock().insert(at, job.clone());
        // If the job was claimed while it was being listed, nothing else removes it.
        if !job.is_open() {
            self.open.listed.lock().remove(&at);
        }
    }

    fn unlist(&self, job: &Job) {
        if let Some(place) = &job.place {
            self.open.listed.lock().remove(&(place.depth, place.sequence));
        }
    }

    fn is_injected(&self) -> bool {
        !self.open.injected.is_empty()
    }

    /// A job that came back.
    fn find_returned(&self) -> Option<Arc<Job>> {
        next_open(&self.open.returned)
    }

    /// A job of another host that has not begun.
    fn find_injected(&self) -> Option<Arc<Job>> {
        next_open(&self.open.injected)
    }

    // ---- jobs that are elsewhere ----

    /// The number of jobs that are elsewhere.
    fn away_count(&self) -> usize {
        self.away.lock().len()
    }

    pub fn is_lookup_possible(&self) -> bool {
        self.away.lock().len() < LOOKUPS_MAX
    }

    /// The job is no longer wanted. Returns what it was if it was elsewhere.
    fn give_up(&self, job: &Job) -> Option<GivenUp> {
        let place = job.place.as_ref()?;
        let (number, given_up) = {
            let mut away = self.away.lock();
            let number = place.number();
            (number, away.give_up(number, job)?)
        };
        if given_up == GivenUp::Lent {
            self.figures.away.fetch_add(1, Relaxed);
        }
        self.notify(Notice::Abandoned { number });
        Some(given_up)
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

#[cfg(test)]
mod tests {
    use sateen_protocol::{BlobHash, KeyMaker, Lineage};

    use super::*;

    fn remote() -> Remote {
        let root = KeyMaker::new(1, 0, BlobHash([7; 32]), "main", &[]);
        let keys = Keys { root, by_kind: Vec::new(), within_run: Vec::new(), run_name: Vec::new() };
        let recording = Recorded { every: Some(Duration::from_millis(250)), keeps_all: false };
        Remote::new(
            RemoteParts {
                keys: Arc::new(keys),
                recording,
                notify: Arc::new(|_| {}),
                reclaim: Arc::new(|| {}),
            },
            1,
        )
    }

    #[test]
    fn new_jobs_below_one_that_was_given_back_repeat_nothing() {
        let job = |number: u8, is_lost: bool| Ancestry {
            key: JobKey([number; 32]),
            held: HeldId(1),
            lineage: Lineage::default(),
            depth: 3,
            redone: true,
            given_back: true,
            is_lost,
            lookup_below: 0,
        };
        let remote = remote();
        remote.lookups.set(&[job(2, false).key.tag()]);
        for (number, is_lost, was_given_back) in [(1, true, true), (1, false, false), (2, false, true)] {
            let job = job(number, is_lost);
            assert_eq!(remote.was_given_back(&job), was_given_back, "{number} {is_lost}");
            assert!(!remote.was_given_back(&Ancestry { given_back: false, ..job }), "{number} {is_lost}");
        }
    }
}
