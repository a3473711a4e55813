//! What a host's runtime has been shown of a replica.

use std::collections::VecDeque;

use super::Replica;
use super::exchange::{Change, NewBase, Seen};
use super::tails::cost;
use crate::limits::SHARED_CONFIRMED_BYTES;

/// What the runtime has of a replica, as far as the state machine knows: the counterpart of the runtime's
/// [`View`](super::View).
///
/// The updates in the replica's log may have another order there. For each of them, this has whether it came from the
/// runtime. So it can be said which of them the runtime's bases contain.
#[derive(Debug, Clone)]
pub struct Shown {
    place: u64,
    /// How often the runtime was shown the whole object.
    generation: u64,
    base: Seen,
    seen: Seen,
    /// For each update in the replica's log, whether it came from the runtime.
    log: VecDeque<bool>,
    unconfirmed_bytes: usize,
}

impl Shown {
    /// The runtime has this place for the object, and has created the object itself or knows nothing of it.
    pub fn new(place: u64) -> Self {
        Self {
            place,
            generation: 0,
            base: Seen::default(),
            seen: Seen::default(),
            log: VecDeque::new(),
            unconfirmed_bytes: 0,
        }
    }

    /// The runtime's number for its place.
    pub fn place(&self) -> u64 {
        self.place
    }

    /// The whole object, which replaces what the runtime has.
    pub fn whole(&mut self, replica: &Replica) -> Change {
        let (base, updates) = replica.content();
        let updates: Vec<_> = updates.cloned().collect();
        self.generation += 1;
        self.base = Seen { own: self.seen.own, others: 0 };
        self.seen.others = updates.len() as u64;
        self.log = updates.iter().map(|_| false).collect();
        self.unconfirmed_bytes = 0;
        Change::Whole { base: base.clone(), updates, own: self.seen.own }
    }

    /// The updates that the replica has got since, from other hosts.
    pub fn more(&mut self, replica: &Replica) -> Change {
        let (_, updates) = replica.content();
        let updates: Vec<_> = updates.skip(self.log.len()).cloned().collect();
        for _ in &updates {
            self.seen.count(false);
            self.log.push_back(false);
        }
        self.unconfirmed_bytes = 0;
        Change::More { updates, own: self.seen.own }
    }

    /// An update came from the runtime, and `is_kept` if the replica has it now. Returns whether the runtime is to be
    /// notified that it has arrived.
    pub fn note_own(&mut self, update: &[u8], is_kept: bool) -> bool {
        self.seen.count(true);
        if is_kept {
            self.log.push_back(true);
        }
        self.unconfirmed_bytes += cost(update);
        self.unconfirmed_bytes >= SHARED_CONFIRMED_BYTES
    }

    /// The runtime has a new base. Returns, for each update in the replica's log, whether the base contains it; `None`
    /// if the base is of an object that was replaced meanwhile.
    pub fn set_base(&mut self, new: &NewBase) -> Option<Vec<bool>> {
        if new.generation != self.generation || !new.seen.is_within(self.base, self.seen) {
            return None;
        }
        let mut at = self.base;
        let contained: Vec<bool> =
            self.log.iter().map(|is_own| at.count(*is_own) < new.seen.of(*is_own)).collect();
        let mut of_each = contained.iter();
        self.log.retain(|_| of_each.next() == Some(&false));
        self.base = new.seen;
        Some(contained)
    }
}
