//! Latent jobs: those that only the guest knows. They are spawned and have not begun. They lie on a stack in the guest's
//! memory, where its host counts them.

use sateen_abi::stack::{BYTES, FLOOR, HOLE, JOB, KEPT, MARKS, TOP};

use crate::scheduler::DEPTHS;

/// Longer stacks are counted less often.
const SHORT_BYTES: u32 = 8 << 10;
/// Samples between two counts of a long stack: a count takes up to some 50 µs.
const SAMPLES_BETWEEN: u32 = 32;
/// More records than an honest guest's stack holds.
const RECORDS_MAX: u64 = 1 << 16;

/// An instance's latent jobs.
#[derive(Debug)]
pub struct Latent {
    /// The address of the words, and the place in a kind's record of the length of its jobs' records.
    words: Option<(u32, u32)>,
    count: u64,
    /// The same by the depth of the spawn, as they were counted last; deeper ones count as the deepest.
    by_depth: [u32; DEPTHS],
    /// Samples since the last count.
    age: u32,
}

impl Default for Latent {
    fn default() -> Self {
        Self { words: None, count: 0, by_depth: [0; DEPTHS], age: 0 }
    }
}

impl Latent {
    /// The guest shows its stack.
    pub fn show(&mut self, words: u32, length_at: u32) {
        self.words = Some((words, length_at));
    }

    /// Whether the guest shows its stack.
    pub fn is_shown(&self) -> bool {
        self.words.is_some()
    }

    /// How many there were when they were counted last, by the depth of their spawn; those below the deepest count as that deep.
    pub fn by_depth(&self) -> &[u32; DEPTHS] {
        &self.by_depth
    }

    /// How many there were when they were counted last, without those that were exposed since.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// One was exposed. Returns false if it was spawned after the last count.
    pub fn expose(&mut self) -> bool {
        let is_counted = self.count > 0;
        self.count = self.count.saturating_sub(1);
        is_counted
    }

    /// Counts them, unless that would take long and they were counted not long ago. Returns how many there were before.
    pub fn count_if_due(&mut self, memory: &[u8]) -> Option<u64> {
        let before = self.count;
        let Some((words, length_at)) = self.words else { return Some(before) };
        let word = |place: usize| number(memory, words as usize + place);
        let (Some(floor), Some(top), Some(kept)) = (word(FLOOR), word(TOP), word(KEPT)) else {
            return Some(before);
        };
        self.age += 1;
        if top.saturating_sub(floor) > SHORT_BYTES && self.age < SAMPLES_BETWEEN {
            return None;
        }
        self.age = 0;
        let last = count(memory, floor, top, length_at, &mut self.by_depth);
        let kept = u64::from(kept).min(RECORDS_MAX);
        // As a rule they were spawned where the last one was for which there was room.
        self.by_depth[last] += kept as u32;
        self.count = self.by_depth.iter().map(|count| u64::from(*count)).sum();
        Some(before)
    }

    /// They are to be counted at the next sample.
    pub fn be_due(&mut self) {
        self.age = SAMPLES_BETWEEN;
    }

    /// The instance has ended; returns how many there were at the last count.
    pub fn end(&mut self) -> u64 {
        self.be_due();
        std::mem::take(&mut self.count)
    }
}

/// Counts the latent records from `floor` to `top` by depth; returns the depth of the last. Stops where no honest guest has a
/// record.
fn count(memory: &[u8], floor: u32, top: u32, length_at: u32, by_depth: &mut [u32; DEPTHS]) -> usize {
    by_depth.fill(0);
    let (mut at, mut last) = (floor, 0);
    let (mut kind, mut length) = (0, 0);
    for _ in 0..RECORDS_MAX {
        if at >= top {
            break;
        }
        let Some(first) = number(memory, at as usize) else { break };
        if first & !MARKS != kind || length == 0 {
            kind = first & !MARKS;
            length = number(memory, kind as usize + length_at as usize).unwrap_or(0);
        }
        let Some(next) = at.checked_add(length).filter(|next| *next > at) else { break };
        if first & HOLE == 0 {
            let depth = number(memory, at as usize + JOB).unwrap_or(0);
            last = (depth as usize).min(DEPTHS - 1);
            by_depth[last] += 1;
        }
        at = next;
    }
    last
}

fn number(memory: &[u8], at: usize) -> Option<u32> {
    let bytes = memory.get(at..at.checked_add(4)?)?;
    bytes.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))
}

const _: () = assert!(BYTES == KEPT + 4);

#[cfg(test)]
mod tests {
    use super::*;

    const KIND: u32 = 64;
    const OTHER: u32 = 96;
    const LENGTH_AT: u32 = 24;
    const STACK: u32 = 128;

    /// A guest with these records, of which each is spawned one level deeper than the one before, and `kept` jobs that found no
    /// room.
    fn memory(records: &[(u32, u32)], kept: u32) -> Vec<u8> {
        let mut memory = vec![0; 64 << 10];
        let mut put = |at: u32, word: u32| {
            memory[at as usize..at as usize + 4].copy_from_slice(&word.to_le_bytes());
        };
        put(KIND + LENGTH_AT, 16);
        put(OTHER + LENGTH_AT, 40);
        let mut top = STACK;
        for (depth, (kind, marks)) in records.iter().enumerate() {
            put(top, kind | marks);
            put(top + JOB as u32, depth as u32);
            top += if *kind == KIND { 16 } else { 40 };
        }
        put(FLOOR as u32, STACK);
        put(TOP as u32, top);
        put(KEPT as u32, kept);
        memory
    }

    fn shown() -> Latent {
        let mut latent = Latent::default();
        latent.show(0, LENGTH_AT);
        latent
    }

    #[test]
    fn records_without_the_mark_of_a_hole_are_latent() {
        let mut latent = shown();
        let memory = memory(&[(KIND, 0), (OTHER, HOLE), (OTHER, 0), (KIND, MARKS), (KIND, 0)], 4);
        assert_eq!(latent.count_if_due(&memory), Some(0));
        assert_eq!(latent.count(), 3 + 4);
        assert_eq!(latent.by_depth()[..6], [1, 0, 1, 0, 1 + 4, 0]);
        assert!(latent.expose());
        assert_eq!(latent.count(), 6);
        assert_eq!(latent.end(), 6);
        assert!(!latent.expose(), "none was counted");
    }

    #[test]
    fn a_long_stack_is_counted_now_and_then() {
        let mut latent = shown();
        latent.end();
        let long = memory(&vec![(KIND, 0); 1000], 0);
        assert!(latent.count_if_due(&long).is_some(), "the first time");
        assert_eq!(latent.count(), 1000);
        let longer = memory(&vec![(KIND, 0); 1100], 0);
        let unchanged = (0..SAMPLES_BETWEEN - 1).all(|_| latent.count_if_due(&longer).is_none());
        assert!(unchanged && latent.count() == 1000);
        assert_eq!(latent.count_if_due(&longer), Some(1000));
        assert_eq!(latent.count(), 1100);
        let short = memory(&[(KIND, 0)], 0);
        assert_eq!(latent.count_if_due(&short), Some(1100));
        assert_eq!(latent.count(), 1);
    }

    #[test]
    fn whatever_a_guest_shows_is_counted_to_an_end() {
        let endless = memory(&[(0, 0); 3], 0);
        let mut latent = shown();
        assert!(latent.count_if_due(&endless).is_some());
        for (words, length_at) in [(0, u32::MAX), (u32::MAX - 3, 0), (65_534, 0), (0, 65_532)] {
            latent.show(words, length_at);
            latent.count_if_due(&endless);
        }
        let mut all = vec![0xff; 64 << 10];
        all[FLOOR..4].copy_from_slice(&[0; 4]);
        let mut latent = shown();
        latent.end();
        latent.count_if_due(&all);
        assert!(latent.count() <= 2 * RECORDS_MAX);
    }
}
