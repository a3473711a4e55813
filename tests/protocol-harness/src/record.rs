//! Records a machine's inputs, so that they can be replayed.

use serde::Serialize;

/// A sequence of inputs, as `drive` reads it.
#[derive(Debug, Default)]
pub struct Record {
    bytes: Vec<u8>,
    told_at_ns: u64,
}

impl Record {
    /// A record that begins with the machine's initial state.
    pub fn new<S: Serialize>(start: &S) -> Self {
        let mut record = Self::default();
        record.push(start);
        record
    }

    /// Adds an input and the time that has passed since the last.
    pub fn tell<I: Serialize>(&mut self, now_ns: u64, input: &I) {
        let passed_ns = now_ns - self.told_at_ns;
        self.told_at_ns = now_ns;
        self.push(&(passed_ns, input));
    }

    fn push<S: Serialize>(&mut self, value: &S) {
        // Encoding into memory fails only for types that cannot be encoded, which no input is.
        self.bytes.extend(postcard::to_allocvec(value).unwrap_or_default());
    }

    /// The encoded record.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}
