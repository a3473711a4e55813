//! The stack of latent records, as far as a guest that imports `latent` shows it to its host: the places of three words of
//! four bytes, and the marks in a record's first word, which is the address of its kind.

/// The oldest record that is not exposed.
pub const FLOOR: usize = 0;
/// The end of the newest record.
pub const TOP: usize = 4;
/// The number of latent jobs that found the stack full, and are kept elsewhere.
pub const KEPT: usize = 8;
/// The length of these words.
pub const BYTES: usize = 12;

/// The mark of a record that is no longer latent.
pub const HOLE: u32 = 1;
/// The mark of a record whose job the host has taken.
pub const EXPOSED: u32 = 2;
/// The bits of the first word that are marks.
pub const MARKS: u32 = 3;
/// The place in a record of its second word: the depth of a latent job's spawn, or an exposed job's number.
pub const JOB: usize = 4;
/// The length of these two words, which the parameters follow.
pub const HEADER: usize = 8;
