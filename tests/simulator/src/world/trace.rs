//! What happened in a world: its digest, and its log, if requested.

use sateen_protocol::Time;

use crate::digest::Digest;

/// A world's events so far.
#[derive(Debug, Default)]
pub struct Trace {
    digest: Digest,
    events: u64,
    log: Option<Vec<String>>,
}

impl Trace {
    /// The digest of everything that happened.
    pub fn digest(&self) -> u64 {
        self.digest.value()
    }

    /// The number of events.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Logs everything from now on.
    pub fn start_log(&mut self) {
        self.log = Some(Vec::new());
    }

    /// Whether everything is logged.
    pub fn is_logged(&self) -> bool {
        self.log.is_some()
    }

    /// Logs a line, if requested.
    pub fn write(&mut self, at: Time, line: impl FnOnce() -> String) {
        if let Some(log) = &mut self.log {
            log.push(format!("{:12.6} {}", at.0 as f64 / 1e9, line()));
        }
    }

    /// The lines of the log; none if it was not requested.
    pub fn into_log(self) -> Vec<String> {
        self.log.unwrap_or_default()
    }

    /// An event is due.
    pub(crate) fn begin_event(&mut self, at: Time) {
        self.events += 1;
        self.digest.add(at.0);
    }

    /// Adds a word to the digest.
    pub(crate) fn add(&mut self, word: u64) {
        self.digest.add(word);
    }

    /// Adds bytes to the digest.
    pub(crate) fn add_bytes(&mut self, bytes: &[u8]) {
        self.digest.add_bytes(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_made_only_for_a_log() {
        let mut trace = Trace::default();
        trace.write(Time(0), || unreachable!("nobody reads it"));
        trace.start_log();
        trace.write(Time(1_500_000_000), || "a line".to_owned());
        assert_eq!(trace.into_log(), ["    1.500000 a line"]);
    }

    #[test]
    fn the_time_of_an_event_is_in_the_digest() {
        let of = |at: u64| {
            let mut trace = Trace::default();
            trace.begin_event(Time(at));
            (trace.events(), trace.digest())
        };
        assert_eq!(of(3), of(3));
        assert_ne!(of(3), of(4));
    }
}
