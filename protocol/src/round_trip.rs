//! How long an answer takes, and how long to wait for one before asking again: TCP's retransmission timeout
//! (RFC 6298).

use std::time::Duration;

use crate::Time;

/// The round trips to one receiver. Only messages that were sent once may be measured: the answer to a message that was
/// sent twice may belong to either copy (Karn and Partridge, 1987). So a wait that was doubled stays doubled until the
/// next measurement.
#[derive(Debug, Clone, Copy, Default)]
pub struct RoundTrip {
    /// The smoothed round trip and its variation, once there is a measurement.
    measured: Option<(Duration, Duration)>,
    /// How often the wait was doubled since the last measurement, and when it last was.
    doubled: u32,
    doubled_at: Time,
}

impl RoundTrip {
    /// Records that a message that was sent once was answered after this time.
    pub fn measure(&mut self, took: Duration) {
        self.measured = Some(match self.measured {
            None => (took, took / 2),
            Some((smoothed, variation)) => {
                ((smoothed * 7 + took) / 8, (variation * 3 + smoothed.abs_diff(took)) / 4)
            }
        });
        self.doubled = 0;
    }

    /// Time after which an unanswered message is sent again: from `least` to `most`, however long answers took and
    /// however often it was doubled. Before the first measurement, `unmeasured` is doubled instead.
    pub fn wait(&self, unmeasured: Duration, least: Duration, most: Duration) -> Duration {
        let once = self.measured.map_or(unmeasured, |(smoothed, variation)| smoothed + variation * 4);
        let once = once.max(least);
        once.saturating_mul(1_u32.checked_shl(self.doubled).unwrap_or(u32::MAX)).min(most.max(least))
    }

    /// Records that a message was sent again after `wait`. Messages that are sent again together double the wait once.
    pub fn double(&mut self, now: Time, wait: Duration) {
        if self.doubled == 0 || now >= self.doubled_at + wait {
            self.doubled = (self.doubled + 1).min(u32::BITS);
            self.doubled_at = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn wait(trip: &RoundTrip) -> Duration {
        trip.wait(SECOND, Duration::ZERO, 60 * SECOND)
    }

    #[test]
    fn the_wait_follows_measurements_and_their_variation() {
        let mut trip = RoundTrip::default();
        assert_eq!(wait(&trip), SECOND);
        trip.measure(4 * SECOND);
        assert_eq!(wait(&trip), 12 * SECOND);
        (0..40).for_each(|_| trip.measure(4 * SECOND));
        assert!(wait(&trip) < 5 * SECOND, "{trip:?}");
        trip.measure(8 * SECOND);
        assert!(wait(&trip) > 8 * SECOND, "{trip:?}");
        (0..100).for_each(|_| trip.measure(SECOND / 1000));
        assert!(wait(&trip) < SECOND / 10);
        assert_eq!(trip.wait(SECOND, SECOND, 60 * SECOND), SECOND);
    }

    #[test]
    fn the_wait_doubles_until_there_is_a_measurement() {
        let mut trip = RoundTrip::default();
        let mut now = Time(0);
        for seconds in [1, 2, 4, 8, 16, 32, 60, 60] {
            assert_eq!(wait(&trip), seconds * SECOND);
            now = now + wait(&trip);
            let waited = wait(&trip);
            // Three messages that were sent together.
            (0..3).for_each(|_| trip.double(now, waited));
        }
        (0..100).for_each(|_| trip.double(now, Duration::ZERO));
        assert_eq!(wait(&trip), 60 * SECOND);
        trip.measure(SECOND / 1000);
        assert!(wait(&trip) < SECOND);
    }
}
