//! `cargo xtask docs`: the book under docs/, whose code is included from files that CI compiles.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::setup::cargo_tool;
use crate::shell::{command, root, run};

const MDBOOK: &str = "0.5.4";

/// Checks the book and builds it under target/book; installs mdBook if it is missing.
pub fn docs() -> Result<()> {
    check()?;
    cargo_tool("mdbook", MDBOOK)?;
    run(command("mdbook", ["build", "docs"]))?;
    eprintln!("the book is target/book/index.html");
    Ok(())
}

/// Whether every page is in the book's summary, and every page and file that is named is there.
pub fn check() -> Result<()> {
    let folder = root().join("docs");
    let pages = pages(&folder)?;
    let summary = folder.join("SUMMARY.md");
    let listed: Vec<PathBuf> = links(&fs::read_to_string(&summary)?).map(|link| folder.join(link)).collect();
    for page in pages.iter().filter(|page| **page != summary) {
        ensure!(listed.contains(page), "{} is not in docs/SUMMARY.md", page.display());
    }
    for page in &pages {
        let text = fs::read_to_string(page).with_context(|| page.display().to_string())?;
        let beside = page.parent().unwrap_or(&folder);
        for name in includes(&text).chain(links(&text)) {
            ensure!(beside.join(name).is_file(), "{} names {name}, which is not there", page.display());
        }
    }
    Ok(())
}

/// All pages below `folder`.
fn pages(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut pages = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.is_dir() {
            pages.extend(self::pages(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            pages.push(path);
        }
    }
    pages.sort();
    Ok(pages)
}

/// The files that `{{#include …}}` names, without anchors and lines.
fn includes(text: &str) -> impl Iterator<Item = &str> {
    let found = text.split("{{#include ").skip(1).filter_map(|rest| rest.split_once("}}"));
    found.map(|(name, _)| name.split(':').next().unwrap_or(name).trim())
}

/// The files that `](…)` links to, without places within; not those of the web.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let found = text.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    found
        .map(|(link, _)| link.split('#').next().unwrap_or(link))
        .filter(|link| !link.is_empty() && !link.contains("://") && !link.contains('\n'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_page_names_is_found() {
        let text = "[a](a.md#part) {{#include ../b.rs:part}} [web](https://c.d) ![e](e.png)\n[f](#here)";
        assert_eq!(links(text).collect::<Vec<_>>(), ["a.md", "e.png"]);
        assert_eq!(includes(text).collect::<Vec<_>>(), ["../b.rs"]);
    }

    #[test]
    fn the_book_is_whole() {
        check().expect("nothing is missing");
    }
}
