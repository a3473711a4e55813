//! `cargo xtask bench seeds|histories|planted|mutants`: whether the tests of the protocol can fail. They need no engine.

use anyhow::Result;

use crate::shell::{cargo, run};

/// One of the programs that run the simulator, with all that follows.
pub fn simulator(program: &str, arguments: &[&str]) -> Result<()> {
    let package = if program == "histories" { "sateen-histories" } else { "sateen-simulator" };
    let mut command = cargo(["run", "--locked", "-p", package, "--bin", program]);
    // What plants bugs builds all that computes itself.
    if program != "planted" {
        command.arg("--release");
    }
    command.arg("--").args(arguments);
    run(command)
}

/// A random sample of what cargo-mutants would change of the protocol (`--sample N`; 0 is all of it), and the share that
/// unit tests, then stories, then seeds catch.
pub fn mutants(arguments: &[&str]) -> Result<()> {
    /// Enough to know the share to about three in a hundred.
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
