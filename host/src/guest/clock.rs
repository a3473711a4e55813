//! Work and span of one instance's job, as in Cilk's scalability analyser (He, Leiserson, Leiserson,
//! SPAA 2010): measured, not counted, at the grain of exposed jobs.
//!
//! The *work* is the processor time of the thread while the instance computes: what it would take alone on
//! the machine. The *span* is the longest chain: it grows with the work, and at a sync jumps to where the
//! child's chain ends, if that is later. A child's chain begins where its parent stood when the child was
//! exposed.
//!
//! The thread's clock takes a system call, ten times what the wall's takes. So it is read where an error would
//! stay, at each heartbeat, exposure, wait and end; in between the wall's is added to that, and is at most wrong by what
//! others had of the processor since.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Runs while the instance computes, stands while it waits.
#[derive(Debug)]
pub struct Clock {
    running: Option<Running>,
    /// The instance lets others go on; this tells when its turn has come again.
    yielded: Option<Arc<Mutex<Option<Running>>>>,
    work: Duration,
    /// What children took that ran elsewhere.
    children_work: Duration,
    span: Duration,
    /// The part of `work` that was reported already.
    reported: Duration,
    /// Work that does not count in a profile.
    aside: Duration,
    /// Once so much was guessed, a look is exact.
    guesses_max: Duration,
}

/// Guesses of a clock that goes exactly. One that was preempted has guessed more than this.
const EXACT_GUESSES_MAX: Duration = Duration::from_micros(100);

/// Where the clocks stood.
#[derive(Debug)]
struct Running {
    /// At the last look.
    wall: Instant,
    /// At the last exact look.
    processor: Duration,
    /// What the wall's clock has added since.
    guessed: Duration,
}

impl Running {
    fn begin() -> Self {
        let processor = processor_time();
        Self { wall: Instant::now(), processor, guessed: Duration::ZERO }
    }
}

/// What this thread has computed.
#[cfg(unix)]
fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    let part = |value| u64::try_from(value).unwrap_or(0);
    Duration::from_secs(part(time.tv_sec)) + Duration::from_nanos(part(time.tv_nsec))
}

/// Elsewhere, time that passes.
#[cfg(not(unix))]
fn processor_time() -> Duration {
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    START.get_or_init(Instant::now).elapsed()
}

impl Clock {
    /// A clock that runs from now on.
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

    /// Becomes one whose looks are all exact: none is wrong by what others had of the processor.
    pub fn be_exact(&mut self) {
        self.guesses_max = EXACT_GUESSES_MAX;
    }

    /// The instance goes on after it let others go on.
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

    /// Stands until the future, which lets others go on once, has come to its end.
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

    /// Work and span together, for one look at the clock. Without what was set aside. No chain is longer than all work:
    /// one that was told when the clock had guessed too much is cut to that.
    pub fn total_work_and_span(&mut self) -> (Duration, Duration) {
        self.settle();
        let work = self.work.saturating_add(self.children_work).saturating_sub(self.aside);
        self.span = self.span.min(work);
        (work, self.span)
    }

    /// What was done since work and span were these does not count.
    pub fn set_aside(&mut self, work: Duration, span: Duration) {
        let (now, _) = self.total_work_and_span();
        self.aside = self.aside.saturating_add(now.saturating_sub(work));
        self.span = span;
    }

    /// The chain is so long from now on: another begins, or goes on.
    pub fn set_span(&mut self, span: Duration) {
        self.span = span;
    }

    /// As `total_work`, by the wall's clock since the last look.
    pub fn work_so_far(&self) -> Duration {
        let since = self.running.as_ref().map_or(Duration::ZERO, |running| running.wall.elapsed());
        self.work.saturating_add(self.children_work).saturating_add(since)
    }

    /// Work of the instance alone, as of the last look.
    pub fn own_work(&self) -> Duration {
        self.work
    }

    /// The length of the chain up to now. A child's chain begins here: what was guessed could not be put right.
    pub fn span(&mut self) -> Duration {
        self.settle_exactly();
        self.span
    }

    /// The work since this was asked last.
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

    #[test]
    #[cfg(unix)]
    fn what_others_have_of_the_processor_is_no_work() {
        let before = processor_time();
        let mut clock = Clock::start();
        std::thread::sleep(Duration::from_millis(20));
        // What was guessed meanwhile is put right.
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
