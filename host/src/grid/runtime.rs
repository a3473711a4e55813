//! The driver's interface to the part that runs guests.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use sateen_protocol::host::{FinalCounts, Notice, RunCommand};
use sateen_protocol::limits::HOST_TABLE_BYTES_MAX;
use sateen_protocol::{Counts, RunId, RunSpec};
use tokio::runtime::Handle;

pub use super::cancel::Cancel;
use super::control::{GuestsStatus, MayUse};

/// Receives a portion's notices, from any thread.
pub type Notify = Arc<dyn Fn(Notice) + Send + Sync>;

/// A run's app and inputs, fetched and verified.
pub struct Loading {
    /// The run.
    pub run: RunId,
    /// Its specification.
    pub spec: RunSpec,
    /// The app's module.
    pub module: Vec<u8>,
    /// Its inputs, by name.
    pub inputs: BTreeMap<String, Arc<[u8]>>,
    /// The folder for compiled modules, if it is not this user's.
    pub cache: Option<PathBuf>,
    /// Set when the run is no longer wanted.
    pub cancel: Cancel,
    /// The driver's event loop: what guests in other processes send is read there.
    pub event_loop: Handle,
}

/// Makes portions.
pub trait Runtime: Send + Sync + 'static {
    /// The number of a portion's workers.
    fn threads(&self) -> usize;

    /// The limits of guests, for people.
    fn may_use(&self) -> MayUse {
        MayUse { threads: self.threads(), ..MayUse::default() }
    }

    /// Where guests run, for people.
    fn guests(&self) -> GuestsStatus {
        GuestsStatus::default()
    }

    /// Processor time of other processes that run guests, so far.
    fn processor_time(&self) -> Duration {
        Duration::ZERO
    }

    /// A result of `bytes` is in transit from a portion to the driver. Called on any thread.
    fn result_passes(&self, _bytes: usize) {}

    /// The driver has received it.
    fn result_has_passed(&self, _bytes: usize) {}

    /// The driver keeps `bytes` of results and parcels until they are delivered; guests have that much less.
    fn undelivered(&self, _bytes: usize) {}

    /// The limit of this machine's part of each run's result table, in bytes.
    fn table_bytes_max(&self) -> usize {
        HOST_TABLE_BYTES_MAX
    }

    /// Compiles the app and starts this machine's portion of the run. It may take seconds.
    ///
    /// # Errors
    /// If this machine cannot run it; the sentence says why.
    fn start(&self, loading: Loading, notify: Notify) -> Result<Box<dyn RunningPortion>, String>;
}

/// This machine's portion of a run. All methods except `stop` are called on the driver's thread and return at once.
/// Arguments and results are values, and so are notices: a portion shares nothing with the driver that could change.
pub trait RunningPortion: Send {
    /// Obeys a command of the state machine.
    fn handle(&mut self, command: RunCommand);
    /// Called after some commands, at once: whatever obeys them need not begin before.
    fn flush(&mut self) {}
    /// The counts so far.
    fn counts(&self) -> Counts;
    /// Details for people, since the last call: [`Notice::Activity`].
    fn activity(&self) -> Option<Notice> {
        None
    }
    /// The driver has received a notice.
    fn notice_taken(&self, _notice: &Notice) {}
    /// Ends all guests, which may take milliseconds; returns the final counts and the last activity.
    fn stop(self: Box<Self>) -> FinalCounts;
}
