//! A limit on how often something may happen: a few times in a row, then at intervals.

use std::time::Duration;

use crate::Time;

/// The use of such a limit so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pace {
    /// If all that has happened had kept to the interval, it would have lasted until then.
    paid: Time,
}

impl Pace {
    /// Whether it may happen now: `at_once` times in a row, then once per `every`. If so, counts it.
    pub fn take(&mut self, now: Time, every: Duration, at_once: u32) -> bool {
        let paid = self.paid.max(now) + every;
        let may = paid <= now + every.saturating_mul(at_once);
        if may {
            self.paid = paid;
        }
        may
    }

    /// Whether the limit is unused again, as if nothing had happened.
    pub fn is_at_rest(&self, now: Time) -> bool {
        self.paid <= now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_may_happen_a_few_times_in_a_row_and_then_at_intervals() {
        let (mut pace, every) = (Pace::default(), Duration::from_nanos(10));
        let start = Time(1000);
        assert_eq!((0..9).filter(|_| pace.take(start, every, 3)).count(), 3);
        assert!(!pace.take(Time(1009), every, 3) && pace.take(Time(1010), every, 3));
        assert_eq!((1011..2011).filter(|now| pace.take(Time(*now), every, 3)).count(), 100);
        assert!(!pace.is_at_rest(Time(2011)) && pace.is_at_rest(Time(2100)));
        assert_eq!((0..9).filter(|_| pace.take(Time(2100), every, 3)).count(), 3);
    }
}
