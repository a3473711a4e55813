//! The jobs of a set.

use std::ptr::null_mut;

use super::older::Older;
use super::pending::{Claimed, KEPT, Pending};
use super::record::{EXPOSED, HOLE, Record, depth_of, is_marked, job_of, mark};
use super::stack::{
    Alarm, answer_alarm, depth, expose_oldest, floor, is_shielded, move_floor, real_floor, set_depth,
    set_top, top,
};
use crate::wasm::abi;
use crate::{Job, JobError};

/// What is left of a set: a row of records that lie one behind the other on the stack, and what is older.
/// The oldest is called first; what is called or was exposed becomes a hole, and when the row is at its
/// end, all of it goes.
pub struct Members<J: Job> {
    /// Where the row began; of what is left of it, the first; and its end.
    base: usize,
    first: usize,
    end: usize,
    /// The index of `first`.
    index: usize,
    /// Jobs so far.
    spawned: usize,
    /// Null, as a rule.
    older: *mut Older<J>,
}

impl<J: Job> Members<J> {
    #[inline(always)]
    pub const fn new() -> Self {
        Self { base: 0, first: 0, end: 0, index: 0, spawned: 0, older: null_mut() }
    }

    #[inline(always)]
    pub fn spawn(&mut self, parameters: J::Parameters) -> usize {
        let record = Pending::<J>::spawn(parameters).into_record();
        if self.first == self.end && record & KEPT == 0 {
            self.begin_row(record);
        } else if record == self.end {
            self.end = record + Record::<J>::BYTES;
        } else {
            self.spawn_apart(record);
        }
        self.spawned += 1;
        self.spawned - 1
    }

    #[inline(always)]
    fn begin_row(&mut self, record: usize) {
        self.base = record;
        self.first = record;
        self.end = record + Record::<J>::BYTES;
        self.index = self.spawned;
        if is_shielded() {
            // Closes the fast path.
            Older::of(&mut self.older);
        }
    }

    /// The new job's record does not follow the row's end: other spawns lie between, or the stack is full.
    #[cold]
    #[inline(never)]
    fn spawn_apart(&mut self, record: usize) {
        let older = Older::of(&mut self.older);
        while self.first < self.end {
            older.single.push_back((self.index, self.first));
            self.first += Record::<J>::BYTES;
            self.index += 1;
        }
        if record & KEPT == 0 {
            self.begin_row(record);
        } else {
            older.single.push_back((self.spawned, record));
        }
    }

    #[inline(always)]
    pub fn next(&mut self) -> Option<(usize, J::Output)> {
        let (record, index) = (self.first, self.index);
        if record >= floor() && record < self.end && self.older.is_null() {
            let parameters = self.take_first();
            // As `Pending::sync`.
            set_depth(depth() + 1);
            let result = J::call(parameters);
            set_depth(depth() - 1);
            Some((index, result))
        } else if record == self.end && self.older.is_null() {
            None
        } else {
            self.next_slowly()
        }
    }

    /// Takes the row's first, which is latent.
    #[inline(always)]
    fn take_first(&mut self) -> J::Parameters {
        let record = self.first;
        let parameters = Record::<J>::read(record);
        self.first += Record::<J>::BYTES;
        self.index += 1;
        if self.first == self.end && self.end == top() && self.base >= real_floor() {
            set_top(self.base);
        } else {
            mark(record, HOLE);
            self.end_row();
        }
        parameters
    }

    /// Frees the row's holes, if there is nothing else in it and nothing above it.
    #[inline]
    fn end_row(&self) {
        if self.first == self.end && self.end == top() && self.base < top() {
            set_top(self.base);
            if real_floor() > self.base {
                move_floor(self.base);
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn next_slowly(&mut self) -> Option<(usize, J::Output)> {
        self.choose().map(|(index, claimed)| (index, claimed.finish()))
    }

    pub fn try_next(&mut self) -> Option<(usize, Result<J::Output, JobError>)> {
        self.choose().map(|(index, claimed)| (index, claimed.attempt()))
    }

    /// What has finished; or else the oldest that nobody has taken; or else what finishes first.
    fn choose(&mut self) -> Option<(usize, Claimed<J>)> {
        let alarm = answer_alarm();
        if alarm == Alarm::Drain {
            // These as well: other hosts go on with them.
            alarm.expose();
        }
        if is_shielded() {
            // As many as are welcome: only what is exposed can run elsewhere.
            while self.latent() > 0 && expose_oldest() {}
        }
        let latent = self.latent();
        if self.older.is_null() || Older::of(&mut self.older).jobs.is_empty() {
            let taken = self.take_oldest();
            alarm.expose();
            return taken;
        }
        if alarm == Alarm::Hungry {
            alarm.expose();
        }
        let older = Older::of(&mut self.older);
        let Some((place, synced)) = abi::sync_any(&older.jobs, latent == 0) else {
            return self.take_oldest();
        };
        let (job, index, parameters) = older.remove(place);
        self.trim();
        Some((index, Claimed::of(synced, job, parameters)))
    }

    fn trim(&mut self) {
        if !is_shielded() {
            Older::free_if_empty(&mut self.older);
        }
    }

    fn take_oldest(&mut self) -> Option<(usize, Claimed<J>)> {
        if !self.older.is_null()
            && let Some((index, record)) = Older::of(&mut self.older).single.pop_front()
        {
            self.trim();
            let (parameters, depth) = Pending::<J>::from_record(record).take_latent();
            return Some((index, Claimed::Parameters(parameters, depth + 1, None)));
        }
        if self.first == self.end {
            return None;
        }
        let (index, depth) = (self.index, depth_of(self.first));
        Some((index, Claimed::Parameters(self.take_first(), depth + 1, None)))
    }

    /// How many jobs nobody but the guest knows of.
    pub fn latent(&mut self) -> usize {
        if !self.older.is_null() {
            Older::of(&mut self.older).gather();
        }
        while self.first < self.end && is_marked(self.first, EXPOSED) {
            let parameters = Record::<J>::read(self.first);
            Older::of(&mut self.older).push(job_of(self.first), self.index, parameters);
            mark(self.first, HOLE);
            self.first += Record::<J>::BYTES;
            self.index += 1;
        }
        self.end_row();
        let single = if self.older.is_null() { 0 } else { Older::of(&mut self.older).single.len() };
        self.row_length() + single
    }

    fn row_length(&self) -> usize {
        (self.end - self.first) / Record::<J>::BYTES
    }

    pub fn len(&self) -> usize {
        // SAFETY: null, or this set's own.
        let older = unsafe { self.older.as_ref() };
        self.row_length() + older.map_or(0, |older| older.single.len() + older.jobs.len())
    }

    /// Drops all, the newest first, as the stack has them.
    #[cold]
    #[inline(never)]
    pub fn abort(&mut self) {
        let mut record = self.end;
        while record > self.first {
            record -= Record::<J>::BYTES;
            drop(Pending::<J>::from_record(record));
        }
        if top() == self.first {
            self.end = self.first;
            self.end_row();
        }
        self.first = self.end;
        Older::free(&mut self.older);
    }
}

impl<J: Job> Drop for Members<J> {
    #[inline(always)]
    fn drop(&mut self) {
        if self.first != self.end || !self.older.is_null() {
            self.abort();
        }
    }
}
