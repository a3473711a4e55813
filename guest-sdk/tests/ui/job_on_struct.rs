use sateen::prelude::*;

#[job]
struct Board {
    rows: u64,
}

fn main() {}
