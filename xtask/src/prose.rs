//! Checks that the files, functions and flags that pages name exist.
//!
//! A page names something in backquotes outside of code blocks. A file may be named by the end of its path
//! (`scheduler/idle.rs`), where the context makes it clear. A name that is followed by a file, as in `check`
//! (`prose.rs`), must occur in that file.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::files;
use crate::shell::root;

/// Extensions by which a word without a slash is recognised as a file.
const FILES: [&str; 14] =
    ["rs", "ts", "js", "svelte", "md", "toml", "txt", "csv", "json", "yml", "service", "c", "h", "wat"];
/// Histories name things that existed then.
const HISTORIES: [&str; 1] = ["CHANGELOG.md"];
/// Names that are correct although they are not in the repository.
const ELSEWHERE: [&str; 10] = [
    "blobs/",           // in a coordinator's data folder
    "credentials.json", // in a host's data folder
    "e2e/shots/",       // tests of the dashboard write it
    "env_logger",       // a crate
    "hello/src/lib.rs", // the reader's own app
    "jobs.csv",         // the HTTP API's
    "rust_decimal",     // a crate
    "serialize_with",   // of serde
    "thread_rng",       // of rand
    "trace.json",       // the HTTP API's
];

/// The folder of the archive that `cargo xtask dist` makes; pages name what is in it.
const PACKED: &str = "share";

/// Everything in the repository that a page may name.
struct Repository {
    /// Paths of files and folders from the top folder, separated by `/`.
    paths: BTreeSet<String>,
    /// Words of all sources, with `_` as a letter.
    words: BTreeSet<String>,
    pages: Vec<String>,
}

/// Checks that everything that pages name exists.
pub fn check() -> Result<()> {
    let repository = Repository::read(&root())?;
    ensure!(repository.pages.len() > 20, "found only {} pages", repository.pages.len());
    let mut wrong = Vec::new();
    for page in &repository.pages {
        let text = fs::read_to_string(root().join(page)).with_context(|| page.clone())?;
        let missing = named(&text).into_iter().filter(|name| !repository.has(name));
        wrong.extend(missing.map(|name| format!("{page} names `{name}`, which does not exist")));
        for (name, file) in placed(&text) {
            if repository.lacks(name, file)? {
                wrong.push(format!(
                    "{page} says that `{name}` is in `{file}`, where that name does not occur"
                ));
            }
        }
    }
    wrong.extend(repository.manifests()?);
    wrong.extend(imports()?);
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

/// Differences between the host's imports and those listed in the page about the ABI.
fn imports() -> Result<Option<String>> {
    let read = |path: &str| fs::read_to_string(root().join(path)).with_context(|| path.to_owned());
    let host = read("host/src/guest/imports.rs")? + &read("host/src/guest/objects.rs")?;
    let linked: BTreeSet<&str> = host
        .split("MODULE,")
        .skip(1)
        .filter_map(|rest| rest.trim_start().strip_prefix('"')?.split('"').next())
        .collect();
    let page = read("docs/abi.md")?;
    let (_, table) = page.split_once("## Imports").context("docs/abi.md has no section of imports")?;
    let cells = table.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
    let listed: BTreeSet<&str> = cells
        .flat_map(|cell| cell.split('`').skip(1).step_by(2))
        .filter_map(|span| Some(span.split_once('(')?.0))
        .collect();
    let differ: Vec<_> = listed.symmetric_difference(&linked).collect();
    ensure!(linked.contains("expose"), "the imports were not found in host/src/guest/imports.rs");
    Ok((!differ.is_empty()).then(|| format!("docs/abi.md and the host differ in the imports {differ:?}")))
}

impl Repository {
    fn read(folder: &Path) -> Result<Self> {
        let mut repository = Self { paths: BTreeSet::new(), words: BTreeSet::new(), pages: Vec::new() };
        for path in files::below(folder)? {
            if path.ends_with(".md") {
                if !HISTORIES.contains(&path.as_str()) {
                    repository.pages.push(path.clone());
                }
            } else if let Ok(text) = fs::read_to_string(folder.join(&path)) {
                let words = text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
                repository.words.extend(words.filter(|word| word.contains('_')).map(str::to_owned));
                let flags = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
                repository.words.extend(flags.filter(|word| is_flag(word)).map(str::to_owned));
            }
            repository.paths.insert(path);
        }
        Ok(repository)
    }

    /// Packages without a description or a licence. A `repository` is not required, because the project does not have a
    /// public address yet; require it here once there is one.
    fn manifests(&self) -> Result<Vec<String>> {
        let mut wrong = Vec::new();
        for path in self.paths.iter().filter(|path| path.ends_with("Cargo.toml")) {
            let text = fs::read_to_string(root().join(path)).with_context(|| path.clone())?;
            let has = |field: &str| text.lines().any(|line| line.starts_with(field));
            if text.contains("[package]") && !(has("description = ") && has("license")) {
                wrong.push(format!("{path} lacks a description or a licence"));
            }
        }
        Ok(wrong)
    }

    fn has(&self, name: &str) -> bool {
        if ELSEWHERE.contains(&name) {
            return true;
        }
        if is_path(name) {
            return self.paths_of(name).next().is_some();
        }
        // In a program's source, a flag is a field or spelled out.
        self.words.contains(name) || self.words.contains(&name.trim_start_matches('-').replace('-', "_"))
    }

    /// The files and folders whose paths end in `name`.
    fn paths_of(&self, name: &str) -> impl Iterator<Item = &String> {
        let end = format!("/{name}");
        self.paths.iter().filter(move |path| *path == name || path.ends_with(&end))
    }

    /// Whether none of the files that `file` names has all words of the path `name`. A missing file lacks nothing: that
    /// it is missing is an error of its own.
    fn lacks(&self, name: &str, file: &str) -> Result<bool> {
        let mut is_there = false;
        for path in self.paths_of(file) {
            let text = fs::read_to_string(root().join(path)).with_context(|| path.clone())?;
            let words: BTreeSet<&str> = text.split(|c: char| !(c.is_alphanumeric() || c == '_')).collect();
            if name.split("::").all(|word| words.contains(word)) {
                return Ok(false);
            }
            is_there = true;
        }
        Ok(is_there)
    }
}

/// The names in a page: files, identifiers of several words, and flags of several words.
fn named(text: &str) -> BTreeSet<&str> {
    let mut found = BTreeSet::new();
    for (number, block) in text.split("```").enumerate() {
        if number % 2 == 1 {
            continue;
        }
        for span in block.split('`').skip(1).step_by(2) {
            let words = span.split(|c: char| c.is_whitespace() || "=,;[]()|".contains(c));
            let is_alone = !span.contains(char::is_whitespace);
            found.extend(words.filter(|word| is_flag(word) || is_alone && (is_path(word) || is_name(word))));
        }
    }
    found
}

/// The identifiers in a page that a file follows, each with that file: `name` (`file`), `name`, `file` and `name` in
/// `file`.
fn placed(text: &str) -> Vec<(&str, &str)> {
    let mut found = Vec::new();
    for block in text.split("```").step_by(2) {
        let pieces: Vec<&str> = block.split('`').collect();
        for spans in pieces.windows(3).skip(1).step_by(2) {
            let [name, between, file] = spans else { continue };
            let between: Vec<&str> = between.split_whitespace().collect();
            let name = name.strip_suffix("()").unwrap_or(*name);
            let is_placed = matches!(between[..], ["("] | [","] | ["in"]);
            if is_placed && is_identifier(name) && is_path(file) && !file.ends_with('/') {
                found.push((name, *file));
            }
        }
    }
    found
}

/// Whether the word is an identifier or a path of identifiers, as written in Rust.
fn is_identifier(word: &str) -> bool {
    word.split("::").all(|part| {
        part.starts_with(|c: char| c.is_ascii_alphabetic())
            && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

/// Whether the word is a path within the repository. Built files and paths of the API and of systems are not, and
/// `NAME` stands for any name.
fn is_path(word: &str) -> bool {
    let is_plain = word.chars().all(|c| c.is_ascii_alphanumeric() || "._-/".contains(c));
    let is_file = word.rsplit_once('.').is_some_and(|(name, end)| !name.is_empty() && FILES.contains(&end));
    let first = word.split('/').next().unwrap_or_default();
    is_plain
        && !word.contains("NAME")
        && !first.is_empty()
        && !files::NOT_OURS.contains(&first)
        && first != PACKED
        && (is_file || word.ends_with('/'))
}

/// Whether the word is an identifier of several words, as written in Rust. `NAME` stands for any name.
fn is_name(word: &str) -> bool {
    let is_plain = word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && !word.contains("NAME");
    is_plain && word.trim_matches('_').contains('_') && word.starts_with(|c: char| c.is_ascii_alphabetic())
}

/// Whether the word is a flag of several words; flags of one word may easily be another program's.
fn is_flag(word: &str) -> bool {
    let name = word.strip_prefix("--").unwrap_or_default();
    name.contains('-')
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && !name.ends_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_this_repositorys_pages_exist() {
        check().unwrap_or_else(|wrong| panic!("{wrong}"));
    }

    #[test]
    fn names_in_a_page_are_found() {
        let text = "`a/b.rs` and `host/`, `no_alarm` and `main_NAME`; `x.rs y.rs`, `--two-words=N`, `--one`, `/api/v1/runs/`\n\
            ```\n`c.rs`\n```\n`target/x.json` `share/man/` `v1.2` `snake` `GET /d.json` `e.md`";
        let expected = ["--two-words", "a/b.rs", "e.md", "host/", "no_alarm"];
        assert_eq!(named(text).into_iter().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn names_are_found_with_their_files() {
        let text = "`a` (`x/a.rs`), `B::b`,\n  `b.rs`; `c()` in `c.rs`, `d` of `d.rs`, `e` (`e/`), `--f` (`f.rs`) \
            `g.rs`, `h.rs`\n```\n`i` (`i.rs`)\n```\n`j`, `k` (`k.ts`)";
        assert_eq!(placed(text), [("a", "x/a.rs"), ("B::b", "b.rs"), ("c", "c.rs"), ("k", "k.ts")]);
    }

    #[test]
    fn names_are_missed_in_the_wrong_file() {
        let repository = Repository::read(&root()).expect("it can be read");
        for (name, file, expected) in [
            ("placed", "xtask/src/prose.rs", false),
            ("Repository::lacks", "prose.rs", false),
            ("placed", "xtask/src/shape.rs", true),
            // Only whole words count, and all words of a path.
            ("WRITTEN", "xtask/src/shape.rs", false),
            ("WRITTE", "xtask/src/shape.rs", true),
            ("Repository::WRITTEN", "xtask/src/shape.rs", true),
            ("placed", "dispatch.rs", false),
        ] {
            assert_eq!(repository.lacks(name, file).expect("it can be read"), expected, "{name} in {file}");
        }
    }

    #[test]
    fn missing_names_are_found() {
        let repository = Repository::read(&root()).expect("it can be read");
        for name in ["prose.rs", "xtask/src/prose.rs", "xtask/", "names_in_a_page_are_found", "--data-dir"] {
            assert!(repository.has(name), "{name}");
        }
        // In pieces, as this file is one of the sources.
        let gone = [concat!("gone", "_for_ever"), concat!("--gone", "-for-ever")];
        for name in ["ose.rs", "src/xtask/prose.rs", "dispatch.rs", gone[0], gone[1]] {
            assert!(!repository.has(name), "{name}");
        }
    }

    #[test]
    fn pages_name_what_is_there() {
        check().unwrap_or_else(|error| panic!("{error}"));
    }
}
