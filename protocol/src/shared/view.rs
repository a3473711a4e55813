//! A shared object as the guests of one host see it.

use std::collections::VecDeque;

use super::exchange::{Catchup, Change, NewBase, Seen};
use super::tails::cost;
use crate::Bytes;
use crate::limits::{SHARED_LOG_BYTES_MIN, SHARED_UNCONFIRMED_BYTES_MAX};

/// One update after the base.
#[derive(Debug, Clone)]
struct Logged {
    bytes: Bytes,
    /// Whether a guest here has made it.
    is_own: bool,
}

/// A shared object as the guests of one host see it: a base, and the updates since, in one order for all of them.
///
/// The host's state machine has a [`Replica`](super::Replica) of its own, in which the same updates may have another
/// order. What the two exchange are values: guests' updates and new bases in one direction, [changes](Change) in the
/// other, both in order. Updates that are in transit to the state machine when the view is replaced are applied to
/// the new one, so guests never lose what they have made.
///
/// *Positions* count the updates in the order of the view, from 1. A base has a position, and so does an instance. They
/// never decrease, not even when the view is replaced.
#[derive(Debug, Clone)]
pub struct View {
    base: Bytes,
    base_position: u64,
    base_seen: Seen,
    log: VecDeque<Logged>,
    log_bytes: usize,
    seen: Seen,
    /// How often it was replaced.
    generation: u64,
    /// The newest own updates, which the state machine is not known to have.
    unconfirmed: VecDeque<Bytes>,
    unconfirmed_bytes: usize,
}

impl View {
    /// A new object, created by a guest.
    pub fn new(initial: Bytes) -> Self {
        Self::starting(1, 0, initial, Seen::default())
    }

    fn starting(position: u64, generation: u64, base: Bytes, seen: Seen) -> Self {
        Self {
            base,
            base_position: position,
            base_seen: seen,
            log: VecDeque::new(),
            log_bytes: 0,
            seen,
            generation,
            unconfirmed: VecDeque::new(),
            unconfirmed_bytes: 0,
        }
    }

    // ---- getters ----

    /// The position after the last update.
    pub fn end(&self) -> u64 {
        self.base_position + self.log.len() as u64
    }

    /// Memory that it takes, in bytes.
    pub fn bytes(&self) -> usize {
        self.base.len() + self.log_bytes + self.unconfirmed_bytes
    }

    /// Whether the updates since the base take so much that a guest should make a new base.
    pub fn wants_base(&self) -> bool {
        self.log_bytes > self.base.len().max(SHARED_LOG_BYTES_MIN)
    }

    /// Whether too many updates are in transit to the state machine: guests that want to make more wait.
    pub fn is_crowded(&self) -> bool {
        self.unconfirmed_bytes > SHARED_UNCONFIRMED_BYTES_MAX
    }

    /// The updates that an instance at `position` lacks, and its position once it has applied them.
    pub fn since(&self, position: u64) -> (Catchup, u64) {
        let end = self.end();
        let catchup = match position.checked_sub(self.base_position) {
            Some(_) if position == end => Catchup::Nothing,
            Some(skip) if position < end => Catchup::Updates(self.log_from(skip as usize)),
            _ => Catchup::Whole(self.base.clone(), self.log_from(0)),
        };
        (catchup, end)
    }

    fn log_from(&self, skip: usize) -> Vec<Bytes> {
        self.log.iter().skip(skip).map(|update| update.bytes.clone()).collect()
    }

    // ---- changes ----

    /// A guest makes an update, which is then sent to the state machine.
    pub fn append(&mut self, bytes: Bytes) {
        self.unconfirmed_bytes += cost(&bytes);
        self.unconfirmed.push_back(bytes.clone());
        self.push(bytes, true);
    }

    fn push(&mut self, bytes: Bytes, is_own: bool) {
        self.seen.count(is_own);
        self.log_bytes += cost(&bytes);
        self.log.push_back(Logged { bytes, is_own });
    }

    /// Updates made here go to no state machine.
    pub fn confirm_all(&mut self) {
        self.confirm(self.seen.own);
    }

    /// The state machine has the own updates below this number.
    fn confirm(&mut self, own: u64) {
        let first = self.seen.own - self.unconfirmed.len() as u64;
        for bytes in self.unconfirmed.drain(..own.saturating_sub(first).min(self.seen.own - first) as usize) {
            self.unconfirmed_bytes -= cost(&bytes);
        }
    }

    /// Replaces the base with the value of a guest that has applied all updates up to `position`. Returns what is
    /// sent to the state machine; `None` if that position does not lie after the base, or is beyond the end.
    pub fn set_base(&mut self, position: u64, base: Bytes) -> Option<NewBase> {
        if position <= self.base_position || position > self.end() {
            return None;
        }
        for update in self.log.drain(..(position - self.base_position) as usize) {
            self.base_seen.count(update.is_own);
            self.log_bytes -= cost(&update.bytes);
        }
        self.base_position = position;
        self.base = base.clone();
        Some(NewBase { generation: self.generation, seen: self.base_seen, base })
    }

    /// Applies a change to the view in `place`, or puts it there if it is the first. Returns whether guests now see
    /// anything else.
    pub fn change(place: &mut Option<Self>, change: Change) -> bool {
        match (place, change) {
            (Some(view), Change::More { updates, own }) => {
                view.confirm(own);
                let is_any = !updates.is_empty();
                updates.into_iter().for_each(|bytes| view.push(bytes, false));
                is_any
            }
            // Nothing comes before the whole object.
            (None, Change::More { .. }) => false,
            (place, Change::Whole { base, updates, own }) => {
                let before = place.take().map(|mut view| {
                    view.confirm(own);
                    view
                });
                let (position, generation) =
                    before.as_ref().map_or((1, 1), |view| (view.end() + 1, view.generation + 1));
                let mut view = Self::starting(position, generation, base, Seen { own, others: 0 });
                updates.into_iter().for_each(|bytes| view.push(bytes, false));
                before.into_iter().flat_map(|view| view.unconfirmed).for_each(|bytes| view.append(bytes));
                *place = Some(view);
                true
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn update(byte: u8) -> Bytes {
        vec![byte].into()
    }

    /// The bytes of the updates that an instance at `position` lacks.
    fn since(view: &View, position: u64) -> Vec<u8> {
        match view.since(position).0 {
            Catchup::Nothing => Vec::new(),
            Catchup::Updates(updates) => updates.iter().map(|update| update[0]).collect(),
            Catchup::Whole(base, updates) => {
                base.iter().copied().chain(updates.iter().map(|update| update[0])).collect()
            }
        }
    }

    fn more(own: u64, updates: &[u8]) -> Change {
        Change::More { updates: updates.iter().copied().map(update).collect(), own }
    }

    #[test]
    fn an_instance_catches_up_from_any_position() {
        let mut view = View::new(update(0));
        let (_, position) = view.since(0);
        (1..4).for_each(|byte| view.append(update(byte)));
        assert_eq!(view.since(position).0, Catchup::Updates((1..4).map(update).collect()));
        let (_, position) = view.since(position);
        assert_eq!(view.since(position), (Catchup::Nothing, position));
        assert!(view.set_base(position, update(9)).is_some());
        assert!(view.set_base(position, update(9)).is_none(), "nothing came meanwhile");
        assert!(view.set_base(position + 1, update(9)).is_none(), "nobody is so far");
        assert_eq!(view.since(1).0, Catchup::Whole(update(9), Vec::new()));
        assert_eq!(view.since(position).0, Catchup::Nothing, "its value is this very base");
    }

    #[test]
    fn a_new_base_is_wanted_while_the_updates_since_the_last_one_take_much_memory() {
        let mut view = View::new(update(0));
        let half = SHARED_LOG_BYTES_MIN / 2;
        for (made, is_wanted) in [(1, false), (2, true), (3, true), (4, true)] {
            view.append(vec![0; half].into());
            assert_eq!(view.wants_base(), is_wanted, "{made}");
        }
        for (position, is_wanted) in [(2, true), (3, true), (4, false), (5, false)] {
            assert!(view.set_base(position, update(0)).is_some());
            assert_eq!(view.wants_base(), is_wanted, "{position}");
        }
    }

    #[test]
    fn nothing_made_here_is_lost_when_the_view_is_replaced() {
        let mut place = Some(View::new(update(0)));
        let view = place.as_mut().expect("created");
        (1..4).for_each(|byte| view.append(update(byte)));
        let end = view.end();
        assert!(View::change(&mut place, more(1, &[7])));
        assert!(View::change(
            &mut place,
            Change::Whole { base: update(5), updates: vec![update(1)], own: 2 }
        ));
        let view = place.as_mut().expect("replaced");
        assert_eq!(since(view, end), [5, 1, 3], "the third is still in transit");
        let new = view.set_base(view.end() - 1, update(6)).expect("after the base");
        assert_eq!((new.generation, new.seen), (1, Seen { own: 2, others: 1 }));
        let new = view.set_base(view.end(), update(6)).expect("after the base");
        assert_eq!(new.seen, Seen { own: 3, others: 1 });
        assert!(!View::change(&mut place, more(3, &[])));
        assert!(View::change(&mut place, Change::Whole { base: update(8), updates: Vec::new(), own: 3 }));
        assert_eq!(since(place.as_ref().expect("replaced"), 0), [8], "all were confirmed");
    }

    #[test]
    fn the_whole_object_comes_first() {
        let mut place = None;
        assert!(!View::change(&mut place, more(0, &[1])) && place.is_none());
        assert!(View::change(
            &mut place,
            Change::Whole { base: update(0), updates: vec![update(1)], own: 0 }
        ));
        assert!(View::change(&mut place, more(0, &[2])));
        assert_eq!(since(place.as_ref().expect("it has come"), 0), [0, 1, 2]);
    }

    #[test]
    fn updates_are_counted_until_the_state_machine_has_them() {
        let mut place = Some(View::new(update(0)));
        let view = place.as_mut().expect("created");
        let before = view.bytes();
        let long: Bytes = vec![0; SHARED_UNCONFIRMED_BYTES_MAX / 2].into();
        for is_crowded in [false, true, true] {
            view.append(long.clone());
            assert_eq!(view.is_crowded(), is_crowded);
        }
        assert!(view.set_base(view.end(), update(0)).is_some());
        assert_eq!(view.bytes(), before + 3 * cost(&long), "they may be needed if the view is replaced");
        for (own, is_crowded) in [(0, true), (1, true), (2, false), (2, false), (9, false)] {
            View::change(&mut place, more(own, &[]));
            assert_eq!(place.as_ref().map(View::is_crowded), Some(is_crowded), "{own}");
        }
        assert_eq!(place.as_ref().map(View::bytes), Some(before));
    }
}
