//! The notices of a portion to its driver.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use sateen_protocol::host::Notice;

/// How long a recorded result waits for others at most: waking the driver and the store costs as much as some
/// dozen records.
const RECORDED_DELAY: Duration = Duration::from_millis(200);

/// The way to a portion's driver.
pub struct Notices {
    notify: Arc<dyn Fn(Notice) + Send + Sync>,
    /// How long a recorded result waits for others at most.
    delay: Duration,
    is_closed: AtomicBool,
    /// Notices of recorded results that wait for others, and the time since which the first waits.
    recorded: Mutex<(Option<Instant>, Vec<Notice>)>,
}

impl Notices {
    /// Notices to this driver; finished work is recorded at this interval.
    pub fn new(notify: Arc<dyn Fn(Notice) + Send + Sync>, record_every: Option<Duration>) -> Self {
        // A crash loses waiting notices: not much more than one interval of recording.
        let delay = record_every.map_or(RECORDED_DELAY, |every| every.min(RECORDED_DELAY));
        Self { notify, delay, is_closed: AtomicBool::new(false), recorded: Mutex::default() }
    }

    /// Notifies the driver, after earlier recorded results.
    pub fn notify(&self, notice: Notice) {
        self.tell(&mut self.recorded.lock(), Some(notice));
    }

    /// Notifies the driver soon.
    pub fn notify_recorded(&self, notice: Notice) {
        let mut recorded = self.recorded.lock();
        recorded.0.get_or_insert_with(Instant::now);
        recorded.1.push(notice);
    }

    /// Sends recorded results to the driver if they have waited for long enough, or if no worker computes that
    /// would record more.
    pub fn send_recorded(&self, is_last: bool) {
        let mut recorded = self.recorded.lock();
        if recorded.0.is_some_and(|since| is_last || since.elapsed() >= self.delay) {
            self.tell(&mut recorded, None);
        }
    }

    /// Under the lock of the recorded results, so that no notice overtakes them.
    fn tell(&self, (since, recorded): &mut (Option<Instant>, Vec<Notice>), more: Option<Notice>) {
        *since = None;
        let all = recorded.drain(..).chain(more);
        if !self.is_closed.load(SeqCst) {
            all.for_each(|notice| (self.notify)(notice));
        }
    }

    /// A portion that is being stopped need not report outcomes of its jobs.
    pub fn close(&self) {
        self.is_closed.store(true, SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use sateen_protocol::RuntimeJobId;

    use super::*;

    #[test]
    fn nothing_overtakes_what_was_recorded_and_nothing_comes_after_the_end() {
        let told = Arc::new(Mutex::new(Vec::new()));
        let notify = {
            let told = told.clone();
            Arc::new(move |notice| match notice {
                Notice::Abandoned { number } => told.lock().push(number.0),
                other => panic!("{other:?} was not sent"),
            })
        };
        let notices = Notices::new(notify, Some(Duration::MAX));
        let notice = |number| Notice::Abandoned { number: RuntimeJobId(number) };
        notices.notify_recorded(notice(1));
        notices.send_recorded(false);
        assert!(told.lock().is_empty(), "it waits for others");
        notices.notify(notice(2));
        assert_eq!(*told.lock(), [1, 2]);
        notices.notify_recorded(notice(3));
        notices.send_recorded(true);
        notices.close();
        notices.notify(notice(4));
        assert_eq!(*told.lock(), [1, 2, 3]);
    }
}
