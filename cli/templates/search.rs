//! In how many ways can N queens stand on an N by N board, so that none attacks another?
//!
//! A search: each job tries all columns of one row, and each free column is a job of its own, down to
//! a depth below which plain calls are enough.

use sateen::prelude::*;

/// Rows that are searched without spawning.
const PLAIN_ROWS: u32 = 6;

/// Counts the ways to fill the rows from `row` on. The bits of `columns`, `left` and `right` are the
/// squares of this row that queens above attack: straight down and along both diagonals.
#[job]
fn place(n: u32, row: u32, columns: u32, left: u32, right: u32) -> u64 {
    let board = (1 << n) - 1;
    if row + PLAIN_ROWS >= n {
        return count(board, columns, left, right);
    }
    let mut free = board & !(columns | left | right);
    let mut ways = Vec::new();
    while free != 0 {
        let queen = free & free.wrapping_neg();
        free ^= queen;
        ways.push(place::spawn(n, row + 1, columns | queen, (left | queen) << 1, (right | queen) >> 1));
    }
    ways.sync_all().iter().sum()
}

/// Like `place`, without spawning.
fn count(board: u32, columns: u32, left: u32, right: u32) -> u64 {
    if columns == board {
        return 1;
    }
    let mut free = board & !(columns | left | right);
    let mut ways = 0;
    while free != 0 {
        let queen = free & free.wrapping_neg();
        free ^= queen;
        ways += count(board, columns | queen, (left | queen) << 1, (right | queen) >> 1);
    }
    ways
}

/// The entry point: its parameter comes from the command line, its result is the output.
#[main]
fn main(n: u32) -> Result<u64, BadInput> {
    if !(1..=27).contains(&n) {
        return Err(BadInput(format!("a board has 1 to 27 rows, not {n}")));
    }
    Ok(place(n, 0, 0, 0, 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `sateen test` runs it in sandboxes as well.
    #[sateen::test]
    fn known_answers() {
        // OEIS A000170.
        for (n, ways) in [(1, 1), (2, 0), (6, 4), (8, 92), (10, 724)] {
            assert_eq!(main(n), Ok(ways), "{n} queens");
        }
    }

    #[test]
    fn boards_that_do_not_fit_are_refused() {
        assert!(main(0).is_err() && main(28).is_err());
    }
}
