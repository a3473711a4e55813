//! A spawned job's handle.

use std::marker::PhantomData;
use std::mem::forget;

use super::attempt::{attempt, taken_error};
use super::measure;
use super::record::{EXPOSED, Record, depth_of, is_marked, job_of};
use super::stack::{
    Alarm, answer_alarm, depth, enter, expose_oldest, floor, is_looking_up, kept, limit, make_room,
    make_room_for_kept, remove, set_depth, set_kept, set_top, top,
};
use crate::prepared::refuse_while_preparing;
use crate::wasm::abi::{self, Fault, Synced};
use crate::wasm::{encode_result, undecodable};
use crate::{Job, JobError, codec};

/// A mark in a handle's address, which is a multiple of 8: the stack was full, and this is the address of the
/// job's parameters.
pub const KEPT: usize = 1;

/// A spawned job: the address of its record on the stack or, if the stack was full, of its parameters in a box
/// of their own.
pub struct Pending<J: Job> {
    record: usize,
    job: PhantomData<J>,
}

impl<J: Job> Pending<J> {
    #[inline(always)]
    pub fn spawn(parameters: J::Parameters) -> Self {
        match Self::spawn_fast(parameters) {
            Ok(record) => Self::from_record(record),
            Err(parameters) => Self::spawn_slowly(parameters),
        }
    }

    /// Spawns the job if the fast path is open, and returns its record; otherwise returns its parameters.
    #[inline(always)]
    pub fn spawn_fast(parameters: J::Parameters) -> Result<usize, J::Parameters> {
        let kind = J::kind();
        kind.count_spawn();
        let record = top();
        let next = record + Record::<J>::BYTES;
        if next <= limit() && !kind.is_coarse() {
            Record::<J>::write(record, depth(), parameters);
            set_top(next);
            Ok(record)
        } else {
            Err(parameters)
        }
    }

    #[inline(always)]
    pub fn sync(self) -> J::Output {
        let record = self.record;
        if record >= floor() && record + Record::<J>::BYTES == top() {
            forget(self);
            set_top(record);
            // Increment and decrement: cheaper than keeping the depth across the call.
            set_depth(depth() + 1);
            let result = J::call(Record::<J>::read(record));
            set_depth(depth() - 1);
            result
        } else {
            self.sync_slowly()
        }
    }

    /// The handle as a number, which must be turned into a handle again exactly once.
    #[inline(always)]
    pub fn into_record(self) -> usize {
        let record = self.record;
        forget(self);
        record
    }

    /// The only handle of a number from `into_record`.
    #[inline(always)]
    pub fn from_record(record: usize) -> Self {
        Self { record, job: PhantomData }
    }

    #[cold]
    #[inline(never)]
    pub fn spawn_slowly(parameters: J::Parameters) -> Self {
        refuse_while_preparing("spawn a job");
        let alarm = answer_alarm();
        let kind = J::kind();
        let is_first = !kind.is_registered();
        kind.number();
        if is_first && !kind.is_coarse() {
            // It may never be exposed, on one worker for example.
            Record::<J>::check_if_root(&parameters);
        }
        if !make_room(Record::<J>::BYTES) {
            alarm.expose();
            set_kept(kept().wrapping_add(1));
            let record = Box::new(Kept { parameters, depth: depth() });
            return Self { record: Box::into_raw(record) as usize | KEPT, job: PhantomData };
        }
        let record = top();
        Record::<J>::write(record, depth(), parameters);
        set_top(record + Record::<J>::BYTES);
        measure::spawned(record);
        if alarm == Alarm::Silent && (kind.is_coarse() || is_looking_up()) {
            expose_oldest();
        } else {
            alarm.expose();
        }
        Self { record, job: PhantomData }
    }

    #[cold]
    #[inline(never)]
    fn sync_slowly(self) -> J::Output {
        self.claim().finish()
    }

    #[inline(never)]
    pub fn try_sync(self) -> Result<J::Output, JobError> {
        self.claim().attempt()
    }

    /// The parameters of a job that was not exposed, and the depth of its spawn.
    pub fn take_latent(self) -> (J::Parameters, usize) {
        let record = self.into_record();
        if record & KEPT != 0 {
            let kept = take_kept::<J>(record);
            return (kept.parameters, kept.depth);
        }
        let depth = depth_of(record);
        let parameters = Record::<J>::read(record);
        remove(record, Record::<J>::BYTES);
        (parameters, depth)
    }

    /// Whether the stack had no room for its record.
    #[inline(always)]
    pub fn is_kept(&self) -> bool {
        self.record & KEPT != 0
    }

    /// A record on the stack, where workers can get it, if the stack has room for it now.
    ///
    /// # Errors
    /// The handle as it is, if the stack has no room.
    pub fn settle(self) -> Result<Self, Self> {
        if !self.is_kept() {
            return Ok(self);
        }
        if !make_room_for_kept(Record::<J>::BYTES) {
            return Err(self);
        }
        let Kept { parameters, depth } = take_kept::<J>(self.into_record());
        let record = top();
        Record::<J>::write(record, depth, parameters);
        set_top(record + Record::<J>::BYTES);
        if J::kind().is_coarse() {
            expose_oldest();
        }
        Ok(Self::from_record(record))
    }

    /// Ends the record's life, whatever its state.
    fn claim(self) -> Claimed<J> {
        let alarm = answer_alarm();
        let record = self.record;
        if alarm == Alarm::Drain {
            // Expose this job as well: another host continues with it.
            alarm.expose();
        }
        if record & KEPT != 0 || !is_marked(record, EXPOSED) {
            let (parameters, depth) = self.take_latent();
            alarm.expose();
            return Claimed::Parameters(parameters, depth + 1, None, record);
        }
        forget(self);
        if alarm == Alarm::Hungry {
            alarm.expose();
        }
        let job = job_of(record);
        let synced = abi::sync(job);
        let parameters = Record::<J>::read(record);
        remove(record, Record::<J>::BYTES);
        Claimed::of(synced, job, parameters)
    }
}

/// The parameters of a job that found the stack full, aligned so that their address has room for a mark.
#[repr(align(8))]
struct Kept<T> {
    parameters: T,
    depth: usize,
}

fn take_kept<J: Job>(record: usize) -> Kept<J::Parameters> {
    set_kept(kept().wrapping_sub(1));
    // SAFETY: made by `spawn_slowly` from a box; its only handle is consumed.
    *unsafe { Box::from_raw((record & !KEPT) as *mut Kept<J::Parameters>) }
}

/// The state of a job at its sync.
pub enum Claimed<J: Job> {
    /// No worker had taken the job: call it at this depth, and report its result if it has a number. Also the
    /// address of its record; 0 if it was exposed.
    Parameters(J::Parameters, usize, Option<u32>, usize),
    Result(J::Output),
    /// The length of an error to be taken.
    Failed(usize),
}

impl<J: Job> Claimed<J> {
    /// The host's answer about the exposed `job`, whose parameters are still here.
    pub fn of(synced: Synced, job: u32, parameters: J::Parameters) -> Self {
        match synced {
            Synced::Reclaimed { depth, recorded } => {
                // The job that runs here may be long and spawn nothing: leave some work for other workers.
                answer_alarm().expose();
                Self::Parameters(parameters, depth + 1, recorded.then_some(job), 0)
            }
            Synced::Done(length) => match codec::decode(&abi::take(length)) {
                Ok(result) => {
                    measure::taken();
                    Self::Result(result)
                }
                Err(error) => undecodable(&format!("the result of `{}` breaks", J::NAME), &error),
            },
            Synced::Failed(length) => Self::Failed(length),
        }
    }

    /// The job's result; if it failed, the caller fails as well.
    pub fn finish(self) -> J::Output {
        match self {
            Self::Parameters(parameters, inside, recorded, record) => {
                let outside = depth();
                let call = measure::call(J::kind(), record, inside);
                enter(inside);
                let result = J::call(parameters);
                measure::end_call(call);
                enter(outside);
                if let Some(job) = recorded {
                    abi::record(job, || encode_result::<J>(&result));
                }
                result
            }
            Self::Result(result) => result,
            Self::Failed(_) => abi::fail(Fault::Child, ""),
        }
    }

    /// The job's result, or how it failed.
    pub fn attempt(self) -> Result<J::Output, JobError> {
        match self {
            Self::Parameters(parameters, inside, recorded, record) => {
                let result = attempt::<J>(parameters, inside, record);
                match (recorded, &result) {
                    (Some(job), Ok(result)) => abi::record(job, || encode_result::<J>(result)),
                    (Some(job), Err(_)) => abi::abandon(job),
                    (None, _) => {}
                }
                result
            }
            Self::Result(result) => Ok(result),
            Self::Failed(length) => Err(taken_error(length)),
        }
    }
}

impl<J: Job> Drop for Pending<J> {
    /// Dropping a handle without a sync aborts its job.
    fn drop(&mut self) {
        let record = self.record;
        if record & KEPT != 0 {
            J::kind().count_drop();
            drop(take_kept::<J>(record));
            return;
        }
        if is_marked(record, EXPOSED) {
            abi::abandon(job_of(record));
        } else {
            J::kind().count_drop();
        }
        drop(Record::<J>::read(record));
        remove(record, Record::<J>::BYTES);
    }
}
