//! Runs many seeds with faults of all families: `seeds [--seeds N] [--first SEED] [--faults FAMILIES] [--json]`.
//! With `--log`, it tells what happens under the first seed alone.
//! The exit code is 1 if one breaks a law.
#![allow(clippy::print_stdout)]

use std::process::ExitCode;
use std::time::Instant;

use sateen_simulator::families::Family;
use sateen_simulator::seed;
use sateen_simulator::sweep::sweep;

fn main() -> ExitCode {
    let (mut seeds, mut first, mut is_json, mut is_told) = (1_000, 0, false, false);
    let mut families = Family::ALL.to_vec();
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut number = || words.next().and_then(|text| text.parse().ok());
        match word.as_str() {
            "--json" => is_json = true,
            "--log" => is_told = true,
            "--seeds" => match number() {
                Some(number) => seeds = number,
                None => return refuse("--seeds takes a number"),
            },
            "--first" => match number() {
                Some(number) => first = number,
                None => return refuse("--first takes a number"),
            },
            "--faults" => match Family::parse(&words.next().unwrap_or_default()) {
                Ok(chosen) => families = chosen,
                Err(name) => return refuse(&format!("there is no family of faults {name:?}")),
            },
            other => return refuse(&format!("unknown argument {other:?}")),
        }
    }
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
