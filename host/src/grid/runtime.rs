//! What the driver asks of the part that runs guests.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use sateen_protocol::host::{FinalCounts, Notice};
use sateen_protocol::limits::HOST_TABLE_BYTES_MAX;
use sateen_protocol::shared::{ObjectId, SharedReplica};
use sateen_protocol::{Again, Counts, Finished, HostId, JobNumber, JobSpec, JobTag, RunId, RunSpec};

pub use super::cancel::Cancel;
use super::control::MayUse;

/// Takes what a portion has to tell, from any thread.
pub type Notify = Arc<dyn Fn(Notice) + Send + Sync>;

/// A run's app and inputs, fetched and verified.
pub struct Loading {
    /// Which run.
    pub run: RunId,
    /// What it is.
    pub spec: RunSpec,
    /// The app's module.
    pub module: Vec<u8>,
    /// Its inputs, by name.
    pub inputs: BTreeMap<String, Arc<[u8]>>,
    /// Where compiled modules are kept, if not where this user's are.
    pub cache: Option<PathBuf>,
    /// Whether the run is not wanted any more.
    pub cancel: Cancel,
}

/// Makes portions.
pub trait Runtime: Send + Sync + 'static {
    /// How many workers a portion has.
    fn threads(&self) -> usize;

    /// What guests may use, for people.
    fn may_use(&self) -> MayUse {
        MayUse { threads: self.threads(), ..MayUse::default() }
    }

    /// A result of `bytes` is on its way from a portion to the driver. Called on any thread.
    fn result_passes(&self, _bytes: usize) {}

    /// The driver has it.
    fn result_has_passed(&self, _bytes: usize) {}

    /// The driver keeps `bytes` of results and parcels until they are delivered, which guests must do without.
    fn undelivered(&self, _bytes: usize) {}

    /// The bound on this machine's own part of each run's result table, in bytes.
    fn table_bytes_max(&self) -> usize {
        HOST_TABLE_BYTES_MAX
    }

    /// Compiles the app and starts this machine's portion of the run. It may take seconds.
    ///
    /// # Errors
    /// When this machine cannot run it; the sentence says why.
    fn start(&self, loading: Loading, notify: Notify) -> Result<Box<dyn RunningPortion>, String>;
}

/// This machine's portion of a run. All but `stop` are called on the driver's thread and return at once;
/// see [`Command`](sateen_protocol::host::Command) for what they mean. Whoever has no shared objects
/// need not know of them.
pub trait RunningPortion: Send {
    /// Runs a job of somebody else's.
    fn inject(&mut self, held: JobNumber, spec: JobSpec);
    /// Gives an open job up.
    fn offer(&mut self) -> Option<(JobNumber, JobSpec)>;
    /// So many thieves wait.
    fn want(&mut self, thieves: usize);
    /// A lent or looked-up job has a result.
    fn complete(&mut self, number: JobNumber, finished: Finished);
    /// A lent or looked-up job is to be run.
    fn requeue(&mut self, number: JobNumber, again: Again);
    /// What lookups may find beside what was told before; if that is empty, nothing at all.
    fn lookups(&mut self, jobs: &[JobTag]);
    /// Nobody wants a held job any more.
    fn abort(&mut self, held: JobNumber);
    /// Come to rest.
    fn drain(&mut self);
    /// What this host is called in updates of shared objects.
    fn identify(&mut self, _origin: HostId) {}
    /// A place for the replica of a shared object that a job will mention.
    fn opened(&mut self, _object: ObjectId, _replica: Arc<SharedReplica>) {}
    /// A replica has come, or something to it.
    fn changed(&mut self, _object: ObjectId) {}
    /// The counts so far.
    fn counts(&self) -> Counts;
    /// What people may want to see of it, since the last time: [`Notice::Activity`].
    fn activity(&self) -> Option<Notice> {
        None
    }
    /// Ends all guests, which may take milliseconds; what was counted in all, and the last activity.
    fn stop(self: Box<Self>) -> FinalCounts;
}
