//! The board as bit masks, with one bit per column.

use serde::{Deserialize, Serialize};

/// A board whose first rows hold one queen each, none attacking another.
///
/// The empty rows only need to know which columns of the *next* row are attacked: straight
/// from above, and along the diagonals. Each row shifts the diagonals by one column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Board {
    /// All columns of the board.
    all: u32,
    /// Columns that hold a queen.
    taken: u32,
    /// Columns attacked along the diagonals that move towards higher bits.
    rising: u32,
    /// Columns attacked along the diagonals that move towards lower bits.
    falling: u32,
}

impl Board {
    /// A board of `size` rows and columns, 1 to 31, without queens.
    pub fn empty(size: u32) -> Self {
        Self { all: (1 << size) - 1, taken: 0, rising: 0, falling: 0 }
    }

    /// The rows without a queen.
    pub fn empty_rows(self) -> u32 {
        (self.all ^ self.taken).count_ones()
    }

    /// The columns of the next row that no queen attacks.
    pub fn free_columns(self) -> u32 {
        self.all & !(self.taken | self.rising | self.falling)
    }

    /// The columns of the next row that no queen attacks, each as a single bit.
    pub fn each_free_column(self) -> impl Iterator<Item = u32> {
        let free = self.free_columns();
        (0..u32::BITS).map(|column| 1 << column).filter(move |column| free & column != 0)
    }

    /// The board with a queen on `column`, a single bit, in the next row.
    #[inline]
    pub fn with_queen(self, column: u32) -> Self {
        Self {
            all: self.all,
            taken: self.taken | column,
            rising: (self.rising | column) << 1,
            falling: (self.falling | column) >> 1,
        }
    }

    /// The number of solutions with a queen on one of `columns` in the next row.
    ///
    /// Depth first with an explicit stack: a guest checks at each call and each turn of a loop
    /// whether to stop, and here a placed queen is one turn and no call.
    pub fn solutions(self, columns: u32) -> u64 {
        // Rows to return to. A board has at most 31, and the masked index shows that to the compiler.
        let mut waiting = [(self, 0); 32];
        let mut depth = 0;
        let (mut board, mut columns) = (self, columns);
        let mut solutions = 0;
        loop {
            while columns == 0 {
                if depth == 0 {
                    return solutions;
                }
                depth -= 1;
                (board, columns) = waiting[depth % 32];
            }
            let column = columns & columns.wrapping_neg();
            columns ^= column;
            let below = board.with_queen(column);
            let columns_below = below.free_columns();
            if columns_below != 0 {
                if columns != 0 {
                    waiting[depth % 32] = (board, columns);
                    depth += 1;
                }
                (board, columns) = (below, columns_below);
            } else if below.taken == below.all {
                solutions += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queen_attacks_its_column_and_both_diagonals() {
        let board = Board::empty(5).with_queen(0b00100);
        assert_eq!(board.free_columns(), 0b10001);
        assert_eq!(board.empty_rows(), 4);
        assert_eq!(board.with_queen(0b00001).free_columns(), 0b01000);
    }

    #[test]
    fn only_the_given_columns_are_tried() {
        let board = Board::empty(6);
        let each: Vec<u64> = (0..6).map(|column| board.solutions(1 << column)).collect();
        assert_eq!(each, [0, 1, 1, 1, 1, 0], "the first queens of the four solutions");
        assert_eq!(board.solutions(0), 0);
    }
}
