//! `cargo xtask test`: every test.

use anyhow::Result;

use crate::build::build_with_tests;
use crate::shell::{cargo, run};
use crate::ui;

/// So many schedules of faults are simulated.
const SEEDS: u32 = 1000;

/// Builds the apps, which tests run, then tests everything.
pub fn test() -> Result<()> {
    build_with_tests()?;
    // The apps and the SDK for this machine, and the runtime: optimised, for the engine's compiler
    // would otherwise take minutes over each module.
    // All that fails is to be seen at once.
    let mut tests =
        cargo(["test", "--release", "--locked", "--workspace", "--all-targets", "--no-fail-fast"]);
    tests.env("SATEEN_SEEDS", std::env::var("SATEEN_SEEDS").unwrap_or_else(|_| SEEDS.to_string()));
    run(tests)?;
    run(cargo(["test", "--release", "--locked", "--workspace", "--doc"]))?;
    ui::test()
}
