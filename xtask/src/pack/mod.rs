//! `cargo xtask dist`: an archive for Linux that needs nothing else: static programs, apps, the SDK, man pages,
//! completions, units, licences and a bill of materials; and a wheel for Python with the programs and the apps.
//!
//! So that two builds of one commit can make the same bytes, paths are mapped to fixed ones, and the archive has sorted
//! entries of one owner and one time, that of the commit (`SOURCE_DATE_EPOCH` overrides it). The tests compare what is
//! packed, not what compilers make.

mod archive;
mod licences;
mod packages;
mod sbom;
mod sdk;
mod staging;
mod wheel;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::build::{PROGRAMS, target_folder};
use crate::setup::{c_compiler_for_musl, target, wasm_target};
use crate::shell::{aside, cargo, command, output, root};
use crate::web_ui;
use packages::Packages;
use staging::Staging;

/// Static programs: they run whatever C library a machine has.
pub const TARGET: &str = "x86_64-unknown-linux-musl";
/// The profile of the top `Cargo.toml` that is packed.
const PROFILE: &str = "dist";
const BINARIES: [&str; 3] = ["sateen", "sateen-host", "sateen-coordinator"];
/// Maximum size of the programs together, in bytes.
const PROGRAMS_BYTES_MAX: usize = 40_000_000;

/// Builds everything, and packs the archive and the wheel. The archive's path goes to stdout.
#[expect(clippy::print_stdout, reason = "it is the task's result")]
pub fn dist() -> Result<()> {
    wasm_target()?;
    target(TARGET)?;
    c_compiler_for_musl()?;
    let epoch = epoch()?;
    // First, as the coordinator embeds it.
    web_ui::build()?;
    ensure!(
        root().join("web-ui/dist/index.html").is_file(),
        "an archive has the dashboard; install Node, 20 or later, with npm"
    );
    aside(building(epoch)?)?;
    let folder = target_folder()?.join(TARGET).join(PROFILE);

    let packages = Packages::read(&PROGRAMS, TARGET)?;
    let mut staging = Staging::default();
    let mut size = 0;
    for name in BINARIES {
        let bytes = read(&folder.join(name))?;
        ensure!(is_static(&bytes), "{name} is not static");
        check_paths(name, &bytes)?;
        size += bytes.len();
        eprintln!("{name}: {:.1} MB", bytes.len() as f64 / 1e6);
        staging.program(name, bytes);
    }
    eprintln!("the programs together: {:.1} MB", size as f64 / 1e6);
    ensure!(size <= PROGRAMS_BYTES_MAX, "the programs exceed {PROGRAMS_BYTES_MAX} bytes");
    for name in BINARIES {
        staging.generated(name, &folder.join(name))?;
    }
    add_apps(&mut staging, &folder.join("sateen"), epoch)?;
    staging.sdk()?;
    staging.pages()?;
    staging.document("THIRD-PARTY-LICENCES.txt", licences::text(&packages)?.into_bytes());
    let bill = sbom::document(&packages, epoch)?;
    staging.document("sbom.cdx.json", bill.clone());
    staging.checksums();

    let name = format!("sateen-{}-x86_64-linux", packages.version());
    let folder = root().join("dist");
    let packed = folder.join(format!("{name}.tar.gz"));
    let bytes = archive::pack(&name, &staging.files, epoch)?;
    write(&packed, &bytes)?;
    write(&folder.join(format!("{name}.cdx.json")), &bill)?;
    write_digest(&packed, &bytes)?;
    eprintln!("{} files, {:.1} MB packed", staging.files.len(), bytes.len() as f64 / 1e6);
    let (wheel, bytes) = wheel::pack(packages.version(), &staging.files)?;
    write(&folder.join(&wheel), &bytes)?;
    write_digest(&folder.join(&wheel), &bytes)?;
    eprintln!("{wheel}, {:.1} MB", bytes.len() as f64 / 1e6);
    println!("{}", packed.display());
    Ok(())
}

/// Cargo's command that builds the programs.
fn building(epoch: u64) -> Result<Command> {
    let packages = PROGRAMS.iter().flat_map(|package| ["--package", package]);
    let mut build = cargo(["build", "--locked", "--bins", "--profile", PROFILE, "--target", TARGET]);
    build.args(packages);
    reproducibly(&mut build, epoch)?;
    // The programs find what they need beside themselves, not in a checkout.
    build.env("SATEEN_DIST", "1");
    Ok(build)
}

/// Sets what makes a build independent of the machine's folders and time.
fn reproducibly(build: &mut Command, epoch: u64) -> Result<()> {
    let folders = [(root(), "/sateen"), (cargo_home()?, "/cargo")];
    let mapped = |flag: &str| {
        folders.iter().map(|(from, to)| format!("{flag}={}={to}", from.display())).collect::<Vec<_>>()
    };
    // Flags are separated by a character that paths do not have.
    build.env("CARGO_ENCODED_RUSTFLAGS", mapped("--remap-path-prefix").join("\u{1f}"));
    build.env("CFLAGS", mapped("-ffile-prefix-map").join(" "));
    build.env("SOURCE_DATE_EPOCH", epoch.to_string());
    build.env("CC_x86_64_unknown_linux_musl", "musl-gcc");
    Ok(())
}

/// Builds all apps, with the `sateen` that is packed, and adds them. All of them: an archive does not depend on the
/// compilers that happen to be here.
fn add_apps(staging: &mut Staging, sateen: &Path, epoch: u64) -> Result<()> {
    let folder = tempfile::tempdir()?;
    for app in crate::build::apps("sample-apps")? {
        let module = folder.path().join(format!("{app}.wasm"));
        let source = root().join("sample-apps").join(&app);
        if source.join("Cargo.toml").is_file() {
            let mut build = command(sateen, ["build", "--manifest-path"]);
            build.arg(source.join("Cargo.toml")).arg("--output").arg(&module);
            reproducibly(&mut build, epoch)?;
            aside(build)?;
        } else {
            crate::languages::build_app(&source, &module, true)?;
            ensure!(module.is_file(), "an archive has all apps: install what {app} needs");
        }
        let bytes = read(&module)?;
        check_paths(&app, &bytes)?;
        staging.app(&app, bytes);
    }
    Ok(())
}

/// The time that everything in an archive has, in seconds since 1970.
fn epoch() -> Result<u64> {
    if let Ok(text) = std::env::var("SOURCE_DATE_EPOCH") {
        return text
            .parse()
            .with_context(|| format!("SOURCE_DATE_EPOCH is `{text}`, not seconds since 1970"));
    }
    let committed =
        || Ok(String::from_utf8(output(command("git", ["log", "-1", "--format=%ct"]))?)?.trim().parse()?);
    committed().map_err(|error: anyhow::Error| {
        error.context("the time of the commit is not known; set SOURCE_DATE_EPOCH to seconds since 1970")
    })
}

fn cargo_home() -> Result<PathBuf> {
    if let Some(folder) = std::env::var_os("CARGO_HOME") {
        return Ok(folder.into());
    }
    let home = std::env::home_dir().context("neither CARGO_HOME nor HOME is set")?;
    Ok(home.join(".cargo"))
}

/// Fails if `bytes` have the path of a folder of this machine.
fn check_paths(name: &str, bytes: &[u8]) -> Result<()> {
    for folder in [root(), cargo_home()?] {
        let folder = folder.display().to_string();
        if bytes.windows(folder.len()).any(|window| window == folder.as_bytes()) {
            bail!("{name} has the path {folder} in it, so other machines would build other bytes");
        }
    }
    Ok(())
}

/// Whether an ELF program needs neither a dynamic linker nor libraries: it has no segment that names an interpreter.
fn is_static(elf: &[u8]) -> bool {
    const INTERPRETER: u32 = 3;
    let number = |at: usize, size: usize| {
        let bytes = elf.get(at..at + size)?;
        Some(bytes.iter().rev().fold(0usize, |sum, byte| (sum << 8) | usize::from(*byte)))
    };
    let has_none = || {
        let (table, size, count) = (number(0x20, 8)?, number(0x36, 2)?, number(0x38, 2)?);
        let mut kinds = (0..count).map(|at| number(table + at * size, 4));
        Some(kinds.all(|kind| kind.is_some_and(|kind| kind != INTERPRETER as usize)))
    };
    elf.starts_with(b"\x7fELF\x02\x01") && has_none().unwrap_or(false)
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("{} cannot be read", path.display()))
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, bytes).with_context(|| format!("{} cannot be written", path.display()))
}

/// Writes the digest of a file beside it, as `sha256sum --check` reads it.
fn write_digest(path: &Path, bytes: &[u8]) -> Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let line = format!("{}  {name}\n", archive::sha256(bytes));
    write(&path.with_file_name(format!("{name}.sha256")), line.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_of_this_machine_is_not_static() {
        let this = std::env::current_exe().expect("this program has a path");
        let bytes = read(&this).expect("it can be read");
        if cfg!(all(target_os = "linux", target_env = "gnu")) {
            assert!(!is_static(&bytes));
        }
        assert!(!is_static(&bytes[..20]), "a file that is cut off");
        assert!(!is_static(b"#!/bin/sh\n"));
    }

    #[test]
    fn paths_of_this_machine_are_found() {
        let inside = format!("at {}/host/src/lib.rs:1", root().display());
        let error = check_paths("sateen", inside.as_bytes()).expect_err("it has a path");
        assert!(error.to_string().starts_with("sateen has the path "), "{error}");
        check_paths("sateen", b"/sateen/host/src/lib.rs:1").expect("a mapped path");
    }
}
