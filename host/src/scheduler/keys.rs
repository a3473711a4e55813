//! The keys of a run's jobs.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use sateen_protocol::{JobKey, KeyMaker};

use super::job::Job;
use super::objects::Object;

/// What makes them.
pub struct Keys {
    /// Of the root.
    pub root: KeyMaker,
    /// By kind.
    pub by_kind: Vec<KeyMaker>,
    /// By kind, of jobs whose parameters mention shared objects: these are the run's own.
    pub within_run: Vec<KeyMaker>,
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

/// The key of a job that is called in place, made when somebody wants it: most of them take too short to be
/// recorded, and large parameters take long to hash.
pub struct LazyKey {
    keys: Arc<Keys>,
    kind: usize,
    /// Not the job, whose place knows the keys above it: those may be a long chain.
    objects: Vec<Arc<Object>>,
    parameters: Vec<u8>,
    key: OnceLock<JobKey>,
}

impl LazyKey {
    pub fn of(keys: Arc<Keys>, job: &Job, parameters: Vec<u8>) -> Self {
        Self { keys, kind: job.kind, objects: job.objects.clone(), parameters, key: OnceLock::new() }
    }

    /// So many are hashed for it.
    pub fn parameter_bytes(&self) -> usize {
        self.parameters.len()
    }

    /// Its job's, encoded.
    pub fn parameters(&self) -> &[u8] {
        &self.parameters
    }

    pub fn get(&self) -> JobKey {
        *self.key.get_or_init(|| self.keys.key(self.kind, &self.parameters, &self.objects))
    }
}

/// `parameters` with the objects' names in place of their ids, which are random and stand for nothing else.
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
