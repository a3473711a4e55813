//! The board as bit masks: bit 0 is A1, bit 1 is B1, bit 8 is A2.

use serde::{Deserialize, Serialize};

/// Columns B to G: a disc turned along a row or a diagonal is never at its end.
const INNER: u64 = 0x7e7e_7e7e_7e7e_7e7e;

/// The discs of the side to move, and of the opponent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// The discs of the side to move.
    pub own: u64,
    /// The discs of the opponent.
    pub other: u64,
}

impl Position {
    /// The start; Black is to move.
    pub const START: Self = Self { own: 0x0000_0008_1000_0000, other: 0x0000_0010_0800_0000 };

    /// Squares without a disc.
    #[inline(always)]
    pub fn empties(self) -> u32 {
        (!(self.own | self.other)).count_ones()
    }

    /// The squares that the side to move may play on.
    #[inline(always)]
    pub fn moves(self) -> u64 {
        let Self { own, other } = self;
        let inner = other & INNER;
        let found = (ahead::<1>(own, inner) << 1)
            | (ahead::<7>(own, inner) << 7)
            | (ahead::<8>(own, other) << 8)
            | (ahead::<9>(own, inner) << 9)
            | (behind::<1>(own, inner) >> 1)
            | (behind::<7>(own, inner) >> 7)
            | (behind::<8>(own, other) >> 8)
            | (behind::<9>(own, inner) >> 9);
        found & !(own | other)
    }

    /// The position after a move to a square that is among the moves; the opponent is to move.
    #[inline(always)]
    pub fn after(self, square: u32) -> Self {
        let Self { own, other } = self;
        let disc = 1 << square;
        let inner = other & INNER;
        let up = |run: u64, shift: u32| if (run << shift) & own == 0 { 0 } else { run };
        let down = |run: u64, shift: u32| if (run >> shift) & own == 0 { 0 } else { run };
        let turned = up(ahead::<1>(disc, inner), 1)
            | up(ahead::<7>(disc, inner), 7)
            | up(ahead::<8>(disc, other), 8)
            | up(ahead::<9>(disc, inner), 9)
            | down(behind::<1>(disc, inner), 1)
            | down(behind::<7>(disc, inner), 7)
            | down(behind::<8>(disc, other), 8)
            | down(behind::<9>(disc, inner), 9);
        Self { own: other ^ turned, other: own | disc | turned }
    }

    /// The same discs; the opponent is to move.
    #[inline(always)]
    pub fn passed(self) -> Self {
        Self { own: self.other, other: self.own }
    }

    /// The difference of the discs at the end of a game; empty squares go to the winner.
    pub fn difference(self) -> i32 {
        let difference = self.own.count_ones() as i32 - self.other.count_ones() as i32;
        difference + difference.signum() * self.empties() as i32
    }

    /// A hash of the position.
    #[inline(always)]
    pub fn hash(self) -> usize {
        let own = self.own.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = own ^ self.other.wrapping_mul(0xc2b2_ae3d_27d4_eb4f);
        ((mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 40) as usize
    }

    /// Reads 64 squares, A1 to H1 first: `X` or `*`, `O`, and `-` or `.` for none; and whose move it is.
    pub fn parse(squares: &str, side: &str) -> Result<Self, String> {
        let count = squares.chars().count();
        if count != 64 {
            return Err(format!("a position of {count} squares where 64 are expected"));
        }
        let (mut black, mut white) = (0, 0);
        for (nth, square) in squares.chars().enumerate() {
            match square {
                'X' | 'x' | '*' => black |= 1 << nth,
                'O' | 'o' => white |= 1 << nth,
                '-' | '.' => {}
                _ => {
                    let name = name(nth as u32);
                    return Err(format!("`{square}` on {name} where X, O or - is expected"));
                }
            }
        }
        match side {
            "X" | "x" | "*" => Ok(Self { own: black, other: white }),
            "O" | "o" => Ok(Self { own: white, other: black }),
            _ => Err(format!("`{side}` where the side to move is expected, X or O")),
        }
    }
}

/// The discs of `turned` in unbroken runs right after `from`, with `SHIFT` squares from each to
/// the next.
#[inline(always)]
fn ahead<const SHIFT: u32>(from: u64, turned: u64) -> u64 {
    let mut run = turned & (from << SHIFT);
    run |= turned & (run << SHIFT);
    let pairs = turned & (turned << SHIFT);
    run |= pairs & (run << (2 * SHIFT));
    run | (pairs & (run << (2 * SHIFT)))
}

/// As [`ahead`], in the other direction.
#[inline(always)]
fn behind<const SHIFT: u32>(from: u64, turned: u64) -> u64 {
    let mut run = turned & (from >> SHIFT);
    run |= turned & (run >> SHIFT);
    let pairs = turned & (turned >> SHIFT);
    run |= pairs & (run >> (2 * SHIFT));
    run | (pairs & (run >> (2 * SHIFT)))
}

/// The name of a square: a letter for the column, a digit for the row.
pub fn name(square: u32) -> String {
    format!("{}{}", char::from(b'A' + (square % 8) as u8), square / 8 + 1)
}

/// The squares of a mask, in order.
pub fn each(mut squares: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let square = squares.trailing_zeros();
        (squares != 0).then(|| {
            squares &= squares - 1;
            square
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes a move and turns discs, square by square.
    fn slowly(position: Position, square: u32) -> Option<Position> {
        let at = |discs: u64, x: i32, y: i32| {
            (0..8).contains(&x) && (0..8).contains(&y) && discs >> (x + 8 * y) & 1 == 1
        };
        let (x, y) = ((square % 8) as i32, (square / 8) as i32);
        if at(position.own | position.other, x, y) {
            return None;
        }
        let mut turned = 0_u64;
        for (dx, dy) in [(1, 0), (1, 1), (0, 1), (-1, 1), (-1, 0), (-1, -1), (0, -1), (1, -1)] {
            let run =
                (1..).take_while(|step| at(position.other, x + dx * step, y + dy * step)).count() as i32;
            if at(position.own, x + dx * (run + 1), y + dy * (run + 1)) {
                turned |= (1..=run).fold(0, |all, step| all | 1 << (x + dx * step + 8 * (y + dy * step)));
            }
        }
        (turned != 0)
            .then(|| Position { own: position.other ^ turned, other: position.own | turned | 1 << square })
    }

    #[test]
    fn masks_follow_the_rules_of_moves() {
        let mut state = 1_u64;
        for _ in 0..400 {
            let mut position = Position::START;
            loop {
                for square in 0..64 {
                    let after = (position.moves() >> square & 1 == 1).then(|| position.after(square));
                    assert_eq!(after, slowly(position, square), "{position:?} {square}");
                }
                let moves: Vec<u32> = each(position.moves()).collect();
                if moves.is_empty() {
                    break;
                }
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                position = position.after(moves[(state >> 33) as usize % moves.len()]);
            }
        }
    }

    #[test]
    fn squares_have_names_and_empty_ones_go_to_the_winner() {
        assert_eq!(
            (name(0), name(7), name(8), name(63)),
            ("A1".into(), "H1".into(), "A2".into(), "H8".into())
        );
        assert_eq!(Position { own: 7, other: 8 }.difference(), 62);
        assert_eq!(Position { own: 1, other: 8 }.difference(), 0);
    }
}
