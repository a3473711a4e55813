//! What a fresh machine with rustup needs besides.

use std::process::{Command, Stdio};

use anyhow::{Result, bail};

use crate::shell::{command, run};

const WASM: &str = "wasm32-unknown-unknown";

/// Adds the wasm target to the toolchain, if it is missing.
pub fn wasm_target() -> Result<()> {
    let folder = command("rustc", ["--print", "target-libdir", "--target", WASM]).output()?;
    let folder = String::from_utf8_lossy(&folder.stdout).trim().to_owned();
    if std::path::Path::new(&folder).is_dir() {
        return Ok(());
    }
    run(command("rustup", ["target", "add", WASM]))?;
    Ok(())
}

/// Whether `program` can be started.
pub fn has(program: &str) -> bool {
    Command::new(program)
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// A cargo subcommand, installed from its crate if it is missing.
pub fn cargo_tool(name: &str, version: &str) -> Result<()> {
    if has(name) {
        return Ok(());
    }
    eprintln!("{name} is not here: installing version {version}");
    if run(crate::shell::cargo(["install", "--locked", name, "--version", version])).is_err() {
        bail!("{name} cannot be installed; install it by hand: cargo install --locked {name}");
    }
    Ok(())
}
