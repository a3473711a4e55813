//! Writing down what a machine was told, so that it can be told again.

use serde::Serialize;

/// A sequence of inputs, as `drive` reads it.
#[derive(Debug, Default)]
pub struct Record {
    bytes: Vec<u8>,
    told_at_ns: u64,
}

impl Record {
    /// A record that begins with what the machine was made of.
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
        // Encoding into memory fails only where a type cannot be encoded, which no input's is.
        self.bytes.extend(postcard::to_allocvec(value).unwrap_or_default());
    }

    /// What was written.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}
