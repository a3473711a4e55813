//! Maps by a host's id whose order is never used.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use sateen_protocol::HostId;

/// A map that is read at every message and never iterated, as its order would not follow from the seed.
#[derive(Debug)]
pub struct ById<V>(HashMap<HostId, V, BuildHasherDefault<Drawn>>);

impl<V> Default for ById<V> {
    fn default() -> Self {
        Self(HashMap::default())
    }
}

impl<V: Copy> ById<V> {
    /// The value of a host.
    pub fn get(&self, host: HostId) -> Option<V> {
        self.0.get(&host).copied()
    }

    /// Sets a host's value.
    pub fn insert(&mut self, host: HostId, value: V) {
        self.0.insert(host, value);
    }

    /// Removes a host's value.
    pub fn remove(&mut self, host: HostId) {
        self.0.remove(&host);
    }

    /// Removes all values.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

/// Ids are drawn at random, so they need no hashing.
#[derive(Debug, Default)]
struct Drawn(u64);

impl Hasher for Drawn {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = self.0.rotate_left(8) ^ u64::from(*byte));
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = word;
    }
}
