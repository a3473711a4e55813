pub struct Board;

#[sateen::main]
fn run(n: u64) -> Board {
    let _ = n;
    Board
}

#[sateen::main]
fn list(n: u64) -> Result<Vec<u64>, String> {
    Ok(vec![n])
}

fn main() {}
