//! Detects whether the driver was held up: its process stopped, its computer asleep or overloaded, or one event long.

use std::time::Duration;

use sateen_protocol::Time;

/// A turn that takes this much longer than planned is a stall: shorter than hosts may be silent, and longer
/// than a busy machine delays a task.
const STALL_MIN: Duration = Duration::from_secs(1);

/// When the last turn began, and how long it was to wait.
#[derive(Debug)]
pub struct Presence {
    began: Time,
    wait: Duration,
}

impl Presence {
    /// Starts now.
    pub fn new(now: Time) -> Self {
        Self { began: now, wait: Duration::ZERO }
    }

    /// The driver is about to wait, for at most `wait`.
    pub fn waits(&mut self, wait: Duration) {
        self.wait = wait;
    }

    /// A wait is over; returns how long the driver was held up since the last one, if that was long.
    pub fn stall(&mut self, now: Time) -> Option<Duration> {
        let passed = now.since(self.began).saturating_sub(self.wait);
        (self.began, self.wait) = (now, Duration::ZERO);
        (passed >= STALL_MIN).then_some(passed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_is_not_a_stall_and_being_late_is() {
        let second = 1_000_000_000;
        let mut presence = Presence::new(Time(0));
        presence.waits(Duration::from_secs(1));
        assert_eq!(presence.stall(Time(second)), None);
        presence.waits(Duration::from_secs(1));
        assert_eq!(presence.stall(Time(8 * second)), Some(Duration::from_secs(6)));
        // A long event, without any wait.
        assert_eq!(presence.stall(Time(10 * second)), Some(Duration::from_secs(2)));
    }
}
