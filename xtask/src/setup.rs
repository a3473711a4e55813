//! Installs the tools that a fresh machine with rustup still lacks.

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

/// Installs a cargo subcommand from its crate if it is missing. It is not optimised: optimising would take longer than
/// all of its future work.
pub fn cargo_tool(name: &str, version: &str) -> Result<()> {
    if has(name) {
        return Ok(());
    }
    eprintln!("{name} is missing: installing version {version}");
    let mut install = crate::shell::cargo(["install", "--debug", "--locked", name, "--version", version]);
    install.env("CARGO_PROFILE_DEV_DEBUG", "0");
    if run(install).is_err() {
        bail!("{name} cannot be installed; install it by hand: cargo install --locked {name}");
    }
    Ok(())
}
