//! The imports' answers. The lower half of an answer is a length or a depth; the upper half says which, and of what.

/// `sync` and `attempt`: the job succeeded. The lower half is the length of its result in bytes.
pub const DONE: u32 = 0;
/// `sync`: nobody has taken the job, so its caller runs it in place. The lower half is the depth of its spawn.
pub const RECLAIMED: u32 = 1;
/// `sync` and `attempt`: the job failed. The lower half is the length of its error in bytes.
pub const FAILED: u32 = 2;
/// `sync`: as [`RECLAIMED`], and the caller passes the result to `record`.
pub const RECLAIMED_RECORD: u32 = 3;

/// `sync_any`: from this bit up, the answer has the place of the synced job in the list.
pub const PLACE_BIT: u32 = 40;
/// `sync_any`: no job of the list is ready yet.
pub const NOTHING_YET: u64 = u64::MAX;

/// `input`: the run has no input of that name.
pub const NO_INPUT: u64 = u64::MAX;

/// Combines an answer's two halves.
pub const fn with(lower: u32, upper: u32) -> u64 {
    (upper as u64) << 32 | lower as u64
}

/// The upper half of an answer.
pub const fn upper(answer: u64) -> u32 {
    (answer >> 32) as u32
}
