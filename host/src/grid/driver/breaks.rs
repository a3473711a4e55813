//! Links to the coordinator that break soon.

use std::time::Duration;

/// A link that breaks sooner counts as failed.
const LASTED_MIN: Duration = Duration::from_secs(2);
/// Time until another is tried after two such links in a row, doubled with each, and its maximum.
const BREAK_REST_MIN: Duration = Duration::from_millis(100);
const BREAK_REST_MAX: Duration = Duration::from_secs(10);

/// Links in a row that broke soon.
#[derive(Debug, Default)]
pub struct Breaks(u32);

impl Breaks {
    /// A link has lasted for this long; returns the time until another is opened.
    pub fn rest(&mut self, lasted: Duration) -> Duration {
        if lasted >= LASTED_MIN {
            self.0 = 0;
            return Duration::ZERO;
        }
        let before = self.0;
        self.0 = before.saturating_add(1);
        match before.checked_sub(1) {
            None => Duration::ZERO,
            Some(more) => BREAK_REST_MIN.saturating_mul(1 << more.min(16)).min(BREAK_REST_MAX),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_that_break_at_once_are_opened_ever_less_often() {
        let mut breaks = Breaks::default();
        let rests: Vec<u128> = (0..10).map(|_| breaks.rest(Duration::from_millis(5)).as_millis()).collect();
        assert_eq!(rests, [0, 100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000]);
        assert_eq!(breaks.rest(LASTED_MIN), Duration::ZERO);
        assert_eq!(breaks.rest(Duration::ZERO), Duration::ZERO, "a blip");
        assert_eq!(breaks.rest(Duration::ZERO), BREAK_REST_MIN);
    }
}
