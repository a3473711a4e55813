//! `cargo xtask test`: every test, or with `--quick` those that find most in little time.

use std::collections::BTreeSet;
use std::num::NonZero;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::build::{build_for_test, build_with_tests};
use crate::lanes::{Lane, run_side_by_side};
use crate::setup::has;
use crate::shell::{cargo, command, output, run};
use crate::{python, web_ui};

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

/// Schedules that a quick test simulates: the first of the fixed ones.
const QUICK_SEEDS: u32 = 200;
/// The app and the test of a quick test's cluster: three hosts, one of which is killed.
const QUICK_CLUSTER: (&str, &str) = ("nqueens", "crash::the_host_of_the_root_job_is_killed");
/// The test that runs seeds.
const SEEDS_TEST: (&str, &str) = ("seeds", "all_laws_hold_under_random_faults");
/// The test of grids of real processes.
const CLUSTERS: &str = "cluster";
/// The package of the simulator's tests.
const SIMULATOR: &str = "sateen-simulator";

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
    build_for_test(CLUSTERS, app)?;
    run(tests(&["--lib", "--bins", "--test", "stories", "--test", "golden", "--test", "corpus"]))?;
    let mut seeds = tests(&["--test", SEEDS_TEST.0, "--", "--exact", SEEDS_TEST.1]);
    seeds.env_remove("SATEEN_FIRST_SEED").env("SATEEN_SEEDS", QUICK_SEEDS.to_string());
    run(seeds)?;
    run(tests(&["--test", CLUSTERS, "--", "--exact", cluster]))
}

/// Builds the apps, which tests need, then tests everything; the pages last, if requested.
fn test_all(with_pages: bool) -> Result<()> {
    if with_pages {
        // First of all, so that missing tools are not reported only after half an hour.
        web_ui::check_tools()?;
    }
    build_with_tests()?;
    // The simulator takes what the others leave of this machine's cores: in its tests, time is virtual.
    let (others, simulated) = all_tests()?;
    run_side_by_side(vec![
        Lane { name: "tests", commands: others },
        Lane { name: "simulator", commands: simulated },
    ])?;
    python::test()?;
    if with_pages {
        return web_ui::test();
    }
    eprintln!("xtask: the pages were NOT tested (--without-pages)");
    Ok(())
}

/// `cargo test` of the whole workspace with these words, which reports all failures. For fewer packages, cargo would
/// select other features and build some crates again.
fn tests(words: &[&str]) -> Command {
    cargo_test(cargo::<&str>([]), words)
}

/// As [`tests`], at the lowest priority.
fn beside_others(words: &[&str]) -> Command {
    let cargo = cargo::<&str>([]);
    if !has("nice") {
        return cargo_test(cargo, words);
    }
    let mut nice = command("nice", ["-n", "19"]);
    nice.arg(cargo.get_program());
    cargo_test(nice, words)
}

fn cargo_test(mut cargo: Command, words: &[&str]) -> Command {
    cargo.args(["test", "--locked", "--workspace", "--no-fail-fast"]).args(words);
    if std::env::var_os(TEST_THREADS).is_none() {
        // Some tests wait most of their time, for a slow client, say.
        let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
        cargo.env(TEST_THREADS, (cores + 1).to_string());
    }
    cargo
}

/// The commands of all tests in Rust: those that measure time, and those of the simulator.
fn all_tests() -> Result<(Vec<Command>, Vec<Command>)> {
    let mut others = tests(&["--lib", "--bins"]);
    let mut simulated = beside_others(&[]);
    for (package, name) in integration_tests()? {
        match package.as_str() {
            SIMULATOR if name == SEEDS_TEST.0 => {}
            SIMULATOR => drop(simulated.args(["--test", &name])),
            _ => drop(others.args(["--test", &name])),
        }
    }
    let mut fixed = beside_others(&["--test", SEEDS_TEST.0]);
    fixed.env_remove("SATEEN_FIRST_SEED");
    fixed.env("SATEEN_SEEDS", std::env::var("SATEEN_SEEDS").unwrap_or_else(|_| SEEDS.to_string()));
    let [drawn, narrow] = drawn_seeds();
    Ok((vec![others, tests(&["--doc"])], vec![simulated, fixed, drawn, narrow]))
}

/// All integration tests of the workspace, each with its package.
fn integration_tests() -> Result<BTreeSet<(String, String)>> {
    let about = output(cargo(["metadata", "--no-deps", "--format-version=1", "--locked"]))?;
    let metadata: Value = serde_json::from_slice(&about).context("cargo metadata")?;
    let mut tests = BTreeSet::new();
    for package in metadata["packages"].as_array().context("cargo metadata names no packages")? {
        let named =
            |value: &Value| Some((package["name"].as_str()?.to_owned(), value["name"].as_str()?.to_owned()));
        let targets = package["targets"].as_array().into_iter().flatten();
        tests.extend(targets.filter(|target| target["kind"][0] == "test").filter_map(named));
    }
    Ok(tests)
}

/// The tests of a fresh block of seeds. `SATEEN_FIRST_SEED` repeats one.
fn drawn_seeds() -> [Command; 2] {
    const NAME: &str = "SATEEN_FIRST_SEED";
    let drawn = || {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        DRAWN_FROM + since.as_nanos() as u64 / 1_000 % BLOCKS * u64::from(SEEDS)
    };
    let first = std::env::var(NAME).unwrap_or_else(|_| drawn().to_string());
    let seeds = std::env::var("SATEEN_SEEDS").unwrap_or_else(|_| DRAWN_SEEDS.to_string());
    eprintln!(
        "xtask: {seeds} drawn seeds, {DRAWN_NARROW_SEEDS} of them also with slow links; run them again with {NAME}={first}"
    );
    let seeds_alone = ["--test", SEEDS_TEST.0, "--", "--exact", SEEDS_TEST.1];
    let mut all = beside_others(&seeds_alone);
    all.env(NAME, &first).env("SATEEN_SEEDS", seeds);
    let mut narrow = beside_others(&seeds_alone);
    narrow.env(NAME, &first).env("SATEEN_SEEDS", DRAWN_NARROW_SEEDS.to_string());
    narrow.env("SATEEN_FAULTS", "bandwidth");
    [all, narrow]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::root;

    /// Without this check, a renamed test would silently not run.
    #[test]
    fn named_tests_exist() {
        let (module, cluster) = QUICK_CLUSTER.1.split_once("::").expect("a module and a test");
        for (file, name) in [
            (format!("tests/tests/cluster/{module}.rs"), cluster),
            (format!("tests/simulator/tests/{}.rs", SEEDS_TEST.0), SEEDS_TEST.1),
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
