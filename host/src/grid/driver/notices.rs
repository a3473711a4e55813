//! Notices in transit from portions to the driver, which must not be flooded with them.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use sateen_protocol::host::Notice;
use sateen_protocol::message::LogLine;

/// Maximum notices in transit; above it, those on which nothing depends are dropped.
const NOTICES_MAX: usize = 100_000;
/// Maximum bytes of log lines of a run in each [`PERIOD`]; further lines are left out and counted. The link to the
/// coordinator carries other data as well, and the coordinator keeps little more of a run's log.
const LOG_BYTES_MAX: usize = 1 << 20;
/// See [`LOG_BYTES_MAX`].
const PERIOD: Duration = Duration::from_secs(1);

/// Notices in transit, of all runs.
#[derive(Debug, Default)]
pub struct Notices {
    count: AtomicUsize,
}

impl Notices {
    /// The driver has received a notice.
    pub fn take(&self) {
        self.count.fetch_sub(1, Relaxed);
    }
}

/// Admits a run's notices. Each run has its own gate, so that a run with many notices does not silence others.
#[derive(Debug)]
pub struct Gate {
    notices: Arc<Notices>,
    /// When the period began, and the bytes of lines in it.
    period: Mutex<Option<(Instant, usize)>>,
    lines_left_out: AtomicU64,
}

impl Gate {
    /// The gate of a run that begins here.
    pub fn new(notices: &Arc<Notices>) -> Self {
        Self { notices: Arc::clone(notices), period: Mutex::default(), lines_left_out: AtomicU64::default() }
    }

    /// Returns a notice to send to the driver; `None` if it must not be sent.
    pub fn admit(&self, mut notice: Notice) -> Option<Notice> {
        // Updates of shared objects are bounded by those that make them.
        let can_be_missed =
            matches!(notice, Notice::Log(..) | Notice::Progress(..) | Notice::Recorded { .. });
        let is_crowded = can_be_missed && self.notices.count.load(Relaxed) > NOTICES_MAX;
        if let Notice::Log(line) = &mut notice {
            if is_crowded || !self.has_room_for(line, Instant::now()) {
                let left_out_before = self.lines_left_out.fetch_add(1, Relaxed);
                if is_crowded || left_out_before > 0 {
                    return None;
                }
                // There may be no further line after these.
                "(further lines were left out: too many to be sent)".clone_into(&mut line.text);
                self.notices.count.fetch_add(1, Relaxed);
                return Some(notice);
            }
            let left_out = self.lines_left_out.swap(0, Relaxed);
            if left_out > 0 {
                line.text.insert_str(0, &format!("({left_out} lines before this one are left out) "));
            }
        } else if is_crowded {
            return None;
        }
        self.notices.count.fetch_add(1, Relaxed);
        Some(notice)
    }

    fn has_room_for(&self, line: &LogLine, now: Instant) -> bool {
        let mut period = self.period.lock().unwrap_or_else(PoisonError::into_inner);
        let current = period.filter(|(since, _)| now.duration_since(*since) < PERIOD);
        let (since, before) = current.unwrap_or((now, 0));
        let bytes = before + line.function.len() + line.text.len();
        let has_room = bytes <= LOG_BYTES_MAX;
        if has_room {
            *period = Some((since, bytes));
        }
        has_room
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(bytes: usize) -> Notice {
        Notice::Log(LogLine { job: None, function: "main".to_owned(), text: "x".repeat(bytes) })
    }

    #[test]
    fn lines_beyond_what_may_be_sent_are_left_out_and_counted() {
        let notices = Arc::default();
        let gate = Gate::new(&notices);
        let (mut sent, mut left_out) = (0, 0);
        for _ in 0..10_000 {
            match gate.admit(line(8 << 10)) {
                Some(_) => sent += 1,
                None => left_out += 1,
            }
        }
        assert!((1..LOG_BYTES_MAX / (8 << 10) * 20).contains(&sent), "{sent} lines are sent");
        assert!(gate.admit(Notice::Idle(1)).is_some(), "all else is sent");
        assert!(
            matches!(Gate::new(&notices).admit(line(3)), Some(Notice::Log(line)) if line.text == "xxx"),
            "another run is heard"
        );
        *gate.period.lock().expect("sound") = None;
        let Some(Notice::Log(next)) = gate.admit(line(3)) else { panic!("there is room again") };
        assert!(next.text.contains(" lines before this one are left out) xxx"), "{}", next.text);
        assert!(left_out > 0);
        let Some(Notice::Log(next)) = gate.admit(line(3)) else { panic!("there is room") };
        assert_eq!(next.text, "xxx");
        (0..sent + 4).for_each(|_| notices.take());
        assert_eq!(notices.count.load(Relaxed), 0);
    }
}
