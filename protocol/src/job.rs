//! Jobs as they are sent between hosts.

use serde::{Deserialize, Serialize};

use crate::shared::ObjectId;
use crate::{Bytes, JobKey, JobTag, KeyMaker, LINEAGE_LENGTH_MAX, RunSpec};

/// The tags of a job's ancestors that ran in an instance of their own, the nearest last. A table entry is found below
/// every job of its lineage.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lineage(pub Vec<JobTag>);

impl Lineage {
    /// The lineage of the children of the job `key`, where `self` is the lineage of that job. It keeps the nearest
    /// [`LINEAGE_LENGTH_MAX`] ancestors.
    #[must_use]
    pub fn child(&self, key: &JobKey) -> Self {
        let skip = (self.0.len() + 1).saturating_sub(LINEAGE_LENGTH_MAX);
        let mut tags: Vec<JobTag> = self.0.iter().skip(skip).copied().collect();
        tags.push(key.tag());
        Self(tags)
    }
}

/// Everything needed to run a job, and to find the saved results below it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobSpec {
    /// The job's identity.
    pub key: JobKey,
    /// The job's function: the app's job functions are numbered from 0 in the order of their names, and the root has
    /// [`ROOT_KIND`].
    pub kind: u32,
    /// Its encoded parameters.
    pub parameters: Bytes,
    /// Number of spawns between the root and the job.
    pub depth: u32,
    /// The job's ancestors.
    pub lineage: Lineage,
    /// The job, or one above it, was begun before, by a host that crashed or gave the job back.
    pub redone: bool,
    /// For a redone job: no work was lost. A host gave the job back in order, or its run was suspended, and the
    /// finished work below it was recorded before.
    pub given_back: bool,
    /// Descendants whose depth is less than this may be in the result table and are looked up there; 0 when nothing was
    /// saved.
    pub lookup_below: u32,
    /// The shared objects that the parameters mention; at most `OBJECTS_PER_JOB_MAX`.
    pub objects: Vec<Mention>,
}

impl JobSpec {
    /// A job without ancestors that was never begun, and mentions no objects.
    pub fn new(key: JobKey, kind: u32, parameters: impl Into<Bytes>) -> Self {
        Self {
            key,
            kind,
            parameters: parameters.into(),
            depth: 0,
            lineage: Lineage::default(),
            redone: false,
            given_back: false,
            lookup_below: 0,
            objects: Vec::new(),
        }
    }

    /// Whether the job itself is known to have been begun before: it is a root that was lost, or results below it were
    /// saved. A job that is merely below a lost job may never have been begun. If the saved results do not name it, the host
    /// that takes it in knows better: see [`RunCommand::Inject`](crate::host::RunCommand::Inject).
    pub fn was_begun(&self) -> bool {
        self.redone && (self.kind == ROOT_KIND || self.lookup_below > self.depth)
    }
}

/// How a job that was at another host is begun again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Again {
    /// See [`JobSpec::redone`].
    pub redone: bool,
    /// As far as is known, a host had begun the job itself, and not only a job above it.
    pub begun: bool,
    /// See [`JobSpec::given_back`].
    pub given_back: bool,
    /// See [`JobSpec::lookup_below`].
    pub lookup_below: u32,
}

/// A shared object that a job's parameters mention.
///
/// When a job that creates an object is run again, it creates another object. The parameters of its children, and
/// so their keys, must not depend on which of the two it is. Jobs that have kept running since before the crash keep
/// the object that they had.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mention {
    /// The id in the parameters.
    pub object: ObjectId,
    /// The id of the object itself, unique to it; hosts use it among themselves.
    pub creation: ObjectId,
}

/// The kind of a run's root job.
pub const ROOT_KIND: u32 = u32::MAX;

/// The root job of a run; its inputs are part of its identity.
pub fn root_job(spec: &RunSpec) -> JobSpec {
    let function = format!("main {}", spec.function);
    let maker =
        KeyMaker::new(sateen_abi::VERSION, u8::from(spec.strict_nan), spec.app, &function, &spec.salt());
    // Words always encode: see the codec.
    let parameters = postcard::to_allocvec(&spec.arguments).unwrap_or_default();
    JobSpec::new(maker.key(&parameters), ROOT_KIND, parameters)
}
