//! Answers of the imports for shared objects.

/// The length of an object's id.
pub const ID_BYTES: usize = 16;

/// `catch_up`, in the upper half: the first item is a value to begin anew from.
pub const ANEW: u32 = 1;
/// `catch_up`, in the upper half: a snapshot is wanted.
pub const WANTS_SNAPSHOT: u32 = 2;

/// `update`: the caller must apply it now, as it has applied all before it.
pub const APPLY: u32 = 1;
/// `update`: a snapshot is wanted.
pub const SNAPSHOT: u32 = 2;
/// `update`: nothing was done, as there is no replica yet. `catch_up` waits for the replica.
pub const NO_REPLICA: u32 = 4;
