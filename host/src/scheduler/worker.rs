//! A worker: one thread that runs guests and looks for work.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Instant;

use async_task::Runnable;
use crossbeam_deque::Worker as Deque;
use sateen_protocol::message::NoteKind;

use super::activity::Doing;
use super::deques::{become_worker, find_own, is_worker_of, resign};
use super::ending::Ending;
use super::job::{Job, Outcome, Task};
use super::permits::Permit;
use super::place::Ancestry;
use super::registry::Grid;
use super::remote::Registry;
use super::turns::{end_turn, is_turn_over};
use crate::failure::Stop;
use crate::guest::{Assignment, Sandbox, TaskEnd, forget_processor_time, run_task};

/// How often a hungry worker looks around before it sleeps.
const LOOKS_BEFORE_SLEEP: u32 = 64;

/// An instance that a worker keeps while it runs tasks that are ready, for another job of the same parent.
struct Kept {
    used: Box<Sandbox>,
    job: Arc<Job>,
    instance: Permit,
}

thread_local! {
    static KEPT: Cell<Option<Kept>> = const { Cell::new(None) };
}

/// The body of a worker's thread: works until the run has ended and nothing of it is left.
pub fn run_worker(registry: &Arc<Registry>, index: usize, deque: Deque<Arc<Job>>) {
    let _attends = registry.tempo.signals.attend(index, &registry.app.code());
    become_worker(registry, index, deque);
    while step(registry) || rest(registry) {}
    end_turn();
    resign();
}

/// Runs one task, if there is one: first tasks that have begun, then new ones.
fn step(registry: &Arc<Registry>) -> bool {
    if registry.grid.has_hosts() || registry.turns().is_some() {
        if !registry.is_work() {
            return false;
        }
        registry.begin_turn(|| !registry.is_work());
        if !registry.is_work() {
            return false;
        }
    }
    // Before any claim: either code that checks whether guests compute sees this, or this sees the drain.
    registry.grid.begin_computing();
    registry.grid.begin_doing(Doing::Work);
    let something = begin_something(registry);
    Grid::end_computing(registry);
    something
}

fn begin_something(registry: &Arc<Registry>) -> bool {
    if let Some(runnable) = registry.tasks.next_ready() {
        registry.grid.flush();
        runnable.run();
        return true;
    }
    let kept = KEPT.take();
    if registry.is_stopping() || registry.is_draining() {
        return false;
    }
    // Without a free instance, a worker takes no new job. There is no deadlock: a task waits only for a job
    // that was taken, so at the end of every chain of waits a task runs or is ready.
    if !registry.room.may_begin() {
        return false;
    }
    let found = match kept {
        Some(Kept { used, job: last, instance }) => find_job(registry).map(|(job, victim)| {
            let used = job.is_sibling_of(&last).then_some(used);
            (job, victim, instance, used)
        }),
        None => find_with_instance(registry).map(|(job, victim, instance)| (job, victim, instance, None)),
    };
    let Some((job, victim, instance, used)) = found else { return false };
    if !job.begins_at_once_for_another_host() {
        registry.grid.flush();
    }
    if Grid::ask_first(registry, &job) {
        return true;
    }
    let Some(task) = take(registry, &job, victim) else { return true };
    start_task(registry, task, Assignment::Job(job), instance, used);
    true
}

/// A job that looked open, see [`find_job`], and a permit for an instance.
fn find_with_instance(registry: &Registry) -> Option<(Arc<Job>, Option<usize>, Permit)> {
    let found = registry.instances.acquire_above(registry.reserve()).and_then(|instance| {
        let (job, victim) = find_job(registry)?;
        Some((job, victim, instance))
    });
    found.or_else(|| {
        let instance = registry.instances.acquire()?;
        let job = registry.grid.find_injected()?;
        Some((job, None, instance))
    })
}

/// Looks for work for a while, then sleeps until there is some. Returns false when the run is over.
fn rest(registry: &Arc<Registry>) -> bool {
    drop(KEPT.take());
    // Before another run's worker gets the turn, and with it perhaps this core.
    Grid::note_rest(registry);
    end_turn();
    if registry.is_stopping() && !registry.tasks.are_left() {
        return false;
    }
    registry.idle.begin();
    let since = Instant::now();
    registry.deques.demand.note_hungry();
    if registry.is_anybody_starving() {
        // Do not wait for the next heartbeat.
        registry.ring();
    }
    // Only other workers could make work as soon as that.
    let looks = if registry.threads() > 1 { LOOKS_BEFORE_SLEEP } else { 0 };
    for _ in 0..looks {
        if registry.is_work() {
            break;
        }
        std::hint::spin_loop();
    }
    if !registry.is_work() {
        Grid::begin_sleep(registry);
        // If others already knew that this worker has nothing to do.
        registry.grid.flush();
        Grid::note_rest(registry);
        registry.idle.sleep(|| registry.is_work());
        // Thieves elsewhere are notified of the end of a rest, even if it is a false alarm.
        while registry.grid.has_hosts() && !registry.is_work() {
            registry.idle.sleep(|| registry.is_work());
        }
        Grid::end_sleep(registry);
        forget_processor_time();
    }
    registry.idle.end();
    if registry.threads() > 1 {
        registry.deques.demand.note_waited(since.elapsed());
    }
    true
}

/// A job that looked open, and the worker whose deque it was in: the newest of this worker's own (it will be
/// wanted first), else one that came from other hosts or came back, else the oldest of another worker's (it is
/// the largest).
fn find_job(registry: &Registry) -> Option<(Arc<Job>, Option<usize>)> {
    let of = |(job, worker)| (job, Some(worker));
    find_own()
        .map(of)
        .or_else(|| {
            let grid = &registry.grid;
            let job = grid.find_returned().or_else(|| grid.find_injected())?;
            Some((job, None))
        })
        .or_else(|| registry.deques.find_others().map(of))
}

/// Begins a task on this worker, in a `used` instance if there is one, and runs it until it ends or waits.
pub fn start_task(
    registry: &Arc<Registry>,
    task: Task,
    assignment: Assignment,
    instance: Permit,
    used: Option<Box<Sandbox>>,
) {
    let runnable = prepare(registry, task, assignment, instance, used);
    if is_worker_of(registry) {
        runnable.run();
    } else {
        runnable.schedule();
    }
}

/// Begins a task from within another; the first free worker runs it.
pub fn begin_task(registry: &Arc<Registry>, task: Task, assignment: Assignment, instance: Permit) {
    prepare(registry, task, assignment, instance, None).schedule();
}

fn prepare(
    registry: &Arc<Registry>,
    task: Task,
    assignment: Assignment,
    instance: Permit,
    used: Option<Box<Sandbox>>,
) -> Runnable {
    let is_urgent = task.is_urgent.clone();
    let mut alive = Alive::new(registry, instance);
    let future = {
        let (registry, is_urgent) = (registry.clone(), is_urgent.clone());
        async move {
            let mut last = run(&registry, task, assignment, used).await;
            while let Some((used, job)) = last {
                let Some((task, next)) = find_next(&registry, &is_urgent) else {
                    alive.keep(used, job);
                    break;
                };
                let used = next.is_sibling_of(&job).then_some(used);
                // Another instance takes a while to be made.
                if used.is_none() || !next.begins_at_once_for_another_host() {
                    registry.grid.flush();
                }
                registry.grid.begin_doing(Doing::Work);
                last = run(&registry, task, Assignment::Job(next), used).await;
            }
            drop(alive);
        }
    };
    let schedule = {
        let registry = registry.clone();
        move |runnable| registry.schedule(runnable, is_urgent.load(SeqCst))
    };
    let (runnable, handle) = async_task::spawn(future, schedule);
    handle.detach();
    runnable
}

/// Runs a task to its end; returns its job, and the instance if another may run there.
async fn run(
    registry: &Arc<Registry>,
    task: Task,
    assignment: Assignment,
    used: Option<Box<Sandbox>>,
) -> Option<(Box<Sandbox>, Arc<Job>)> {
    let job = match &assignment {
        Assignment::Root { .. } => None,
        Assignment::Job(job) => Some(job.clone()),
    };
    let ancestry = task.ancestry.clone();
    let repeats = task.repeats.clone();
    let mut end = watched(registry, &repeats, run_task(registry.clone(), task, assignment, used)).await;
    let claim = end.claim.take();
    let used = end.used.take();
    match &job {
        None => finish_root(registry, end),
        Some(job) => finish_job(registry, job, ancestry.as_deref(), end),
    }
    // A root's result is counted by the driver from here on.
    drop(claim);
    used.zip(job)
}

/// The next job for a worker that has finished a short one, unless something else comes first.
fn find_next(registry: &Arc<Registry>, is_urgent: &Arc<AtomicBool>) -> Option<(Task, Arc<Job>)> {
    let is_over = registry.is_stopping() || registry.is_draining() || registry.is_paused() || is_turn_over();
    if is_over || registry.tasks.is_ready() || !registry.room.may_begin() {
        return None;
    }
    let (job, victim) = find_job(registry)?;
    if Grid::ask_first(registry, &job) {
        return None;
    }
    let mut task = take(registry, &job, victim)?;
    task.is_urgent = is_urgent.clone();
    Some((task, job))
}

/// Claims a job that was found, unless somebody else has it.
fn take(registry: &Registry, job: &Arc<Job>, victim: Option<usize>) -> Option<Task> {
    let task = registry.take(job)?;
    if let Some(victim) = victim {
        registry.note_steal(victim);
    }
    Some(task)
}

/// Runs a task; notes it if the task repeats lost work.
async fn watched(registry: &Registry, repeats: &AtomicBool, task: impl Future<Output = TaskEnd>) -> TaskEnd {
    if !registry.grid.has_hosts() {
        return task.await;
    }
    let mut task = std::pin::pin!(task);
    std::future::poll_fn(|context| {
        if repeats.load(SeqCst) {
            registry.grid.begin_doing(Doing::Recover);
        }
        task.as_mut().poll(context)
    })
    .await
}

/// Counts a task for as long as it exists, and holds its instance.
struct Alive {
    registry: Arc<Registry>,
    instance: Option<Permit>,
}

impl Alive {
    fn new(registry: &Arc<Registry>, instance: Permit) -> Self {
        registry.tasks.begin();
        Self { registry: registry.clone(), instance: Some(instance) }
    }

    /// Keeps the instance of a `job` that has ended, if all that comes first is a task that is ready: most often that which
    /// waited for the job, and which waits for its siblings next. Other workers have instances meanwhile.
    fn keep(&mut self, used: Box<Sandbox>, job: Arc<Job>) {
        if self.registry.tasks.is_ready() && self.registry.instances.free() >= self.registry.threads() {
            KEPT.set(self.instance.take().map(|instance| Kept { used, job, instance }));
        }
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        self.instance = None;
        self.registry.end_task();
        // A worker may have found no free instance.
        self.registry.idle.wake_one();
        Grid::announce_idle(&*self.registry);
    }
}

fn finish_root(registry: &Registry, end: TaskEnd) {
    match end.result {
        Ok(output) => registry.end(Ending::Finished(output, end.span)),
        Err(stop) => registry.end_by(stop),
    }
}

fn finish_job(registry: &Registry, job: &Arc<Job>, ancestry: Option<&Ancestry>, end: TaskEnd) {
    if let Some(ancestry) = ancestry {
        let work_ns = u64::try_from(end.work.as_nanos()).unwrap_or(u64::MAX);
        let what = match &end.result {
            Ok(_) => Some(NoteKind::Done { work_ns }),
            Err(Stop::Failed(_)) => Some(NoteKind::Failed),
            Err(Stop::Aborted) => Some(NoteKind::Aborted),
            // The task continues on another worker, or the run has ended.
            Err(_) => None,
        };
        if let Some(what) = what {
            registry.grid.note_end(job, ancestry, what);
        }
    }
    let result = match end.result {
        Err(Stop::Evicted) => return Grid::put_back(registry, job, ancestry),
        Ok(result) => Ok(result),
        Err(Stop::Failed(failure)) => Err(failure),
        Err(Stop::Aborted) => {
            registry.counters.aborted.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            return;
        }
        Err(stop) => return registry.end_by(stop),
    };
    registry.note_work(job, end.work);
    let outcome = Outcome { result, span: end.span, work: end.work, objects: end.objects };
    if let Some(outcome) = Grid::deliver(registry, job, ancestry, outcome) {
        job.complete(outcome);
        registry.tasks.wake(job.owner);
    }
}
