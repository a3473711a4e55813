//! A budget that is part of another process's: a host lends the processes of its runs memory for their guests.
//!
//! A process asks for more when it needs more, and gets somewhat more than that, so that it rarely asks. It reports how
//! much it uses, so the lender can take back what is not used when another process needs it. When the lender takes back
//! what is used, the youngest instances are evicted. Only one process at a time is *first*, and keeps its oldest
//! instance: the one whose oldest instance is the oldest of the host.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use serde::{Deserialize, Serialize};

use super::{Budget, HostMemory, wake};
use crate::limits::RESIDENT_LOOK;

/// How long an instance that grows waits for the lender's answer.
const ANSWER_MAX: Duration = Duration::from_millis(500);
/// A change of the memory in use is reported if it is more than this part of the host's memory.
const REPORTED_PART: usize = 64;

/// A replica of a shared object is in the process of the guests and in that of their host.
pub const COPIES_OF_OBJECTS: usize = 2;

/// What is reported to the lender of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryNews {
    /// The number of the question; 0 if nothing is asked for.
    pub question: u64,
    /// The memory that it needs altogether, in bytes.
    pub needs: u64,
    /// The memory that it uses, in bytes.
    pub uses: u64,
    /// The number of the oldest instance, if there is one. Later instances have greater numbers.
    pub oldest: Option<u64>,
}

/// The part of the lender's memory that this process may use from now on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// Altogether, in bytes.
    pub bytes: u64,
    /// Whether the process keeps its oldest instance, whatever happens.
    pub is_first: bool,
    /// The last question that this answers; 0 if it answers none.
    pub answers: u64,
}

/// The lease of this process.
pub struct Borrowed {
    bytes: AtomicUsize,
    is_first: AtomicBool,
    asked: Mutex<Asked>,
    answered: Condvar,
    tell: Box<dyn Fn(MemoryNews) + Send + Sync>,
}

#[derive(Default)]
struct Asked {
    last: u64,
    answered: u64,
    /// What the last question asked for, in bytes.
    needs: usize,
    /// What was last reported.
    uses: usize,
    oldest: Option<u64>,
}

impl HostMemory {
    /// A budget of at most `bytes_max`, and nothing yet: `tell` notifies the lender, and must not wait nor use the budget.
    ///
    /// # Errors
    /// If a thread cannot be started.
    pub(crate) fn borrowed(
        bytes_max: usize,
        tell: impl Fn(MemoryNews) + Send + Sync + 'static,
    ) -> std::io::Result<Self> {
        let memory = Self::with(bytes_max, Some(Borrowed::new(tell)));
        let budget = Arc::downgrade(&memory.0);
        std::thread::Builder::new().name("sateen-memory".to_owned()).spawn(move || {
            while let Some(budget) = budget.upgrade() {
                budget.report();
                budget.look_after_runs();
                drop(budget);
                std::thread::sleep(RESIDENT_LOOK);
            }
        })?;
        Ok(memory)
    }

    /// The lender lends this from now on.
    pub(crate) fn lend(&self, lease: Lease) {
        let Some(borrowed) = &self.0.borrowed else { return };
        let bytes = usize::try_from(lease.bytes).unwrap_or(usize::MAX);
        let before = borrowed.bytes.swap(bytes, SeqCst);
        borrowed.is_first.store(lease.is_first, SeqCst);
        let mut asked = borrowed.asked.lock();
        if lease.answers > 0 {
            asked.answered = asked.answered.max(lease.answers);
            borrowed.answered.notify_all();
        } else {
            // If it needs more again, the lender may have it by then.
            asked.needs = asked.needs.min(bytes);
        }
        drop(asked);
        let excess = self.0.counted().saturating_sub(bytes);
        if excess > 0 && borrowed.is_answered() {
            self.0.evict(excess);
        }
        if bytes > before {
            self.look_again();
            self.0.look_after_runs();
        }
    }

    /// The resident memory of the guests, as the lender has measured it.
    pub(crate) fn see_resident(&self, bytes: usize) {
        self.0.see(bytes);
    }
}

impl Borrowed {
    fn new(tell: impl Fn(MemoryNews) + Send + Sync + 'static) -> Self {
        Self {
            bytes: AtomicUsize::new(0),
            is_first: AtomicBool::new(false),
            asked: Mutex::default(),
            answered: Condvar::new(),
            tell: Box::new(tell),
        }
    }

    fn is_answered(&self) -> bool {
        let asked = self.asked.lock();
        asked.answered >= asked.last
    }
}

impl Budget {
    /// The number of copies of each replica of a shared object: the lender has one too.
    pub(super) fn copies_of_objects(&self) -> usize {
        if self.borrowed.is_some() { COPIES_OF_OBJECTS } else { 1 }
    }

    /// The memory that the lender's copies take, in bytes.
    pub(super) fn objects_of_lender(&self) -> usize {
        let copies = self.copies_of_objects();
        self.objects.load(SeqCst) / copies * (copies - 1)
    }

    /// The memory that all instances may have now, in bytes.
    pub(super) fn most(&self) -> usize {
        self.borrowed.as_ref().map_or(self.bytes_max, |borrowed| borrowed.bytes.load(SeqCst))
    }

    /// Whether the oldest instance of this process is never evicted.
    pub(super) fn is_first(&self) -> bool {
        self.borrowed.as_ref().is_none_or(|borrowed| borrowed.is_first.load(SeqCst))
    }

    /// Evicts the youngest instances that together have `bytes`.
    pub(super) fn evict(&self, bytes: usize) {
        let evicted = self.claims.lock().evict(bytes, self.is_first());
        wake(&evicted);
    }

    /// Asks the lender for `needs` bytes altogether, if there is a lender, and does not wait. Returns whether the answer is
    /// known already: the lender has been asked for as much before.
    pub(super) fn ask_for(&self, needs: usize) -> bool {
        let Some(borrowed) = &self.borrowed else { return true };
        let oldest = self.claims.lock().oldest();
        let mut asked = borrowed.asked.lock();
        let is_answered = asked.answered >= asked.last;
        if is_answered || needs > asked.needs {
            self.ask(borrowed, &mut asked, needs, oldest);
        }
        is_answered && needs <= asked.needs
    }

    /// Asks the lender for `more` bytes and waits for the answer. Returns whether it came.
    pub(super) fn borrow(&self, more: usize) -> bool {
        let Some(borrowed) = &self.borrowed else { return false };
        let oldest = self.claims.lock().oldest();
        let mut asked = borrowed.asked.lock();
        self.ask(borrowed, &mut asked, self.used().saturating_add(more), oldest);
        let question = asked.last;
        let is_late = |asked: &mut Asked| asked.answered < question;
        !borrowed.answered.wait_while_for(&mut asked, is_late, ANSWER_MAX).timed_out()
    }

    fn ask(&self, borrowed: &Borrowed, asked: &mut Asked, needs: usize, oldest: Option<u64>) {
        asked.last += 1;
        asked.needs = needs;
        (asked.uses, asked.oldest) = (self.used(), oldest);
        let (needs, uses) = (needs as u64, asked.uses as u64);
        (borrowed.tell)(MemoryNews { question: asked.last, needs, uses, oldest });
    }

    /// Reports to the lender how much is used, if that has changed.
    fn report(&self) {
        let Some(borrowed) = &self.borrowed else { return };
        let oldest = self.claims.lock().oldest();
        let mut asked = borrowed.asked.lock();
        let uses = self.used();
        let is_changed = uses.abs_diff(asked.uses) > self.bytes_max / REPORTED_PART;
        if is_changed || asked.oldest != oldest {
            (asked.uses, asked.oldest) = (uses, oldest);
            (borrowed.tell)(MemoryNews { question: 0, needs: uses as u64, uses: uses as u64, oldest });
        }
    }
}
