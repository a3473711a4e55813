//! What an entry point returns: one of these numbers, and bytes with their length before them, as postcard has them.

/// Text for people.
pub const TEXT: u32 = 0;
/// Bytes.
pub const BYTES: u32 = 1;
/// The app returned an error.
pub const FAILED: u32 = 2;
/// The user gave something that the app cannot use.
pub const BAD_INPUT: u32 = 3;
