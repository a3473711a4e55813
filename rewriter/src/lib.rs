//! Makes a module stoppable.
//!
//! A guest must hear that it shall stop, pause, yield or hand jobs over, and honest kernels should not pay for that.
//! Cranelift's own checks call the host on their cold path, and as a call keeps no registers, nothing is kept in registers
//! across a loop's turn: loops without calls took 1.4 times as long, some twice. So the host rewrites each module before
//! it compiles it. It adds a shared memory of one page, which the app cannot address, an import, and two kinds of checks:
//!
//! ```text
//! stop   at the head of a loop that calls nothing:      if stop { unreachable }
//! poll   at the head of a loop that calls, at entries,
//!        and before bulk operations on memory:          if poll { call poll }
//! ```
//!
//! A trap has no successor, so it costs a comparison and a branch. (A loop that calls nothing can stand still all the same:
//! the host interrupts its thread.) What can be resumed happens in polls, where a call
//! clobbers the registers anyway. At entries, the parameters pass through the poll and come back as its results, so that
//! nothing lives across a call there. Every cycle has a check: each loop, unless each of its turns polls elsewhere, and of
//! each cycle of calls one function at least, whose entry polls. Trees of calls without cycles poll when they have become
//! long.
//!
//! The words are read by plain loads, which a processor compares with 0 in one instruction. But a compiler may read a
//! word once where two plain loads of it follow each other, and then an inner loop would never end. So each check of a
//! function reads a word of its own, and the host writes all of them.
//!
//! The module was validated before. Its hash, its ABI and the keys of its jobs are those of the original.

mod calls;
mod copies;
mod covered;
mod encode;
mod survey;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt;

/// The module name of the imports that are added. An app may not import from it.
pub const MODULE: &str = "sateen-interrupt";
/// The import of the shared memory.
pub const WORDS: &str = "words";
/// The import that a guest calls in a poll, without parameters or results.
pub const POLL: &str = "poll";

/// The number of words of each kind: all are 0, or none is. The first is for checks that have no word of their own, in
/// functions with more checks than this. They read it by atomic loads, none of which a compiler leaves out.
pub const WORDS_EACH: u64 = 128;
/// The offset of the words that end an instance when they are not 0.
pub const STOP_WORDS: u64 = 0;
/// The offset of the words at which a guest polls when they are not 0.
pub const POLL_WORDS: u64 = 4 * WORDS_EACH;

/// Changes with the code that is added, so that older compiled code is not used.
pub const VERSION: u32 = 2;

/// Why a module could not be rewritten.
#[derive(Debug)]
pub struct Error(String);

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

impl From<wasmparser::BinaryReaderError> for Error {
    fn from(error: wasmparser::BinaryReaderError) -> Self {
        Self(error.to_string())
    }
}

impl<E: fmt::Debug> From<wasm_encoder::reencode::Error<E>> for Error {
    fn from(error: wasm_encoder::reencode::Error<E>) -> Self {
        Self(format!("{error:?}"))
    }
}

/// The module with checks; `module` itself if it has no code that could need one.
///
/// # Errors
/// If `module` is not valid, or has reached a limit of the format that the checks exceed.
pub fn rewrite(module: &[u8]) -> Result<Cow<'_, [u8]>, Error> {
    let survey = survey::Survey::of(module)?;
    if survey.is_empty() {
        return Ok(Cow::Borrowed(module));
    }
    encode::encode(module, &survey).map(Cow::Owned)
}
