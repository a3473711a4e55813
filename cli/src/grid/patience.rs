//! Requests are repeated while the coordinator has too many connections: it has not looked at them.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::refusal::Refusal;
use crate::exit::say;

/// How long a request is repeated, unless its command waits longer.
const BUSY_MAX: Duration = Duration::from_secs(30);
/// Minimum time between two attempts.
const AGAIN_MIN: Duration = Duration::from_millis(100);

/// How long each request of a command is repeated. The first time, a line on stderr says so.
#[derive(Debug)]
pub struct Patience {
    most: Duration,
    has_said: AtomicBool,
}

impl Default for Patience {
    fn default() -> Self {
        Self::new(BUSY_MAX)
    }
}

impl Patience {
    pub fn new(most: Duration) -> Self {
        Self { most, has_said: AtomicBool::new(false) }
    }

    /// Asks until the coordinator has room for the request, or the time is over.
    pub fn repeat<T>(&self, mut ask: impl FnMut() -> Result<T, Refusal>) -> Result<T, Refusal> {
        let until = Instant::now() + self.most;
        loop {
            let (why, after) = match ask() {
                Err(Refusal::Busy(why, after)) => (why, after),
                other => return other,
            };
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(Refusal::Busy(why, after));
            }
            if !self.has_said.swap(true, Relaxed) {
                say(format!("{why}; trying again for up to {} s", self.most.as_secs()));
            }
            sleep(after.max(AGAIN_MIN).min(left));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn busy<T>() -> Result<T, Refusal> {
        Err(Refusal::Busy("too many".to_owned(), Duration::ZERO))
    }

    #[test]
    fn a_request_is_repeated_until_there_is_room() {
        let mut asked = 0;
        let answer = Patience::default().repeat(|| {
            asked += 1;
            if asked < 3 { busy() } else { Ok(asked) }
        });
        assert_eq!(answer.ok(), Some(3));
    }

    #[test]
    fn other_failures_are_not_repeated() {
        let mut asked = 0;
        let answer = Patience::default().repeat(|| {
            asked += 1;
            Err::<(), _>(Refusal::Unreachable("it is gone".to_owned()))
        });
        assert!(matches!(answer, Err(Refusal::Unreachable(_))) && asked == 1);
    }

    #[test]
    fn patience_has_an_end() {
        let mut asked = 0;
        let answer = Patience::new(Duration::from_millis(250)).repeat(|| {
            asked += 1;
            busy::<()>()
        });
        assert!(matches!(answer, Err(Refusal::Busy(..))) && (2..=4).contains(&asked), "{asked} times");
    }
}
