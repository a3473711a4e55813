//! Measured times, and the rows that sum them up.

use std::collections::BTreeMap;

/// A clock, in nanoseconds.
pub type Clock = fn() -> u64;

/// The times of the events of one kind.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Row {
    /// The kind, with its machine.
    pub kind: &'static str,
    /// Their number.
    pub events: usize,
    /// The median, in milliseconds.
    pub median_ms: f64,
    /// The 99.99th percentile, in milliseconds.
    pub p9999_ms: f64,
    /// The longest, in milliseconds.
    pub longest_ms: f64,
}

/// Times of events, by kind.
pub struct Times {
    clock: Clock,
    of: BTreeMap<&'static str, Vec<u64>>,
}

impl Times {
    /// No times yet.
    pub fn new(clock: Clock) -> Self {
        Self { clock, of: BTreeMap::new() }
    }

    /// Times one event.
    pub fn take<T>(&mut self, kind: &'static str, event: impl FnOnce() -> T) -> T {
        let began = (self.clock)();
        let done = event();
        let took = (self.clock)().saturating_sub(began);
        self.of.entry(kind).or_default().push(took);
        done
    }
}

/// Each event's median over repetitions, by kind.
pub fn rows(mut repetitions: Vec<Times>) -> Vec<Row> {
    let Some(first) = repetitions.pop() else { return Vec::new() };
    let row = |(kind, times): (&'static str, Vec<u64>)| {
        let median_of = |(place, time): (usize, u64)| {
            let others = repetitions.iter().filter_map(|times| times.of.get(kind)?.get(place).copied());
            let mut all: Vec<u64> = others.chain([time]).collect();
            all.sort_unstable();
            all[(all.len() - 1) / 2]
        };
        let mut times: Vec<u64> = times.into_iter().enumerate().map(median_of).collect();
        times.sort_unstable();
        Row {
            kind,
            events: times.len(),
            median_ms: times[times.len() / 2] as f64 / 1e6,
            p9999_ms: times[times.len() - 1 - times.len() / 10_000] as f64 / 1e6,
            longest_ms: times[times.len() - 1] as f64 / 1e6,
        }
    };
    first.of.into_iter().map(row).collect()
}
