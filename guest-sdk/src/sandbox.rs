//! Values that every sandbox must make for itself.

use std::panic::Location;

use serde::Serialize;

/// Makes a value that every sandbox must make for itself before it can run a job, because it is not sent with the job:
/// a parsed input, a table, the tree of all bodies. Returns the result of `make`; keep it in a static, or beside the
/// value that it was made from.
///
/// In a profile (`sateen run --profile`) the work of `make` counts once for each `key`, however many sandboxes make
/// the value and how often. Otherwise it would count as work of each job that happens to be the first in its sandbox.
/// `key` must distinguish the value from all others that this call makes; it is encoded only in a profiled run.
///
/// ```
/// use std::cell::OnceCell;
///
/// struct Sequence {
///     letters: String,
///     /// Made when it is needed.
///     counts: OnceCell<[usize; 256]>,
/// }
///
/// impl Sequence {
///     fn counts(&self) -> &[usize; 256] {
///         self.counts.get_or_init(|| {
///             sateen::per_sandbox(&self.letters, || {
///                 let mut counts = [0; 256];
///                 self.letters.bytes().for_each(|letter| counts[usize::from(letter)] += 1);
///                 counts
///             })
///         })
///     }
/// }
///
/// let sequence = Sequence { letters: "gattaca".to_owned(), counts: OnceCell::new() };
/// assert_eq!(sequence.counts()[usize::from(b'a')], 3);
/// ```
#[track_caller]
pub fn per_sandbox<T>(key: &impl Serialize, make: impl FnOnce() -> T) -> T {
    source::make(Location::caller(), key, make)
}

#[cfg(target_family = "wasm")]
use crate::wasm as source;

#[cfg(not(target_family = "wasm"))]
mod source {
    use super::{Location, Serialize};

    /// Nobody measures here.
    pub fn make<T>(_place: &Location, _key: &impl Serialize, make: impl FnOnce() -> T) -> T {
        make()
    }
}
