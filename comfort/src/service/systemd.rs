//! A user service of systemd.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sateen_command_line::refused;
use thiserror::Error;

use super::{NAME, Service};

/// Why a service is not installed or removed.
#[derive(Debug, Error)]
pub enum InstallError {
    /// There is no systemd.
    #[error(
        "this system has no `systemctl`: a service can be installed for systemd only; `sateen-host service show --system launchd` or `windows` prints the file for another system"
    )]
    NoSystemd,
    /// This user has no service manager.
    #[error(
        "`systemctl --user {words}` failed: {why}; if this user has no session, run `loginctl enable-linger` and log in again{rest}"
    )]
    Failed {
        /// What it was asked.
        words: String,
        /// What it said.
        why: String,
        /// What remains to be done.
        rest: String,
    },
    /// A file cannot be written or removed.
    #[error("{0}")]
    File(String),
    /// Nothing is installed.
    #[error("no service is installed: {} does not exist", .0.display())]
    Absent(PathBuf),
}

/// Where the unit is, below the user's folder of configurations.
pub fn unit_path(config_folder: &Path) -> PathBuf {
    config_folder.join("systemd/user").join(format!("{NAME}.service"))
}

/// Writes the unit, enables and starts it. Returns its path.
///
/// # Errors
/// If there is no systemd, or it refuses; the unit is then removed again.
pub fn install(service: &Service, config_folder: &Path) -> Result<PathBuf, InstallError> {
    // Before anything is written.
    systemctl(&["--version"], "")?;
    let path = unit_path(config_folder);
    let before = fs::read(&path).ok();
    let write = || -> io::Result<()> {
        fs::create_dir_all(path.parent().unwrap_or(config_folder))?;
        fs::write(&path, service.unit())
    };
    write().map_err(|error| InstallError::File(refused(&path.display().to_string(), &error)))?;
    let unit = format!("{NAME}.service");
    let started = systemctl(&["daemon-reload"], "").and_then(|()| {
        systemctl(&["enable", &unit], "")?;
        // A service that runs already gets the new unit.
        systemctl(&["restart", &unit], "")
    });
    if let Err(error) = started {
        match before {
            Some(before) => {
                let _ = fs::write(&path, before);
            }
            None => {
                let _ = systemctl(&["disable", &unit], "");
                let _ = fs::remove_file(&path);
            }
        }
        return Err(error);
    }
    Ok(path)
}

/// Stops and removes the service. Returns the path of its unit.
///
/// # Errors
/// If it is not installed, or systemd refuses.
pub fn uninstall(config_folder: &Path) -> Result<PathBuf, InstallError> {
    let path = unit_path(config_folder);
    if !path.exists() {
        return Err(InstallError::Absent(path));
    }
    let unit = format!("{NAME}.service");
    let rest = format!("; the unit is still there: {}", path.display());
    systemctl(&["disable", "--now", &unit], &rest)?;
    fs::remove_file(&path)
        .map_err(|error| InstallError::File(refused(&path.display().to_string(), &error)))?;
    systemctl(&["daemon-reload"], "")?;
    Ok(path)
}

fn systemctl(words: &[&str], rest: &str) -> Result<(), InstallError> {
    let output = Command::new("systemctl").arg("--user").args(words).stdin(Stdio::null()).output();
    let output = match output {
        Ok(output) => output,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(InstallError::NoSystemd),
        Err(error) => return Err(InstallError::File(refused(&"systemctl", &error))),
    };
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let why = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ");
    let why = if why.is_empty() { output.status.to_string() } else { why };
    Err(InstallError::Failed { words: words.join(" "), why, rest: rest.to_owned() })
}
