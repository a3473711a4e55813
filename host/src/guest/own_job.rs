//! The job that an instance runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use sateen_protocol::{HeldId, JobTag};
use wasmtime::ModuleExport;

use crate::scheduler::{Ancestry, Job, Place, ROOT, Signal, TaskId};

/// The job of a task.
pub enum Assignment {
    /// An entry point, with the words of the command line.
    Root { name: String, export: ModuleExport },
    /// A job that was exposed and taken.
    Job(Arc<Job>),
}

impl Assignment {
    /// The job's record, unless it is the root of a run on only this host.
    pub fn record(&self) -> Option<&Arc<Job>> {
        match self {
            Self::Root { .. } => None,
            Self::Job(job) => Some(job),
        }
    }
}

/// An instance's own job, and the task that runs it.
pub struct OwnJob {
    task: TaskId,
    assignment: Assignment,
    /// Its place in a run of many hosts.
    ancestry: Option<Arc<Ancestry>>,
    /// See [`Task`](crate::scheduler::Task).
    is_urgent: Arc<AtomicBool>,
    /// How other threads reach the instance while it computes.
    signal: Arc<Signal>,
    /// The number of the function that prepares a value, before the job begins.
    preparing: Option<usize>,
}

impl OwnJob {
    pub fn new(
        task: TaskId,
        assignment: Assignment,
        ancestry: Option<Arc<Ancestry>>,
        is_urgent: Arc<AtomicBool>,
        signal: Signal,
    ) -> Self {
        Self { task, assignment, ancestry, is_urgent, signal: Arc::new(signal), preparing: None }
    }

    pub fn signal(&self) -> &Arc<Signal> {
        &self.signal
    }

    /// The number of the function that prepares a value now.
    pub fn preparing(&self) -> Option<usize> {
        self.preparing
    }

    pub fn set_preparing(&mut self, function: Option<usize>) {
        self.preparing = function;
    }

    /// The task that runs it.
    pub fn task(&self) -> TaskId {
        self.task
    }

    pub fn assignment(&self) -> &Assignment {
        &self.assignment
    }

    /// Its record, unless it is the root of a run on only this host.
    pub fn record(&self) -> Option<&Arc<Job>> {
        self.assignment.record()
    }

    /// Its place in a run of many hosts.
    pub fn ancestry(&self) -> Option<&Arc<Ancestry>> {
        self.ancestry.as_ref()
    }

    /// Its name in the tree of a run of many hosts.
    pub fn tag(&self) -> Option<JobTag> {
        self.ancestry.as_ref().map(|ancestry| ancestry.key.tag())
    }

    /// The number under which this host holds the job, if the job belongs to another host.
    pub fn held(&self) -> Option<HeldId> {
        self.record()?.place.as_ref().and_then(Place::held)
    }

    /// Whether it is the run's root.
    pub fn is_root(&self) -> bool {
        self.record().is_none_or(|job| job.kind == ROOT)
    }

    /// Spawns below the root, of the job.
    pub fn depth_below_root(&self) -> u32 {
        self.record().map_or(0, |job| job.depth)
    }

    /// The depth below the run's root of a job spawned from `depth`.
    pub fn depth_of(&self, depth: u32) -> u32 {
        self.depth_below_root().saturating_add(depth).saturating_add(1)
    }

    /// The depth to which spawns below `job`, which is called in place, must be looked up.
    pub fn lookup_bound_of(&self, job: &Job) -> u32 {
        let below = job.place.as_ref().map_or(0, |place| place.lookup_below.load(SeqCst));
        below.saturating_sub(self.ancestry.as_ref().map_or(0, |ancestry| ancestry.depth))
    }

    /// Whether its result is not wanted any more.
    pub fn is_aborted(&self) -> bool {
        self.record().is_some_and(|job| job.is_aborted())
    }

    /// Whether its task does not wait behind others when it is ready.
    pub fn set_urgent(&self, is_urgent: bool) {
        self.is_urgent.store(is_urgent, SeqCst);
    }
}
