use sateen::prelude::*;

#[job]
fn length(text: &str) -> u64 {
    text.len() as u64
}

#[job]
fn first(items: Vec<u64>, rest: &mut [u64]) -> u64 {
    items[0] + rest[0]
}

#[job]
fn name() -> &'static str {
    "name"
}

fn main() {}
