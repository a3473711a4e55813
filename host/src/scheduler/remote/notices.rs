//! The notices of a portion to its driver.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use sateen_protocol::host::Notice;
use sateen_protocol::limits::NEWS_KEPT_MAX;

/// How long a recorded result waits for others at most: waking the driver and the store costs as much as some
/// dozen records.
const RECORDED_DELAY: Duration = Duration::from_millis(200);

/// Takes notices, in their order.
pub type TakeNotices = Arc<dyn Fn(&mut dyn Iterator<Item = Notice>) + Send + Sync>;

/// The way to a portion's driver.
pub struct Notices {
    take: TakeNotices,
    /// How long a recorded result waits for others at most.
    delay: Duration,
    is_closed: AtomicBool,
    waiting: Mutex<Waiting>,
}

/// Notices that wait for others.
#[derive(Default)]
struct Waiting {
    notices: Vec<Notice>,
    /// Since when the first recorded result waits.
    since: Option<Instant>,
    /// Whether a result that another host waits for is among them.
    is_awaited: bool,
    /// Since when news of a short job waits for that of others.
    kept_since: Option<Instant>,
}

impl Notices {
    /// Notices to this driver; finished work is recorded at this interval.
    pub fn new(take: TakeNotices, record_every: Option<Duration>) -> Self {
        // A crash loses waiting notices: not much more than one interval of recording.
        let delay = record_every.map_or(RECORDED_DELAY, |every| every.min(RECORDED_DELAY));
        Self { take, delay, is_closed: AtomicBool::new(false), waiting: Mutex::default() }
    }

    /// Notifies the driver, after earlier notices.
    pub fn notify(&self, notice: Notice) {
        self.tell(&mut self.waiting.lock(), Some(notice));
    }

    /// Notifies the driver soon.
    pub fn notify_recorded(&self, notice: Notice) {
        let mut waiting = self.waiting.lock();
        waiting.since.get_or_insert_with(Instant::now);
        waiting.notices.push(notice);
    }

    /// Notifies the driver together with the next notice, so that it is woken once when a worker ends one job and begins
    /// another. If the worker does not cause another notice at once, it must call [`flush`](Self::flush).
    pub fn notify_with_next(&self, notice: Notice) {
        let mut waiting = self.waiting.lock();
        waiting.is_awaited = true;
        waiting.notices.push(notice);
    }

    /// Notifies the driver together with news of the next short jobs, which a worker begins one after the other: within
    /// about [`NEWS_KEPT_MAX`], or when a worker has none of them.
    pub fn notify_with_others(&self, notice: Notice) {
        let mut waiting = self.waiting.lock();
        waiting.is_awaited = true;
        waiting.notices.push(notice);
        let since = *waiting.kept_since.get_or_insert_with(Instant::now);
        if since.elapsed() >= NEWS_KEPT_MAX {
            self.tell(&mut waiting, None);
        }
    }

    /// The same for a job that begins, if news of another one waits; otherwise notifies the driver.
    pub fn notify_begun(&self, notice: Notice) {
        let keeps_news = self.waiting.lock().kept_since.is_some();
        if keeps_news { self.notify_with_others(notice) } else { self.notify(notice) }
    }

    /// Sends what waits for the next notice.
    pub fn flush(&self) {
        let mut waiting = self.waiting.lock();
        if waiting.is_awaited {
            self.tell(&mut waiting, None);
        }
    }

    /// Sends recorded results and news of short jobs to the driver if they have waited for long enough, or if no worker
    /// computes that would cause more.
    pub fn send_recorded(&self, is_last: bool) {
        let mut waiting = self.waiting.lock();
        let is_due =
            |since: Option<Instant>, delay| since.is_some_and(|since| is_last || since.elapsed() >= delay);
        if is_due(waiting.since, self.delay) || is_due(waiting.kept_since, NEWS_KEPT_MAX) {
            self.tell(&mut waiting, None);
        }
    }

    /// Under the lock of the waiting notices, so that no notice overtakes them.
    fn tell(&self, waiting: &mut Waiting, more: Option<Notice>) {
        let Waiting { notices, .. } = std::mem::take(waiting);
        if !self.is_closed.load(SeqCst) {
            (self.take)(&mut notices.into_iter().chain(more));
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
        let take = {
            let told = told.clone();
            move |notices: &mut dyn Iterator<Item = Notice>| {
                told.lock().push(
                    notices
                        .map(|notice| match notice {
                            Notice::Abandoned { number } => number.0,
                            other => panic!("{other:?} was not sent"),
                        })
                        .collect::<Vec<u64>>(),
                );
            }
        };
        let notices = Notices::new(Arc::new(take), Some(Duration::MAX));
        let notice = |number| Notice::Abandoned { number: RuntimeJobId(number) };
        let took = || std::mem::take(&mut *told.lock());
        notices.notify_recorded(notice(1));
        notices.send_recorded(false);
        notices.flush();
        assert!(took().is_empty(), "it waits for others");
        notices.notify(notice(2));
        assert_eq!(took(), [[1, 2]]);
        notices.notify_with_next(notice(3));
        notices.send_recorded(false);
        assert!(took().is_empty(), "it waits for the next");
        notices.notify(notice(4));
        assert_eq!(took(), [[3, 4]], "the driver is woken once");
        notices.notify_recorded(notice(5));
        notices.notify_with_next(notice(6));
        notices.flush();
        assert_eq!(took(), [[5, 6]]);
        notices.notify_begun(notice(10));
        assert_eq!(took(), [[10]], "no other news waits");
        notices.notify_with_others(notice(11));
        notices.notify_begun(notice(12));
        assert!(took().is_empty(), "they wait for others");
        std::thread::sleep(NEWS_KEPT_MAX);
        notices.notify_with_others(notice(13));
        assert_eq!(took(), [[11, 12, 13]]);
        notices.notify_with_others(notice(14));
        notices.flush();
        assert_eq!(took(), [[14]], "a worker has no other short job");
        notices.notify_with_others(notice(15));
        std::thread::sleep(NEWS_KEPT_MAX);
        notices.send_recorded(false);
        assert_eq!(took(), [[15]]);
        notices.notify_recorded(notice(7));
        notices.send_recorded(true);
        notices.close();
        notices.notify(notice(8));
        assert_eq!(took(), [[7]]);
    }
}
