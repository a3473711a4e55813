//! `cargo xtask build`: everything under dist/.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::languages::build_app;
use crate::setup::wasm_target;
use crate::shell::{aside, cargo, command, output, root, run};
use crate::{figures, web_ui};

const BINARIES: [&str; 4] = ["sateen", "cargo-sateen", "sateen-host", "sateen-coordinator"];
/// The packages of these programs.
pub const PROGRAMS: [&str; 3] = ["sateen-cli", "sateen-host", "sateen-coordinator"];

/// The path of a built binary.
pub fn dist(name: &str) -> PathBuf {
    root().join("dist").join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
}

/// A profile of the workspace's `Cargo.toml`.
#[derive(Clone, Copy)]
enum Profile {
    /// For the demo and the tests: compiles in half the time.
    Dev,
    /// For benchmarks and users.
    Release,
}

impl Profile {
    /// Cargo's flag for it; `dev` needs none.
    fn flag(self) -> Option<&'static str> {
        match self {
            Self::Dev => None,
            Self::Release => Some("--release"),
        }
    }

    /// The path of a workspace program that cargo has built.
    fn built(self, program: &str) -> Result<PathBuf> {
        let folder = match self {
            Self::Dev => "debug",
            Self::Release => "release",
        };
        Ok(target_folder()?.join(folder).join(format!("{program}{}", std::env::consts::EXE_SUFFIX)))
    }
}

/// Builds the dashboard, the optimised binaries and all sample apps. Nothing goes to stdout.
pub fn build() -> Result<()> {
    build_programs(Profile::Release, &["--workspace", "--bins"])?;
    build_apps("sample-apps", "apps", false)
}

/// As `build`, but in the profile of the tests, and with everything else that they need; compilers that only some apps
/// need are installed if possible.
pub fn build_with_tests() -> Result<()> {
    build_programs(Profile::Dev, &["--workspace", "--bins", "--tests"])?;
    build_apps("sample-apps", "apps", true)?;
    // Tests build their own Rust app themselves, as a user would.
    fs::create_dir_all(root().join("dist/tests"))?;
    build_app(&root().join("tests/apps/conformance-c"), &root().join("dist/tests/conformance-c.wasm"), true)
}

/// Builds the dashboard and the programs with one app, for the integration test `test`. With a test among the targets,
/// cargo selects the same features as for all tests, so nothing is built twice.
pub fn build_for_test(test: &str, app: &str) -> Result<()> {
    build_programs(Profile::Dev, &["--workspace", "--bins", "--test", test])?;
    build_rust_app("sample-apps", "apps", app)
}

/// Builds the dashboard, the programs and one app, without tests and benches, in the profile of the tests. A test checks that the
/// features are those of the whole workspace, so that the engine is not built twice.
pub fn build_to_show(app: &str) -> Result<()> {
    let packages: Vec<&str> = PROGRAMS.iter().flat_map(|package| ["--package", package]).collect();
    build_programs(Profile::Dev, &[&packages[..], &["--bins"]].concat())?;
    build_rust_app("sample-apps", "apps", app)
}

/// Builds the dashboard and runs cargo with `words`, then copies the programs to `dist/`.
fn build_programs(profile: Profile, words: &[&str]) -> Result<()> {
    wasm_target()?;
    // First, as the coordinator embeds it.
    web_ui::build()?;
    aside(cargo(["build", "--locked"].iter().chain(&profile.flag()).chain(words)))?;
    fs::create_dir_all(root().join("dist"))?;
    for binary in BINARIES {
        let from = profile.built(binary)?;
        // The old file may be running: it is replaced by a new file, not overwritten.
        let _ = fs::remove_file(dist(binary));
        fs::copy(&from, dist(binary)).with_context(|| format!("{} cannot be copied", from.display()))?;
    }
    Ok(())
}

/// Builds every app in `folder` to `dist/OUTPUT/NAME.wasm`. With `install`, compilers that only some apps need are
/// installed if possible.
fn build_apps(folder: &str, output: &str, install: bool) -> Result<()> {
    for app in apps(folder)? {
        if root().join(folder).join(&app).join("Cargo.toml").is_file() {
            build_rust_app(folder, output, &app)?;
        } else {
            build_app(&root().join(folder).join(&app), &module(output, &app)?, install)?;
        }
    }
    Ok(())
}

/// Builds one app as its developer would.
fn build_rust_app(folder: &str, output: &str, app: &str) -> Result<()> {
    let mut build = command(dist("sateen"), ["build", "--manifest-path"]);
    build.arg(root().join(folder).join(app).join("Cargo.toml")).arg("--output").arg(module(output, app)?);
    aside(build)
}

/// The path of an app's module; its folder is created.
fn module(output: &str, app: &str) -> Result<PathBuf> {
    let folder = root().join("dist").join(output);
    fs::create_dir_all(&folder)?;
    Ok(folder.join(format!("{app}.wasm")))
}

/// Builds the Rust sample apps again, without the checks of parameters and results.
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
pub fn apps(folder: &str) -> Result<Vec<String>> {
    let mut apps: Vec<String> = fs::read_dir(root().join(folder))?
        .filter_map(|entry| {
            let entry = entry.ok()?;
            entry.path().is_dir().then(|| entry.file_name().to_string_lossy().into_owned())
        })
        .collect();
    apps.sort();
    Ok(apps)
}

/// Cargo's target folder, which the user's settings may have moved.
pub fn target_folder() -> Result<PathBuf> {
    let about = output(cargo(["metadata", "--no-deps", "--format-version=1"]))?;
    let metadata: serde_json::Value = serde_json::from_slice(&about).context("cargo metadata")?;
    let folder = metadata["target_directory"].as_str().context("cargo metadata names no target folder")?;
    Ok(PathBuf::from(folder))
}

/// `cargo xtask bench …`: builds, then runs the crate `bench` with this process's stdout.
pub fn bench(arguments: &[&str]) -> Result<()> {
    build()?;
    build_apps("bench/apps", "bench", false)?;
    if arguments.iter().any(|argument| ["checks", "all"].contains(argument)) {
        build_unchecked()?;
    }
    run(command(Profile::Release.built("bench")?, arguments))?;
    // Saved figures are on the bench's own page; the README shows some of them.
    figures::write()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The packages that cargo builds for `words`, each followed by a bar and its features.
    fn packages(words: &[&str]) -> BTreeSet<String> {
        let mut tree = cargo(["tree", "--locked", "--edges", "normal,build", "--prefix", "none"]);
        tree.args(["--format", "{p}|{f}"]).args(words);
        let output = tree.output().expect("cargo starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.lines().map(|line| line.trim_end_matches(" (*)").to_owned()).collect()
    }

    /// With other features, `demo` and the tests would each build their own engine.
    #[test]
    fn the_demo_has_the_features_of_the_workspace() {
        let words: Vec<&str> = PROGRAMS.iter().flat_map(|package| ["--package", package]).collect();
        let (shown, all) = (packages(&words), packages(&["--workspace"]));
        let other: Vec<_> = shown.difference(&all).collect();
        assert!(other.is_empty(), "{other:?}");
        let has = |package: &str| shown.iter().any(|line| line.starts_with(&format!("{package} ")));
        assert!(has("wasmtime"), "{shown:?}");
        for package in ["sateen-tests", "sateen-simulator", "bench", "wat", "nqueens"] {
            assert!(!has(package), "{package} is built");
        }
    }
}
