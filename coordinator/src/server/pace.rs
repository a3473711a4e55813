//! How long a peer may take to read an answer.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep_until};

use crate::limits::{READER_BYTES_PER_SECOND_MIN, READER_PATIENCE};

/// Patience with a peer that does not read: some seconds to begin with, and more for each byte that it takes. A peer that
/// takes a byte now and then uses it up like one that takes none.
#[derive(Debug)]
pub struct Pace {
    left: Duration,
    blocked_since: Option<Instant>,
    timer: Option<Pin<Box<Sleep>>>,
}

impl Default for Pace {
    fn default() -> Self {
        Self { left: READER_PATIENCE, blocked_since: None, timer: None }
    }
}

impl Pace {
    /// The peer took this many bytes.
    pub fn took(&mut self, bytes: usize) {
        if let Some(since) = self.blocked_since.take() {
            self.left = self.left.saturating_sub(since.elapsed());
            self.timer = None;
        }
        let earned = Duration::from_secs_f64(bytes as f64 / f64::from(READER_BYTES_PER_SECOND_MIN));
        self.left = self.left.saturating_add(earned).min(READER_PATIENCE);
    }

    /// The peer takes nothing now. Ready when its time is up; otherwise wakes the task then.
    pub fn blocked(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let since = *self.blocked_since.get_or_insert_with(Instant::now);
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(since + self.left)));
        timer.as_mut().poll(context)
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use super::*;

    async fn is_out_of_patience(pace: &mut Pace, after: Duration) -> bool {
        tokio::time::timeout(after, poll_fn(|context| pace.blocked(context))).await.is_ok()
    }

    #[tokio::test(start_paused = true)]
    async fn an_occasional_byte_buys_no_time() {
        let second = Duration::from_secs(1);
        let mut pace = Pace::default();
        assert!(!is_out_of_patience(&mut pace, READER_PATIENCE - second).await);
        let mut seconds = 0;
        loop {
            pace.took(1);
            if is_out_of_patience(&mut pace, second).await {
                break;
            }
            seconds += 1;
            assert!(seconds < 60, "a byte a second is enough for it");
        }
        let mut honest = Pace::default();
        for _ in 0..600 {
            assert!(!is_out_of_patience(&mut honest, second).await);
            honest.took(READER_BYTES_PER_SECOND_MIN as usize);
        }
    }
}
