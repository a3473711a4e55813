//! The scheduler's data about a job kind.

use std::cell::UnsafeCell;
use std::mem::offset_of;
use std::ptr::{read_volatile, write_volatile};

use sateen_abi::kind;

use super::record::Record;
use crate::Job;
use crate::wasm::{abi, is_chosen};

/// Maximum bytes of a kind's parameters that each instance checks, and of its results. Of later ones, it checks one
/// in eight.
const CHECKED_BYTES: usize = 1 << 20;
/// Shorter values count as this long: a check has a minimum cost.
const CHECK_BYTES_MIN: usize = CHECKED_BYTES / 4;

/// How many bytes are left to check.
struct Allowance(UnsafeCell<usize>);

impl Allowance {
    const fn new() -> Self {
        Self(UnsafeCell::new(CHECKED_BYTES))
    }

    /// Takes this many bytes from those left, and returns whether that was enough.
    fn takes(&self, length: usize) -> bool {
        let counted = length.max(CHECK_BYTES_MIN);
        // SAFETY: one thread, and no reference into the cell is kept.
        unsafe {
            let left = *self.0.get();
            *self.0.get() = left.checked_sub(counted).unwrap_or(left);
            counted <= left
        }
    }
}

/// The scheduler's data about a job kind. The host writes `coarse` and reads the counters, so their offsets are
/// part of the ABI.
#[repr(C, align(8))]
pub struct Kind {
    /// Not zero while every spawn of this kind must be exposed: before it is registered, and until the host has
    /// measured that it is fine.
    coarse: UnsafeCell<u32>,
    /// The host's number for this kind, when registered.
    number: UnsafeCell<u32>,
    /// Spawns so far in this instance.
    spawned: UnsafeCell<u64>,
    /// Of these, latent jobs whose handle was dropped.
    dropped: UnsafeCell<u64>,
    registered: UnsafeCell<bool>,
    parameters_to_check: Allowance,
    results_to_check: Allowance,
    pub(super) record_bytes: usize,
    name: &'static str,
    pub(super) encode: fn(*const u8) -> Vec<u8>,
    pub(super) discard: fn(*mut u8),
}

/// The place of the length of a kind's records, which the host reads.
pub const RECORD_BYTES_AT: usize = offset_of!(Kind, record_bytes);

const _: () = {
    assert!(offset_of!(Kind, coarse) == kind::COARSE && offset_of!(Kind, number) == kind::NUMBER);
    assert!(offset_of!(Kind, spawned) == kind::SPAWNED && offset_of!(Kind, dropped) == kind::DROPPED);
    assert!(offset_of!(Kind, registered) >= kind::BYTES);
};

impl Kind {
    /// The kind of the job `J`.
    pub const fn of<J: Job>() -> Self {
        Self {
            coarse: UnsafeCell::new(1),
            number: UnsafeCell::new(0),
            spawned: UnsafeCell::new(0),
            dropped: UnsafeCell::new(0),
            registered: UnsafeCell::new(false),
            parameters_to_check: Allowance::new(),
            results_to_check: Allowance::new(),
            record_bytes: Record::<J>::BYTES,
            name: J::NAME,
            encode: Record::<J>::encode,
            discard: Record::<J>::discard,
        }
    }

    #[inline(always)]
    pub(super) fn is_coarse(&self) -> bool {
        // SAFETY: one thread; the host may write between, hence volatile.
        unsafe { read_volatile(self.coarse.get()) != 0 }
    }

    #[inline(always)]
    pub(super) fn count_spawn(&self) {
        // SAFETY: one thread; the host may read between, hence volatile.
        unsafe { write_volatile(self.spawned.get(), read_volatile(self.spawned.get()) + 1) }
    }

    pub(super) fn count_drop(&self) {
        // SAFETY: one thread; the host only reads.
        unsafe { *self.dropped.get() += 1 }
    }

    /// Whether to check these encoded parameters.
    pub(super) fn checks_parameters(&self, bytes: &[u8]) -> bool {
        self.parameters_to_check.takes(bytes.len()) || is_chosen(bytes)
    }

    /// Whether to check this encoded result, although it is long.
    pub fn checks_result(&self, bytes: &[u8]) -> bool {
        self.results_to_check.takes(bytes.len()) || is_chosen(bytes)
    }

    /// Whether the host knows this kind, so that this is not its first spawn.
    pub(super) fn is_registered(&self) -> bool {
        // SAFETY: one thread, and no reference into the cell is kept.
        unsafe { *self.registered.get() }
    }

    pub(super) fn number(&'static self) -> u32 {
        // SAFETY: one thread, and no reference into the cells is kept.
        unsafe {
            if !*self.registered.get() {
                *self.number.get() = abi::register(self.name, std::ptr::from_ref(self).cast_mut().cast());
                *self.registered.get() = true;
            }
            *self.number.get()
        }
    }
}

// SAFETY: a guest has one thread; the host writes only while that thread is inside a check or call.
unsafe impl Sync for Kind {}
