//! The value of a position for the side to move, in hundredths of a disc.

use crate::board::Position;

const CORNERS: u64 = 0x8100_0000_0000_0081;
/// The squares diagonally beside corners.
const BESIDE_CORNERS: u64 = 0x0042_0000_0000_4200;
/// The squares of the edge beside corners.
const NEXT_TO_CORNERS: u64 = 0x4281_0000_0000_8142;

/// The largest value of an unfinished game: less than a win of all discs.
const OPEN_MAX: i32 = 6_000;

/// The value of a finished game.
pub fn end(position: Position) -> i32 {
    100 * position.difference()
}

/// Estimates a position from the numbers of present and potential moves, and from the corners that
/// each side has or may get.
pub fn evaluate(position: Position) -> i32 {
    let Position { own, other } = position;
    let empty = !(own | other);
    let passed = position.passed();
    let (moves, replies) = (position.moves(), passed.moves());
    if moves | replies == 0 {
        return end(position);
    }
    let count = |squares: u64| squares.count_ones() as i32;
    // Squares around corners that are still empty.
    let exposed = around(empty & CORNERS);
    let beside = |discs: u64| {
        250 * count(discs & exposed & BESIDE_CORNERS) + 90 * count(discs & exposed & NEXT_TO_CORNERS)
    };
    let value = 70 * (count(moves) - count(replies))
        + 25 * (count(empty & around(other)) - count(empty & around(own)))
        + 800 * (count(own & CORNERS) - count(other & CORNERS))
        + 150 * (count(moves & CORNERS) - count(replies & CORNERS))
        + beside(other)
        - beside(own);
    value.clamp(-OPEN_MAX, OPEN_MAX)
}

/// All squares that touch one of `squares`.
pub fn around(squares: u64) -> u64 {
    const NOT_A: u64 = 0xfefe_fefe_fefe_fefe;
    const NOT_H: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    let row = squares | (squares << 1 & NOT_A) | (squares >> 1 & NOT_H);
    row | row << 8 | row >> 8
}

/// How promising the move to `square` is, which led to `after`: the fewer moves the opponent has
/// and might have, the better, and a corner counts as several moves.
#[inline(always)]
pub fn promise(square: u32, after: Position) -> i32 {
    let disc = 1_u64 << square;
    let empty = !(after.own | after.other);
    let corner = if disc & CORNERS != 0 { 40 } else { 0 };
    let risky = if disc & BESIDE_CORNERS & around(empty & CORNERS) != 0 { 24 } else { 0 };
    let replies = after.moves();
    let replies = replies.count_ones() + (replies & CORNERS).count_ones();
    corner - risky - 8 * replies as i32 - (empty & around(after.other)).count_ones() as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_is_as_bad_for_one_side_as_good_for_the_other() {
        let mut position = Position::START;
        for turn in 0.. {
            let moves: Vec<u32> = crate::board::each(position.moves()).collect();
            let Some(square) = moves.get(turn % 3 % moves.len().max(1)) else { break };
            position = position.after(*square);
            assert_eq!(evaluate(position), -evaluate(position.passed()));
        }
        assert_eq!(evaluate(Position { own: 3, other: 0 }), 6_400);
    }
}
