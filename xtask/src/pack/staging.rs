//! What an archive has, and where.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Result, ensure};

use super::archive::{File, sha256};
use super::{read, sdk};
use crate::shell::{command, output, root};

/// Shells whose completions are packed: the shell, and the file, in which `NAME` is the program.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "share/bash-completion/completions/NAME"),
    ("zsh", "share/zsh/site-functions/_NAME"),
    ("fish", "share/fish/vendor_completions.d/NAME.fish"),
];
/// Files of the top folder, and their names in the archive.
const PAGES: [(&str, &str); 6] = [
    ("docs/install.md", "INSTALL.md"),
    ("LICENSE-APACHE", "LICENSE-APACHE"),
    ("LICENSE-MIT", "LICENSE-MIT"),
    ("CHANGELOG.md", "share/doc/sateen/CHANGELOG.md"),
    ("ops/systemd/sateen-coordinator.service", "share/sateen/systemd/sateen-coordinator.service"),
    ("ops/systemd/sateen-host.service", "share/sateen/systemd/sateen-host.service"),
];

/// Files by their paths in the archive.
#[derive(Default)]
pub struct Staging {
    pub files: BTreeMap<String, File>,
}

impl Staging {
    fn add(&mut self, path: String, bytes: Vec<u8>) {
        self.files.insert(path, File { bytes, is_program: false });
    }

    pub fn program(&mut self, name: &str, bytes: Vec<u8>) {
        self.files.insert(format!("bin/{name}"), File { bytes, is_program: true });
    }

    pub fn app(&mut self, name: &str, bytes: Vec<u8>) {
        self.add(format!("share/sateen/apps/{name}.wasm"), bytes);
    }

    /// A file about the archive.
    pub fn document(&mut self, name: &str, bytes: Vec<u8>) {
        self.add(format!("share/doc/sateen/{name}"), bytes);
    }

    /// The man pages and completions that the program at `path` writes.
    pub fn generated(&mut self, name: &str, path: &Path) -> Result<()> {
        let folder = tempfile::tempdir()?;
        output(command(path, [OsStr::new("man"), folder.path().as_os_str()]))?;
        let pages = folder.path().read_dir()?.collect::<Result<Vec<_>, _>>()?;
        ensure!(!pages.is_empty(), "{name} has no man pages");
        for page in pages {
            let file = page.file_name().to_string_lossy().into_owned();
            self.add(format!("share/man/man1/{file}"), read(&page.path())?);
        }
        for (shell, file) in COMPLETIONS {
            let script = output(command(path, ["completions", shell]))?;
            self.add(file.replace("NAME", name), script);
        }
        Ok(())
    }

    /// The crates that apps are made of.
    pub fn sdk(&mut self) -> Result<()> {
        for (path, bytes) in sdk::files(&root())? {
            self.add(format!("share/sateen/sdk/{path}"), bytes);
        }
        Ok(())
    }

    /// Pages, licences and units.
    pub fn pages(&mut self) -> Result<()> {
        for (from, to) in PAGES {
            self.add(to.to_owned(), read(&root().join(from))?);
        }
        Ok(())
    }

    /// Adds the digests of everything so far, as `sha256sum --check` reads them.
    pub fn checksums(&mut self) {
        let mut lines = String::new();
        for (path, file) in &self.files {
            // Writing to a string cannot fail.
            let _ = writeln!(lines, "{}  {path}", sha256(&file.bytes));
        }
        self.add("SHA256SUMS".to_owned(), lines.into_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_name_every_other_file() {
        let mut staging = Staging::default();
        staging.program("sateen", b"abc".to_vec());
        staging.pages().expect("pages");
        staging.checksums();
        let sums = String::from_utf8(staging.files["SHA256SUMS"].bytes.clone()).expect("text");
        let first = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  bin/sateen";
        assert!(sums.lines().any(|line| line == first), "{sums}");
        assert_eq!(sums.lines().count(), staging.files.len() - 1);
        assert!(staging.files["bin/sateen"].is_program && !staging.files["LICENSE-MIT"].is_program);
    }
}
