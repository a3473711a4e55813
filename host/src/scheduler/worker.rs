//! A worker: one thread that runs guests, and what it does when it has none.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use async_task::Runnable;
use crossbeam_deque::{Steal, Worker as Deque};

use sateen_protocol::message::NoteKind;

use super::activity::Doing;
use super::job::{Job, Outcome};
use super::permits::Permit;
use super::place::Ancestry;
use super::shared::{Ending, Shared, TaskId};
use super::turns::end_turn;
use crate::failure::Stop;
use crate::guest::{Assignment, TaskEnd, run_task};

/// How often a hungry worker looks around before it sleeps.
const LOOKS_BEFORE_SLEEP: u32 = 64;

/// The length at which a deque is first cleared.
const CLEAR_AT: usize = 1024;

struct Own {
    /// The run's address, to tell runs apart.
    run: usize,
    index: usize,
    deque: Deque<Arc<Job>>,
    /// At this length the deque is cleared of jobs that were taken back.
    clear_at: usize,
    /// Picks victims; any sequence will do.
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
    /// Drops all entries whose jobs are no longer open. A thief drops those it meets; where nobody
    /// steals for hours, they must not pile up.
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
pub fn is_worker_of(shared: &Arc<Shared>) -> bool {
    OWN.with_borrow(|own| own.as_ref().is_some_and(|own| own.run == Arc::as_ptr(shared) as usize))
}

/// The index of the worker that this thread is.
pub fn own_index() -> Option<usize> {
    OWN.with_borrow(|own| own.as_ref().map(|own| own.index))
}

/// The body of a worker's thread: works until the run has ended and nothing of it is left.
pub fn run_worker(shared: &Arc<Shared>, index: usize, deque: Deque<Arc<Job>>) {
    let random = 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(index as u64 + 1);
    OWN.set(Some(Own { run: Arc::as_ptr(shared) as usize, index, deque, clear_at: CLEAR_AT, random }));
    while step(shared) || rest(shared) {}
    end_turn();
    OWN.set(None);
}

/// Does one thing, if there is one: first what was begun, then what is new.
fn step(shared: &Arc<Shared>) -> bool {
    if shared.remote.is_some() || shared.has_turns() {
        if !shared.is_work() {
            return false;
        }
        shared.begin_turn(|| !shared.is_work());
        if !shared.is_work() {
            return false;
        }
    }
    let Some(remote) = &shared.remote else { return begin_something(shared) };
    // Before anything is claimed: who asks whether guests compute sees this, or this sees the drain.
    remote.begin_computing();
    remote.activity.begin(own_index().unwrap_or(usize::MAX), Doing::Work);
    let something = begin_something(shared);
    shared.end_computing(remote);
    something
}

fn begin_something(shared: &Arc<Shared>) -> bool {
    if let Some(runnable) = shared.next_ready() {
        runnable.run();
        return true;
    }
    if shared.is_stopping() || shared.is_draining() {
        return false;
    }
    // Without a free instance a worker takes nothing new. No deadlock: a task waits only for a job
    // that was taken, so at the end of every chain of waits something runs or is ready.
    if !shared.may_begin() {
        return false;
    }
    let found = shared.instances.acquire_above(shared.reserve()).and_then(|instance| {
        let (job, victim) = find_job(shared)?;
        Some((job, victim, instance))
    });
    let found = found.or_else(|| {
        let instance = shared.instances.acquire()?;
        let job = shared.remote.as_ref()?.find_injected()?;
        Some((job, None, instance))
    });
    let Some((job, victim, instance)) = found else { return false };
    if shared.ask_first(&job) {
        return true;
    }
    let Some(task) = shared.take(&job) else { return true };
    if let Some(victim) = victim {
        shared.note_steal(victim);
    }
    start_task(shared, task, Assignment::Job(job), instance);
    true
}

/// Looks around for a while, then sleeps until there is work. False when the run is over.
fn rest(shared: &Arc<Shared>) -> bool {
    // Before another run's worker gets the turn, and with it perhaps this core.
    note_rest(shared);
    end_turn();
    if shared.is_stopping() && !shared.has_tasks() {
        return false;
    }
    shared.idle.begin();
    if shared.is_hungry() {
        // Do not wait for the next heartbeat.
        shared.move_epoch();
    }
    for _ in 0..LOOKS_BEFORE_SLEEP {
        if shared.is_work() {
            break;
        }
        std::hint::spin_loop();
    }
    if !shared.is_work() {
        shared.rest_begins();
        note_rest(shared);
        shared.idle.sleep(|| shared.is_work());
        // Thieves elsewhere are told of a rest's end; a false alarm is none.
        while shared.remote.is_some() && !shared.is_work() {
            shared.idle.sleep(|| shared.is_work());
        }
        shared.rest_ends();
    }
    shared.idle.end();
    true
}

/// Takes down why this worker has nothing to do.
fn note_rest(shared: &Shared) {
    let Some(remote) = &shared.remote else { return };
    let doing = if shared.is_paused() {
        Doing::Nothing
    } else if shared.task_count() > remote.computing() {
        Doing::Wait
    } else {
        Doing::Steal
    };
    remote.activity.begin(own_index().unwrap_or(usize::MAX), doing);
}

/// A job that looked open, and whose worker's deque it was in: the newest of this worker's own (it
/// will be wanted first), else one that came back or in from other hosts, else the oldest of another
/// worker's (it is the largest).
fn find_job(shared: &Shared) -> Option<(Arc<Job>, Option<usize>)> {
    find_own()
        .or_else(|| {
            let remote = shared.remote.as_ref()?;
            let job = remote.find_returned().or_else(|| remote.find_injected())?;
            Some((job, None))
        })
        .or_else(|| find_others(shared))
}

fn find_own() -> Option<(Arc<Job>, Option<usize>)> {
    OWN.with_borrow_mut(|own| {
        let own = own.as_mut()?;
        while let Some(job) = own.deque.pop() {
            if job.is_open() {
                return Some((job, Some(own.index)));
            }
        }
        None
    })
}

fn find_others(shared: &Shared) -> Option<(Arc<Job>, Option<usize>)> {
    OWN.with_borrow_mut(|own| {
        let own = own.as_mut()?;
        let count = shared.stealers.len();
        own.random ^= own.random << 13;
        own.random ^= own.random >> 7;
        own.random ^= own.random << 17;
        let first = (own.random % count as u64) as usize;
        (0..count).map(|offset| (first + offset) % count).filter(|victim| *victim != own.index).find_map(
            |victim| {
                loop {
                    match shared.stealers[victim].steal() {
                        Steal::Success(job) if job.is_open() => return Some((job, Some(victim))),
                        Steal::Success(_) | Steal::Retry => {}
                        Steal::Empty => return None,
                    }
                }
            },
        )
    })
}

/// A job that a worker has claimed, to be run in an instance of its own.
pub struct Task {
    pub id: TaskId,
    /// While set, it does not wait behind others when it can go on.
    pub is_urgent: Arc<AtomicBool>,
    /// While set, it does what was done before and lost.
    pub repeats: Arc<AtomicBool>,
    pub parameters: Vec<u8>,
    /// In a portion of a run.
    pub ancestry: Option<Arc<Ancestry>>,
}

/// Begins a task, and on a worker runs it until it ends or waits.
pub fn start_task(shared: &Arc<Shared>, task: Task, assignment: Assignment, instance: Permit) {
    let runnable = prepare(shared, task, assignment, instance);
    if is_worker_of(shared) {
        runnable.run();
    } else {
        runnable.schedule();
    }
}

/// Begins a task on whichever worker comes first, from within another.
pub fn begin_task(shared: &Arc<Shared>, task: Task, assignment: Assignment, instance: Permit) {
    prepare(shared, task, assignment, instance).schedule();
}

fn prepare(shared: &Arc<Shared>, task: Task, assignment: Assignment, instance: Permit) -> Runnable {
    let is_urgent = task.is_urgent.clone();
    let alive = Alive::new(shared, instance);
    let future = {
        let shared = shared.clone();
        async move {
            let job = match &assignment {
                Assignment::Root { .. } => None,
                Assignment::Job(job) => Some(job.clone()),
            };
            let ancestry = task.ancestry.clone();
            let repeats = task.repeats.clone();
            let end = watched(&shared, &repeats, run_task(shared.clone(), task, assignment)).await;
            match job {
                None => finish_root(&shared, end),
                Some(job) => finish_job(&shared, &job, ancestry.as_deref(), end),
            }
            drop(alive);
        }
    };
    let schedule = {
        let shared = shared.clone();
        move |runnable| shared.schedule(runnable, is_urgent.load(SeqCst))
    };
    let (runnable, handle) = async_task::spawn(future, schedule);
    handle.detach();
    runnable
}

/// Runs a task; whenever a worker goes on with one that repeats what was lost, that is taken down.
async fn watched(shared: &Shared, repeats: &AtomicBool, task: impl Future<Output = TaskEnd>) -> TaskEnd {
    let Some(remote) = &shared.remote else { return task.await };
    let mut task = std::pin::pin!(task);
    std::future::poll_fn(|context| {
        if repeats.load(SeqCst) {
            remote.activity.begin(own_index().unwrap_or(usize::MAX), Doing::Recover);
        }
        task.as_mut().poll(context)
    })
    .await
}

/// Counts a task for as long as it exists, and holds its instance.
struct Alive {
    shared: Arc<Shared>,
    instance: Option<Permit>,
}

impl Alive {
    fn new(shared: &Arc<Shared>, instance: Permit) -> Self {
        shared.begin_task();
        Self { shared: shared.clone(), instance: Some(instance) }
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        self.instance = None;
        self.shared.end_task();
        // Somebody may have gone without for want of an instance.
        self.shared.idle.wake_one();
        self.shared.announce_idle();
    }
}

fn finish_root(shared: &Shared, end: TaskEnd) {
    match end.result {
        Ok(output) => shared.end(Ending::Finished(output, end.span)),
        Err(stop) => shared.end_by(stop),
    }
}

fn finish_job(shared: &Shared, job: &Arc<Job>, ancestry: Option<&Ancestry>, end: TaskEnd) {
    if let (Some(remote), Some(ancestry)) = (&shared.remote, ancestry) {
        let work_ns = u64::try_from(end.work.as_nanos()).unwrap_or(u64::MAX);
        let what = match &end.result {
            Ok(_) => Some(NoteKind::Done { work_ns }),
            Err(Stop::Failed(_)) => Some(NoteKind::Failed),
            Err(Stop::Aborted) => Some(NoteKind::Aborted),
            // It goes on elsewhere, or the run has ended.
            Err(_) => None,
        };
        if let Some(what) = what {
            remote.note(job, ancestry, what, None);
        }
    }
    let result = match end.result {
        Err(Stop::Evicted) => return shared.put_back(job, ancestry),
        Ok(result) => Ok(result),
        Err(Stop::Failed(failure)) => Err(failure),
        Err(Stop::Aborted) => {
            shared.counters.aborted.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            return;
        }
        Err(stop) => return shared.end_by(stop),
    };
    shared.grains.note(job.kind, job.depth, end.work);
    shared.deliver(job, ancestry, Outcome { result, span: end.span, work: end.work, objects: end.objects });
}
