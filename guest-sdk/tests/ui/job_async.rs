use sateen::prelude::*;

#[job]
async fn later(n: u64) -> u64 {
    n
}

fn main() {}
