//! What was found out about positions (a transposition table): true wherever it is read, so it may be
//! lost, or kept, without any answer changing.

use crate::board::Position;

/// How many facts are kept.
const FACTS: usize = 1 << 16;

/// No move is known to be good.
pub const NO_SQUARE: u8 = 64;

/// Between what the value of a position is, when it is searched so deep.
#[derive(Debug, Clone, Copy)]
pub struct Fact {
    position: Position,
    depth: u8,
    /// The last move that was found to refute, or [`NO_SQUARE`].
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
}

/// Facts by position. Of two that fall together the deeper one is kept, and the newer one beside it.
pub struct Table {
    facts: Vec<Fact>,
}

impl Table {
    pub fn new() -> Self {
        Self { facts: vec![Fact::NOTHING; FACTS] }
    }

    /// What is known.
    #[inline(always)]
    pub fn get(&self, position: Position, depth: u32) -> Fact {
        let place = place(position);
        // The mask shows that both are there.
        for place in [place, place ^ 1] {
            let fact = &self.facts[place % FACTS];
            if fact.position == position && u32::from(fact.depth) == depth {
                return *fact;
            }
        }
        Fact::NOTHING
    }

    /// Keeps whether the value of a position is at least `beta`, and by which move.
    pub fn put(&mut self, position: Position, depth: u32, beta: i32, refutation: Option<u32>) {
        let mut fact = self.get(position, depth);
        fact.position = position;
        fact.depth = depth as u8;
        // Values are within 6400.
        match refutation {
            Some(square) => {
                fact.low = fact.low.max(beta as i16);
                fact.square = square as u8;
            }
            None => fact.high = fact.high.min((beta - 1) as i16),
        }
        let place = place(position);
        let deep = &mut self.facts[place % FACTS];
        if deep.depth <= fact.depth || deep.position == position {
            *deep = fact;
        } else {
            self.facts[(place ^ 1) % FACTS] = fact;
        }
    }
}

#[inline(always)]
fn place(position: Position) -> usize {
    let mixed =
        position.own.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ position.other.wrapping_mul(0xc2b2_ae3d_27d4_eb4f);
    ((mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 40) as usize & !1
}
