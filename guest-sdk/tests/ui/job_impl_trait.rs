use sateen::prelude::*;

#[job]
fn total(numbers: impl Iterator<Item = u64>) -> u64 {
    numbers.sum()
}

#[job]
fn numbers(n: u64) -> impl Iterator<Item = u64> {
    0..n
}

fn main() {}
