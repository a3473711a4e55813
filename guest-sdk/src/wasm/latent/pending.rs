//! A spawned job's handle.

use std::marker::PhantomData;
use std::mem::forget;

use super::attempt::{attempt, taken_error};
use super::record::{EXPOSED, Record, depth_of, is_marked, job_of};
use super::stack::{
    Alarm, answer_alarm, depth, enter, expose_oldest, floor, is_looking_up, limit, make_room, remove,
    set_depth, set_top, top,
};
use crate::wasm::abi::{self, Fault, Synced};
use crate::{Job, JobError, codec};

/// Marks a handle's address, which is a multiple of 8: the stack was full, and this is where the job's
/// parameters are.
const KEPT: usize = 1;

/// A spawned job: the address of its record on the stack or, when that was full, of its parameters in
/// a box of their own.
pub struct Pending<J: Job> {
    record: usize,
    job: PhantomData<J>,
}

impl<J: Job> Pending<J> {
    #[inline(always)]
    pub fn spawn(parameters: J::Parameters) -> Self {
        let kind = J::kind();
        kind.count_spawn();
        let record = top();
        let next = record + Record::<J>::BYTES;
        if next <= limit() && !kind.is_coarse() {
            Record::<J>::write(record, depth(), parameters);
            set_top(next);
            Self { record, job: PhantomData }
        } else {
            Self::spawn_slowly(parameters)
        }
    }

    #[inline(always)]
    pub fn sync(self) -> J::Output {
        let record = self.record;
        if record >= floor() && record + Record::<J>::BYTES == top() {
            forget(self);
            set_top(record);
            // One up and one down: cheaper than to keep the depth outside across the call.
            set_depth(depth() + 1);
            let result = J::call(Record::<J>::read(record));
            set_depth(depth() - 1);
            result
        } else {
            self.sync_slowly()
        }
    }

    #[cold]
    #[inline(never)]
    fn spawn_slowly(parameters: J::Parameters) -> Self {
        let alarm = answer_alarm();
        let kind = J::kind();
        kind.number();
        if !make_room(Record::<J>::BYTES) {
            alarm.expose();
            let kept = Box::new(Kept { parameters, depth: depth() });
            return Self { record: Box::into_raw(kept) as usize | KEPT, job: PhantomData };
        }
        let record = top();
        Record::<J>::write(record, depth(), parameters);
        set_top(record + Record::<J>::BYTES);
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
        match self.claim() {
            Claimed::Parameters(parameters, inside, recorded) => {
                let outside = depth();
                enter(inside);
                let result = J::call(parameters);
                enter(outside);
                if let Some(job) = recorded {
                    abi::record(job, &codec::encode(&result));
                }
                result
            }
            Claimed::Result(result) => result,
            Claimed::Failed(_) => abi::fail(Fault::Child, ""),
        }
    }

    #[inline(never)]
    pub fn try_sync(self) -> Result<J::Output, JobError> {
        match self.claim() {
            Claimed::Parameters(parameters, inside, recorded) => {
                let result = attempt::<J>(parameters, inside);
                match (recorded, &result) {
                    (Some(job), Ok(result)) => abi::record(job, &codec::encode(result)),
                    (Some(job), Err(_)) => abi::abandon(job),
                    (None, _) => {}
                }
                result
            }
            Claimed::Result(result) => Ok(result),
            Claimed::Failed(length) => Err(taken_error(length)),
        }
    }

    /// Ends the record's life, whatever has become of it.
    fn claim(self) -> Claimed<J> {
        let alarm = answer_alarm();
        let record = self.record;
        forget(self);
        if record & KEPT != 0 {
            alarm.expose();
            let kept = take_kept::<J>(record);
            return Claimed::Parameters(kept.parameters, kept.depth + 1, None);
        }
        if alarm == Alarm::Drain {
            // This one as well: another host goes on with it.
            alarm.expose();
        }
        if !is_marked(record, EXPOSED) {
            let depth = depth_of(record);
            let parameters = Record::<J>::read(record);
            remove(record, Record::<J>::BYTES);
            alarm.expose();
            return Claimed::Parameters(parameters, depth + 1, None);
        }
        if alarm == Alarm::Hungry {
            alarm.expose();
        }
        let job = job_of(record);
        let synced = abi::sync(job);
        let parameters = Record::<J>::read(record);
        remove(record, Record::<J>::BYTES);
        match synced {
            Synced::Reclaimed { depth, recorded } => {
                // What runs here may be long and spawn nothing: leave something for the others.
                answer_alarm().expose();
                Claimed::Parameters(parameters, depth + 1, recorded.then_some(job))
            }
            Synced::Done(length) => match codec::decode(&abi::take(length)) {
                Ok(result) => Claimed::Result(result),
                Err(error) => abi::fail(Fault::Encoding, &error),
            },
            Synced::Failed(length) => Claimed::Failed(length),
        }
    }
}

/// The parameters of a job that found the stack full; aligned so that their address has room for a mark.
#[repr(align(8))]
struct Kept<T> {
    parameters: T,
    depth: usize,
}

fn take_kept<J: Job>(record: usize) -> Kept<J::Parameters> {
    // SAFETY: made by `spawn_slowly` from a box; its only handle is consumed.
    *unsafe { Box::from_raw((record & !KEPT) as *mut Kept<J::Parameters>) }
}

/// What a sync finds.
enum Claimed<J: Job> {
    /// Nobody had taken the job: call it at this depth, and report its result if it has a number.
    Parameters(J::Parameters, usize, Option<u32>),
    Result(J::Output),
    /// The length of an error to be taken.
    Failed(usize),
}

impl<J: Job> Drop for Pending<J> {
    /// A handle dropped without a sync aborts its job.
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
