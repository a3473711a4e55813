//! The tasks of a run: those that are ready, and those that wait.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};
use std::task::Waker;

use async_task::Runnable;
use crossbeam_deque::{Injector, Steal};
use parking_lot::Mutex;

/// A task's number in its run; 0 stands for no task.
pub type TaskId = u64;

/// A task that waits.
struct Waiting {
    waker: Waker,
    /// See [`Tasks::register_waiting`].
    is_unsaved: bool,
}

/// All tasks of a run.
pub struct Tasks {
    /// Suspended tasks that are ready.
    ready: Injector<Runnable>,
    /// Ready tasks whose guests wait for any of several jobs: other tasks make room for them.
    urgent: Injector<Runnable>,
    /// Tasks that exist.
    count: AtomicUsize,
    next: AtomicU64,
    waiting: Mutex<HashMap<TaskId, Waiting>>,
}

impl Tasks {
    pub fn new() -> Self {
        Self {
            ready: Injector::new(),
            urgent: Injector::new(),
            count: AtomicUsize::new(0),
            next: AtomicU64::new(1),
            waiting: Mutex::default(),
        }
    }

    pub fn new_id(&self) -> TaskId {
        self.next.fetch_add(1, Relaxed)
    }

    pub fn begin(&self) {
        self.count.fetch_add(1, SeqCst);
    }

    /// Removes a task; returns whether it was the last.
    pub fn end(&self) -> bool {
        self.count.fetch_sub(1, SeqCst) == 1
    }

    /// The number of tasks.
    pub fn count(&self) -> usize {
        self.count.load(SeqCst)
    }

    pub fn are_left(&self) -> bool {
        self.count() > 0
    }

    // ---- ready tasks ----

    /// A suspended task is ready; it goes before all others if it `is_urgent`.
    pub fn push(&self, runnable: Runnable, is_urgent: bool) {
        if is_urgent { &self.urgent } else { &self.ready }.push(runnable);
    }

    pub fn next_ready(&self) -> Option<Runnable> {
        next_of(&self.urgent).or_else(|| next_of(&self.ready))
    }

    /// Whether a computing guest should yield to another.
    pub fn is_urgent(&self) -> bool {
        !self.urgent.is_empty()
    }

    pub fn is_ready(&self) -> bool {
        !self.ready.is_empty() || !self.urgent.is_empty()
    }

    // ---- waiting tasks ----

    /// `is_unsaved` if the task waits for another host, and its own host should not leave before.
    pub fn register_waiting(&self, task: TaskId, waker: &Waker, is_unsaved: bool) {
        self.waiting.lock().insert(task, Waiting { waker: waker.clone(), is_unsaved });
    }

    pub fn forget_waiting(&self, task: TaskId) {
        self.waiting.lock().remove(&task);
    }

    /// Whether work would be lost if the host did not wait for results of other hosts.
    pub fn is_unsaved(&self) -> bool {
        self.waiting.lock().values().any(|waiting| waiting.is_unsaved)
    }

    /// Makes a waiting task check again.
    pub fn wake(&self, task: TaskId) {
        let waiting = self.waiting.lock().remove(&task);
        if let Some(waiting) = waiting {
            waiting.waker.wake();
        }
    }

    /// Makes all waiting tasks check again.
    pub fn wake_all(&self) {
        let wakers: Vec<Waker> = self.waiting.lock().drain().map(|(_, waiting)| waiting.waker).collect();
        wakers.into_iter().for_each(Waker::wake);
    }
}

fn next_of(queue: &Injector<Runnable>) -> Option<Runnable> {
    loop {
        match queue.steal() {
            Steal::Success(runnable) => return Some(runnable),
            Steal::Empty => return None,
            Steal::Retry => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::task::Wake;

    use super::*;

    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, SeqCst);
        }
    }

    #[test]
    fn a_waiting_task_is_woken_once() {
        let tasks = Tasks::new();
        let woken = Arc::new(Woken::default());
        let waker = Waker::from(woken.clone());
        tasks.register_waiting(1, &waker, false);
        tasks.register_waiting(2, &waker, true);
        assert!(tasks.is_unsaved());
        tasks.wake(2);
        tasks.wake(2);
        assert!(!tasks.is_unsaved());
        assert_eq!(woken.0.load(SeqCst), 1);
        tasks.wake_all();
        tasks.wake(1);
        assert_eq!(woken.0.load(SeqCst), 2);
    }

    #[test]
    fn the_last_task_to_end_is_known() {
        let tasks = Tasks::new();
        assert_eq!((tasks.new_id(), tasks.new_id(), tasks.are_left()), (1, 2, false));
        tasks.begin();
        tasks.begin();
        assert_eq!((tasks.end(), tasks.count(), tasks.end()), (false, 1, true));
    }
}
