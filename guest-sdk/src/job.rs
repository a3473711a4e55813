//! Spawned jobs and their handles.

use std::collections::VecDeque;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::JobError;
#[cfg(not(target_family = "wasm"))]
use crate::native::Pending;
#[cfg(target_family = "wasm")]
use crate::wasm::Pending;

/// A function that may run elsewhere; `#[job]` implements it.
pub trait Job: Sized + 'static {
    /// All parameters, as a tuple.
    type Parameters: Serialize + DeserializeOwned + 'static;
    /// The result.
    type Output: Serialize + DeserializeOwned + 'static;
    /// The job's name on the grid; unique in the app.
    const NAME: &'static str;
    /// The name of its guard, if it has one.
    const GUARD: Option<&'static str> = None;

    /// Whether the shared objects among the parameters are new enough.
    fn guard(_parameters: &Self::Parameters) -> bool {
        true
    }

    /// Calls the function here and now.
    fn call(parameters: Self::Parameters) -> Self::Output;

    /// Names the parameter that differs after encoding and decoding, and what it has lost; see [`crate::lost`].
    #[doc(hidden)]
    fn lost_parameter(
        _sent: &Self::Parameters,
        _read: &Self::Parameters,
        _again: Option<&Self::Parameters>,
    ) -> Option<String> {
        None
    }

    /// Like `lost_parameter`, for the result.
    #[doc(hidden)]
    fn lost_result(
        _sent: &Self::Output,
        _read: &Self::Output,
        _again: Option<&Self::Output>,
    ) -> Option<String> {
        None
    }

    /// What the scheduler knows of this job.
    #[cfg(target_family = "wasm")]
    #[doc(hidden)]
    fn kind() -> &'static crate::wasm::Kind;
}

/// A spawned job that was not synced yet. Dropping it aborts the job.
#[must_use = "a job whose handle is dropped is aborted"]
pub struct Spawned<J: Job> {
    pending: Pending<J>,
}

impl<J: Job> Spawned<J> {
    /// Spawns the job `J`; `NAME::spawn(…)` is the convenient form.
    #[inline(always)]
    pub fn new(parameters: J::Parameters) -> Self {
        Self { pending: Pending::spawn(parameters) }
    }

    /// The job's result. If no other worker has taken the job, it runs here; otherwise this waits for it.
    ///
    /// # Panics
    /// If the job panicked or trapped; the error names the innermost job. Use [`try_sync`](Self::try_sync) to
    /// continue instead.
    #[inline(always)]
    pub fn sync(self) -> J::Output {
        self.pending.sync()
    }

    /// The job's result, or how it failed.
    ///
    /// # Errors
    /// If the job, or one that it synced, panicked or trapped. A limit or a cancellation, which stops a whole
    /// run, is not a result of a job, and ends this job as well.
    pub fn try_sync(self) -> Result<J::Output, JobError> {
        self.pending.try_sync()
    }
}

/// Jobs spawned over an iterator.
#[must_use = "jobs whose handles are dropped are aborted"]
pub struct SpawnedAll<J: Job> {
    handles: Vec<Spawned<J>>,
}

impl<J: Job> SpawnedAll<J> {
    /// Spawns the job once for each item; `NAME::spawn_all(…)` is the convenient form.
    pub fn new(parameters: impl Iterator<Item = J::Parameters>) -> Self {
        Self { handles: parameters.map(Spawned::new).collect() }
    }

    /// All results, in the order in which the jobs were spawned.
    pub fn sync(self) -> Vec<J::Output> {
        self.handles.sync_all()
    }
}

/// The handles, in the order in which the jobs were spawned, to sync them one by one.
impl<J: Job> IntoIterator for SpawnedAll<J> {
    type Item = Spawned<J>;
    type IntoIter = std::vec::IntoIter<Spawned<J>>;

    fn into_iter(self) -> Self::IntoIter {
        self.handles.into_iter()
    }
}

/// Syncing many handles at once.
pub trait SyncAll {
    /// The type of the results.
    type Output;

    /// All results, in the handles' order.
    fn sync_all(self) -> Self::Output;
}

impl<J: Job> SyncAll for Vec<Spawned<J>> {
    type Output = Vec<J::Output>;

    fn sync_all(mut self) -> Vec<J::Output> {
        if self.last().is_some_and(|handle| handle.pending.is_kept()) {
            return sync_in_blocks(self);
        }
        // The last spawned is synced first: in this order latent jobs are cheapest to take back.
        let mut results = Vec::with_capacity(self.len());
        while let Some(handle) = self.pop() {
            results.push(handle.sync());
        }
        results.reverse();
        results
    }
}

/// All results, in the handles' order, of more jobs than the stack of latent jobs holds. Other workers can only get
/// jobs from the stack. So they are synced in blocks: when the stack is empty, the next jobs move onto it.
#[cold]
fn sync_in_blocks<J: Job>(handles: Vec<Spawned<J>>) -> Vec<J::Output> {
    let mut results = Vec::with_capacity(handles.len());
    let mut left = VecDeque::from(handles);
    let mut block = Vec::new();
    while !left.is_empty() {
        while let Some(next) = left.pop_front() {
            match next.pending.settle() {
                Ok(pending) => block.push(Spawned { pending }),
                // Without any room, it is called from where it is.
                Err(pending) if block.is_empty() => {
                    block.push(Spawned { pending });
                    break;
                }
                Err(pending) => {
                    left.push_front(Spawned { pending });
                    break;
                }
            }
        }
        let done = results.len();
        while let Some(handle) = block.pop() {
            results.push(handle.sync());
        }
        results[done..].reverse();
    }
    results
}
