//! Programs compiled for this machine have no grid: a job runs when it is synced.

use std::cell::Cell;
use std::collections::VecDeque;
use std::mem::forget;
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::codec::lost::Lost;
use crate::error::{NO_MESSAGE, one_line};
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

thread_local! {
    /// The innermost job that a panic has passed since the last `try_sync` began.
    static PASSED: Cell<Option<&'static str>> = const { Cell::new(None) };
}

/// A call of the job with this name. It is dropped only by a panic.
struct Called(&'static str);

impl Drop for Called {
    fn drop(&mut self) {
        PASSED.set(PASSED.get().or(Some(self.0)));
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
        let called = Called(J::NAME);
        let result = travelled(J::NAME, "result", J::call(self.parameters), J::lost_result);
        // A call that returns costs nothing more.
        forget(called);
        result
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
        PASSED.set(None);
        catch_unwind(AssertUnwindSafe(|| self.sync())).map_err(|payload| {
            let message = (payload.downcast_ref::<&str>().copied())
                .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
                .map_or_else(|| NO_MESSAGE.to_owned(), one_line);
            let job = PASSED.take().unwrap_or(J::NAME).to_owned();
            JobError { job, message, place: None, backtrace: Vec::new() }
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

#[cfg(test)]
mod tests {
    use crate::job;

    #[job]
    fn risky(n: u32) -> u32 {
        assert!(n != 3, "seven {n}\nin two lines\n");
        n
    }

    #[job]
    fn above_risky(n: u32) -> u32 {
        risky::spawn(n).sync() + 1
    }

    #[job]
    fn wordless(n: u32) -> u32 {
        if n == 3 {
            std::panic::panic_any(n);
        }
        above_risky::spawn(n).try_sync().unwrap_or(0)
    }

    /// As in a sandbox, whose host finds the innermost job on the guest's stack.
    #[test]
    fn a_failure_has_the_text_that_it_has_in_a_sandbox() {
        let failed = above_risky::spawn(3).try_sync().map_err(|error| error.to_string());
        assert_eq!(failed, Err("job `risky` failed: seven 3; in two lines".to_owned()));
        let failed = wordless::spawn(3).try_sync().map_err(|error| error.to_string());
        assert_eq!(failed, Err("job `wordless` failed: panicked".to_owned()));
        assert_eq!(wordless::spawn(2).try_sync(), Ok(3));
    }
}
