//! The deques of a run's workers. Each worker pushes and pops at one end of its own; the others steal at the other end.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};

use crossbeam_deque::{Steal, Stealer, Worker as Deque};

use super::demand::Demand;
use super::job::Job;

/// The length at which a deque is first cleared.
const CLEAR_AT: usize = 1024;

struct Own {
    /// The run's address, to distinguish runs.
    run: usize,
    index: usize,
    deque: Deque<Arc<Job>>,
    /// At this length the deque is cleared of jobs that were taken back.
    clear_at: usize,
    /// Picks victims; any sequence is good enough.
    random: u64,
}

thread_local! {
    static OWN: RefCell<Option<Own>> = const { RefCell::new(None) };
}

/// Puts a job on the deque of the worker that this thread is.
pub fn push_own(job: Arc<Job>) {
    OWN.with_borrow_mut(|own| {
        if let Some(own) = own {
            own.deque.push(job);
            if own.deque.len() >= own.clear_at {
                own.clear();
            }
        }
    });
}

/// Drops the newest entries of this worker's deque whose jobs were taken back.
pub fn trim_own() {
    OWN.with_borrow(|own| {
        let Some(own) = own else { return };
        while let Some(job) = own.deque.pop() {
            if job.is_open() {
                own.deque.push(job);
                break;
            }
        }
    });
}

impl Own {
    /// Drops all entries whose jobs are no longer open. A thief drops those that it finds; if there are no
    /// steals for hours, they must not accumulate.
    fn clear(&mut self) {
        let mut open: Vec<Arc<Job>> =
            std::iter::from_fn(|| self.deque.pop()).filter(|job| job.is_open()).collect();
        self.clear_at = CLEAR_AT.max(2 * open.len());
        while let Some(job) = open.pop() {
            self.deque.push(job);
        }
    }
}

/// Whether this thread is a worker of that run.
pub fn is_worker_of<R>(run: &Arc<R>) -> bool {
    OWN.with_borrow(|own| own.as_ref().is_some_and(|own| own.run == Arc::as_ptr(run) as usize))
}

/// The index of this thread as a worker.
pub fn own_index() -> Option<usize> {
    OWN.with_borrow(|own| own.as_ref().map(|own| own.index))
}

/// This thread becomes the worker `index` of the run, until [`resign`].
pub fn become_worker<R>(run: &Arc<R>, index: usize, deque: Deque<Arc<Job>>) {
    let random = 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(index as u64 + 1);
    OWN.set(Some(Own { run: Arc::as_ptr(run) as usize, index, deque, clear_at: CLEAR_AT, random }));
}

/// This thread is no longer a worker.
pub fn resign() {
    OWN.set(None);
}

/// The newest job of this worker's own deque that looks open, and the worker's index.
pub fn find_own() -> Option<(Arc<Job>, usize)> {
    OWN.with_borrow_mut(|own| {
        let own = own.as_mut()?;
        while let Some(job) = own.deque.pop() {
            if job.is_open() {
                return Some((job, own.index));
            }
        }
        None
    })
}

/// The stealing ends of all workers' deques.
pub struct Deques {
    stealers: Vec<Stealer<Arc<Job>>>,
    /// Jobs that have not begun and that any worker may take, in deques and in queues.
    open: AtomicUsize,
    /// How many of them should be kept ready.
    pub demand: Demand,
}

impl Deques {
    pub fn new(stealers: Vec<Stealer<Arc<Job>>>) -> Self {
        Self { stealers, open: AtomicUsize::new(0), demand: Demand::default() }
    }

    /// The number of jobs that have not begun and that any worker may take.
    pub fn open_count(&self) -> usize {
        self.open.load(SeqCst)
    }

    /// The approximate number.
    pub fn open_about(&self) -> usize {
        self.open.load(Relaxed)
    }

    pub fn count_open(&self) {
        self.open.fetch_add(1, SeqCst);
    }

    pub fn count_closed(&self) {
        self.open.fetch_sub(1, SeqCst);
    }

    /// The oldest job of another worker's deque that looks open, and that worker's index.
    pub fn find_others(&self) -> Option<(Arc<Job>, usize)> {
        OWN.with_borrow_mut(|own| {
            let own = own.as_mut()?;
            let count = self.stealers.len();
            own.random ^= own.random << 13;
            own.random ^= own.random >> 7;
            own.random ^= own.random << 17;
            let first = (own.random % count as u64) as usize;
            (0..count).map(|offset| (first + offset) % count).filter(|victim| *victim != own.index).find_map(
                |victim| {
                    loop {
                        match self.stealers[victim].steal() {
                            Steal::Success(job) if job.is_open() => return Some((job, victim)),
                            Steal::Success(_) | Steal::Retry => {}
                            Steal::Empty => return None,
                        }
                    }
                },
            )
        })
    }
}
