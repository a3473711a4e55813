//! What the host knows of one instance.

use std::sync::Arc;

use wasmtime::{Global, Memory, ResourceLimiter, StoreContextMut};

use super::clock::Clock;
use super::task::Assignment;
use crate::failure::{JobFailure, Stop};
use crate::limits::LimitExceeded;
use crate::scheduler::{Job, Shared, TaskId};

/// A line that a guest wrote to its run's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLine {
    /// The job that the instance runs.
    pub job: String,
    /// What it wrote.
    pub text: String,
}

/// Bytes that wait for the guest to take them.
pub enum Offered {
    Owned(Vec<u8>),
    Shared(Arc<[u8]>),
}

impl Offered {
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Owned(bytes) => bytes,
            Self::Shared(bytes) => bytes,
        }
    }
}

/// A job kind as this instance spawns it.
pub struct LiveKind {
    /// Its number in the app.
    pub kind: usize,
    /// Where its record is in the guest's memory.
    pub address: u32,
    /// Spawns that were counted already, and those dropped without a sync.
    pub spawned: u64,
    pub dropped: u64,
    /// Spawns, and heartbeats, since its grain was judged last.
    pub window_spawned: u64,
    pub window_beats: u32,
    /// Whether each of its spawns is exposed.
    pub coarse: bool,
}

/// The data of an instance's store.
pub struct Guest {
    pub shared: Arc<Shared>,
    pub task: TaskId,
    pub assignment: Assignment,
    pub memory: Option<Memory>,
    /// Points to the end of the stack that the guest keeps in its memory, if it shows that.
    pub stack_pointer: Option<Global>,
    /// Where the alarm's two words are.
    pub alarm: Option<u32>,
    pub kinds: Vec<LiveKind>,
    children: Vec<Option<Arc<Job>>>,
    free_numbers: Vec<u32>,
    pub offered: Offered,
    /// How the child failed that was synced last.
    pub child_failure: Option<JobFailure>,
    /// What the trap will mean that a panic ends in.
    pub panic: Option<Stop>,
    pub clock: Clock,
}

impl Guest {
    pub fn new(shared: Arc<Shared>, task: TaskId, assignment: Assignment, parameters: Vec<u8>) -> Self {
        Self {
            shared,
            task,
            assignment,
            memory: None,
            stack_pointer: None,
            alarm: None,
            kinds: Vec::new(),
            children: Vec::new(),
            free_numbers: Vec::new(),
            offered: Offered::Owned(parameters),
            child_failure: None,
            panic: None,
            clock: Clock::start(),
        }
    }

    /// The job that this instance runs.
    pub fn job_name(&self) -> &str {
        match &self.assignment {
            Assignment::Root { name, .. } => name,
            Assignment::Job(job) => self.shared.job_name(job.kind),
        }
    }

    /// Whether this instance is to stop.
    pub fn check(&self) -> Result<(), Stop> {
        if self.shared.is_stopping() {
            return Err(Stop::Stopped);
        }
        match &self.assignment {
            Assignment::Job(job) if job.is_aborted() => Err(Stop::Aborted),
            _ => Ok(()),
        }
    }

    /// How many exposed jobs have not been synced.
    pub fn outstanding(&self) -> usize {
        self.children.len() - self.free_numbers.len()
    }

    /// Keeps an exposed job under a number from 1 upwards.
    pub fn add_child(&mut self, job: Arc<Job>) -> u32 {
        match self.free_numbers.pop() {
            Some(number) => {
                self.children[number as usize - 1] = Some(job);
                number
            }
            None => {
                self.children.push(Some(job));
                self.children.len() as u32
            }
        }
    }

    /// Gives up an exposed job's number; `None` if it is not in use.
    pub fn remove_child(&mut self, number: u32) -> Option<Arc<Job>> {
        let slot = self.children.get_mut((number as usize).checked_sub(1)?)?;
        let job = slot.take()?;
        self.free_numbers.push(number);
        Some(job)
    }
}

impl Drop for Guest {
    /// What an instance spawned is of no use when it is gone.
    fn drop(&mut self) {
        for job in self.children.drain(..).flatten() {
            self.shared.abandon(&job);
        }
    }
}

/// Growth beyond a limit traps: a guest that could see it fail would behave differently under
/// another limit.
impl ResourceLimiter for Guest {
    fn memory_growing(
        &mut self,
        _current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let limit = self.shared.limits().memory_bytes_max;
        if desired > limit {
            let exceeded = LimitExceeded::Memory { asked: desired as u64, limit };
            return Err(wasmtime::Error::new(Stop::Limit(exceeded)));
        }
        Ok(true)
    }

    fn table_growing(
        &mut self,
        _current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let limit = self.shared.limits().table_elements_max;
        if desired > limit {
            return Err(wasmtime::Error::new(Stop::Limit(LimitExceeded::Table { asked: desired, limit })));
        }
        Ok(true)
    }
}

/// The two words of a sounded alarm: `limit = 0`, `floor = MAX`; see the SDK's `wasm/latent/`.
const ALARM: [u8; 8] = [0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff];

/// Makes the guest look up at its next spawn or sync.
pub fn sound_alarm(mut store: StoreContextMut<'_, Guest>) {
    let guest = store.data();
    let (Some(memory), Some(alarm)) = (guest.memory, guest.alarm) else { return };
    let alarm = alarm as usize;
    if let Some(words) = memory.data_mut(&mut store).get_mut(alarm..alarm + ALARM.len()) {
        words.copy_from_slice(&ALARM);
    }
}
