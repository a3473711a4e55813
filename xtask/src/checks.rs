//! `cargo xtask check`: CI's checks before the tests.

use anyhow::{Result, bail};

use crate::purity::purity;
use crate::setup::{cargo_tool, wasm_target};
use crate::shell::{cargo, run};
use crate::{docs, figures, prose, shape};

/// The SDK and an app that uses all of it, checked as wasm.
const WASM_PACKAGES: [&str; 4] = ["--package", "sateen", "--package", "fib"];

/// Formatting, lints for both targets, documentation, pages, the protocol's purity, licences and advisories.
pub fn check(flags: &[&str]) -> Result<()> {
    match flags {
        [] => check_code().and_then(|()| licences()),
        ["--without-licences"] => check_code(),
        _ => bail!("unknown flags of `check`: `{}`; expected --without-licences", flags.join(" ")),
    }
}

fn check_code() -> Result<()> {
    wasm_target()?;
    run(cargo(["fmt", "--all", "--check"]))?;
    run(cargo(["clippy", "--locked", "--workspace", "--all-targets", "--", "-D", "warnings"]))?;
    let wasm = ["clippy", "--locked", "--target", "wasm32-unknown-unknown"];
    run(cargo(wasm.into_iter().chain(WASM_PACKAGES).chain(["--", "-D", "warnings"])))?;
    let mut doc = cargo(["doc", "--locked", "--workspace", "--no-deps", "--document-private-items"]);
    doc.env("RUSTDOCFLAGS", "-D warnings");
    run(doc)?;
    docs::check()?;
    prose::check()?;
    shape::check()?;
    figures::check()?;
    purity()
}

/// Checks licences, sources and banned crates, which must pass, and advisories. If their database cannot be
/// fetched, a warning is printed and the other checks still count.
pub fn licences() -> Result<()> {
    cargo_tool("cargo-deny", "0.20.2")?;
    run(cargo(["deny", "--locked", "check", "licenses", "bans", "sources"]))?;
    if run(cargo(["deny", "--locked", "fetch", "db"])).is_err() {
        eprintln!("WARNING: the advisory database cannot be fetched; advisories were NOT checked");
        return Ok(());
    }
    run(cargo(["deny", "--locked", "check", "advisories"]))
}
