//! N queens: in how many ways can n queens stand on an n × n board so that none attacks another?
//!
//! The board is filled row by row. A job is a board and the columns that it may still try in the
//! next row: it spawns all columns except the first and follows the first itself. So the job that waits
//! longest is the largest part of the work, and an idle worker gets that job. Plain code counts the last
//! `PLAIN_ROWS` rows.

mod board;

pub use board::Board;
use sateen::prelude::*;

/// Boards with at most this many empty rows are counted without spawning: about 3 µs of work for
/// the boards of 14 queens, a thousandth of the millisecond after which an idle worker gets a job, and
/// hundreds of times the cost of a spawn.
pub const PLAIN_ROWS: u32 = 9;

/// The largest board: nobody has counted more than 27 queens (OEIS A000170).
const SIZE_MAX: u64 = 27;

// ANCHOR: set
/// The number of solutions for `n` queens.
///
/// # Errors
/// When `n` is not from 1 to 27.
#[main]
pub fn main(n: u64) -> Result<u64, BadInput> {
    let board = empty_board(n)?;
    // The first row column by column, to report the progress: each column counts when it is done, and not when those that
    // were spawned after it are done as well.
    let mut columns = JobSet::new();
    for column in board.each_free_column() {
        count::spawn_in(&mut columns, board, column);
    }
    let total = columns.len() as u64;
    let mut solutions = 0;
    while let Some((_, below)) = columns.next() {
        solutions += below;
        sateen::progress(total - columns.len() as u64, total);
    }
    Ok(solutions)
}
// ANCHOR_END: set

/// The same count without spawns: the baseline of the spawning version.
///
/// # Errors
/// When `n` is not from 1 to 27.
#[main]
pub fn plain(n: u64) -> Result<u64, BadInput> {
    let board = empty_board(n)?;
    Ok(board.solutions(board.free_columns()))
}

/// The solutions that have a queen on one of `columns` in the next row of `board`.
///
/// `columns` must not be empty.
#[job]
fn count(board: Board, columns: u32) -> u64 {
    if board.empty_rows() <= PLAIN_ROWS {
        return board.solutions(columns);
    }
    let first = columns & columns.wrapping_neg();
    let others = columns ^ first;
    if others == 0 {
        return count_below(board, first);
    }
    let others = count::spawn(board, others);
    let solutions = count_below(board, first);
    solutions + others.sync()
}

/// The solutions that have a queen on `column` in the next row of `board`.
fn count_below(board: Board, column: u32) -> u64 {
    let below = board.with_queen(column);
    match below.free_columns() {
        0 => 0,
        columns => count(below, columns),
    }
}

fn empty_board(n: u64) -> Result<Board, BadInput> {
    match u32::try_from(n) {
        Ok(size) if (1..=SIZE_MAX).contains(&n) => Ok(Board::empty(size)),
        _ => Err(BadInput(format!("n is {n}, but boards have 1 to {SIZE_MAX} rows"))),
    }
}
