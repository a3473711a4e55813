//! Installs Ray, Dask and HyperQueue into a virtual environment of their own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::sandbox::dist;

/// Exact versions of everything that is installed.
const VERSIONS: &str = include_str!("../../peers/requirements.txt");
/// The file in the environment that says what it was made for.
const STAMP: &str = "made-for.txt";

/// A virtual environment of Python.
pub struct Environment {
    folder: PathBuf,
}

impl Environment {
    /// Makes the environment, unless it is as it should be already.
    ///
    /// # Errors
    /// Without Python or its module `venv`.
    pub fn prepare() -> Result<Self> {
        let environment = Self { folder: dist().join("peers") };
        if fs::read_to_string(environment.folder.join(STAMP)).is_ok_and(|stamp| stamp == VERSIONS) {
            return Ok(environment);
        }
        eprintln!("peers: makes a virtual environment in {}", environment.folder.display());
        let python = if cfg!(windows) { "python" } else { "python3" };
        run(Command::new(python).args(["-m", "venv", "--clear"]).arg(&environment.folder))
            .context("no virtual environment; Python 3.9 or later with its module `venv` is needed")?;
        fs::write(environment.folder.join(STAMP), VERSIONS)?;
        Ok(environment)
    }

    /// The environment's Python.
    pub fn python(&self) -> PathBuf {
        self.folder.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" })
    }

    /// Installs `package` at its pinned version, unless it is there.
    ///
    /// # Errors
    /// When pip fails; the error has its last line.
    pub fn install(&self, package: &str) -> Result<()> {
        let marker = self.folder.join(format!("installed-{package}.txt"));
        if marker.is_file() {
            return Ok(());
        }
        eprintln!("peers: installs {}", pinned(package)?);
        let versions = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/requirements.txt");
        let words = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--constraint"];
        run(Command::new(self.python()).args(words).arg(versions).arg(package))?;
        Ok(fs::write(marker, "")?)
    }
}

/// The line of the pinned versions that is about `package`, as pip writes it.
///
/// # Errors
/// When it is not pinned.
pub fn pinned(package: &str) -> Result<&'static str> {
    let is_it = |line: &&str| line.split_once("==").is_some_and(|(name, _)| name == package);
    VERSIONS.lines().find(is_it).with_context(|| format!("bench/peers/requirements.txt has no {package}"))
}

fn run(command: &mut Command) -> Result<()> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("{} cannot be started", command.get_program().display()))?;
    let text = String::from_utf8_lossy(&output.stderr);
    let reason = text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it says nothing");
    ensure!(output.status.success(), "{reason}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_pinned_exactly() {
        for line in VERSIONS.lines().filter(|line| !line.starts_with('#')) {
            let (name, version) = line.split_once("==").expect("a name and its version");
            assert_eq!(pinned(name).expect("it is pinned"), line);
            assert!(version.starts_with(|first: char| first.is_ascii_digit()), "{line}");
        }
        let error = pinned("rays").expect_err("it is not pinned").to_string();
        assert!(error.contains("rays"), "{error}");
    }

    #[test]
    fn a_failed_command_reports_its_last_line() {
        let error =
            run(Command::new("sh").args(["-c", "echo one >&2; echo two >&2; exit 3"])).expect_err("it fails");
        assert_eq!(error.to_string(), "two");
        run(&mut Command::new("true")).expect("it succeeds");
        assert!(run(&mut Command::new("a-program-that-is-missing")).is_err());
    }
}
