//! The inputs of a run.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;

/// Inputs by name, and which of them jobs have asked for.
pub struct Inputs {
    inputs: BTreeMap<String, Arc<[u8]>>,
    read: Mutex<Vec<String>>,
}

impl Inputs {
    pub fn new(inputs: BTreeMap<String, Arc<[u8]>>) -> Self {
        Self { inputs, read: Mutex::default() }
    }

    /// The input `name`, and a note that it was asked for.
    pub fn read(&self, name: &str) -> Option<Arc<[u8]>> {
        let bytes = self.inputs.get(name)?.clone();
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
