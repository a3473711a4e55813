//! The dashboard under `web-ui/`: built with Node, tested in Node and in the distribution's Chromium.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use anyhow::{Result, bail};

use crate::build::dist;
use crate::setup::has;
use crate::shell::{aside, cargo, command, root, run};

const UI: &str = "web-ui";
/// The dashboard's sources.
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
/// Names of Chromium's executable in distributions.
const CHROMIUM: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// Builds `web-ui/dist`, which the coordinator embeds. Without Node it reports what is missing, and the
/// coordinator serves a page that says the same.
pub fn build() -> Result<()> {
    if !is_ready()? || is_built() {
        return Ok(());
    }
    aside(npm(["run", "--silent", "build"]))
}

/// Fails if a tool is missing that the pages' tests need.
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

/// Runs type checks, lints and unit tests; then tests the built dashboard in a browser, on the programs under `dist/`.
pub fn test() -> Result<()> {
    run(npm(["run", "--silent", "check"]))?;
    run(npm(["test", "--silent"]))?;
    let mut browser = npm(["run", "--silent", "e2e"]);
    browser.env("SATEEN_DIST", dist("sateen").parent().unwrap_or(Path::new(".")));
    run(browser)
}

/// Regenerates the dashboard's types and the tables of fields in docs/api.md from the types of the API.
pub fn types() -> Result<()> {
    let test = ["test", "--locked", "--package", "sateen-api", "--lib", "the_pages_types"];
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

/// Whether Node is installed, with the packages of the lock file.
fn is_ready() -> Result<bool> {
    if !has("node") || !has("npm") {
        eprintln!("xtask: the dashboard is not built: it needs Node, 20 or later, with npm");
        return Ok(false);
    }
    if !is_installed() && aside(npm(["ci", "--no-fund", "--no-audit"])).is_err() {
        eprintln!("xtask: the dashboard is not built: its packages cannot be fetched");
        return Ok(false);
    }
    Ok(true)
}

/// Whether the installed packages are as new as the lock file.
fn is_installed() -> bool {
    let of = |name: &str| modified(&folder().join(name));
    match (of("node_modules/.package-lock.json"), of("package-lock.json")) {
        (Some(installed), Some(wanted)) => installed >= wanted,
        _ => false,
    }
}

/// Whether the built dashboard is newer than its sources: then the coordinator need not be compiled again.
fn is_built() -> bool {
    let built = modified(&folder().join("dist/index.html"));
    let sources = SOURCES.iter().map(|name| newest(&folder().join(name))).max().flatten();
    sources.zip(built).is_some_and(|(sources, built)| sources < built)
}

/// The last change of a file, or of anything in a folder.
fn newest(path: &Path) -> Option<SystemTime> {
    let entries = path.read_dir().into_iter().flatten().flatten();
    entries.filter_map(|entry| newest(&entry.path())).chain(modified(path)).max()
}

fn modified(path: &Path) -> Option<SystemTime> {
    path.metadata().and_then(|about| about.modified()).ok()
}

fn has_chromium() -> bool {
    let is_here = || CHROMIUM.iter().any(has);
    if !is_here() && has("apt-get") {
        eprintln!("xtask: Chromium is missing: installing it");
        // Without permission to install, the next check reports what is missing.
        let _ = aside(command("apt-get", ["update", "--quiet"]));
        let _ = aside(command("apt-get", ["install", "--yes", "--no-install-recommends", "chromium"]));
    }
    is_here()
}
