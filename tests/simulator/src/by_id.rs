//! Maps by a host's id, of which no order is ever asked.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use sateen_protocol::HostId;

/// A map that is read at every message and never walked: its order would not be that of the seed.
#[derive(Debug)]
pub struct ById<V>(HashMap<HostId, V, BuildHasherDefault<Drawn>>);

impl<V> Default for ById<V> {
    fn default() -> Self {
        Self(HashMap::default())
    }
}

impl<V: Copy> ById<V> {
    /// What belongs to a host.
    pub fn get(&self, host: HostId) -> Option<V> {
        self.0.get(&host).copied()
    }

    /// This belongs to it now.
    pub fn insert(&mut self, host: HostId, value: V) {
        self.0.insert(host, value);
    }

    /// Nothing does.
    pub fn remove(&mut self, host: HostId) {
        self.0.remove(&host);
    }

    /// Nothing belongs to anybody.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

/// Ids are drawn at random, and as good as hashed.
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
