//! The keys of a run's jobs.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use sateen_protocol::{Bytes, JobKey, KeyMaker};

use super::objects::Object;

/// Makes the keys.
pub struct Keys {
    /// Makes the root's key.
    pub root: KeyMaker,
    /// By kind.
    pub by_kind: Vec<KeyMaker>,
    /// By kind, for jobs whose parameters mention shared objects: their keys are valid only in this run.
    pub within_run: Vec<KeyMaker>,
    /// Distinguishes the run from others.
    pub run_name: Vec<u8>,
}

impl Keys {
    /// The key of a job of this kind, whose parameters mention these objects.
    pub fn key(&self, kind: usize, parameters: &[u8], objects: &[Arc<Object>]) -> JobKey {
        if objects.is_empty() {
            return self.by_kind.get(kind).unwrap_or(&self.root).key(parameters);
        }
        self.within_run.get(kind).unwrap_or(&self.root).key(&with_names(parameters, objects))
    }
}

/// The key of a job that is called in place, made when it is needed: most of these jobs are too short to be
/// recorded, and hashing large parameters takes long.
pub struct LazyKey {
    keys: Arc<Keys>,
    kind: usize,
    /// Does not hold the job itself, because its place holds the keys above it, which may be a long chain.
    objects: Vec<Arc<Object>>,
    parameters: Bytes,
    key: OnceLock<JobKey>,
}

impl LazyKey {
    /// The lazy key of a job of this kind, whose parameters mention these objects.
    pub fn new(keys: Arc<Keys>, kind: usize, objects: Vec<Arc<Object>>, parameters: Bytes) -> Self {
        Self { keys, kind, objects, parameters, key: OnceLock::new() }
    }

    /// The number of bytes that are hashed for the key.
    pub fn parameter_bytes(&self) -> usize {
        self.parameters.len()
    }

    /// The job's encoded parameters.
    pub fn parameters(&self) -> &[u8] {
        &self.parameters
    }

    pub fn get(&self) -> JobKey {
        *self.key.get_or_init(|| self.keys.key(self.kind, &self.parameters, &self.objects))
    }
}

/// `parameters` with the objects' names instead of their ids, which are random and occur only as ids.
fn with_names(parameters: &[u8], objects: &[Arc<Object>]) -> Vec<u8> {
    let mut named = parameters.to_owned();
    let renamed: HashMap<[u8; 16], [u8; 16]> =
        objects.iter().map(|object| (object.id.0, object.name().0)).filter(|(id, name)| id != name).collect();
    let mut at = 0;
    while !renamed.is_empty()
        && let Some(window) = named[at..].first_chunk()
    {
        match renamed.get(window) {
            Some(name) => {
                named[at..at + 16].copy_from_slice(name);
                at += 16;
            }
            None => at += 1,
        }
    }
    named
}
