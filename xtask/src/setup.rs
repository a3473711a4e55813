//! Installs the tools that a fresh machine with rustup still lacks.

use std::ffi::OsStr;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

use crate::shell::{aside, command, run};

const WASM: &str = "wasm32-unknown-unknown";

/// Adds the wasm target to the toolchain, if it is missing.
pub fn wasm_target() -> Result<()> {
    target(WASM)
}

/// Adds a target to the toolchain, if it is missing.
pub fn target(name: &str) -> Result<()> {
    let folder = command("rustc", ["--print", "target-libdir", "--target", name]).output()?;
    let folder = String::from_utf8_lossy(&folder.stdout).trim().to_owned();
    if std::path::Path::new(&folder).is_dir() {
        return Ok(());
    }
    // Its output is not this task's result.
    aside(command("rustup", ["target", "add", name]))
        .with_context(|| format!("the target {name} cannot be installed; install it by hand"))
}

/// Installs `musl-gcc`, which compiles C for static programs, if it is missing.
pub fn c_compiler_for_musl() -> Result<()> {
    if !has("musl-gcc") && has("apt-get") {
        eprintln!("xtask: musl-gcc is missing: installing it");
        // Without permission to install, the check below reports what is missing.
        let _ = aside(command("apt-get", ["update", "--quiet"]));
        let _ = aside(command("apt-get", ["install", "--yes", "--no-install-recommends", "musl-tools"]));
    }
    ensure!(
        has("musl-gcc"),
        "musl-gcc is missing; install it by hand (Debian and Ubuntu: apt install musl-tools)"
    );
    Ok(())
}

/// Whether `program` can be started.
pub fn has(program: impl AsRef<OsStr>) -> bool {
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
