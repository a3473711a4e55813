//! The threads of a run.

use std::sync::Arc;
use std::thread::JoinHandle;

use crossbeam_deque::Worker as Deque;
use sateen_command_line::explained;

use super::job::Job;
use super::priority::Priority;
use super::registry::RegistryParts;
use super::remote::{Registry, Remote};
use super::worker::run_worker;
use crate::failure::RunError;

/// A run's threads and their shared state. Its owner ends the run and then joins them.
pub struct Threads {
    pub registry: Arc<Registry>,
    deques: Vec<Deque<Arc<Job>>>,
    priority: Priority,
    handles: Vec<JoinHandle<()>>,
}

impl Threads {
    /// No thread runs yet; `remote` is the part that only a portion of a run has.
    ///
    /// # Errors
    /// If the run has no workers.
    pub fn new(parts: RegistryParts, priority: Priority, remote: Option<Remote>) -> Result<Self, RunError> {
        let threads = parts.settings.threads;
        if threads == 0 {
            return Err(RunError::BadInput("a run needs at least one thread".to_owned()));
        }
        let deques: Vec<_> = (0..threads).map(|_| Deque::new_lifo()).collect();
        let stealers = deques.iter().map(Deque::stealer).collect();
        let registry = Arc::new(Registry::new(parts, remote, stealers));
        Ok(Self { registry, deques, priority, handles: Vec::new() })
    }

    /// Starts the workers, and the heartbeat whose body is `beat`.
    ///
    /// # Errors
    /// If threads cannot be started.
    pub fn start(&mut self, beat: impl FnOnce(&Registry) + Send + 'static) -> Result<(), RunError> {
        for (index, deque) in std::mem::take(&mut self.deques).into_iter().enumerate() {
            let (registry, priority) = (self.registry.clone(), self.priority);
            self.spawn(format!("sateen-worker-{index}"), move || {
                priority.take();
                run_worker(&registry, index, deque);
            })?;
        }
        let (registry, priority) = (self.registry.clone(), self.priority);
        self.spawn("sateen-heartbeat".to_owned(), move || {
            priority.take_before_workers();
            beat(&registry);
        })
    }

    fn spawn(&mut self, name: String, body: impl FnOnce() + Send + 'static) -> Result<(), RunError> {
        let guard = EndsIfPanicking(self.registry.clone());
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
            // A panic has already ended the run, with its own message.
            let _ = thread.join();
        }
    }
}

/// A thread that panics ends its run rather than leaving it to wait for ever.
struct EndsIfPanicking(Arc<Registry>);

impl Drop for EndsIfPanicking {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.end_by_panic();
        }
    }
}
