//! `cargo xtask bench seeds|planted|mutants`: whether the tests of the protocol can fail. They need no engine.

use std::io::Write;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::shell::{cargo, root, run};

/// Seeds that each mutant is run against unless `SATEEN_SEEDS` says otherwise.
const SEEDS_PER_MUTANT: &str = "1000";
/// The share of mutants that must be caught.
const CAUGHT_MIN: f64 = 0.85;

/// One of the simulator's programs, with all that follows.
pub fn simulator(program: &str, arguments: &[&str]) -> Result<()> {
    let mut command =
        cargo(["run", "--release", "--locked", "-p", "sateen-simulator", "--bin", program, "--"]);
    command.args(arguments);
    run(command)
}

/// Changes the protocol in all ways that cargo-mutants knows, or a part of them (`--shard K/N`), and says which share
/// of that unit tests, stories and seeds notice. It takes a night.
pub fn mutants(arguments: &[&str]) -> Result<()> {
    let is_there = Command::new("cargo").args(["mutants", "--version"]).output();
    ensure!(
        is_there.is_ok_and(|output| output.status.success()),
        "cargo-mutants is missing; install it with `cargo install cargo-mutants --locked`"
    );
    let folder = root().join("target/mutants");
    std::fs::create_dir_all(&folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    let mut command = cargo(["mutants", "--package", "sateen-protocol"]);
    command
        .args([
            "--test-package=sateen-protocol",
            "--test-package=sateen-simulator",
            "--profile",
            "release",
            "--no-shuffle",
        ])
        .args(["--timeout", "600", "--output", "target/mutants"])
        .args(arguments);
    if std::env::var_os("SATEEN_SEEDS").is_none() {
        command.env("SATEEN_SEEDS", SEEDS_PER_MUTANT);
    }
    // It fails when anything was missed; what was is counted below.
    let status = command.status().context("cargo mutants cannot be run")?;
    let path = folder.join("mutants.out/outcomes.json");
    let text = std::fs::read_to_string(&path)
        .with_context(|| format!("cargo mutants ended with {status} and left no {}", path.display()))?;
    let outcomes: Value = serde_json::from_str(&text)?;
    let count = |name: &str| outcomes[name].as_u64().unwrap_or(0) as f64;
    let (caught, missed) = (count("caught") + count("timeout"), count("missed"));
    if caught + missed == 0.0 {
        bail!("no mutant was tried");
    }
    let share = caught / (caught + missed);
    writeln!(
        std::io::stdout(),
        "mutants: {caught} of {} caught, {:.1} % (bar {:.0} %)",
        caught + missed,
        100.0 * share,
        100.0 * CAUGHT_MIN
    )?;
    ensure!(
        share >= CAUGHT_MIN,
        "too few mutants are caught; {} lists the others",
        folder.join("mutants.out/missed.txt").display()
    );
    Ok(())
}
