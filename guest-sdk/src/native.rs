//! Compiled for this machine there is no grid: a job runs where it is synced.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::{Job, JobError};

/// A spawned job whose time has not come.
pub struct Pending<J: Job> {
    parameters: J::Parameters,
}

impl<J: Job> Pending<J> {
    #[inline(always)]
    pub fn spawn(parameters: J::Parameters) -> Self {
        Self { parameters }
    }

    #[inline(always)]
    pub fn sync(self) -> J::Output {
        J::call(self.parameters)
    }

    pub fn try_sync(self) -> Result<J::Output, JobError> {
        // As in a guest, where a failed job's instance is thrown away or its memory left as it is:
        // a job is a function of its parameters, so no state of its can be seen afterwards.
        catch_unwind(AssertUnwindSafe(|| J::call(self.parameters))).map_err(|payload| {
            let message = (payload.downcast_ref::<&str>().map(ToString::to_string))
                .or_else(|| payload.downcast_ref::<String>().cloned())
                .unwrap_or_else(|| "panicked".to_owned());
            JobError { job: J::NAME.to_owned(), message, backtrace: Vec::new() }
        })
    }
}
