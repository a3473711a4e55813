//! The jobs of a set that are not in its row: those that were exposed, and those that were spawned between
//! other jobs' spawns or onto a full stack.
//!
//! Exposed jobs leave the stack, so they are not found when the stack is cleared after a trap. All sets with
//! exposed jobs are in a list, the newest first, which leads to them.

use std::cell::Cell;
use std::collections::VecDeque;
use std::ptr::null_mut;

use super::pending::{KEPT, Pending};
use super::record::{EXPOSED, Record, is_marked, job_of};
use super::stack::remove;
use crate::Job;
use crate::wasm::abi;

#[repr(C)]
pub struct Older<J: Job> {
    /// First, so that the list need not know the job.
    link: Link,
    /// Exposed jobs by their numbers, the oldest first; their indices and parameters.
    pub jobs: Vec<u32>,
    away: VecDeque<(usize, J::Parameters)>,
    /// Other jobs: their indices, and the handles' records.
    pub single: VecDeque<(usize, usize)>,
}

/// A place in the list of all sets.
struct Link {
    /// Increases with each set.
    serial: u64,
    newer: *mut Link,
    older: *mut Link,
    discard: fn(*mut Link),
}

struct List {
    newest: Cell<*mut Link>,
    serial: Cell<u64>,
}

// SAFETY: a guest has one thread.
unsafe impl Sync for List {}

static LIST: List = List { newest: Cell::new(null_mut()), serial: Cell::new(0) };

/// A point in time for `abandon_since`.
pub fn serial() -> u64 {
    LIST.serial.get()
}

/// Gives up the exposed jobs of all sets that got their first since `serial`: a trap has ended their owners.
pub fn abandon_since(serial: u64) {
    loop {
        let newest = LIST.newest.get();
        // SAFETY: the list holds only what is not freed; `discard` takes it off the list.
        unsafe {
            if newest.is_null() || (*newest).serial < serial {
                return;
            }
            ((*newest).discard)(newest);
        }
    }
}

impl<J: Job> Older<J> {
    /// The object that `place` points to, which is made if necessary.
    pub fn of(place: &mut *mut Self) -> &mut Self {
        if place.is_null() {
            let serial = LIST.serial.replace(LIST.serial.get() + 1);
            let older = LIST.newest.get();
            let link = Link { serial, newer: null_mut(), older, discard: Self::discard };
            let (jobs, away, single) = (Vec::new(), VecDeque::new(), VecDeque::new());
            *place = Box::into_raw(Box::new(Self { link, jobs, away, single }));
            LIST.newest.set((*place).cast());
            if !older.is_null() {
                // SAFETY: on the list, so not freed.
                unsafe { (*older).newer = (*place).cast() };
            }
        }
        // SAFETY: made above, and freed only by the set that `place` belongs to, or after a trap that set
        // did not survive.
        unsafe { &mut **place }
    }

    pub fn push(&mut self, job: u32, index: usize, parameters: J::Parameters) {
        self.jobs.push(job);
        self.away.push_back((index, parameters));
    }

    /// Removes an exposed job: its number, index and parameters.
    pub fn remove(&mut self, place: usize) -> (u32, usize, J::Parameters) {
        let job = self.jobs.remove(place);
        match self.away.remove(place) {
            Some((index, parameters)) => (job, index, parameters),
            None => abi::fail(abi::Fault::Encoding, "a set's lists differ; this is a bug in Sateen"),
        }
    }

    /// The oldest single ones may have been exposed.
    pub fn gather(&mut self) {
        while let Some((index, record)) = self.single.front().copied()
            && record & KEPT == 0
            && is_marked(record, EXPOSED)
        {
            self.single.pop_front();
            self.push(job_of(record), index, Record::<J>::read(record));
            remove(record, Record::<J>::BYTES);
        }
    }

    /// If the oldest single one found the stack full, it moves onto the stack, and with it as many as there is room for
    /// now: workers can only get jobs from there.
    pub fn settle(&mut self) {
        for (_, record) in &mut self.single {
            if *record & KEPT == 0 {
                return;
            }
            let (Ok(pending) | Err(pending)) = Pending::<J>::from_record(*record).settle();
            *record = pending.into_record();
            if *record & KEPT != 0 {
                return;
            }
        }
    }

    pub fn free_if_empty(place: &mut *mut Self) {
        let older = Self::of(place);
        if older.jobs.is_empty() && older.single.is_empty() {
            Self::free(place);
        }
    }

    /// Aborts all remaining jobs, the newest first.
    pub fn free(place: &mut *mut Self) {
        if place.is_null() {
            return;
        }
        // SAFETY: made by `of` from a box; nobody else points to it.
        let mut older = unsafe { Box::from_raw(*place) };
        *place = null_mut();
        older.link.unlink();
        while let Some((_, record)) = older.single.pop_back() {
            drop(Pending::<J>::from_record(record));
        }
        while let Some(job) = older.jobs.pop() {
            abi::abandon(job);
        }
    }

    /// After a trap: the records on the stack are aborted when the stack is cleared.
    fn discard(link: *mut Link) {
        let mut place = link.cast::<Self>();
        Self::of(&mut place).single.retain(|(_, record)| record & KEPT != 0);
        Self::free(&mut place);
    }
}

impl Link {
    fn unlink(&mut self) {
        // SAFETY: both neighbours are on the list, so not freed.
        unsafe {
            match self.newer.as_mut() {
                Some(newer) => newer.older = self.older,
                None => LIST.newest.set(self.older),
            }
            if let Some(older) = self.older.as_mut() {
                older.newer = self.newer;
            }
        }
    }
}
