//! `key`.

use std::path::Path;
use std::process::ExitCode;

use clap::Subcommand;
use sateen_host::grid::{DataFolder, FolderError, HostKey};

use super::say::{GRID, USAGE, fail, note, result};

#[derive(Subcommand)]
pub enum Key {
    /// Print the public part of the key, 64 digits
    Show,
    /// Replace the key by a new one, for example if the data folder may have been copied. The host must not run. Coordinators
    /// that know the present key accept the new one, and refuse the present one from then on
    Rotate,
}

/// Shows or replaces the key in this folder.
pub fn key(folder: &Path, command: &Key) -> ExitCode {
    match command {
        Key::Show => match HostKey::show(folder) {
            Ok(key) => {
                result(&key.to_string());
                ExitCode::SUCCESS
            }
            Err(error) => fail(USAGE, error),
        },
        Key::Rotate => rotate(folder),
    }
}

fn rotate(path: &Path) -> ExitCode {
    if let Err(error) = HostKey::show(path) {
        // Nothing is made where no host has been.
        return fail(USAGE, error);
    }
    let folder = match DataFolder::open(path) {
        Ok(folder) => folder,
        Err(FolderError::InUse { who, .. }) => {
            let why = "a host runs with this key, and no key is replaced while it is used";
            return fail(GRID, format!("{why}{who}; `sateen-host leave` ends it"));
        }
        Err(error) => return fail(USAGE, error),
    };
    match HostKey::rotate(&folder) {
        Ok((from, to)) => {
            note(&format!(
                "sateen-host: the key {} is replaced; a coordinator learns of it when this host next connects",
                from.short()
            ));
            result(&to.to_string());
            ExitCode::SUCCESS
        }
        Err(error) => fail(GRID, error),
    }
}
