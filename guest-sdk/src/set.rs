//! Children whose results are taken in the order in which they finish.

use std::iter::FusedIterator;

#[cfg(not(target_family = "wasm"))]
use crate::native::Members;
#[cfg(target_family = "wasm")]
use crate::wasm::Members;
use crate::{Job, JobError};

/// Jobs of one kind, whose results are taken in the order in which they finish, by and in the context
/// of their spawner (TOPLAS 3.3: inlets). What is left when the set is dropped is aborted.
///
/// ```
/// # use sateen::prelude::*;
/// #[job]
/// fn factor(n: u64, from: u64, to: u64) -> Option<u64> {
///     (from..to).find(|divisor| n % divisor == 0)
/// }
///
/// /// Some divisor of `n`; as soon as one is found, nobody looks any further.
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
/// Jobs that nobody else has taken run here, the oldest first: so where the most promising move is
/// spawned first, it is searched first. On one worker all of them run in the order of their spawns, as
/// they do when the program is compiled for this machine. **The order is not part of a program's
/// meaning**: what it returns must not depend on which of several good results comes first, or two runs
/// differ.
///
/// An abort is asynchronous and best effort (TOPLAS 4.3): the spawner goes on at once, whatever the
/// network's latency. Jobs that nobody has begun are forgotten, those that run are stopped within a
/// millisecond or so of the news, wherever they are, and so are the jobs that they have spawned. A job
/// that is called in place, by [`next`](Self::next), is a call like any other: nothing can stop it, and
/// nobody hears of the others before it returns. So where others take part, only what is short is called in
/// place, a few milliseconds as far as jobs of its kind and depth have shown; what takes longer runs beside
/// its waiting spawner, in an instance of its own.
#[must_use = "the jobs of a set that is dropped are aborted"]
pub struct JobSet<J: Job> {
    members: Members<J>,
}

impl<J: Job> JobSet<J> {
    /// A set without jobs.
    #[inline(always)]
    pub const fn new() -> Self {
        Self { members: Members::empty() }
    }

    /// Spawns the job `J`, and gives its index: how many the set has spawned before.
    /// `NAME::spawn_in(&mut set, …)` is the convenient form.
    #[inline(always)]
    pub fn spawn(&mut self, parameters: J::Parameters) -> usize {
        self.members.spawn(parameters)
    }

    /// The next job to finish: its index and its result. `None` when no job is left.
    ///
    /// What has finished elsewhere comes first; else the oldest job that nobody has taken runs here; else
    /// this waits.
    ///
    /// # Panics
    /// When that job panicked or trapped, as [`Spawned::sync`](crate::Spawned::sync).
    #[expect(clippy::should_implement_trait, reason = "a set that came to its end may be given more jobs")]
    #[inline(always)]
    pub fn next(&mut self) -> Option<(usize, J::Output)> {
        self.members.sync()
    }

    /// As [`next`](Self::next), with how a job failed as a value.
    pub fn try_next(&mut self) -> Option<(usize, Result<J::Output, JobError>)> {
        self.members.try_sync()
    }

    /// How many jobs have not been taken yet.
    pub fn len(&self) -> usize {
        self.members.left()
    }

    /// Whether no job is left.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Aborts all that is left. The set may be used again; indices go on.
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

/// Results in the order in which they come, of jobs of which there may be more than memory holds.
/// `NAME::stream(…)` makes one.
///
/// Jobs are spawned as results are taken, a few hundred ahead of those that somebody has begun. So a
/// master with workers (DESIGN's one-level case) is a loop:
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

/// So many jobs are spawned ahead.
const AHEAD: usize = 256;

impl<J: Job, I: Iterator<Item = J::Parameters>> Stream<J, I> {
    /// Spawns the job for each item, in time; `NAME::stream(…)` is the convenient form.
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
        // Many at once, and only when none is latent: the stack of latent jobs then begins anew.
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
