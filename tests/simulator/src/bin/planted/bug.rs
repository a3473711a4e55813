//! Reads bugs from their files.

use std::fs;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// A planted bug.
#[derive(Debug, Clone)]
pub struct Bug {
    /// Its name: that of its file or mutant.
    pub name: String,
    /// Its description, in a sentence.
    pub what: String,
    /// The source file, from the repo's root.
    pub file: PathBuf,
    /// The bytes that are replaced.
    pub at: Range<usize>,
    /// The replacement.
    pub to: String,
}

impl Bug {
    /// Reads the bugs of a folder, by name.
    ///
    /// # Errors
    /// When a file cannot be read, is not a bug, or does not fit the sources in `root` any more.
    pub fn all(folder: &Path, root: &Path) -> io::Result<Vec<Self>> {
        let mut bugs = Vec::new();
        for entry in fs::read_dir(folder)? {
            bugs.push(Self::read(&entry?.path(), root)?);
        }
        bugs.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(bugs)
    }

    fn read(path: &Path, root: &Path) -> io::Result<Self> {
        let text = fs::read_to_string(path)?;
        let wrong = |what: &str| io::Error::other(format!("{} {what}", path.display()));
        let written = Written::parse(&text).ok_or_else(|| wrong("is not a planted bug"))?;
        let source = fs::read_to_string(root.join(written.file))?;
        let misfit = || wrong(&format!("no longer fits {}", written.file));
        if source.matches(written.from).count() != 1 {
            return Err(misfit());
        }
        let (within, to) = written.difference();
        let from = source.find(written.from).ok_or_else(misfit)?;
        let name = path.file_stem().and_then(|name| name.to_str()).ok_or_else(|| wrong("has no name"))?;
        Ok(Self {
            name: name.to_owned(),
            what: written.what.to_owned(),
            file: PathBuf::from(written.file),
            at: from + within.start..from + within.end,
            to: to.to_owned(),
        })
    }
}

/// The parts of a bug's file.
struct Written<'a> {
    what: &'a str,
    file: &'a str,
    from: &'a str,
    to: &'a str,
}

impl<'a> Written<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let (head, rest) = text.split_once("\n<<<<\n")?;
        let (from, rest) = rest.split_once("\n====\n")?;
        let (to, _) = rest.split_once("\n>>>>")?;
        let (what, file) = head.split_once('\n')?;
        Some(Self { what, file, from, to })
    }

    /// The place where `from` differs from `to`, and the text of `to` there: the common text around it may belong to
    /// other functions.
    fn difference(&self) -> (Range<usize>, &'a str) {
        let same = |one: &str, other: &str| {
            one.chars()
                .zip(other.chars())
                .take_while(|(one, other)| one == other)
                .map(|(one, _)| one.len_utf8())
                .sum()
        };
        let start: usize = same(self.from, self.to);
        let (from, to) = (&self.from[start..], &self.to[start..]);
        let back = |text: &str| text.chars().rev().collect::<String>();
        let end: usize = same(&back(from), &back(to));
        (start..self.from.len() - end, &to[..to.len() - end])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_difference_is_replaced() {
        let text = "What it is\nfile.rs\n<<<<\nif a && b {\n====\nif a || b {\n>>>>\n";
        let written = Written::parse(text).expect("it is a bug");
        assert_eq!((written.what, written.file), ("What it is", "file.rs"));
        assert_eq!(written.difference(), (5..7, "||"));
        let gone = Written { from: "a();\nb();\n", to: "a();\n", ..written };
        assert_eq!(gone.difference(), (5..10, ""));
    }

    #[test]
    fn every_bug_fits_the_source() {
        let simulator = Path::new(env!("CARGO_MANIFEST_DIR"));
        let root = simulator.ancestors().nth(2).expect("the repo has a root");
        let bugs = Bug::all(&simulator.join("planted"), root).expect("all fit");
        assert!(bugs.len() >= 40, "{}", bugs.len());
    }
}
