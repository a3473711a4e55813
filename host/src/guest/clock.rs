//! Work and span of one instance's job, as in Cilk's scalability analyser (He, Leiserson, Leiserson,
//! SPAA 2010): measured, not counted, at the grain of exposed jobs.
//!
//! The *work* is the processor time of the thread while the instance computes: the time that it would take
//! alone on the machine. The *span* is the longest chain: it grows with the work, and at a sync jumps to the
//! end of the child's chain, if that is later. A child's chain begins at the length of its parent's chain when
//! the child was exposed.
//!
//! Reading the thread's clock takes a system call (see `processor`), ten times as long as reading the wall clock. So it
//! is read when an error would remain: at each heartbeat, exposure, wait and end. In between, the time of the wall clock
//! is added; its error is at most the time that others had of the processor since.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::processor;

/// Runs while the instance computes, and stands still while it waits.
#[derive(Debug)]
pub struct Clock {
    running: Option<Running>,
    /// The instance lets others continue; this future ends when its turn has come again.
    yielded: Option<Arc<Mutex<Option<Running>>>>,
    work: Duration,
    /// The work of children that ran elsewhere.
    children_work: Duration,
    span: Duration,
    /// The part of `work` that was reported already.
    reported: Duration,
    /// Work that does not count in a profile.
    aside: Duration,
    /// Once this much was guessed, the next reading is exact.
    guesses_max: Duration,
}

/// Maximum guesses of an exact clock. If its thread was preempted, it has guessed more than this, since hardly any
/// other takes the processor for a shorter time. The maximum is small because a child's chain that begins at a wrong guess
/// is not corrected.
const EXACT_GUESSES_MAX: Duration = Duration::from_micros(20);

/// Readings of the clocks.
#[derive(Debug)]
struct Running {
    /// At the last reading.
    wall: Instant,
    /// At the last exact reading.
    processor: Duration,
    /// Time that the wall clock has added since.
    guessed: Duration,
}

impl Running {
    fn begin() -> Self {
        let (wall, processor) = processor::read();
        Self { wall, processor, guessed: Duration::ZERO }
    }
}

impl Clock {
    /// A clock that starts now.
    pub fn start() -> Self {
        Self {
            running: Some(Running::begin()),
            yielded: None,
            work: Duration::ZERO,
            children_work: Duration::ZERO,
            span: Duration::ZERO,
            reported: Duration::ZERO,
            aside: Duration::ZERO,
            guesses_max: Duration::MAX,
        }
    }

    /// Makes all readings exact: none includes time that others had of the processor.
    pub fn be_exact(&mut self) {
        self.guesses_max = EXACT_GUESSES_MAX;
    }

    /// The instance continues after it let others continue.
    fn take_turn(&mut self) {
        if let Some(turn) = self.yielded.take() {
            self.running = turn.lock().take();
        }
    }

    fn settle(&mut self) {
        self.take_turn();
        if let Some(running) = &mut self.running {
            let now = Instant::now();
            let strand = now - running.wall;
            if running.guessed + strand > self.guesses_max {
                return self.settle_exactly();
            }
            self.work += strand;
            self.span += strand;
            running.guessed += strand;
            running.wall = now;
        }
    }

    fn settle_exactly(&mut self) {
        self.take_turn();
        if let Some(running) = &mut self.running {
            let now = Running::begin();
            let strand = now.processor.saturating_sub(running.processor);
            self.work = self.work.saturating_sub(running.guessed) + strand;
            self.span = self.span.saturating_sub(running.guessed) + strand;
            *running = now;
        }
    }

    /// The instance waits from now on.
    pub fn stop(&mut self) {
        self.settle_exactly();
        self.running = None;
    }

    /// Stands still until the future, which lets others continue once, has ended.
    pub fn yield_now(&mut self) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        self.stop();
        let turn = Arc::new(Mutex::new(None));
        self.yielded = Some(turn.clone());
        let mut is_over = false;
        Box::pin(poll_fn(move |context| {
            if std::mem::replace(&mut is_over, true) {
                *turn.lock() = Some(Running::begin());
                return Poll::Ready(());
            }
            context.waker().wake_by_ref();
            Poll::Pending
        }))
    }

    /// The instance computes again; it waited for a child whose chain ended at `child_end`, and which
    /// took `child_work` in all.
    pub fn resume(&mut self, child_end: Duration, child_work: Duration) {
        self.span = self.span.max(child_end);
        self.children_work = self.children_work.saturating_add(child_work);
        self.running = Some(Running::begin());
    }

    /// The instance computes again after a pause.
    pub fn go_on(&mut self) {
        self.resume(Duration::ZERO, Duration::ZERO);
    }

    /// Work of the instance and of all children that it has synced.
    pub fn total_work(&mut self) -> Duration {
        self.settle_exactly();
        self.work.saturating_add(self.children_work)
    }

    /// Work and span together, with one reading of the clock, without the work that was set aside. No chain is longer
    /// than all work: a chain reported when the clock had guessed too much is cut to that.
    pub fn total_work_and_span(&mut self) -> (Duration, Duration) {
        self.settle();
        let work = self.work.saturating_add(self.children_work).saturating_sub(self.aside);
        self.span = self.span.min(work);
        (work, self.span)
    }

    /// Work done since work and span had these values does not count.
    pub fn set_aside(&mut self, work: Duration, span: Duration) {
        let (now, _) = self.total_work_and_span();
        self.aside = self.aside.saturating_add(now.saturating_sub(work));
        self.span = span;
    }

    /// Sets the length of the chain: another chain begins, or continues.
    pub fn set_span(&mut self, span: Duration) {
        self.span = span;
    }

    /// Like `total_work`, by the wall clock since the last reading.
    pub fn work_so_far(&self) -> Duration {
        let since = self.running.as_ref().map_or(Duration::ZERO, |running| running.wall.elapsed());
        self.work.saturating_add(self.children_work).saturating_add(since)
    }

    /// Work of only the instance, at the last reading.
    pub fn own_work(&self) -> Duration {
        self.work
    }

    /// The length of the chain up to now. A child's chain begins here, so a guess could not be corrected later.
    pub fn span(&mut self) -> Duration {
        self.settle_exactly();
        self.span
    }

    /// The work since the last call.
    pub fn unreported_work(&mut self) -> Duration {
        self.settle_exactly();
        let unreported = self.work.saturating_sub(self.reported);
        self.reported = self.work;
        unreported
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn processor_time() -> Duration {
        processor::read().1
    }

    #[test]
    fn the_span_is_the_longer_chain() {
        let mut clock = Clock::start();
        let fork = clock.span();
        clock.stop();
        let child = Duration::from_secs(10);
        clock.resume(fork + child, child);
        assert!(clock.total_work() >= child);
        assert!(clock.span() >= child);
        assert!(clock.unreported_work() < Duration::from_secs(5), "waiting is not work");
    }

    #[test]
    #[cfg(unix)]
    fn processor_time_of_other_threads_does_not_count_as_work() {
        let before = processor_time();
        let mut clock = Clock::start();
        std::thread::sleep(Duration::from_millis(20));
        // Corrects the guesses made meanwhile.
        assert!(clock.total_work_and_span().0 >= Duration::from_millis(20));
        let work = clock.unreported_work();
        assert!(work <= processor_time() - before, "{work:?}");
        clock.stop();
        assert_eq!((clock.total_work(), clock.span()), (clock.work, clock.work));
    }

    #[test]
    #[cfg(unix)]
    fn no_chain_is_longer_than_all_work() {
        let mut clock = Clock::start();
        std::thread::sleep(Duration::from_millis(20));
        let (_, guessed) = clock.total_work_and_span();
        clock.stop();
        clock.set_span(guessed);
        let (work, span) = clock.total_work_and_span();
        assert!(span <= work && work < guessed, "{span:?} of {work:?}, after a guess of {guessed:?}");
    }

    #[test]
    #[cfg(unix)]
    fn no_child_begins_later_than_its_parent_has_worked() {
        let before = processor_time();
        let mut clock = Clock::start();
        std::thread::sleep(Duration::from_millis(20));
        let exposed_at = clock.span();
        assert!(exposed_at <= processor_time() - before, "{exposed_at:?}");
    }
}
