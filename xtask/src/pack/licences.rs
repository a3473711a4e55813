//! The licences of everything that is in an archive's programs.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use super::packages::{Package, Packages};
use crate::shell::root;

/// How names of files with licences begin, in small letters.
const FILES: [&str; 6] = ["license", "licence", "copying", "copyright", "notice", "unlicense"];
/// The text of the Apache licence's exception for compilers, as wasmtime's crates have it.
const LLVM_EXCEPTION: &str = "Apache-2.0 WITH LLVM-exception";

/// What programs or pages contain besides crates.
pub struct Embedded {
    pub name: &'static str,
    pub licence: &'static str,
    pub is: &'static str,
    /// Its notice, or where it is.
    notice: Notice,
}

enum Notice {
    /// The MIT licence, with this copyright.
    Mit(&'static str),
    /// A file of this repository's dashboard packages.
    Dashboard(&'static str),
    Text(&'static str),
}

pub const EMBEDDED: [Embedded; 4] = [
    Embedded {
        name: "musl",
        licence: "MIT",
        is: "The C library, statically linked.",
        notice: Notice::Mit("Copyright (c) 2005-2020 Rich Felker, et al."),
    },
    Embedded {
        name: "rust-standard-library",
        licence: "MIT OR Apache-2.0",
        is: "Rust's standard library.",
        notice: Notice::Text(
            "Copyright (c) The Rust Project Contributors. The licences are those of Sateen itself.",
        ),
    },
    Embedded {
        name: "sqlite",
        licence: "blessing",
        is: "The database of the coordinator, compiled by libsqlite3-sys.",
        notice: Notice::Text("SQLite is in the public domain."),
    },
    Embedded {
        name: "svelte",
        licence: "MIT",
        is: "The framework of the dashboard.",
        notice: Notice::Dashboard("svelte/LICENSE.md"),
    },
];

/// All licences in one text: for each distinct text, what it is the licence of.
pub fn text(packages: &Packages) -> Result<String> {
    // Texts by what they are of: most crates share theirs with others.
    let mut users: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut order = Vec::new();
    let mut add = |text: String, user: String| {
        let user_list = users.entry(text.clone()).or_insert_with(|| {
            order.push(text);
            Vec::new()
        });
        user_list.push(user);
    };
    for part in &EMBEDDED {
        let text = match part.notice {
            Notice::Mit(holder) => mit(holder)?,
            Notice::Text(text) => text.to_owned(),
            Notice::Dashboard(file) => {
                let path = root().join("web-ui/node_modules").join(file);
                fs::read_to_string(&path).with_context(|| path.display().to_string())?
            }
        };
        add(text.trim().to_owned(), format!("{}: {}", part.name, part.is));
    }
    for package in packages.0.iter().filter(|package| !package.is_ours) {
        for text in of_package(package, packages)? {
            add(text, format!("{} {}", package.name, package.version));
        }
    }
    let mut whole = String::from(
        "Sateen's programs contain the following, under these licences. Sateen itself is licensed under MIT or\n\
         Apache-2.0, at your option: LICENSE-MIT, LICENSE-APACHE.\n\n",
    );
    // Writing to a string cannot fail.
    for package in packages.0.iter().filter(|package| !package.is_ours) {
        let _ = writeln!(whole, "{} {}: {}", package.name, package.version, spdx(&package.licence));
    }
    for text in order {
        let users = users.remove(&text).unwrap_or_default();
        let _ = writeln!(whole, "\n{}\n{}\n\n{text}", "-".repeat(80), users.join(", "));
    }
    Ok(whole)
}

/// An SPDX expression: crates of old separate alternatives by `/`.
pub fn spdx(licence: &str) -> String {
    licence.split('/').map(str::trim).collect::<Vec<_>>().join(" OR ")
}

/// The texts in a crate's files; or, if it has none, the standard ones that its expression names.
fn of_package(package: &Package, packages: &Packages) -> Result<Vec<String>> {
    let own = files(&package.folder)?;
    if !own.is_empty() {
        return Ok(own);
    }
    let alternatives = spdx(&package.licence);
    let alternatives: Vec<&str> = alternatives.split(" OR ").collect();
    if alternatives.contains(&LLVM_EXCEPTION) {
        let wasmtime = packages.0.iter().find(|other| other.name == "wasmtime");
        return files(&wasmtime.context("wasmtime is not among the packages")?.folder);
    }
    if alternatives.contains(&"Apache-2.0") {
        return Ok(vec![fs::read_to_string(root().join("LICENSE-APACHE"))?.trim().to_owned()]);
    }
    if alternatives.contains(&"MIT") && !package.authors.is_empty() {
        let text = mit(&format!("Copyright (c) {}", package.authors.join(", ")))?;
        return Ok(vec![text.trim().to_owned()]);
    }
    bail!(
        "{} {} ({}) has no file with its licence: add the text to xtask/src/pack/licences.rs",
        package.name,
        package.version,
        package.licence
    )
}

/// The texts of all files with licences in `folder`.
fn files(folder: &Path) -> Result<Vec<String>> {
    let mut paths: Vec<_> = fs::read_dir(folder)
        .with_context(|| folder.display().to_string())?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
            path.is_file() && FILES.iter().any(|start| name.starts_with(start))
        })
        .collect();
    paths.sort();
    paths.iter().map(|path| Ok(String::from_utf8_lossy(&fs::read(path)?).trim().to_owned())).collect()
}

/// The MIT licence with a line of copyright.
fn mit(holder: &str) -> Result<String> {
    let ours = fs::read_to_string(root().join("LICENSE-MIT"))?;
    let lines = ours.lines().map(|line| if line.starts_with("Copyright") { holder } else { line });
    Ok(lines.collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pack::TARGET;

    #[test]
    fn every_crate_has_a_licence() {
        let packages = Packages::read(&crate::build::PROGRAMS, TARGET).expect("packages");
        let mut without = Vec::new();
        for package in packages.0.iter().filter(|package| !package.is_ours) {
            let texts = of_package(package, &packages).expect("texts");
            // One of its files may only name the others.
            assert!(texts.iter().any(|text| text.len() > 100), "{package:?}");
            if files(&package.folder).expect("a folder").is_empty() {
                without.push(package.name.as_str());
            }
        }
        assert!(packages.0.len() > 200, "{}", packages.0.len());
        assert!(without.contains(&"fxhash"), "the standard texts are not tried: {without:?}");
    }

    #[test]
    fn the_copyright_is_that_of_the_author() {
        let text = mit("Copyright (c) A. Nother").expect("the licence");
        assert!(text.contains("\nCopyright (c) A. Nother\n") && text.contains("WITHOUT WARRANTY"), "{text}");
        assert_eq!(text.matches("Copyright").count(), 1, "{text}");
    }

    #[test]
    fn old_expressions_become_those_of_spdx() {
        assert_eq!(spdx("Apache-2.0 / MIT"), "Apache-2.0 OR MIT");
        assert_eq!(spdx("(MIT OR Apache-2.0) AND Unicode-3.0"), "(MIT OR Apache-2.0) AND Unicode-3.0");
    }
}
