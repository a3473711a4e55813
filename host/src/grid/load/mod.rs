//! Getting a run ready: its module and inputs are fetched, verified, and the module is compiled. All of
//! it may take long and happens on a thread of its own.

mod blobs;
mod fetch;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use sateen_comfort::preferences::Trust;
use sateen_protocol::{BlobHash, RunId, RunSpec};
use tokio::runtime::Handle;

pub use blobs::BlobCache;
pub use fetch::Fetcher;

use super::cancel::Cancel;
use super::runtime::{Loading, Notify, RunningPortion, Runtime};

/// Maximum size of all inputs of one run, in bytes.
const INPUTS_BYTES_MAX: usize = 1 << 30;

/// The parts that loading needs.
pub struct Loader {
    pub fetcher: Fetcher,
    pub blobs: Arc<BlobCache>,
    pub runtime: Arc<dyn Runtime>,
    /// The folder for compiled modules, if it is not this user's.
    pub cache: Option<PathBuf>,
    /// The driver's.
    pub event_loop: Handle,
}

impl Loader {
    /// Starts this machine's portion of a run.
    ///
    /// # Errors
    /// If this machine cannot run it; the sentence says why.
    pub fn load(
        &self,
        run: RunId,
        spec: RunSpec,
        notify: Notify,
        cancel: &Cancel,
    ) -> Result<Box<dyn RunningPortion>, String> {
        let module = self.get(spec.app, "the app's module", cancel)?;
        let mut inputs = BTreeMap::new();
        let mut total = 0;
        for (name, hash) in &spec.inputs {
            let bytes = self.get(*hash, &format!("the input {name:?}"), cancel)?;
            total += bytes.len();
            if total > INPUTS_BYTES_MAX {
                return Err(format!("the run's inputs are larger than {INPUTS_BYTES_MAX} bytes together"));
            }
            inputs.insert(name.clone(), Arc::from(bytes));
        }
        let (cache, cancel, event_loop) = (self.cache.clone(), cancel.clone(), self.event_loop.clone());
        self.runtime.start(Loading { run, spec, module, inputs, cache, cancel, event_loop }, notify)
    }

    /// Asks the coordinator who submitted a run, or the run whose results are checked in it.
    ///
    /// # Errors
    /// Why the owner refuses it, if so.
    pub fn check_submitter(&self, run: RunId, trust: &Trust, cancel: &Cancel) -> Result<(), String> {
        let name = self.fetcher.submitter(run, cancel)?;
        trust.refuses_submitter(name.as_deref()).map_or(Ok(()), Err)
    }

    fn get(&self, hash: BlobHash, what: &str, cancel: &Cancel) -> Result<Vec<u8>, String> {
        if let Some(bytes) = self.blobs.get(hash) {
            return Ok(bytes);
        }
        let bytes = self.fetcher.fetch(hash, what, cancel)?;
        self.blobs.put(hash, &bytes);
        Ok(bytes)
    }
}
