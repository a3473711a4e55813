//! A job on its way between hosts.

use serde::{Deserialize, Serialize};

use crate::shared::ObjectId;
use crate::{Bytes, JobKey, JobTag, LINEAGE_LENGTH_MAX};

/// The tags of the jobs above a job that had an instance of their own, the nearest last. A table entry
/// is found below every job of its lineage.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lineage(pub Vec<JobTag>);

impl Lineage {
    /// The lineage of the children of the job `key`, whose own lineage this is. The farthest ancestors
    /// are forgotten beyond [`LINEAGE_LENGTH_MAX`].
    #[must_use]
    pub fn child(&self, key: &JobKey) -> Self {
        let skip = (self.0.len() + 1).saturating_sub(LINEAGE_LENGTH_MAX);
        let mut tags: Vec<JobTag> = self.0.iter().skip(skip).copied().collect();
        tags.push(key.tag());
        Self(tags)
    }
}

/// All that is needed to run a job, and to find what was saved of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobSpec {
    /// Its identity.
    pub key: JobKey,
    /// Which job or entry point of the app: jobs in the order of their names count from 0; the root
    /// has [`ROOT_KIND`].
    pub kind: u32,
    /// Its encoded parameters.
    pub parameters: Bytes,
    /// How many spawns it lies below the root.
    pub depth: u32,
    /// The jobs above it.
    pub lineage: Lineage,
    /// It, or a job above it, was begun before: by a host that crashed, or gave it back.
    pub redone: bool,
    /// Of a redone one: a host gave it back in peace, or it rested with its run, and what had been done of it was
    /// recorded before. Nothing was lost.
    pub given_back: bool,
    /// Its descendants above this depth may be in the result table, and are looked up; 0 when nothing
    /// of it was saved.
    pub lookup_below: u32,
    /// The shared objects that its parameters mention; at most `OBJECTS_PER_JOB_MAX`.
    pub objects: Vec<Mention>,
}

impl JobSpec {
    /// Whether the job itself was begun before, as far as this says: it is a root that was lost, or something of it
    /// was saved. One that is only below a lost job may be new.
    pub fn was_begun(&self) -> bool {
        self.redone && (self.kind == ROOT_KIND || self.lookup_below > self.depth)
    }
}

/// How a job is begun again that was elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Again {
    /// See [`JobSpec::redone`].
    pub redone: bool,
    /// See [`JobSpec::given_back`].
    pub given_back: bool,
    /// See [`JobSpec::lookup_below`].
    pub lookup_below: u32,
}

/// A shared object that a job's parameters mention.
///
/// A job that creates an object and is done again creates another one, of which the parameters, and so the
/// keys, of its children must not tell. What goes on from before the crash keeps the object that it had.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mention {
    /// What the parameters have.
    pub object: ObjectId,
    /// Which it is: a number that no other has, by which hosts speak of it.
    pub creation: ObjectId,
}

/// The kind of a run's root job.
pub const ROOT_KIND: u32 = u32::MAX;

/// What a job gave. A limit that was met is no outcome: another host may allow more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// Its encoded result.
    Done(Bytes),
    /// It panicked or trapped: the encoded failure, which its parent's sync receives.
    Failed(Bytes),
}

impl Outcome {
    /// The encoded result or failure.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Done(bytes) | Self::Failed(bytes) => bytes,
        }
    }
}

/// An outcome and what it took, all descendants included.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finished {
    /// What the job gave.
    pub outcome: Outcome,
    /// Processor time of the job and its descendants, in nanoseconds.
    pub work_ns: u64,
    /// Its critical path, in nanoseconds.
    pub span_ns: u64,
}
