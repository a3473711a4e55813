use sateen::prelude::*;

#[job]
unsafe fn careless(n: u64) -> u64 {
    n
}

#[job]
extern "C" fn foreign(n: u64) -> u64 {
    n
}

fn main() {}
