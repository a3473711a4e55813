//! A job of a tree, and the counts of jobs.

use sateen_protocol::{JobTag, ROOT_KIND};

use crate::chronicle::state::{Group, JobState};

/// No place.
pub const NOWHERE: u32 = u32::MAX;
/// No time: it has not ended.
pub const NEVER: u32 = u32::MAX;
/// The kind of a root.
pub const ROOT: u16 = u16::MAX;
/// A kind that no app has.
const NO_KIND: u16 = u16::MAX - 1;
/// A worker that is not known.
pub const NO_WORKER: u16 = u16::MAX;
/// Work that is not known.
pub(super) const UNKNOWN_WORK: u64 = u64::MAX;

pub(super) const REDONE: u8 = 1;
pub(super) const HAS_PARAMETERS: u8 = 2;
pub(super) const NO_ROOM: u8 = 4;
pub(super) const UNSAVED: u8 = 8;
pub(super) const FRESH: u8 = 16;
/// It is in the list of jobs that may be rolled up.
pub(super) const LEAF: u8 = 32;
pub(super) const SHARES: u8 = 64;
/// The flags that pages show.
pub(super) const SHOWN_FLAGS: u8 = REDONE | HAS_PARAMETERS;

/// A job.
#[derive(Debug, Clone, Copy)]
pub struct Node {
    /// The beginning of its key.
    pub tag: JobTag,
    pub(super) work_ns: u64,
    /// The place of the job above it.
    pub parent: u32,
    /// When it began, in milliseconds since the run was submitted.
    pub begun_ms: u32,
    /// When it ended.
    pub ended_ms: u32,
    /// The place of its present or last host.
    pub host: u32,
    /// Jobs below it that are not kept.
    pub rolled: u32,
    /// The child that ended last, or is expected to.
    pub critical: u32,
    /// The app's number for its kind.
    pub kind: u16,
    /// Spawns below the root.
    pub depth: u16,
    /// The number of the worker that ran it.
    pub worker: u16,
    /// Its last known state.
    pub state: JobState,
    pub(super) flags: u8,
}

/// Jobs of one depth, or of all depths.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DepthCounts {
    /// Jobs that are running, as orphans too.
    pub running: u64,
    /// Jobs that have a result.
    pub done: u64,
    /// Jobs that failed, were aborted, or are lost.
    pub other: u64,
}

impl DepthCounts {
    fn of(&mut self, group: Group) -> &mut u64 {
        match group {
            Group::Running => &mut self.running,
            Group::Done => &mut self.done,
            Group::Other => &mut self.other,
        }
    }

    /// Adds a job.
    pub(super) fn add(&mut self, group: Group) {
        *self.of(group) += 1;
    }

    /// Removes a job.
    pub(super) fn take(&mut self, group: Group) {
        let count = self.of(group);
        *count = count.saturating_sub(1);
    }

    /// The number of jobs.
    pub fn total(&self) -> u64 {
        self.running.saturating_add(self.done).saturating_add(self.other)
    }
}

impl Node {
    /// Processor time in nanoseconds, descendants included, if it is known.
    pub fn work_ns(&self) -> Option<u64> {
        (self.work_ns != UNKNOWN_WORK).then_some(self.work_ns)
    }

    /// It was lost, and begun again.
    pub fn is_redone(&self) -> bool {
        self.flags & REDONE != 0
    }

    /// Its parameters mention shared objects of its run.
    pub fn shares(&self) -> bool {
        self.flags & SHARES != 0
    }

    /// A note arrived that includes its parameters, if they are not too long.
    pub(super) fn came_with_parameters(&self) -> bool {
        self.worker != NO_WORKER || matches!(self.state, JobState::Reused | JobState::Adopted)
    }

    /// The flags that pages show: 1 redone, 2 has parameters.
    pub fn flags(&self) -> u8 {
        self.flags & SHOWN_FLAGS
    }

    /// Its kind, as in notes.
    pub fn kind(&self) -> u32 {
        if self.kind == ROOT { ROOT_KIND } else { u32::from(self.kind) }
    }
}

/// A kind in two bytes.
pub(super) fn short_kind(kind: u32) -> u16 {
    match kind {
        ROOT_KIND => ROOT,
        kind => u16::try_from(kind).unwrap_or(NO_KIND).min(NO_KIND),
    }
}

/// A depth in two bytes: the last one stands for all deeper ones, too.
pub(super) fn short_depth(depth: u32) -> u16 {
    u16::try_from(depth).unwrap_or(u16::MAX)
}
