//! Work and span of one instance's job, as in Cilk's scalability analyser (He, Leiserson, Leiserson,
//! SPAA 2010): measured, not counted, at the grain of exposed jobs.
//!
//! The *work* is the time that the instance computes. The *span* is the longest chain: it grows with
//! the work, and at a sync jumps to where the child's chain ends, if that is later. A child's chain
//! begins where its parent stood when the child was exposed.

use std::time::{Duration, Instant};

/// Runs while the instance computes, stands while it waits.
#[derive(Debug)]
pub struct Clock {
    running_since: Option<Instant>,
    work: Duration,
    /// What children took that ran elsewhere.
    children_work: Duration,
    span: Duration,
    /// The part of `work` that was reported already.
    reported: Duration,
}

impl Clock {
    /// A clock that runs from now on.
    pub fn start() -> Self {
        Self {
            running_since: Some(Instant::now()),
            work: Duration::ZERO,
            children_work: Duration::ZERO,
            span: Duration::ZERO,
            reported: Duration::ZERO,
        }
    }

    fn settle(&mut self) {
        if let Some(since) = self.running_since {
            let now = Instant::now();
            let strand = now - since;
            self.work += strand;
            self.span += strand;
            self.running_since = Some(now);
        }
    }

    /// The instance waits from now on.
    pub fn stop(&mut self) {
        self.settle();
        self.running_since = None;
    }

    /// The instance computes again; it waited for a child whose chain ended at `child_end`, and which
    /// took `child_work` in all.
    pub fn resume(&mut self, child_end: Duration, child_work: Duration) {
        self.span = self.span.max(child_end);
        self.children_work = self.children_work.saturating_add(child_work);
        self.running_since = Some(Instant::now());
    }

    /// The instance computes again after a pause.
    pub fn go_on(&mut self) {
        self.resume(Duration::ZERO, Duration::ZERO);
    }

    /// Work of the instance and of all children that it has synced.
    pub fn total_work(&mut self) -> Duration {
        self.settle();
        self.work.saturating_add(self.children_work)
    }

    /// Work of the instance alone, as of the last look.
    pub fn own_work(&self) -> Duration {
        self.work
    }

    /// The length of the chain up to now.
    pub fn span(&mut self) -> Duration {
        self.settle();
        self.span
    }

    /// The work since this was asked last.
    pub fn unreported_work(&mut self) -> Duration {
        self.settle();
        let unreported = self.work - self.reported;
        self.reported = self.work;
        unreported
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_span_is_the_longer_chain() {
        let mut clock = Clock::start();
        let fork = clock.span();
        clock.stop();
        let child = Duration::from_secs(10);
        clock.resume(fork + child, child);
        assert!(clock.total_work() >= child);
        assert!(clock.span() >= child);
        assert!(clock.unreported_work() < Duration::from_secs(5), "waiting is no work");
    }
}
