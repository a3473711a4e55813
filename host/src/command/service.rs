//! `service install`, `uninstall` and `show`.

use std::path::Path;
use std::process::ExitCode;

use clap::{Subcommand, ValueEnum};
use sateen_comfort::consent::Consent;
use sateen_comfort::service::{InstallError, Service as File, System, install, uninstall};
use sateen_command_line::explained;

use super::say::{GRID, USAGE, fail, note, result};

#[derive(Subcommand)]
pub enum Service {
    /// Install a user service of systemd, and start it; the machine must have joined a grid
    Install,
    /// Stop the service and remove it
    Uninstall,
    /// Print the service's file
    Show {
        /// The system that reads it
        #[arg(long, value_enum, default_value_t = SystemFlag::Systemd)]
        system: SystemFlag,
    },
}

#[derive(Clone, Copy, ValueEnum)]
pub enum SystemFlag {
    /// A user service of Linux
    Systemd,
    /// An agent of macOS
    Launchd,
    /// A task of Windows
    Windows,
}

/// Installs, removes or prints the service of the host on this data folder.
pub fn service(folder: &Path, command: &Service) -> ExitCode {
    let program = match std::env::current_exe() {
        Ok(program) => program,
        Err(error) => return fail(GRID, format!("this program cannot be found: {}", explained(&error))),
    };
    let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    let file = File { program, data_folder: folder.clone() };
    let done = match command {
        Service::Show { system } => {
            let system = match system {
                SystemFlag::Systemd => System::Systemd,
                SystemFlag::Launchd => System::Launchd,
                SystemFlag::Windows => System::Windows,
            };
            result(file.file(system).trim_end());
            return ExitCode::SUCCESS;
        }
        Service::Install if Consent::read(&folder).is_none() => {
            let why = "this machine has joined no grid; run `sateen-host join URL --no-start` first";
            return fail(USAGE, why);
        }
        Service::Install => configs().and_then(|configs| install(&file, &configs)).map(|unit| {
            format!("installed and started; the unit is {}, and `systemctl --user status sateen-host` shows its state", unit.display())
        }),
        Service::Uninstall => configs()
            .and_then(|configs| uninstall(&configs))
            .map(|unit| format!("stopped and removed: {}", unit.display())),
    };
    match done {
        Ok(text) => {
            note(&format!("sateen-host: {text}"));
            ExitCode::SUCCESS
        }
        Err(error) => fail(GRID, error),
    }
}

/// The user's folder of configurations.
fn configs() -> Result<std::path::PathBuf, InstallError> {
    let folders = directories::BaseDirs::new();
    let folders = folders.ok_or_else(|| InstallError::File("this user has no home folder".to_owned()))?;
    Ok(folders.config_dir().to_owned())
}
