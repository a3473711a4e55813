//! The record of a job kind in the guest's memory: the places of the words that the host knows.

/// Four bytes; not zero while each spawn of the kind is to be exposed. The host writes it.
pub const COARSE: usize = 0;
/// Four bytes: the kind's number, which the guest keeps there.
pub const NUMBER: usize = 4;
/// Eight bytes: spawns so far in this instance.
pub const SPAWNED: usize = 8;
/// Eight bytes: the latent jobs among these that were dropped without a sync.
pub const DROPPED: usize = 16;
/// The length of the part that the host knows.
pub const BYTES: usize = 24;
