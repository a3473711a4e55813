//! The files with which the system starts a host for its user, and `systemctl`, which installs one of them.

mod systemd;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

pub use systemd::{InstallError, install, uninstall, unit_path};

/// The name of the service.
pub const NAME: &str = "sateen-host";

/// A system that starts services.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum System {
    /// Linux.
    Systemd,
    /// macOS.
    Launchd,
    /// Windows.
    Windows,
}

/// A host that the system starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Service {
    /// The program.
    pub program: PathBuf,
    /// Its data folder, in which the consent, the coordinator and the preferences are.
    pub data_folder: PathBuf,
}

impl Service {
    /// The file for a system.
    pub fn file(&self, system: System) -> String {
        match system {
            System::Systemd => self.unit(),
            System::Launchd => self.plist(),
            System::Windows => self.script(),
        }
    }

    fn unit(&self) -> String {
        const UNIT: &str = include_str!("sateen-host.user.service");
        let words = [&self.program, &self.data_folder].map(|path| unit_word(path));
        UNIT.replace("{program}", &words[0]).replace("{data_folder}", &words[1])
    }

    fn plist(&self) -> String {
        const PLIST: &str = include_str!("org.sateen.host.plist");
        let words = [&self.program, &self.data_folder].map(|path| xml(&path.to_string_lossy()));
        PLIST.replace("{program}", &words[0]).replace("{data_folder}", &words[1])
    }

    fn script(&self) -> String {
        const SCRIPT: &str = include_str!("sateen-host.ps1");
        // In PowerShell, a quote within single quotes is doubled.
        let words = [&self.program, &self.data_folder].map(|path| path.to_string_lossy().replace('\'', "''"));
        SCRIPT.replace("{program}", &words[0]).replace("{data_folder}", &words[1])
    }
}

/// A path as one word of a unit's command line: specifiers and variables mean nothing in it.
fn unit_word(path: &Path) -> String {
    let text = path.to_string_lossy();
    let text = text.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%").replace('$', "$$");
    format!("\"{text}\"")
}

fn xml(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
