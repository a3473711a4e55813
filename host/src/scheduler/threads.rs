//! The threads of a run.

use std::sync::Arc;
use std::thread::JoinHandle;

use crossbeam_deque::Worker as Deque;
use sateen_command_line::explained;

use super::{Job, Priority, Shared, SharedParts, run_worker};
use crate::failure::RunError;

/// A run's threads, and what they share. Its owner ends the run and then joins them.
pub struct Threads {
    pub shared: Arc<Shared>,
    deques: Vec<Deque<Arc<Job>>>,
    priority: Priority,
    handles: Vec<JoinHandle<()>>,
}

impl Threads {
    /// No thread runs yet.
    ///
    /// # Errors
    /// When the run has no workers.
    pub fn new(parts: SharedParts) -> Result<Self, RunError> {
        if parts.threads == 0 {
            return Err(RunError::BadInput("a run needs at least one thread".to_owned()));
        }
        let deques: Vec<_> = (0..parts.threads).map(|_| Deque::new_lifo()).collect();
        let priority = parts.priority;
        let stealers = deques.iter().map(Deque::stealer).collect();
        Ok(Self { shared: Arc::new(Shared::new(parts, stealers)), deques, priority, handles: Vec::new() })
    }

    /// Starts the workers, and the heartbeat whose body is `beat`.
    ///
    /// # Errors
    /// When this machine gives no threads.
    pub fn start(&mut self, beat: impl FnOnce(&Shared) + Send + 'static) -> Result<(), RunError> {
        for (index, deque) in std::mem::take(&mut self.deques).into_iter().enumerate() {
            let (shared, priority) = (self.shared.clone(), self.priority);
            self.spawn(format!("sateen-worker-{index}"), move || {
                priority.take();
                run_worker(&shared, index, deque);
            })?;
        }
        let (shared, priority) = (self.shared.clone(), self.priority);
        self.spawn("sateen-heartbeat".to_owned(), move || {
            priority.take_before_workers();
            beat(&shared);
        })
    }

    fn spawn(&mut self, name: String, body: impl FnOnce() + Send + 'static) -> Result<(), RunError> {
        let guard = EndsIfPanicking(self.shared.clone());
        let thread = std::thread::Builder::new().name(name).spawn(move || {
            let _guard = guard;
            body();
        });
        let thread = thread
            .map_err(|error| RunError::Host(format!("a thread cannot be started: {}", explained(&error))))?;
        self.handles.push(thread);
        Ok(())
    }

    pub fn join(&mut self) {
        for thread in self.handles.drain(..) {
            // A panic has ended the run already, with a message of its own.
            let _ = thread.join();
        }
    }
}

/// A thread that panics ends its run rather than leaving it to wait for ever.
struct EndsIfPanicking(Arc<Shared>);

impl Drop for EndsIfPanicking {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.end_by_panic();
        }
    }
}
