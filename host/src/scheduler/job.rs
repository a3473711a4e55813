//! An exposed job, and waiting for it.

use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering::SeqCst};
use std::task::Poll;
use std::time::Duration;

use parking_lot::Mutex;

use super::TaskId;
use crate::failure::{JobFailure, Stop};
use crate::guest::Guest;

/// What a job gave: its encoded result or how it failed, and the length of its chain.
pub type Outcome = (Result<Vec<u8>, JobFailure>, Duration);

/// Nobody has decided what becomes of it: it lies in a deque. Exactly one of thief, owner and
/// aborter moves it on from here; that is the claim.
const OPEN: u8 = 0;
/// A worker runs it in an instance of its own.
const TAKEN: u8 = 1;
/// Its owner calls it in place, or nobody wants it.
const GONE: u8 = 2;

/// A job that the scheduler knows of.
pub struct Job {
    /// The kind's number in the app.
    pub kind: usize,
    /// The task that spawned it and will sync it.
    pub owner: TaskId,
    /// Where its owner's chain stood.
    pub exposed_at: Duration,
    state: AtomicU8,
    aborted: AtomicBool,
    /// The task that runs it, while taken.
    runner: AtomicU64,
    parameters: Mutex<Vec<u8>>,
    outcome: Mutex<Option<Outcome>>,
}

impl Job {
    pub fn new(kind: usize, parameters: Vec<u8>, owner: TaskId, exposed_at: Duration) -> Self {
        Self {
            kind,
            owner,
            exposed_at,
            state: AtomicU8::new(OPEN),
            aborted: AtomicBool::new(false),
            runner: AtomicU64::new(0),
            parameters: Mutex::new(parameters),
            outcome: Mutex::new(None),
        }
    }

    fn claim(&self, to: u8) -> bool {
        self.state.compare_exchange(OPEN, to, SeqCst, SeqCst).is_ok()
    }

    /// Claims the job for the task `runner`; gives its parameters.
    pub fn take(&self, runner: TaskId) -> Option<Vec<u8>> {
        // Before the claim: whoever aborts a taken job must find its runner. A job lies in one deque
        // and is popped once, so nobody else gets here.
        if !self.is_open() {
            return None;
        }
        self.runner.store(runner, SeqCst);
        self.claim(TAKEN).then(|| std::mem::take(&mut *self.parameters.lock()))
    }

    /// Claims the job for its owner, or for nobody.
    pub fn withdraw(&self) -> bool {
        let claimed = self.claim(GONE);
        if claimed {
            // Its entry stays in a deque until somebody comes by; its parameters need not.
            *self.parameters.lock() = Vec::new();
        }
        claimed
    }

    pub fn is_open(&self) -> bool {
        self.state.load(SeqCst) == OPEN
    }

    /// Nobody wants the taken job's result any more; gives the task that runs it.
    pub fn abort(&self) -> TaskId {
        self.aborted.store(true, SeqCst);
        self.runner.load(SeqCst)
    }

    pub fn is_aborted(&self) -> bool {
        self.aborted.load(SeqCst)
    }

    pub fn complete(&self, outcome: Outcome) {
        *self.outcome.lock() = Some(outcome);
    }
}

/// Waits for a taken job. The guest is suspended; its worker goes on with something else.
pub async fn wait_for(guest: &Guest, job: &Job) -> Result<Outcome, Stop> {
    let (shared, task) = (&guest.shared, guest.task);
    let result = poll_fn(|context| {
        // Registered first and looked at afterwards: whoever completes the job, aborts this task or
        // ends the run does so before it wakes.
        shared.register_waiting(task, context.waker());
        if let Some(outcome) = job.outcome.lock().take() {
            return Poll::Ready(Ok(outcome));
        }
        match guest.check() {
            Ok(()) => Poll::Pending,
            Err(stop) => Poll::Ready(Err(stop)),
        }
    })
    .await;
    shared.forget_waiting(task);
    result
}
