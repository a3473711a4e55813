//! Runs many seeds with faults of all families: `seeds [--seeds N] [--first SEED] [--faults FAMILIES] [--json]`.
//! With `--log`, it prints what happens in the first seed only.
//! The exit code is 1 if a seed breaks a law.
#![allow(clippy::print_stdout)]

use std::process::ExitCode;
use std::time::Instant;

use sateen_simulator::arguments::Arguments;
use sateen_simulator::families::Family;
use sateen_simulator::seed;
use sateen_simulator::sweep::sweep;

fn main() -> ExitCode {
    let mut is_told = false;
    let log = |word: &str| {
        is_told |= word == "--log";
        word == "--log"
    };
    let words = std::env::args().skip(1);
    let Arguments { seeds, first, families, is_json } =
        match Arguments::parse(words, Family::ALL.to_vec(), log) {
            Ok(arguments) => arguments,
            Err(why) => return refuse(&why),
        };
    if is_told {
        let told = seed::tell(first, &families);
        told.log.iter().for_each(|line| println!("{line}"));
        told.violations.iter().for_each(|violation| println!("{violation}"));
        return if told.violations.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    let begun = Instant::now();
    let swept = sweep(first, seeds, &families);
    let (violations, took_s) = (swept.failures.len(), begun.elapsed().as_secs_f64());
    if is_json {
        let line = serde_json::json!({
            "bench": "seeds", "first": first, "seeds": seeds, "violations": violations, "took_s": took_s,
            "failures": swept.failures,
        });
        println!("{line}");
    } else {
        swept.failures.iter().for_each(|failure| println!("{failure}"));
        println!("seeds {first} to {}: {violations} violations, in {took_s:.0} s", first + seeds);
    }
    if violations == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn refuse(reason: &str) -> ExitCode {
    eprintln!("seeds: {reason}");
    ExitCode::from(2)
}
