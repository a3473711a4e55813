//! A random program with shared objects: their updates may arrive in any order, and none may be lost or
//! applied twice.

use sateen::prelude::*;
use serde::{Deserialize, Serialize};

use crate::mix;

/// Sums that do not depend on the order of additions.
#[derive(Serialize, Deserialize, Default)]
pub struct Tally {
    sum: u64,
    mixed: u64,
    count: u64,
    words: Vec<u64>,
}

#[shared]
impl Tally {
    #[update]
    fn add(&mut self, number: u64) {
        self.sum = self.sum.wrapping_add(number);
        self.mixed ^= mix(number.wrapping_add(7));
        self.count += 1;
    }

    #[update]
    fn add_many(&mut self, numbers: Vec<u64>, text: String) {
        assert_eq!(text, numbers.len().to_string(), "the update was damaged");
        for number in numbers {
            self.add(number);
            self.words.push(number);
        }
    }
}

impl Tally {
    fn digest(&self) -> u64 {
        let mut words = self.words.clone();
        words.sort_unstable();
        let words = words.iter().fold(0, |all, word| mix(all ^ word));
        mix(self.sum ^ mix(self.mixed ^ mix(self.count ^ words)))
    }
}

#[allow(clippy::ptr_arg, reason = "a guard gets references to the parameters as they are")]
fn has_count(tallies: &Vec<Shared<Tally>>, counts: &Vec<u64>, _seed: &u64, _depth: &u32) -> bool {
    tallies.iter().zip(counts).all(|(tally, count)| tally.read().count >= *count)
}

/// A node that receives the counts that its parent has seen.
#[job(guard = has_count)]
pub fn sharer(tallies: Vec<Shared<Tally>>, counts: Vec<u64>, seed: u64, depth: u32) -> u64 {
    assert!(has_count(&tallies, &counts, &seed, &depth), "a replica went back");
    body(&tallies, seed, depth)
}

fn body(tallies: &[Shared<Tally>], seed: u64, depth: u32) -> u64 {
    let mut state = seed;
    let mut below = |count: u64| {
        state = mix(state);
        state % count
    };
    for _ in 0..below(4) {
        let tally = &tallies[below(tallies.len() as u64) as usize];
        let before = tally.read().count;
        if below(3) == 0 {
            let numbers: Vec<u64> = (0..below(20)).map(|_| below(1 << 40)).collect();
            let (more, text) = (numbers.len() as u64, numbers.len().to_string());
            tally.add_many(numbers, text);
            assert!(tally.read().count >= before + more, "an own update is missing");
        } else {
            tally.add(below(1 << 40));
            assert!(tally.read().count > before, "an own update is missing");
        }
    }
    if depth == 0 {
        let reading = tallies[0].read();
        tallies[0].add(seed);
        assert!(below(20) != 0, "leaf {seed} fails with {}", reading.count.min(1));
        return mix(seed);
    }
    // Some nodes share a new object with the nodes below them.
    let own = (below(4) == 0).then(|| Shared::new(Tally::default()));
    let shared: Vec<Shared<Tally>> = tallies.iter().chain(&own).cloned().collect();
    let counts: Vec<u64> = shared.iter().map(|tally| tally.read().count).collect();
    let children: Vec<_> = (0..below(5))
        .map(|_| sharer::spawn(shared.clone(), counts.clone(), below(1 << 50), depth - 1))
        .collect();
    let mut value = 0;
    for child in children {
        // Every child is synced, as the updates of an aborted child would be unknown.
        value = mix(value ^ child.try_sync().unwrap_or(seed));
    }
    own.map_or(value, |own| mix(value ^ own.read().digest()))
}

/// The value of the program with this seed.
#[main]
pub fn shared_program(seed: u64, depth: u32) -> u64 {
    let tallies: Vec<_> = (0..1 + seed % 3).map(|_| Shared::new(Tally::default())).collect();
    let value = body(&tallies, seed, depth);
    tallies.iter().fold(value, |value, tally| mix(value ^ tally.read().digest()))
}
