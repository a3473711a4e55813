use sateen::prelude::*;

#[job(name = "two words")]
fn words(n: u64) -> u64 {
    n
}

#[job(name = "")]
fn empty(n: u64) -> u64 {
    n
}

fn main() {}
