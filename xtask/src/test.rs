//! `cargo xtask test`: every test.

use std::process::Command;
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
/// A test of one thread that takes minutes: it runs beside others.
const LONG: (&str, &str) = ("thousand", "a_thousand_hosts_work_for_an_hour");

/// Builds the apps, which tests run, then tests everything.
pub fn test() -> Result<()> {
    build_with_tests()?;
    // The apps and the SDK for this machine, and the runtime: optimised, for the engine's compiler
    // would otherwise take minutes over each module.
    // All that fails is to be seen at once.
    let mut tests =
        cargo(["test", "--release", "--locked", "--workspace", "--all-targets", "--no-fail-fast"]);
    tests.args(["--", "--skip", LONG.1]);
    tests.env_remove("SATEEN_FIRST_SEED");
    tests.env("SATEEN_SEEDS", std::env::var("SATEEN_SEEDS").unwrap_or_else(|_| SEEDS.to_string()));
    run(tests)?;
    std::thread::scope(|scope| {
        let long = scope.spawn(|| run(simulator_test(LONG.0)));
        let drawn = drawn_seeds();
        long.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)).and(drawn)
    })?;
    run(cargo(["test", "--release", "--locked", "--workspace", "--doc"]))?;
    ui::test()
}

/// A test of the simulator, as all tests of the workspace are built: cargo would settle on other features for this crate
/// alone, and build the protocol once more.
fn simulator_test(name: &str) -> Command {
    cargo(["test", "--release", "--locked", "--workspace", "--test", name])
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
    let mut all = simulator_test("seeds");
    all.env(NAME, &first).env("SATEEN_SEEDS", seeds);
    run(all)?;
    eprintln!("xtask: {DRAWN_NARROW_SEEDS} of them with slow links; run them again with {NAME}={first}");
    let mut narrow = simulator_test("seeds");
    narrow.env(NAME, &first).env("SATEEN_SEEDS", DRAWN_NARROW_SEEDS.to_string());
    narrow.env("SATEEN_FAULTS", "bandwidth");
    run(narrow)
}
