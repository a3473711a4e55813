//! The copy of the sources in which bugs are planted.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::bug::Bug;

/// A workspace of nothing but the protocol, the simulator and the stories. Its target folder is kept, so that a
/// bug costs the building of one crate and what depends on it.
pub struct Workspace {
    /// Where it is.
    pub folder: PathBuf,
}

impl Workspace {
    /// Copies that of `root` to `target/planted`.
    ///
    /// # Errors
    /// When something cannot be read or written.
    pub fn copy(root: &Path) -> io::Result<Self> {
        let folder = root.join("target/planted");
        for part in ["protocol", "tests/simulator", "tests/driven"] {
            copy_folder(&root.join(part), &folder.join(part))?;
        }
        let manifest = fs::read_to_string(root.join("Cargo.toml"))?;
        let lines: Vec<String> = (manifest.lines())
            .take_while(|line| !line.starts_with("[profile.release.package"))
            .filter(|line| !line.starts_with("default-members"))
            .map(|line| match line.starts_with("members") {
                true => "members = [\"protocol\", \"tests/driven\", \"tests/simulator\"]".to_owned(),
                false => line.to_owned(),
            })
            .collect();
        write_if_changed(&folder.join("Cargo.toml"), lines.join("\n").as_bytes())?;
        fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock"))?;
        Ok(Self { folder })
    }

    /// What `trial` returns while the bug is planted.
    ///
    /// # Errors
    /// When the bug does not fit the source any more, a file cannot be read or written, or the trial fails.
    pub fn with<T>(&self, bug: &Bug, trial: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        let path = self.folder.join(&bug.file);
        let source = fs::read_to_string(&path)?;
        let planted = bug.plant(&source);
        let planted = planted
            .ok_or_else(|| io::Error::other(format!("it does not fit {} any more", bug.file.display())))?;
        fs::write(&path, planted)?;
        let result = trial();
        fs::write(&path, source)?;
        result
    }
}

/// Makes `to` the same as `from`. What is the same already is not touched: cargo goes by times.
fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(to)? {
        let entry = entry?;
        if from.join(entry.file_name()).exists() {
            continue;
        }
        match entry.file_type()?.is_dir() {
            true => fs::remove_dir_all(entry.path())?,
            false => fs::remove_file(entry.path())?,
        }
    }
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let place = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_folder(&entry.path(), &place)?;
        } else {
            write_if_changed(&place, &fs::read(entry.path())?)?;
        }
    }
    Ok(())
}

fn write_if_changed(path: &Path, content: &[u8]) -> io::Result<()> {
    if fs::read(path).is_ok_and(|there| there == content) {
        return Ok(());
    }
    fs::write(path, content)
}
