//! `cargo xtask test`: every test.

use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Result;

use crate::build::build_with_tests;
use crate::shell::{cargo, run};
use crate::ui;

/// Schedules of faults that are simulated, the same each time.
const SEEDS: u32 = 1000;
/// Drawn schedules begin at this seed or later.
const DRAWN_FROM: u64 = 1_000_000;
/// Schedules of a drawn block. One of some thousand breaks a law that `tests/README.md` names, so not more of them yet.
const DRAWN_SEEDS: u32 = 300;
/// Beside them, schedules with slow links and large results, of which each takes about three times as long.
const DRAWN_NARROW_SEEDS: u32 = 60;
/// And is one of so many blocks.
const BLOCKS: u64 = 1_000_000;

/// Builds the apps, which tests run, then tests everything.
pub fn test() -> Result<()> {
    build_with_tests()?;
    // The apps and the SDK for this machine, and the runtime: optimised, for the engine's compiler
    // would otherwise take minutes over each module.
    // All that fails is to be seen at once.
    let mut tests =
        cargo(["test", "--release", "--locked", "--workspace", "--all-targets", "--no-fail-fast"]);
    tests.env_remove("SATEEN_FIRST_SEED");
    tests.env("SATEEN_SEEDS", std::env::var("SATEEN_SEEDS").unwrap_or_else(|_| SEEDS.to_string()));
    run(tests)?;
    drawn_seeds()?;
    run(cargo(["test", "--release", "--locked", "--workspace", "--doc"]))?;
    ui::test()
}

/// A block of seeds that nobody has seen before. `SATEEN_FIRST_SEED` runs one again.
fn drawn_seeds() -> Result<()> {
    const NAME: &str = "SATEEN_FIRST_SEED";
    let drawn = || {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        DRAWN_FROM + since.as_nanos() as u64 / 1_000 % BLOCKS * u64::from(SEEDS)
    };
    let first = std::env::var(NAME).unwrap_or_else(|_| drawn().to_string());
    let seeds = std::env::var("SATEEN_SEEDS").unwrap_or_else(|_| DRAWN_SEEDS.to_string());
    eprintln!("xtask: {seeds} drawn seeds; run them again with {NAME}={first}");
    let tests = || cargo(["test", "--release", "--locked", "-p", "sateen-simulator", "--test", "seeds"]);
    let mut all = tests();
    all.env(NAME, &first).env("SATEEN_SEEDS", seeds);
    run(all)?;
    eprintln!("xtask: {DRAWN_NARROW_SEEDS} of them with slow links; run them again with {NAME}={first}");
    let mut narrow = tests();
    narrow.env(NAME, &first).env("SATEEN_SEEDS", DRAWN_NARROW_SEEDS.to_string());
    narrow.env("SATEEN_FAULTS", "bandwidth");
    run(narrow)
}
