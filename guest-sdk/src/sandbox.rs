//! What every sandbox has to make for itself.

use std::panic::Location;

use serde::Serialize;

/// Makes what every sandbox has to make for itself before it can do a job, since it does not travel: a parsed input, a
/// table, the tree of all bodies. Returns what `make` returns; keep that in a static, or beside what it was made from.
///
/// In a profile (`sateen run --profile`) it counts once for each `key`, however many sandboxes make it and how often.
/// Without this, it is the work of each job that happens to be the first in its sandbox. `key` must tell
/// it from whatever else this call makes; it is encoded only in a profiled run.
///
/// ```
/// use std::cell::OnceCell;
///
/// struct Sequence {
///     letters: String,
///     /// Made where it is needed.
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
