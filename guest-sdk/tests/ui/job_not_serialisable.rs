use sateen::prelude::*;

struct Board {
    rows: u64,
}

#[job]
fn count(n: u64, board: Board) -> u64 {
    n + board.rows
}

#[job]
fn make(n: u64) -> Board {
    Board { rows: n }
}

fn main() {}
