//! Rates: jobs per second over the last seconds, and ping times.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use sateen_protocol::Time;
use sateen_protocol::coordinator::LinkId;

/// Number of samples for a rate, two per second.
const SAMPLES: usize = 5;

/// Jobs per second.
#[derive(Debug, Default)]
pub struct Rate {
    samples: VecDeque<(Time, u64)>,
}

impl Rate {
    /// Adds a sample: the number of jobs so far.
    pub fn add(&mut self, now: Time, so_far: u64) {
        self.samples.push_back((now, so_far));
        if self.samples.len() > SAMPLES {
            self.samples.pop_front();
        }
    }

    /// The rate over the last seconds, if there are two samples of them.
    pub fn per_s(&self) -> Option<f64> {
        let ((first, before), (last, now)) = (self.samples.front()?, self.samples.back()?);
        let passed_s = last.since(*first).as_secs_f64();
        (passed_s > 0.0).then(|| now.saturating_sub(*before) as f64 / passed_s)
    }
}

/// Round trips of pings.
#[derive(Debug, Default)]
pub struct Pings {
    sent: BTreeMap<LinkId, (u64, Instant)>,
    rtt: BTreeMap<LinkId, Duration>,
}

impl Pings {
    /// A ping was sent.
    pub fn sent(&mut self, link: LinkId, ping: u64) {
        self.sent.insert(link, (ping, Instant::now()));
    }

    /// Its answer came.
    pub fn answered(&mut self, link: LinkId, ping: u64) {
        if let Some((_, sent)) = self.sent.get(&link).filter(|(number, _)| *number == ping) {
            self.rtt.insert(link, sent.elapsed());
        }
    }

    /// The link is closed.
    pub fn closed(&mut self, link: LinkId) {
        self.sent.remove(&link);
        self.rtt.remove(&link);
    }

    /// The last round trip of a link.
    pub fn rtt(&self, link: LinkId) -> Option<Duration> {
        self.rtt.get(&link).copied()
    }
}
