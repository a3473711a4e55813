//! `cargo xtask build`: everything under dist/.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::languages::build_app;
use crate::setup::wasm_target;
use crate::shell::{aside, cargo, command, root, run};
use crate::ui;

const BINARIES: [&str; 4] = ["sateen", "cargo-sateen", "sateen-host", "sateen-coordinator"];

/// Where a built binary is.
pub fn dist(name: &str) -> PathBuf {
    root().join("dist").join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
}

/// Builds the dashboard, the binaries and all sample apps. Nothing goes to stdout.
pub fn build() -> Result<()> {
    build_with("--bins", false)
}

/// As `build`, with everything else that tests need.
pub fn build_with_tests() -> Result<()> {
    build_with("--all-targets", true)
}

/// The workspace's `targets`, and all of it each time, for cargo settles the features of what is built
/// together: so the engine, which takes minutes, has the same ones for every task and is built once.
/// With `install`, compilers that only some apps need are installed where that can be done.
fn build_with(targets: &str, install: bool) -> Result<()> {
    wasm_target()?;
    // First, for the coordinator has it in itself.
    ui::build()?;
    aside(cargo(["build", "--release", "--locked", "--workspace", targets]))?;
    fs::create_dir_all(root().join("dist/apps"))?;
    for binary in BINARIES {
        let from = built(binary)?;
        // Not over a file that may be running: a new one in its place.
        let _ = fs::remove_file(dist(binary));
        fs::copy(&from, dist(binary)).with_context(|| format!("{} cannot be copied", from.display()))?;
    }
    build_apps("sample-apps", "apps", install)?;
    if !install {
        return Ok(());
    }
    // The tests' own app in Rust is built by them, as a user would.
    fs::create_dir_all(root().join("dist/tests"))?;
    build_app(&root().join("tests/apps/conformance-c"), &root().join("dist/tests/conformance-c.wasm"), true)
}

/// Builds every app in `folder` to `dist/OUTPUT/NAME.wasm`.
fn build_apps(folder: &str, output: &str, install: bool) -> Result<()> {
    fs::create_dir_all(root().join("dist").join(output))?;
    for app in apps(folder)? {
        let module = root().join("dist").join(output).join(format!("{app}.wasm"));
        let manifest = root().join(folder).join(&app).join("Cargo.toml");
        if !manifest.is_file() {
            build_app(&root().join(folder).join(&app), &module, install)?;
            continue;
        }
        aside(command(
            dist("sateen"),
            [
                "build".as_ref(),
                "--manifest-path".as_ref(),
                manifest.as_os_str(),
                "--output".as_ref(),
                module.as_os_str(),
            ],
        ))?;
    }
    Ok(())
}

/// Builds the sample apps in Rust once more, without the checks of what travels.
fn build_unchecked() -> Result<()> {
    let folder = root().join("dist/bench/unchecked");
    fs::create_dir_all(&folder)?;
    for app in apps("sample-apps")? {
        let manifest = root().join("sample-apps").join(&app).join("Cargo.toml");
        if manifest.is_file() {
            let mut build = command(dist("sateen"), ["build", "--manifest-path"]);
            build.arg(manifest).arg("--output").arg(folder.join(format!("{app}.wasm")));
            build.env("RUSTFLAGS", "--cfg sateen_unchecked");
            aside(build)?;
        }
    }
    Ok(())
}

/// The names of the apps in `folder`, sorted.
fn apps(folder: &str) -> Result<Vec<String>> {
    let mut apps: Vec<String> = fs::read_dir(root().join(folder))?
        .filter_map(|entry| {
            let entry = entry.ok()?;
            entry.path().is_dir().then(|| entry.file_name().to_string_lossy().into_owned())
        })
        .collect();
    apps.sort();
    Ok(apps)
}

/// Where cargo puts what it builds, which this user's settings may have moved.
pub fn target_folder() -> Result<PathBuf> {
    let output = cargo(["metadata", "--no-deps", "--format-version=1"]).output()?;
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).context("cargo metadata")?;
    let folder = metadata["target_directory"].as_str().context("cargo metadata names no target folder")?;
    Ok(PathBuf::from(folder))
}

/// Where cargo has put a program of the workspace.
fn built(program: &str) -> Result<PathBuf> {
    Ok(target_folder()?.join("release").join(format!("{program}{}", std::env::consts::EXE_SUFFIX)))
}

/// `cargo xtask bench …`: builds, then hands over to the crate `bench`, whose stdout is this one's.
pub fn bench(arguments: &[&str]) -> Result<()> {
    build()?;
    build_apps("bench/apps", "bench", false)?;
    if arguments.iter().any(|argument| ["checks", "all"].contains(argument)) {
        build_unchecked()?;
    }
    run(command(built("bench")?, arguments))
}
