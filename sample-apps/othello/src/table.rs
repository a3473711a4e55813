//! Facts about positions (a transposition table): they are true everywhere, so they may be
//! lost, or kept, without changing any answer.

use serde::{Deserialize, Serialize};

use crate::board::Position;

/// Facts that are kept.
const FACTS: usize = 1 << 16;

/// No move is known to be good.
pub const NO_SQUARE: u8 = 64;

/// Bounds on the value of a position, searched to a given depth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fact {
    pub position: Position,
    pub depth: u8,
    /// The last move found to refute, or [`NO_SQUARE`].
    pub square: u8,
    /// The value is at least this.
    pub low: i16,
    /// The value is at most this.
    pub high: i16,
}

impl Fact {
    const NOTHING: Self = Self {
        position: Position { own: 0, other: 0 },
        depth: 0,
        square: NO_SQUARE,
        low: i16::MIN,
        high: i16::MAX,
    };

    /// A position, searched to `depth`, is worth at least `beta` if a move refutes, and less if none does.
    pub fn of(position: Position, depth: u32, beta: i32, refutation: Option<u32>) -> Self {
        // Values are within 6400.
        let bounds = match refutation {
            Some(_) => (beta as i16, i16::MAX),
            None => (i16::MIN, (beta - 1) as i16),
        };
        let square = refutation.map_or(NO_SQUARE, |square| square as u8);
        Self { position, depth: depth as u8, square, low: bounds.0, high: bounds.1 }
    }

    /// Whether this is about a position searched to this depth.
    #[inline(always)]
    pub fn is_about(&self, position: Position, depth: u32) -> bool {
        self.position == position && u32::from(self.depth) == depth
    }

    /// Adds the bounds of another fact about the same.
    pub fn add(&mut self, other: Self) {
        self.low = self.low.max(other.low);
        self.high = self.high.min(other.high);
        if other.square != NO_SQUARE {
            self.square = other.square;
        }
    }
}

/// Facts by position. If two share a place, the deeper one is kept, and the newer one beside it.
pub struct Table {
    facts: Vec<Fact>,
}

impl Table {
    pub fn new() -> Self {
        Self { facts: vec![Fact::NOTHING; FACTS] }
    }

    /// The known facts.
    #[inline(always)]
    pub fn get(&self, position: Position, depth: u32) -> Fact {
        let place = position.hash() & !1;
        // The mask shows the compiler that both places exist.
        for place in [place, place ^ 1] {
            let fact = &self.facts[place % FACTS];
            if fact.is_about(position, depth) {
                return *fact;
            }
        }
        Fact::NOTHING
    }

    /// Keeps whether the value of a position is at least `beta`, and by which move.
    pub fn put(&mut self, position: Position, depth: u32, beta: i32, refutation: Option<u32>) {
        let mut fact = Fact::of(position, depth, beta, refutation);
        let known = self.get(position, depth);
        if known.is_about(position, depth) {
            let found = fact;
            fact = known;
            fact.add(found);
        }
        let place = position.hash() & !1;
        let deep = &mut self.facts[place % FACTS];
        if deep.depth <= fact.depth || deep.position == position {
            *deep = fact;
        } else {
            self.facts[(place ^ 1) % FACTS] = fact;
        }
    }
}
