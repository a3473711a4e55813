//! Prints what happens in a history: `cargo run --release -p sateen-histories --example history -- SEED`.
#![allow(clippy::print_stdout)]

use sateen_histories::trace;

fn main() {
    let seed: u64 = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(0);
    let (history, lines) = trace(seed);
    lines.iter().for_each(|line| println!("{line}"));
    println!("{history:#?}");
}
