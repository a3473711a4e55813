//! Programs compiled for this machine have no grid: a job runs when it is synced.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::codec::lost::Lost;
use crate::{Job, JobError, codec, prepared};

/// The value that would arrive on another machine, so that tests find types that do not survive encoding. Optimised
/// programs do this only on request.
#[track_caller]
fn travelled<T: Serialize + DeserializeOwned>(job: &str, what: &str, value: T, lost: Lost<T>) -> T {
    if !cfg!(any(debug_assertions, feature = "checks")) {
        return value;
    }
    match codec::travel(&value, lost) {
        Ok(value) => value,
        Err(error) => panic!("the {what} of the job `{job}` cannot travel to another machine: {error}"),
    }
}

/// Optimised programs check this only on request, too.
#[track_caller]
fn refuse_while_preparing() {
    if cfg!(any(debug_assertions, feature = "checks")) {
        prepared::refuse_while_preparing("spawn a job");
    }
}

/// A spawned job that has not run yet.
pub struct Pending<J: Job> {
    parameters: J::Parameters,
}

impl<J: Job> Pending<J> {
    #[inline(always)]
    pub fn spawn(parameters: J::Parameters) -> Self {
        refuse_while_preparing();
        Self { parameters: travelled(J::NAME, "parameters", parameters, J::lost_parameter) }
    }

    #[inline(always)]
    pub fn sync(self) -> J::Output {
        travelled(J::NAME, "result", J::call(self.parameters), J::lost_result)
    }

    /// Never: on this machine, no job waits for room on a stack.
    #[inline(always)]
    pub fn is_kept(&self) -> bool {
        false
    }

    #[expect(clippy::unnecessary_wraps, reason = "as in a guest")]
    pub fn settle(self) -> Result<Self, Self> {
        Ok(self)
    }

    pub fn try_sync(self) -> Result<J::Output, JobError> {
        // As in a guest, where the instance of a failed job is thrown away or its memory left unchanged: a job
        // is a function of its parameters, so its state cannot be seen afterwards.
        catch_unwind(AssertUnwindSafe(|| self.sync())).map_err(|payload| {
            let message = (payload.downcast_ref::<&str>().map(ToString::to_string))
                .or_else(|| payload.downcast_ref::<String>().cloned())
                .unwrap_or_else(|| "panicked".to_owned());
            JobError { job: J::NAME.to_owned(), message, backtrace: Vec::new() }
        })
    }
}

/// The jobs of a set, in the order of their spawns, which is the order in which they run.
pub struct Members<J: Job> {
    waiting: VecDeque<J::Parameters>,
    /// The index of the oldest job that waits.
    index: usize,
}

impl<J: Job> Members<J> {
    pub const fn empty() -> Self {
        Self { waiting: VecDeque::new(), index: 0 }
    }

    pub fn spawn(&mut self, parameters: J::Parameters) -> usize {
        refuse_while_preparing();
        self.waiting.push_back(travelled(J::NAME, "parameters", parameters, J::lost_parameter));
        self.index + self.waiting.len() - 1
    }

    fn oldest(&mut self) -> Option<(usize, Pending<J>)> {
        let parameters = self.waiting.pop_front()?;
        self.index += 1;
        Some((self.index - 1, Pending { parameters }))
    }

    pub fn sync(&mut self) -> Option<(usize, J::Output)> {
        self.oldest().map(|(index, job)| (index, job.sync()))
    }

    pub fn try_sync(&mut self) -> Option<(usize, Result<J::Output, JobError>)> {
        self.oldest().map(|(index, job)| (index, job.try_sync()))
    }

    pub fn left(&self) -> usize {
        self.waiting.len()
    }

    pub fn latent(&mut self) -> usize {
        self.waiting.len()
    }

    pub fn abort(&mut self) {
        self.index += self.waiting.len();
        self.waiting.clear();
    }
}
