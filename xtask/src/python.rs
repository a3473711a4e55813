//! The tests of the client in Python, against a grid of the built programs.

use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::build::target_folder;
use crate::setup::has;
use crate::shell::{aside, command, root, run};

/// What users of its optional parts have, and what checks its type hints. The client itself needs nothing but Python.
const PACKAGES: [&str; 6] = ["anywidget", "ipykernel", "mypy", "nbclient", "numpy", "tqdm"];

/// Runs all tests; takes about a minute.
pub fn test() -> Result<()> {
    if !has("python3") {
        eprintln!("xtask: the client in Python was NOT tested: it needs Python, 3.10 or later");
        return Ok(());
    }
    let python = with_packages().unwrap_or_else(|error| {
        eprintln!(
            "xtask: notebooks, arrays, bars and type hints of the client in Python are NOT tested: {error:#}"
        );
        PathBuf::from("python3")
    });
    let mut tests = command(python, ["-m", "unittest", "discover", "-s", "tests"]);
    tests.current_dir(root().join("clients/python")).env("PYTHONPATH", "src");
    run(tests)
}

/// A Python with all of these packages, in a folder of its own.
fn with_packages() -> Result<PathBuf> {
    let folder = target_folder()?.join("python");
    let python = folder.join("bin/python");
    if !has(&python) {
        let mut make = command("python3", ["-m", "venv"]);
        make.arg(&folder);
        aside(make).context("Debian and Ubuntu have it in the package python3-venv")?;
    }
    let mut install = command(&python, ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    install.args(PACKAGES);
    aside(install)?;
    Ok(python)
}
