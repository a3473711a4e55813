use sateen::prelude::*;

#[job]
fn count(n: u64) -> u64 {
    n
}

#[job]
fn count(n: u64) -> u64 {
    n + 1
}

fn main() {}
