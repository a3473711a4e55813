//! This host's updates of one shared object that wait to be sent together.

use crate::limits::SHARED_FLUSH;
use crate::shared::Writer;
use crate::{Bytes, Time};

/// This host's updates that have not been sent.
#[derive(Debug)]
pub struct Batch {
    pub writer: Writer,
    pub first: u64,
    pub updates: Vec<Bytes>,
}

/// The updates that wait to be sent, and when some were sent last.
#[derive(Debug)]
pub struct Unsent {
    batch: Option<Batch>,
    sent: Time,
}

impl Unsent {
    /// There are none, and the first is to be sent at once.
    pub fn new(now: Time) -> Self {
        Self { batch: None, sent: now - SHARED_FLUSH }
    }

    /// Whether an update is the next one after those that wait, if any do.
    pub fn is_followed_by(&self, writer: Writer, seq: u64) -> bool {
        self.batch.as_ref().is_some_and(|batch| {
            let next = batch.first + batch.updates.len() as u64;
            (batch.writer, next) == (writer, seq)
        })
    }

    /// Adds an update, which follows those that wait, if any do; whether they are to be sent now.
    pub fn push(&mut self, now: Time, (writer, seq): (Writer, u64), update: Bytes) -> bool {
        let batch = Batch { writer, first: seq, updates: Vec::new() };
        self.batch.get_or_insert(batch).updates.push(update);
        self.is_due(now)
    }

    /// When those that wait are to be sent.
    pub fn due(&self) -> Option<Time> {
        self.batch.as_ref().map(|_| self.sent + SHARED_FLUSH)
    }

    /// Whether there are some that are to be sent now.
    pub fn is_due(&self, now: Time) -> bool {
        self.due().is_some_and(|due| now >= due)
    }

    /// Those that wait, to be sent now.
    pub fn take(&mut self, now: Time) -> Option<Batch> {
        let batch = self.batch.take()?;
        self.sent = now;
        Some(batch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HostId;

    const WRITER: Writer = Writer { host: HostId(1), incarnation: 3 };

    #[test]
    fn updates_soon_after_some_were_sent_wait_for_one_another() {
        let now = Time(1_000_000_000);
        let mut unsent = Unsent::new(now);
        assert!(unsent.take(now).is_none() && unsent.due().is_none() && !unsent.is_due(now));
        assert!(!unsent.is_followed_by(WRITER, 0), "there are none");
        assert!(unsent.push(now, (WRITER, 7), vec![7].into()), "the first is sent at once");
        assert_eq!(unsent.take(now).map(|batch| batch.first), Some(7));
        for seq in 8..10 {
            assert!(!unsent.push(now, (WRITER, seq), vec![seq as u8].into()));
        }
        assert!(unsent.is_followed_by(WRITER, 10) && !unsent.is_followed_by(WRITER, 9));
        assert!(!unsent.is_followed_by(Writer { incarnation: 4, ..WRITER }, 10), "it is another log");
        let due = now + SHARED_FLUSH;
        assert_eq!(unsent.due(), Some(due));
        assert!(unsent.is_due(due) && !unsent.is_due(now));
        let Batch { writer, first, updates } = unsent.take(due).expect("two wait");
        assert_eq!((writer, first, updates), (WRITER, 8, vec![vec![8].into(), vec![9].into()]));
        assert!(unsent.due().is_none());
    }
}
