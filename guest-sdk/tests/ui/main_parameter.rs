pub struct Board;

#[sateen::main]
fn run(n: u64, board: Board) -> u64 {
    let _ = board;
    n
}

#[sateen::main]
fn borrowed(name: &str) -> u64 {
    name.len() as u64
}

fn main() {}
