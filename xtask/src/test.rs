//! `cargo xtask test`: every test, or with `--quick` those that find most in little time.

use std::num::NonZero;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Result, bail};

use crate::build::{build_for_test, build_with_tests};
use crate::setup::has;
use crate::shell::{cargo, command, root, run};
use crate::web_ui;

/// Fixed schedules of faults that are simulated each time.
const SEEDS: u32 = 1000;
/// The smallest first seed of drawn schedules.
const DRAWN_FROM: u64 = 1_000_000;
/// Schedules of a drawn block. One in some thousands breaks a law named in `tests/README.md`, so there are no more yet.
const DRAWN_SEEDS: u32 = 300;
/// Additional schedules with slow links and large results, each of which takes about three times as long.
const DRAWN_NARROW_SEEDS: u32 = 60;
/// Number of blocks to draw from.
const BLOCKS: u64 = 1_000_000;
/// The number of tests that run at once, for libtest.
const TEST_THREADS: &str = "RUST_TEST_THREADS";
/// A test of one thread that takes minutes: it runs in parallel with others.
const LONG: (&str, &str) = ("thousand", "a_thousand_hosts_work_for_an_hour");

/// Schedules that a quick test simulates: the first of the fixed ones.
const QUICK_SEEDS: u32 = 200;
/// The app and the test of a quick test's cluster: three hosts, one of which is killed.
const QUICK_CLUSTER: (&str, &str) = ("nqueens", "crash::the_host_of_the_root_job_is_killed");
/// The test that runs seeds.
const SEEDS_TEST: &str = "all_laws_hold_under_random_faults";

/// `cargo xtask test` with these flags.
pub fn test(flags: &[&str]) -> Result<()> {
    match flags {
        [] => test_all(true),
        ["--without-pages"] => test_all(false),
        ["--quick"] => test_quickly(),
        _ => bail!("unknown flags of `test`: `{}`; expected --quick or --without-pages", flags.join(" ")),
    }
}

/// Runs unit tests, stories, golden bytes, some seeds and one small cluster, and builds only what they need.
fn test_quickly() -> Result<()> {
    let (app, cluster) = QUICK_CLUSTER;
    build_for_test("cluster", app)?;
    let tests = |words: &[&str]| {
        let mut tests = cargo(["test", "--release", "--locked", "--workspace", "--no-fail-fast"]);
        tests.args(words);
        tests
    };
    run(tests(&["--lib", "--bins", "--test", "stories", "--test", "golden", "--test", "corpus"]))?;
    let mut seeds = tests(&["--test", "seeds", "--", "--exact", SEEDS_TEST]);
    seeds.env_remove("SATEEN_FIRST_SEED").env("SATEEN_SEEDS", QUICK_SEEDS.to_string());
    run(seeds)?;
    run(tests(&["--test", "cluster", "--", "--exact", cluster]))
}

/// Builds the apps, which tests need, then tests everything; the pages last, if requested.
fn test_all(with_pages: bool) -> Result<()> {
    if with_pages {
        // First of all, so that missing tools are not reported only after half an hour.
        web_ui::check_tools()?;
    }
    build_with_tests()?;
    // The apps and the SDK for this machine, and the runtime: optimised, for the engine's compiler
    // would otherwise take minutes over each module.
    // Report all failures at once.
    let mut tests = cargo(["test", "--release", "--locked", "--workspace", "--tests", "--no-fail-fast"]);
    tests.args(["--", "--skip", LONG.1]);
    if std::env::var_os(TEST_THREADS).is_none() {
        // Some tests wait most of their time, for silence to be noticed or for a slow client.
        let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
        tests.env(TEST_THREADS, (cores + 1).to_string());
    }
    tests.env_remove("SATEEN_FIRST_SEED");
    tests.env("SATEEN_SEEDS", std::env::var("SATEEN_SEEDS").unwrap_or_else(|_| SEEDS.to_string()));
    run(tests)?;
    std::thread::scope(|scope| {
        let long = scope.spawn(|| run(simulator_test(LONG.0)));
        let drawn = drawn_seeds();
        long.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)).and(drawn)
    })?;
    run(cargo(["test", "--release", "--locked", "--workspace", "--doc"]))?;
    test_python()?;
    if with_pages {
        return web_ui::test();
    }
    eprintln!("xtask: the pages were NOT tested (--without-pages)");
    Ok(())
}

/// Tests the client in Python against a grid of the built programs; takes about half a minute. It needs nothing but Python.
fn test_python() -> Result<()> {
    if !has("python3") {
        eprintln!("xtask: the client in Python was NOT tested: it needs Python, 3.10 or later");
        return Ok(());
    }
    let mut tests = command("python3", ["-m", "unittest", "discover", "-s", "tests"]);
    tests.current_dir(root().join("clients/python")).env("PYTHONPATH", "src");
    run(tests)
}

/// A test of the simulator, built with all tests of the workspace: for this crate alone, cargo would select other
/// features and build the protocol again.
fn simulator_test(name: &str) -> Command {
    cargo(["test", "--release", "--locked", "--workspace", "--test", name])
}

/// Runs a fresh block of seeds. `SATEEN_FIRST_SEED` repeats one.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Without this check, a renamed test would silently not run.
    #[test]
    fn named_tests_exist() {
        let (module, cluster) = QUICK_CLUSTER.1.split_once("::").expect("a module and a test");
        for (file, name) in [
            (format!("tests/tests/cluster/{module}.rs"), cluster),
            ("tests/simulator/tests/seeds.rs".to_owned(), SEEDS_TEST),
            (format!("tests/simulator/tests/{}.rs", LONG.0), LONG.1),
        ] {
            let text =
                std::fs::read_to_string(root().join(&file)).unwrap_or_else(|error| panic!("{file}: {error}"));
            assert!(text.contains(&format!("#[test]\nfn {name}()")), "{file} has no test {name}");
        }
    }

    #[test]
    fn other_flags_are_refused() {
        for flags in [&["--quik"][..], &["--quick", "--without-pages"]] {
            let error = test(flags).expect_err("there is no such flag").to_string();
            assert!(error.contains("--quick") && error.contains(flags[flags.len() - 1]), "{error}");
        }
    }
}
