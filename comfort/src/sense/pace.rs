//! How often senses are read.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

/// The pace of all threads that sense for one host.
#[derive(Clone, Default)]
pub struct Pace(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    is_fast: bool,
    is_over: bool,
}

impl Pace {
    /// Senses are to be read often, or not.
    pub fn set(&self, is_fast: bool) {
        let mut state = self.0.state.lock();
        if state.is_fast != is_fast {
            state.is_fast = is_fast;
            if is_fast {
                self.0.changed.notify_all();
            }
        }
    }

    /// Whether senses are to be read often.
    pub fn is_fast(&self) -> bool {
        self.0.state.lock().is_fast
    }

    /// Nothing is to be read any more.
    pub fn end(&self) {
        self.0.state.lock().is_over = true;
        self.0.changed.notify_all();
    }

    /// Whether nothing is to be read any more.
    pub fn is_over(&self) -> bool {
        self.0.state.lock().is_over
    }

    /// Waits for the time of the pace; less if it quickens. Returns false at the end.
    pub fn wait(&self, fast: Duration, slow: Duration) -> bool {
        let since = Instant::now();
        let mut state = self.0.state.lock();
        loop {
            let until = since + if state.is_fast { fast } else { slow };
            if state.is_over || Instant::now() >= until {
                return !state.is_over;
            }
            self.0.changed.wait_until(&mut state, until);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn a_pace_that_quickens_ends_a_long_wait() {
        let pace = Pace::default();
        let began = Instant::now();
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| pace.wait(Duration::from_millis(1), LONG));
            std::thread::sleep(Duration::from_millis(20));
            pace.set(true);
            assert!(waits.join().expect("it ends"));
        });
        assert!(began.elapsed() < LONG / 2);
        assert!(pace.wait(Duration::ZERO, LONG));
    }

    #[test]
    fn the_end_ends_all_waits() {
        let pace = Pace::default();
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| pace.wait(LONG, LONG));
            pace.end();
            assert!(!waits.join().expect("it ends"));
        });
        assert!(pace.is_over() && !pace.wait(LONG, LONG));
    }
}
