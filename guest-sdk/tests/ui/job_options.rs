use sateen::prelude::*;

#[job(priority = 3)]
fn urgent(n: u64) -> u64 {
    n
}

#[job(name)]
fn nameless(n: u64) -> u64 {
    n
}

#[job(name = 7)]
fn numbered(n: u64) -> u64 {
    n
}

#[job("count")]
fn quoted(n: u64) -> u64 {
    n
}

fn main() {}
