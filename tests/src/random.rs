//! Random numbers derived from a printed seed.

use probe::mix;

/// A stream of numbers derived from a seed.
pub struct Random(u64);

impl Random {
    /// The stream of `seed`.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 = mix(self.0);
        self.0
    }

    /// A number below `count`.
    pub fn below(&mut self, count: usize) -> usize {
        (self.number() % count.max(1) as u64) as usize
    }
}

/// The seed in `SATEEN_SEED`, to reproduce a failure, or else `usual`. It is printed.
pub fn seed(usual: u64) -> u64 {
    let seed = match std::env::var("SATEEN_SEED") {
        Ok(text) => text.parse().expect("SATEEN_SEED is a number"),
        Err(_) => usual,
    };
    eprintln!("seed {seed}; SATEEN_SEED={seed} repeats this");
    seed
}
