//! What imports answer: a length or a depth in the lower half, and above it what it is of.

/// `sync`, `attempt`: what ran has given a result of so many bytes.
pub const DONE: u32 = 0;
/// `sync`: nobody has taken the job, and its caller runs it in place; it was exposed from this depth.
pub const RECLAIMED: u32 = 1;
/// `sync`, `attempt`: it failed, and how takes so many bytes.
pub const FAILED: u32 = 2;
/// `sync`: as [`RECLAIMED`], and `record` is to be called with its result.
pub const RECLAIMED_RECORD: u32 = 3;

/// `sync_any`: the bit from which on the place of the job that was synced is in the answer.
pub const PLACE_BIT: u32 = 40;
/// `sync_any`: nothing can be had without a wait.
pub const NOTHING_YET: u64 = u64::MAX;

/// `input`: there is none of that name.
pub const NO_INPUT: u64 = u64::MAX;

/// The answer with this above it.
pub const fn with(lower: u32, upper: u32) -> u64 {
    (upper as u64) << 32 | lower as u64
}

/// What is above an answer's lower half.
pub const fn upper(answer: u64) -> u32 {
    (answer >> 32) as u32
}
