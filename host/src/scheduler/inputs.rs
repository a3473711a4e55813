//! The inputs of a run, and what its app prepares from them.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;

use super::prepared::Prepared;

/// Inputs by name, and which of them jobs have asked for.
pub struct Inputs {
    inputs: BTreeMap<String, Arc<[u8]>>,
    read: Mutex<Vec<String>>,
    /// Made of the inputs alone.
    pub prepared: Prepared,
}

impl Inputs {
    pub fn new(inputs: BTreeMap<String, Arc<[u8]>>) -> Self {
        Self { inputs, read: Mutex::default(), prepared: Prepared::default() }
    }

    /// The input `name`, without a note.
    pub fn get(&self, name: &str) -> Option<Arc<[u8]>> {
        self.inputs.get(name).cloned()
    }

    /// The input `name`, and a note that it was asked for.
    pub fn read(&self, name: &str) -> Option<Arc<[u8]>> {
        let bytes = self.get(name)?;
        let mut read = self.read.lock();
        if !read.iter().any(|known| known == name) {
            read.push(name.to_owned());
        }
        Some(bytes)
    }

    /// The inputs that no job has asked for.
    pub fn unread(&self) -> Vec<String> {
        let read = self.read.lock();
        self.inputs.keys().filter(|name| !read.contains(name)).cloned().collect()
    }
}
