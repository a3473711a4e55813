//! A spawned job's record: a header, then the parameters by value.

use std::marker::PhantomData;
use std::mem::{align_of, offset_of, size_of};

use sateen_abi::stack;

use super::kind::Kind;
use super::measure;
use crate::wasm::objects::without_mentions;
use crate::wasm::{IS_UNCHECKED, check, is_root};
use crate::{Job, codec};

/// Parameters beyond this size, or aligned beyond 8, are kept in a box of their own.
const INLINE_BYTES_MAX: usize = 256;

const HEADER: usize = size_of::<Header>();

// Marks in a header's kind pointer, whose low bits are free.

/// Synced or dropped out of order: dead, and to be swept later.
pub const HOLE: usize = stack::HOLE as usize;
/// Offered to the host, under the number in the header.
pub const EXPOSED: usize = stack::EXPOSED as usize;
const MARKS: usize = HOLE | EXPOSED;

const _: () = assert!(
    MARKS == stack::MARKS as usize
        && offset_of!(Header, kind) == 0
        && offset_of!(Header, job) == stack::JOB
        && HEADER == stack::HEADER
);

/// The header in front of each record's parameters.
#[repr(C)]
struct Header {
    /// The kind's address and the marks.
    kind: usize,
    /// The depth of a latent job's spawn; an exposed job's number.
    job: u32,
}

/// A record of the job `J`, by the address of its header.
pub struct Record<J: Job>(PhantomData<J>);

impl<J: Job> Record<J> {
    const BOXED: bool = size_of::<J::Parameters>() > INLINE_BYTES_MAX || align_of::<J::Parameters>() > 8;
    pub const BYTES: usize =
        HEADER + if Self::BOXED { 8 } else { size_of::<J::Parameters>().next_multiple_of(8) };

    #[inline(always)]
    pub fn write(record: usize, depth: usize, parameters: J::Parameters) {
        let place = (record + HEADER) as *mut u8;
        // SAFETY: the caller has found BYTES of free room at `record`, aligned to 8, on the stack or
        // in a box; nothing refers to it.
        unsafe {
            (*(record as *mut Header)).kind = std::ptr::from_ref(J::kind()) as usize;
            (*(record as *mut Header)).job = depth as u32;
            if Self::BOXED {
                place.cast::<*mut J::Parameters>().write(Box::into_raw(Box::new(parameters)));
            } else {
                place.cast::<J::Parameters>().write(parameters);
            }
        }
    }

    /// Moves the parameters out; the record is dead afterwards.
    #[inline(always)]
    pub fn read(record: usize) -> J::Parameters {
        let place = (record + HEADER) as *mut u8;
        // SAFETY: the record holds the parameters that `write` put there, and each record is read
        // once: by its only handle, which is consumed.
        unsafe {
            if Self::BOXED {
                *Box::from_raw(place.cast::<*mut J::Parameters>().read())
            } else {
                place.cast::<J::Parameters>().read()
            }
        }
    }

    /// Marks a latent record, whose parameters were moved out, as dead.
    #[inline(always)]
    pub fn bury(record: usize) {
        // SAFETY: `record` is a record on the stack. Its kind is known, so it need not be read.
        unsafe { (*header(record)).kind = std::ptr::from_ref(J::kind()) as usize | HOLE }
    }

    pub fn encode(record: *const u8) -> Vec<u8> {
        // SAFETY: as for `read`, but the parameters stay: an unstolen job is called with them.
        let parameters = unsafe {
            let place = record.add(HEADER);
            if Self::BOXED {
                &**place.cast::<*const J::Parameters>()
            } else {
                &*place.cast::<J::Parameters>()
            }
        };
        let bytes = codec::encode(parameters);
        if !IS_UNCHECKED && J::kind().checks_parameters(&bytes) {
            check(J::NAME, "parameters", parameters, &bytes, J::lost_parameter);
        }
        bytes
    }

    /// Parameters are checked in the root's instance, of which there is one per run. In others, each steal
    /// would pay for the check.
    #[cold]
    pub fn check_if_root(parameters: &J::Parameters) {
        if IS_UNCHECKED || !is_root() {
            return;
        }
        measure::aside(|| {
            let bytes = without_mentions(|| codec::encode(parameters));
            if J::kind().checks_parameters(&bytes) {
                check(J::NAME, "parameters", parameters, &bytes, J::lost_parameter);
            }
        });
    }

    pub fn discard(record: *mut u8) {
        drop(Self::read(record as usize));
    }
}

#[inline(always)]
fn header(record: usize) -> *mut Header {
    record as *mut Header
}

pub fn kind_of(record: usize) -> &'static Kind {
    // SAFETY: records on the stack carry the address of a static kind, except for the marks.
    unsafe { &*(((*header(record)).kind & !MARKS) as *const Kind) }
}

pub fn is_marked(record: usize, mark: usize) -> bool {
    // SAFETY: `record` is a record on the stack.
    unsafe { (*header(record)).kind & mark != 0 }
}

pub fn mark(record: usize, mark: usize) {
    // SAFETY: `record` is a record on the stack.
    unsafe { (*header(record)).kind |= mark }
}

/// The depth at which a latent job was spawned.
#[inline(always)]
pub fn depth_of(record: usize) -> usize {
    // SAFETY: `record` is a latent record on the stack.
    unsafe { (*header(record)).job as usize }
}

/// An exposed job's number.
pub fn job_of(record: usize) -> u32 {
    // SAFETY: `record` is an exposed record on the stack.
    unsafe { (*header(record)).job }
}

/// Marks a job as exposed under the number `job`.
pub fn mark_exposed(record: usize, job: u32) {
    // SAFETY: `record` is a record on the stack.
    unsafe { (*header(record)).job = job }
    mark(record, EXPOSED);
}
