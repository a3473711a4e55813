//! `cargo xtask bench seeds|histories|planted|mutants`: long runs of the protocol's tests, and whether they find bugs.
//! They need no engine.

use anyhow::Result;

use crate::shell::{cargo, run};

/// Runs a program that uses the simulator, with its arguments.
pub fn simulator(program: &str, arguments: &[&str]) -> Result<()> {
    let package = if program == "histories" { "sateen-histories" } else { "sateen-simulator" };
    let mut command = cargo(["run", "--locked", "-p", package, "--bin", program]);
    // `planted` builds everything that computes itself.
    if program != "planted" {
        command.arg("--release");
    }
    command.arg("--").args(arguments);
    run(command)
}

/// Tests a random sample of cargo-mutants' mutants of the protocol (`--sample N`; 0 for all), and reports the share
/// that unit tests, then stories, then seeds catch.
pub fn mutants(arguments: &[&str]) -> Result<()> {
    /// Enough to determine the share to about three percent.
    const SAMPLE: &str = "400";
    let mut words = vec!["--until-caught"];
    match arguments.iter().position(|word| *word == "--sample") {
        Some(at) => {
            words.extend(&arguments[..at]);
            words.push("--mutants");
            words.extend(&arguments[at + 1..]);
        }
        None => {
            words.extend(["--mutants", SAMPLE]);
            words.extend(arguments);
        }
    }
    simulator("planted", &words)
}
