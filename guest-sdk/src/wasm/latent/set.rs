//! The jobs of a set.

use std::ptr::null_mut;

use super::measure;
use super::older::Older;
use super::pending::{Claimed, KEPT, Pending};
use super::record::{EXPOSED, HOLE, Record, depth_of, is_marked, job_of, mark};
use super::stack::{
    Alarm, answer_alarm, depth, expose_oldest, floor, is_shielded, move_floor, real_floor, set_depth,
    set_top, top,
};
use crate::wasm::abi;
use crate::{Job, JobError};

/// The remaining jobs of a set.
///
/// Rare operations work on a copy, so that the compiler can keep a set in registers.
pub struct Members<J: Job> {
    row: Row<J>,
}

/// A row of adjacent records on the stack, and older jobs. The oldest is called first. Called and exposed
/// records become holes, and when the row is finished, all of it is removed.
struct Row<J: Job> {
    /// The start of the row; the first of its remaining records; and its end.
    base: usize,
    first: usize,
    end: usize,
    /// The index of `first`.
    index: usize,
    /// Number of jobs so far.
    spawned: usize,
    /// Usually null.
    older: *mut Older<J>,
}

impl<J: Job> Copy for Row<J> {}
impl<J: Job> Clone for Row<J> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<J: Job> Members<J> {
    #[inline(always)]
    pub const fn empty() -> Self {
        Self { row: Row { base: 0, first: 0, end: 0, index: 0, spawned: 0, older: null_mut() } }
    }

    #[inline(always)]
    pub fn spawn(&mut self, parameters: J::Parameters) -> usize {
        let index = self.row.spawned;
        match Pending::<J>::spawn_fast(parameters) {
            Ok(record) if self.row.first == self.row.end => {
                self.row.begin(record);
                if is_shielded() {
                    self.row = self.row.shielded();
                }
            }
            Ok(record) if record == self.row.end => self.row.end = record + Record::<J>::BYTES,
            Ok(record) => self.row = self.row.with_apart(record),
            Err(parameters) => self.row = self.row.with_slowly(parameters),
        }
        self.row.spawned = index + 1;
        index
    }

    #[inline(always)]
    pub fn sync(&mut self) -> Option<(usize, J::Output)> {
        let Row { base, first, end, index, older, .. } = self.row;
        let floor = floor();
        if first >= floor && first < end && older.is_null() {
            let parameters = Record::<J>::read(first);
            self.row.first = first + Record::<J>::BYTES;
            self.row.index = index + 1;
            if self.row.first != end {
                Record::<J>::bury(first);
            } else if end == top() && base >= floor {
                set_top(base);
            } else {
                self.row.end_slowly(first);
            }
            // Like `Pending::sync`.
            set_depth(depth() + 1);
            let result = J::call(parameters);
            set_depth(depth() - 1);
            Some((index, result))
        } else if first == end && older.is_null() {
            None
        } else {
            let (row, next) = self.row.sync_slowly();
            self.row = row;
            next
        }
    }

    pub fn try_sync(&mut self) -> Option<(usize, Result<J::Output, JobError>)> {
        self.row.choose().map(|(index, claimed)| (index, claimed.attempt()))
    }

    pub fn latent(&mut self) -> usize {
        self.row.latent()
    }

    pub fn left(&self) -> usize {
        self.row.left()
    }

    #[inline(always)]
    pub fn abort(&mut self) {
        self.row = self.row.aborted();
    }
}

impl<J: Job> Drop for Members<J> {
    #[inline(always)]
    fn drop(&mut self) {
        if self.row.first != self.row.end || !self.row.older.is_null() {
            self.row.aborted();
        }
    }
}

impl<J: Job> Row<J> {
    #[inline(always)]
    fn begin(&mut self, record: usize) {
        self.base = record;
        self.first = record;
        self.end = record + Record::<J>::BYTES;
        self.index = self.spawned;
    }

    /// Continues when the fast path is closed.
    #[cold]
    #[inline(never)]
    fn shielded(mut self) -> Self {
        Older::of(&mut self.older);
        self
    }

    /// Adds a new job that finds the stack full or needs the host's attention.
    #[cold]
    #[inline(never)]
    fn with_slowly(mut self, parameters: J::Parameters) -> Self {
        let record = Pending::<J>::spawn_slowly(parameters).into_record();
        if self.first == self.end && record & KEPT == 0 {
            self.begin(record);
            return if is_shielded() { self.shielded() } else { self };
        }
        if record == self.end {
            self.end = record + Record::<J>::BYTES;
            return self;
        }
        self.with_apart(record)
    }

    /// Adds a new job whose record does not follow the row's end, because other spawns lie between.
    #[cold]
    #[inline(never)]
    fn with_apart(mut self, record: usize) -> Self {
        let older = Older::of(&mut self.older);
        while self.first < self.end {
            older.single.push_back((self.index, self.first));
            self.first += Record::<J>::BYTES;
            self.index += 1;
        }
        if record & KEPT == 0 {
            self.begin(record);
        } else {
            older.single.push_back((self.spawned, record));
        }
        self
    }

    /// The row's last record, at `record`, is removed.
    #[cold]
    #[inline(never)]
    fn end_slowly(self, record: usize) {
        mark(record, HOLE);
        self.free_holes();
    }

    /// Frees the row's holes, if it has only holes and there is nothing above it. Only for a row whose last
    /// record was just removed: later, records of others may be in its place.
    fn free_holes(&self) {
        if self.first == self.end && self.end == top() && self.base < top() {
            set_top(self.base);
            if real_floor() > self.base {
                move_floor(self.base);
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn sync_slowly(mut self) -> (Self, Option<(usize, J::Output)>) {
        let chosen = self.choose();
        (self, chosen.map(|(index, claimed)| (index, claimed.finish())))
    }

    /// A job that has finished; or else the oldest that no worker has taken; or else the one that finishes
    /// first.
    fn choose(&mut self) -> Option<(usize, Claimed<J>)> {
        let alarm = answer_alarm();
        if alarm == Alarm::Drain {
            // Expose these as well: other hosts continue with them.
            alarm.expose();
        }
        if is_shielded() {
            // Expose as many as are welcome: only exposed jobs can run elsewhere.
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
            return Some((index, Claimed::Parameters(parameters, depth + 1, None, record)));
        }
        if self.first == self.end {
            return None;
        }
        let (record, index) = (self.first, self.index);
        let (parameters, depth) = (Record::<J>::read(record), depth_of(record));
        self.first += Record::<J>::BYTES;
        self.index += 1;
        self.end_slowly(record);
        Some((index, Claimed::Parameters(parameters, depth + 1, None, record)))
    }

    /// The number of jobs that only the guest knows.
    fn latent(&mut self) -> usize {
        if !self.older.is_null() {
            let older = Older::of(&mut self.older);
            older.gather();
            older.settle();
        }
        let had_any = self.first < self.end;
        while self.first < self.end && is_marked(self.first, EXPOSED) {
            let parameters = Record::<J>::read(self.first);
            Older::of(&mut self.older).push(job_of(self.first), self.index, parameters);
            mark(self.first, HOLE);
            self.first += Record::<J>::BYTES;
            self.index += 1;
        }
        if had_any {
            self.free_holes();
        }
        let single = if self.older.is_null() { 0 } else { Older::of(&mut self.older).single.len() };
        self.row_length() + single
    }

    fn row_length(&self) -> usize {
        (self.end - self.first) / Record::<J>::BYTES
    }

    fn left(&self) -> usize {
        // SAFETY: null, or this set's own.
        let older = unsafe { self.older.as_ref() };
        self.row_length() + older.map_or(0, |older| older.single.len() + older.jobs.len())
    }

    /// Drops all remaining jobs, the newest first, in the order of the stack.
    #[cold]
    #[inline(never)]
    fn aborted(mut self) -> Self {
        measure::dropped(J::kind(), self.left());
        let had_any = self.first < self.end;
        let mut record = self.end;
        while record > self.first {
            record -= Record::<J>::BYTES;
            drop(Pending::<J>::from_record(record));
        }
        if had_any && top() == self.first {
            self.end = self.first;
            self.free_holes();
        }
        self.first = self.end;
        Older::free(&mut self.older);
        self
    }
}
