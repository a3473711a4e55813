//! The dashboard under `web-ui/`: built with Node, tested in Node and in the distribution's Chromium.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use anyhow::{Result, bail};

use crate::build::dist;
use crate::setup::has;
use crate::shell::{aside, cargo, command, root, run};

const UI: &str = "web-ui";
/// What the dashboard is made of.
const SOURCES: [&str; 8] = [
    "src",
    "public",
    "index.html",
    "package.json",
    "package-lock.json",
    "svelte.config.js",
    "tsconfig.json",
    "vite.config.ts",
];
/// Names that distributions give to Chromium.
const CHROMIUM: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// Builds `web-ui/dist`, which the coordinator then has in itself. Without Node it says what is missing, and the
/// coordinator serves a page that says the same.
pub fn build() -> Result<()> {
    if !is_ready()? || is_built() {
        return Ok(());
    }
    aside(npm(["run", "--silent", "build"]))
}

/// Fails if something is missing that tests of the pages need.
pub fn check_tools() -> Result<()> {
    let leave_out = "or leave the pages out: cargo xtask test --without-pages";
    if !is_ready()? {
        bail!("the pages cannot be tested; install Node, 20 or later, with npm, {leave_out}");
    }
    if !has_chromium() {
        bail!(
            "the pages cannot be tested in a browser; install Chromium \
             (Debian and Ubuntu: apt install chromium), {leave_out}"
        );
    }
    Ok(())
}

/// Types, lints and unit tests; then the built dashboard in a browser, on the grid that is under `dist/`.
pub fn test() -> Result<()> {
    run(npm(["run", "--silent", "check"]))?;
    run(npm(["test", "--silent"]))?;
    let mut browser = npm(["run", "--silent", "e2e"]);
    browser.env("SATEEN_DIST", dist("sateen").parent().unwrap_or(Path::new(".")));
    run(browser)
}

/// Writes the dashboard's types and the tables of fields in docs/api.md anew, from the coordinator's types.
pub fn types() -> Result<()> {
    let test =
        ["test", "--release", "--locked", "--package", "sateen-coordinator", "--lib", "the_pages_types"];
    let mut test = cargo(test);
    test.env("SATEEN_WRITE_TYPES", "1");
    run(test)
}

fn folder() -> PathBuf {
    root().join(UI)
}

fn npm<const N: usize>(words: [&str; N]) -> Command {
    let mut npm = command("npm", words);
    npm.current_dir(folder());
    npm
}

/// Whether Node is here, with the packages that the lock file names.
fn is_ready() -> Result<bool> {
    if !has("node") || !has("npm") {
        eprintln!("xtask: the dashboard is left out: it needs Node, 20 or later, with npm");
        return Ok(false);
    }
    if !is_installed() && aside(npm(["ci", "--no-fund", "--no-audit"])).is_err() {
        eprintln!("xtask: the dashboard is left out: its packages cannot be fetched");
        return Ok(false);
    }
    Ok(true)
}

/// Whether what is installed is as new as the lock file.
fn is_installed() -> bool {
    let of = |name: &str| modified(&folder().join(name));
    match (of("node_modules/.package-lock.json"), of("package-lock.json")) {
        (Some(installed), Some(wanted)) => installed >= wanted,
        _ => false,
    }
}

/// Whether what is built is newer than all that it is made of: the coordinator need not be compiled anew then.
fn is_built() -> bool {
    let built = modified(&folder().join("dist/index.html"));
    let sources = SOURCES.iter().map(|name| newest(&folder().join(name))).max().flatten();
    sources.zip(built).is_some_and(|(sources, built)| sources < built)
}

/// When a file, or something in a folder, was changed last.
fn newest(path: &Path) -> Option<SystemTime> {
    let entries = path.read_dir().into_iter().flatten().flatten();
    entries.filter_map(|entry| newest(&entry.path())).chain(modified(path)).max()
}

fn modified(path: &Path) -> Option<SystemTime> {
    path.metadata().and_then(|about| about.modified()).ok()
}

fn has_chromium() -> bool {
    let is_here = || CHROMIUM.iter().any(|name| has(name));
    if !is_here() && has("apt-get") {
        eprintln!("xtask: Chromium is not here: installing it");
        // Without the right to install, what follows says what is missing.
        let _ = aside(command("apt-get", ["update", "--quiet"]));
        let _ = aside(command("apt-get", ["install", "--yes", "--no-install-recommends", "chromium"]));
    }
    is_here()
}
