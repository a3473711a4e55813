//! Alpha-beta with null windows, for the questions of MTD(f): does a position have at least a given value?
//!
//! An answer is yes or no, never a bound: it depends only on the question, whatever the table contains.

use serde::{Deserialize, Serialize};

use crate::board::{Position, each};
use crate::evaluate::{end, evaluate, promise};
use crate::table::{NO_SQUARE, Table};

/// Below this depth, moves are tried in the order of the squares, and no facts are kept.
const SHALLOW: u32 = 3;

/// Above the maximum number of moves in any position.
const MOVES_MAX: usize = 40;

/// Is the position, searched to `depth`, worth at least `beta` hundredths of a disc to the side to move? If
/// the depth is the number of empty squares, the value is exact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    pub position: Position,
    pub depth: u32,
    pub beta: i32,
}

impl Question {
    /// The question for the opponent after a move. The position is worth `beta` if the opponent's answer
    /// is *no*.
    pub fn after(self, square: u32) -> Self {
        Self { position: self.position.after(square), depth: self.depth - 1, beta: 1 - self.beta }
    }

    /// The question for the opponent after passing.
    pub fn passed(self) -> Self {
        Self { position: self.position.passed(), depth: self.depth, beta: 1 - self.beta }
    }
}

/// The state of a question before any move is tried.
pub enum Opening {
    /// The answer.
    Answered(bool),
    /// There is no move: the answer is the opposite of this question's answer.
    Pass(Question),
    /// The moves, the most promising first.
    Moves(Moves),
}

/// Moves, in the order in which they are tried.
pub struct Moves {
    squares: [u8; MOVES_MAX],
    count: usize,
}

impl Moves {
    fn of(position: Position, moves: u64, first: u8) -> Self {
        let mut list = [(0, NO_SQUARE); MOVES_MAX];
        let mut count = 0;
        for square in each(moves) {
            let promise =
                if square as u8 == first { i32::MAX } else { promise(square, position.after(square)) };
            let mut place = count;
            while place > 0 && list[place - 1].0 < promise {
                list[place] = list[place - 1];
                place -= 1;
            }
            list[place] = (promise, square as u8);
            count += 1;
        }
        Self { squares: list.map(|(_, square)| square), count }
    }

    /// The squares.
    pub fn squares(&self) -> impl DoubleEndedIterator<Item = u32> {
        self.squares[..self.count].iter().map(|square| u32::from(*square))
    }
}

/// A search and its facts.
pub struct Search<'a> {
    pub table: &'a mut Table,
    /// Positions that were visited.
    pub nodes: u64,
}

impl Search<'_> {
    /// Begins a question whose depth is not 0.
    pub fn open(&mut self, question: Question) -> Opening {
        let Question { position, depth, beta } = question;
        self.nodes += 1;
        let moves = position.moves();
        if moves == 0 {
            let passed = question.passed();
            if passed.position.moves() == 0 {
                return Opening::Answered(end(position) >= beta);
            }
            return Opening::Pass(passed);
        }
        let known = self.table.get(position, depth);
        if i32::from(known.low) >= beta {
            return Opening::Answered(true);
        }
        if i32::from(known.high) < beta {
            return Opening::Answered(false);
        }
        Opening::Moves(Moves::of(position, moves, known.square))
    }

    /// Keeps an answer.
    pub fn close(&mut self, question: Question, refutation: Option<u32>) {
        self.table.put(question.position, question.depth, question.beta, refutation);
    }

    /// The answer.
    pub fn is_worth(&mut self, question: Question) -> bool {
        if question.depth < SHALLOW {
            return self.is_worth_shallow(question);
        }
        match self.open(question) {
            Opening::Answered(answer) => answer,
            Opening::Pass(passed) => !self.is_worth(passed),
            Opening::Moves(moves) => {
                let refutation = moves.squares().find(|square| !self.is_worth(question.after(*square)));
                self.close(question, refutation);
                refutation.is_some()
            }
        }
    }

    fn is_worth_shallow(&mut self, question: Question) -> bool {
        let Question { position, depth, beta } = question;
        self.nodes += 1;
        if depth == 0 {
            let value = if position.empties() == 0 { end(position) } else { evaluate(position) };
            return value >= beta;
        }
        let mut moves = position.moves();
        if moves == 0 {
            let passed = question.passed();
            if passed.position.moves() == 0 {
                return end(position) >= beta;
            }
            return !self.is_worth_shallow(passed);
        }
        while moves != 0 {
            let square = moves.trailing_zeros();
            moves &= moves - 1;
            if !self.is_worth_shallow(question.after(square)) {
                return true;
            }
        }
        false
    }
}

/// The value of a position, found by asking whether it reaches a value, beginning with `guess`: MTD(f)
/// (Plaat, Schaeffer, Pijls and de Bruin, 1996), with steps that double, since an answer is not a bound.
/// Values are multiples of `unit`, from -6400 to 6400.
pub fn value_by_asking(guess: i32, unit: i32, mut is_worth: impl FnMut(i32) -> bool) -> i32 {
    const MOST: i32 = 6_400;
    let guess = guess.div_euclid(unit) * unit;
    let (mut low, mut high) = (-MOST, MOST);
    let mut step = unit;
    let mut beta = guess.clamp(low + unit, high);
    while low < high {
        let is_above = is_worth(beta);
        if is_above {
            low = beta;
        } else {
            high = beta - unit;
        }
        let ahead = if is_above { low + step } else { high - step + unit };
        // Once both bounds are known, bisection takes fewer steps than doubling.
        beta = if low > -MOST && high < MOST {
            low + (high - low + unit).div_euclid(2 * unit) * unit
        } else {
            ahead.clamp(low + unit, high.max(low + unit))
        };
        step *= 2;
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The value by trying all moves.
    fn slowly(position: Position, depth: u32) -> i32 {
        if depth == 0 {
            return evaluate(position);
        }
        let moves = position.moves();
        if moves == 0 {
            let passed = position.passed();
            return if passed.moves() == 0 { end(position) } else { -slowly(passed, depth) };
        }
        each(moves).map(|square| -slowly(position.after(square), depth - 1)).max().unwrap_or(0)
    }

    #[test]
    fn values_agree_with_exhaustive_search() {
        let mut state = 3_u64;
        for game in 0..30 {
            let mut position = Position::START;
            let mut table = Table::new();
            for _ in 0..game * 2 {
                let moves: Vec<u32> = each(position.moves()).collect();
                if moves.is_empty() {
                    break;
                }
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                position = position.after(moves[(state >> 33) as usize % moves.len()]);
            }
            for depth in 0..=5 {
                let mut search = Search { table: &mut table, nodes: 0 };
                let guess = state as i32 % 3000;
                let value =
                    value_by_asking(guess, 1, |beta| search.is_worth(Question { position, depth, beta }));
                assert_eq!(value, slowly(position, depth), "{position:?} {depth}");
            }
        }
    }

    #[test]
    fn questions_find_every_value_from_every_guess() {
        for unit in [1, 200] {
            for value in [-6400, -6200, -400, 0, 200, 3400, 6200, 6400] {
                for guess in [-9000, -6400, -333, 0, 199, 200, 6400, 7000] {
                    let mut asked = 0;
                    let found = value_by_asking(guess, unit, |beta| {
                        asked += 1;
                        value >= beta
                    });
                    assert_eq!(found, value, "unit {unit}, guess {guess}");
                    assert!(asked <= 30, "{asked} questions");
                }
            }
        }
    }
}
