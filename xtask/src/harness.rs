//! `cargo xtask bench seeds|histories|planted|mutants`: long runs of the protocol's tests, and whether they find bugs.
//! They need no engine.

use anyhow::{Context, Result, bail};

use crate::shell::{cargo, root, run};

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

/// Compares random modules with and without the checks that make them stoppable. It builds an engine of its own.
pub fn modules(arguments: &[&str]) -> Result<()> {
    let (mut count, mut first) = (10_000_u64, 1_u64);
    for pair in arguments.chunks(2) {
        let number = pair.get(1).and_then(|word| word.parse().ok());
        let number = number.with_context(|| format!("{} needs a number", pair[0]))?;
        match pair[0] {
            "--modules" => count = number,
            "--first" => first = number,
            other => bail!("there is no flag `{other}`; there are --modules and --first"),
        }
    }
    let mut command =
        cargo(["run", "--release", "--locked", "--manifest-path", "tests/random-modules/Cargo.toml"]);
    command.arg("--target-dir").arg(root().join("target/modules"));
    command.args(["--", &count.to_string(), &first.to_string()]);
    run(command)
}
