//! Notices of portions on their way to the driver, which is not to be buried under them.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use sateen_protocol::host::Notice;
use sateen_protocol::message::LogLine;

/// Notices on their way; beyond, those that nothing depends on are dropped.
const NOTICES_MAX: usize = 100_000;
/// Lines of apps' logs on their way, in bytes; beyond, further ones are left out and counted.
const LOG_BYTES_MAX: usize = 4 << 20;

/// What is on its way, of all runs.
#[derive(Debug, Default)]
pub struct Notices {
    count: AtomicUsize,
    log_bytes: AtomicUsize,
    lines_left_out: AtomicU64,
}

impl Notices {
    /// A notice that is sent to the driver from now on; `None` if it is not to be sent.
    pub fn admit(&self, mut notice: Notice) -> Option<Notice> {
        // Updates that are missed here are sent when replicas are compared.
        let can_be_missed = matches!(
            notice,
            Notice::Log(..) | Notice::Progress(..) | Notice::Recorded { .. } | Notice::Updated { .. }
        );
        let is_crowded = can_be_missed && self.count.load(Relaxed) > NOTICES_MAX;
        if let Notice::Log(line) = &mut notice {
            if is_crowded || self.log_bytes.load(Relaxed) > LOG_BYTES_MAX {
                self.lines_left_out.fetch_add(1, Relaxed);
                return None;
            }
            let left_out = self.lines_left_out.swap(0, Relaxed);
            if left_out > 0 {
                line.text.insert_str(0, &format!("({left_out} lines before this one are left out) "));
            }
            self.log_bytes.fetch_add(bytes(line), Relaxed);
        } else if is_crowded {
            return None;
        }
        self.count.fetch_add(1, Relaxed);
        Some(notice)
    }

    /// The driver has taken a notice.
    pub fn take(&self, notice: &Notice) {
        self.count.fetch_sub(1, Relaxed);
        if let Notice::Log(line) = notice {
            self.log_bytes.fetch_sub(bytes(line), Relaxed);
        }
    }
}

fn bytes(line: &LogLine) -> usize {
    line.function.len() + line.text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(bytes: usize) -> Notice {
        Notice::Log(LogLine { job: None, function: "main".to_owned(), text: "x".repeat(bytes) })
    }

    #[test]
    fn lines_beyond_what_may_wait_are_left_out_and_counted() {
        let notices = Notices::default();
        let mut waiting: Vec<Notice> = Vec::new();
        let mut left_out = 0;
        for _ in 0..10_000 {
            match notices.admit(line(8 << 10)) {
                Some(notice) => waiting.push(notice),
                None => left_out += 1,
            }
        }
        assert!(waiting.len() * (8 << 10) <= LOG_BYTES_MAX + (16 << 10), "{} lines wait", waiting.len());
        assert!(notices.admit(Notice::Idle(1)).is_some(), "all else is sent");
        notices.take(&Notice::Idle(1));
        waiting.iter().for_each(|notice| notices.take(notice));
        let Some(Notice::Log(next)) = notices.admit(line(3)) else { panic!("there is room again") };
        assert_eq!(next.text, format!("({left_out} lines before this one are left out) xxx"));
        notices.take(&Notice::Log(next));
        let Some(Notice::Log(next)) = notices.admit(line(3)) else { panic!("there is room") };
        assert_eq!(next.text, "xxx");
        notices.take(&Notice::Log(next));
        assert_eq!((notices.count.load(Relaxed), notices.log_bytes.load(Relaxed)), (0, 0));
    }
}
