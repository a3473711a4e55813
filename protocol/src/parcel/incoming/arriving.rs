//! A parcel that is arriving.

use std::collections::BTreeMap;
use std::time::Duration;

use super::Unsound;
use crate::Time;
use crate::limits::{
    PARCEL_PATIENCE_MAX, PARCEL_PATIENCE_MIN, PARCEL_STALE, PARCEL_WINDOW_BYTES_MAX, PARCEL_WINDOW_BYTES_MIN,
};
use crate::parcel::Contents;

/// If an answer takes less than this, more bytes are asked for at a time: a round trip around the world takes less.
const QUICK: Duration = Duration::from_millis(250);
/// If an answer takes longer than this, fewer bytes are asked for: it waits in queues.
const SLOW: Duration = Duration::from_millis(500);
/// Unanswered requests after which another parcel has its turn.
const ASKS_MAX: u32 = 2;

/// What is to be done for the parcel now.
pub enum Due {
    Nothing,
    /// Ask for these bytes, which have not come.
    Ask(u64, u64),
    /// Let other parcels have a turn.
    StepAside,
    /// Give the parcel up: none of its bytes have come for too long.
    GiveUp,
}

#[derive(Debug)]
pub struct Arriving {
    pub contents: Contents,
    pub total: usize,
    /// The bytes up to the first gap.
    pub bytes: Vec<u8>,
    /// Chunks beyond the first gap, by offset.
    ahead: BTreeMap<usize, Vec<u8>>,
    /// The offset up to which bytes were asked for.
    granted: usize,
    /// The offset of a byte that was asked for only once, and when: it measures how long an answer takes.
    timed: Option<(usize, Time)>,
    window: usize,
    due: Time,
    patience: Duration,
    /// Requests since bytes last came.
    asks: u32,
    progressed: Time,
    has_begun: bool,
}

impl Arriving {
    pub fn new(now: Time, contents: Contents, total: usize) -> Self {
        Self {
            contents,
            total,
            bytes: Vec::new(),
            ahead: BTreeMap::new(),
            granted: 0,
            timed: None,
            window: PARCEL_WINDOW_BYTES_MIN,
            due: now,
            patience: PARCEL_PATIENCE_MIN,
            asks: 0,
            progressed: now,
            has_begun: false,
        }
    }

    pub fn is_whole(&self) -> bool {
        self.bytes.len() == self.total
    }

    pub fn held_bytes(&self) -> usize {
        self.bytes.len() + self.ahead.values().map(Vec::len).sum::<usize>()
    }

    pub fn due(&self) -> Time {
        self.due
    }

    /// The bytes in transit are known to be lost: they are asked for again at once.
    pub fn nudge(&mut self, now: Time) {
        self.due = now;
    }

    pub fn stale_at(&self) -> Time {
        self.progressed + PARCEL_STALE
    }

    /// The time within which bytes that were asked for are to come.
    pub fn patience(&self) -> Duration {
        self.patience
    }

    /// The parcel's turn begins. `patience` is the longest one of the other parcels that are pulled. Returns the range
    /// of bytes to ask for first.
    pub fn begin(&mut self, now: Time, patience: Duration) -> (u64, u64) {
        self.asks = 0;
        // The other parcels come over the same link of this host.
        self.patience = self.patience.max(patience);
        if !std::mem::replace(&mut self.has_begun, true) {
            // Before its first turn, nothing could come.
            self.progressed = now;
        }
        self.ask(now)
    }

    /// Nothing has come, and its sender has replaced it by a parcel of `total` bytes. That one has the time that was
    /// left. Returns the range of bytes to ask for first.
    pub fn renew(&mut self, now: Time, total: usize) -> (u64, u64) {
        let due = self.due;
        (self.total, self.granted) = (total, 0);
        let asked = self.ask(now);
        self.due = due;
        asked
    }

    /// Asks for the bytes of the first gap, which may be lost. Returns their range.
    fn ask(&mut self, now: Time) -> (u64, u64) {
        let here = self.bytes.len();
        let most = self.total.min(here + self.window);
        let until = self.ahead.keys().next().copied().unwrap_or(most).min(most);
        self.timed = (self.granted <= here).then_some((here, now));
        self.granted = self.granted.max(until);
        self.due = now + self.patience;
        (here as u64, until as u64)
    }

    /// Adds a chunk.
    pub fn add(&mut self, now: Time, offset: u64, bytes: &[u8]) -> Result<(), Unsound> {
        let start = usize::try_from(offset).map_err(|_| Unsound)?;
        let end = start.checked_add(bytes.len()).filter(|end| *end <= self.total).ok_or(Unsound)?;
        let here = self.bytes.len();
        // The chunk came twice, or was asked for before this parcel was given up and announced anew.
        if end <= here || end > self.granted || self.ahead.contains_key(&start) {
            return Ok(());
        }
        if start > here {
            // The bytes before it are late or lost. They are asked for again, but not at once.
            self.ahead.insert(start, bytes.to_vec());
            self.due = self.due.min(now + self.patience / 4);
            return Ok(());
        }
        self.bytes.extend_from_slice(&bytes[here - start..]);
        while let Some(entry) = self.ahead.first_entry().filter(|entry| *entry.key() <= self.bytes.len()) {
            let (start, bytes) = entry.remove_entry();
            if let Some(new) = bytes.get(self.bytes.len() - start..) {
                self.bytes.extend_from_slice(new);
            }
        }
        if let Some((_, asked)) = self.timed.take_if(|(place, _)| *place < self.bytes.len()) {
            self.adapt(now.since(asked));
        }
        self.asks = 0;
        self.progressed = now;
        self.due = now + if self.ahead.is_empty() { self.patience } else { self.patience / 4 };
        Ok(())
    }

    /// Adapts the window and the patience to the time that an answer took. On a slow or shared link, answers wait in
    /// queues.
    fn adapt(&mut self, took: Duration) {
        if took < QUICK {
            self.window = (self.window * 2).min(PARCEL_WINDOW_BYTES_MAX);
        } else if took > SLOW {
            self.window = (self.window / 2).max(PARCEL_WINDOW_BYTES_MIN);
        }
        self.patience = (took * 4).clamp(PARCEL_PATIENCE_MIN, PARCEL_PATIENCE_MAX);
    }

    /// Returns a range of more bytes to ask for, if those in transit are running out.
    pub fn next_credit(&mut self, now: Time) -> Option<(u64, u64)> {
        let here = self.bytes.len();
        let left = self.granted.saturating_sub(here);
        if left > self.window / 2 || self.granted == self.total {
            return None;
        }
        let from = self.granted;
        self.granted = self.total.min(here + self.window).max(from);
        self.timed = self.timed.or((from < self.granted).then_some((from, now)));
        self.due = now + self.patience;
        (from < self.granted).then_some((from as u64, self.granted as u64))
    }

    pub fn time_out(&mut self, now: Time, is_pulled: bool, has_waiting: bool) -> Due {
        if now >= self.stale_at() && (!is_pulled || now >= self.due) {
            return Due::GiveUp;
        }
        if !is_pulled || now < self.due {
            return Due::Nothing;
        }
        if self.asks >= ASKS_MAX && has_waiting {
            return Due::StepAside;
        }
        self.asks += 1;
        self.patience = (self.patience * 2).min(PARCEL_PATIENCE_MAX);
        let (from, until) = self.ask(now);
        Due::Ask(from, until)
    }
}
