//! Children whose results are returned in the order in which they finish.

use std::iter::FusedIterator;

#[cfg(not(target_family = "wasm"))]
use crate::native::Members;
#[cfg(target_family = "wasm")]
use crate::wasm::Members;
use crate::{Job, JobError};

/// Jobs of one kind. Their spawner takes the results in the order in which the jobs finish, in its own context
/// (TOPLAS 3.3: inlets). When the set is dropped, the remaining jobs are aborted.
///
/// ```
/// # use sateen::prelude::*;
/// #[job]
/// fn factor(n: u64, from: u64, to: u64) -> Option<u64> {
///     (from..to).find(|divisor| n % divisor == 0)
/// }
///
/// /// Some divisor of `n`; as soon as one is found, all jobs stop searching.
/// fn divisor(n: u64) -> Option<u64> {
///     let mut set = JobSet::new();
///     for from in (2..n).step_by(1000) {
///         factor::spawn_in(&mut set, n, from, n.min(from + 1000));
///     }
///     while let Some((_index, found)) = set.next() {
///         if found.is_some() {
///             return found; // drops the set, and so aborts the rest
///         }
///     }
///     None
/// }
/// # assert_eq!(divisor(1009 * 1013), Some(1009));
/// # assert_eq!(divisor(1009), None);
/// ```
///
/// Jobs that no other worker has taken run here, the oldest first. So if the most promising move is spawned
/// first, it is searched first. On one worker, all jobs run in the order of their spawns, as in a program
/// compiled for this machine. **The order is not part of a program's meaning**: its result must not depend on
/// which of several good results comes first, or two runs differ.
///
/// An abort is asynchronous and best effort (TOPLAS 4.3): the spawner continues at once, whatever the network's
/// latency. Jobs that have not begun are forgotten. Running jobs are stopped within about a millisecond after
/// the news arrives, wherever they are, and so are the jobs that they have spawned. A job that
/// [`next`](Self::next) calls in place is a call like any other: it cannot be stopped, and the spawner learns
/// of other results only after it returns. So if other workers take part, only short jobs are called in place:
/// a few milliseconds, judging by earlier jobs of the same kind and depth. Longer jobs run in an instance of
/// their own, while their spawner waits.
#[must_use = "the jobs of a set that is dropped are aborted"]
pub struct JobSet<J: Job> {
    members: Members<J>,
}

impl<J: Job> JobSet<J> {
    /// An empty set.
    #[inline(always)]
    pub const fn new() -> Self {
        Self { members: Members::empty() }
    }

    /// Spawns the job `J`, and returns its index: the number of jobs that the set has spawned before.
    /// `NAME::spawn_in(&mut set, …)` is the convenient form.
    #[inline(always)]
    pub fn spawn(&mut self, parameters: J::Parameters) -> usize {
        self.members.spawn(parameters)
    }

    /// The next job to finish: its index and its result. `None` if no job is left.
    ///
    /// Jobs that have finished elsewhere come first; otherwise the oldest job that was not taken runs here;
    /// otherwise this waits.
    ///
    /// # Panics
    /// If that job panicked or trapped, like [`Spawned::sync`](crate::Spawned::sync).
    #[expect(clippy::should_implement_trait, reason = "a finished set may be given more jobs")]
    #[inline(always)]
    pub fn next(&mut self) -> Option<(usize, J::Output)> {
        self.members.sync()
    }

    /// Like [`next`](Self::next), but returns a job's failure as a value.
    pub fn try_next(&mut self) -> Option<(usize, Result<J::Output, JobError>)> {
        self.members.try_sync()
    }

    /// The number of jobs whose results have not been taken yet.
    pub fn len(&self) -> usize {
        self.members.left()
    }

    /// Whether no job is left.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Aborts all remaining jobs. The set may be used again; indices continue.
    pub fn abort(&mut self) {
        self.members.abort();
    }
}

impl<J: Job> Default for JobSet<J> {
    fn default() -> Self {
        Self::new()
    }
}

/// Spawns one job for each item.
impl<J: Job> Extend<J::Parameters> for JobSet<J> {
    fn extend<I: IntoIterator<Item = J::Parameters>>(&mut self, parameters: I) {
        for parameters in parameters {
            self.spawn(parameters);
        }
    }
}

/// Spawns one job for each item.
impl<J: Job> FromIterator<J::Parameters> for JobSet<J> {
    fn from_iter<I: IntoIterator<Item = J::Parameters>>(parameters: I) -> Self {
        let mut set = Self::new();
        set.extend(parameters);
        set
    }
}

/// Results in the order in which they arrive, of more jobs than memory may hold. `NAME::stream(…)` makes one.
///
/// Jobs are spawned as results are taken, a few hundred ahead of those that have begun. So a master with
/// workers (DESIGN's one-level case) is a loop:
///
/// ```
/// # use sateen::prelude::*;
/// #[job]
/// fn square(n: u64) -> u64 {
///     n * n
/// }
///
/// let sum: u64 = square::stream(1..=100_000).map(|(_index, square)| square).sum();
/// # assert_eq!(sum, 333_338_333_350_000);
/// ```
#[must_use = "jobs are spawned as results are taken"]
pub struct Stream<J: Job, I> {
    set: JobSet<J>,
    parameters: I,
}

/// Maximum jobs spawned ahead.
const AHEAD: usize = 256;

impl<J: Job, I: Iterator<Item = J::Parameters>> Stream<J, I> {
    /// Spawns the job for each item, as results are taken; `NAME::stream(…)` is the convenient form.
    pub fn new(parameters: I) -> Self {
        Self { set: JobSet::new(), parameters }
    }

    /// The next job to finish: its index, and its result or how it failed.
    pub fn try_next(&mut self) -> Option<(usize, Result<J::Output, JobError>)> {
        self.spawn_ahead();
        self.set.try_next()
    }

    #[inline]
    fn spawn_ahead(&mut self) {
        // Spawns many at once, and only if none is latent: the stack of latent jobs then starts at its
        // beginning.
        if self.set.members.latent() == 0 {
            self.set.extend(self.parameters.by_ref().take(AHEAD));
        }
    }
}

impl<J: Job, I: Iterator<Item = J::Parameters>> Iterator for Stream<J, I> {
    type Item = (usize, J::Output);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.spawn_ahead();
        self.set.next()
    }
}

impl<J: Job, I: FusedIterator<Item = J::Parameters>> FusedIterator for Stream<J, I> {}
