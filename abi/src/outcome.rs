//! An entry point's outcome: one of these numbers, then bytes preceded by their length, as in postcard.

/// Text for people.
pub const TEXT: u32 = 0;
/// Bytes.
pub const BYTES: u32 = 1;
/// The app returned an error.
pub const FAILED: u32 = 2;
/// The user's input is not usable by the app.
pub const BAD_INPUT: u32 = 3;
