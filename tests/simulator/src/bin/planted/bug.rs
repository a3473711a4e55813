//! A bug as it is written down.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A bug that is planted.
pub struct Bug {
    /// The name of its file.
    pub name: String,
    /// What it is, in a sentence.
    pub what: String,
    /// The source file, from the repo's root.
    pub file: PathBuf,
    /// The text that is replaced.
    pub from: String,
    /// By what.
    pub to: String,
}

impl Bug {
    /// Those of a folder, by name.
    ///
    /// # Errors
    /// When a file cannot be read or is not a bug.
    pub fn all(folder: &Path) -> io::Result<Vec<Self>> {
        let mut bugs = Vec::new();
        for entry in fs::read_dir(folder)? {
            bugs.push(Self::read(&entry?.path())?);
        }
        bugs.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(bugs)
    }

    fn read(path: &Path) -> io::Result<Self> {
        let text = fs::read_to_string(path)?;
        Self::parse(path, &text)
            .ok_or_else(|| io::Error::other(format!("{} is not a planted bug", path.display())))
    }

    fn parse(path: &Path, text: &str) -> Option<Self> {
        let (head, rest) = text.split_once("\n<<<<\n")?;
        let (from, rest) = rest.split_once("\n====\n")?;
        let (to, _) = rest.split_once("\n>>>>")?;
        let (what, file) = head.split_once('\n')?;
        Some(Self {
            name: path.file_stem()?.to_str()?.to_owned(),
            what: what.to_owned(),
            file: PathBuf::from(file),
            from: from.to_owned(),
            to: to.to_owned(),
        })
    }

    /// The source with the bug in it; `None` if the text that it replaces is not there exactly once.
    pub fn plant(&self, source: &str) -> Option<String> {
        (source.matches(&self.from).count() == 1).then(|| source.replacen(&self.from, &self.to, 1))
    }
}
