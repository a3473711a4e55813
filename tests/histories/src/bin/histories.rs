//! Runs many histories: `histories [--seeds N] [--first SEED] [--faults FAMILIES] [--json]`.
//! The exit code is 1 if the published numbers of any history contradict one another.
#![allow(clippy::print_stdout)]

use std::process::ExitCode;
use std::time::Instant;

use sateen_histories::families;
use sateen_histories::sweep::sweep;
use sateen_simulator::arguments::Arguments;

fn main() -> ExitCode {
    let words = std::env::args().skip(1);
    let Arguments { seeds, first, families, is_json } = match Arguments::parse(words, families(), |_| false) {
        Ok(arguments) => arguments,
        Err(why) => return refuse(&why),
    };
    let begun = Instant::now();
    let swept = sweep(first, seeds, &families);
    let (contradictions, took_s) = (swept.contradictions.len(), begun.elapsed().as_secs_f64());
    if is_json {
        let line = serde_json::json!({
            "bench": "histories", "first": first, "histories": seeds, "contradictions": contradictions,
            "runs": swept.runs, "looks": swept.looks, "restarts": swept.restarts, "took_s": took_s,
            "found": swept.contradictions,
        });
        println!("{line}");
    } else {
        swept.contradictions.iter().for_each(|contradiction| println!("{contradiction}"));
        println!(
            "histories {first} to {}: {contradictions} contradictions in {} looks at {} runs, with {} restarts of the \
             coordinator, in {took_s:.0} s",
            first + seeds,
            swept.looks,
            swept.runs,
            swept.restarts
        );
    }
    if contradictions == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn refuse(reason: &str) -> ExitCode {
    eprintln!("histories: {reason}");
    ExitCode::from(2)
}
