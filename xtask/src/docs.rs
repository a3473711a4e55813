//! `cargo xtask docs`: the book under docs/, whose code comes from files that CI compiles.
//!
//! People also read pages as plain files, so pages contain the code, between `<!-- from FILE:ANCHOR -->` and
//! `<!-- end -->`. `cargo xtask docs` updates it, and a test compares it with the files.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::figures;
use crate::setup::cargo_tool;
use crate::shell::{command, root, run};

const MDBOOK: &str = "0.5.4";

/// Checks the book and builds it under target/book; installs mdBook if it is missing.
pub fn docs() -> Result<()> {
    for page in pages(&root().join("docs"))? {
        let text = fs::read_to_string(&page).with_context(|| page.display().to_string())?;
        let fresh = with_code(&text, page.parent().unwrap_or(&page))
            .with_context(|| format!("the code of {}", page.display()))?;
        if fresh != text {
            fs::write(&page, fresh).with_context(|| page.display().to_string())?;
            eprintln!("{}: its code was updated", page.display());
        }
    }
    check()?;
    figures::write()?;
    cargo_tool("mdbook", MDBOOK)?;
    run(command("mdbook", ["build", "docs"]))?;
    eprintln!("the book is target/book/index.html");
    Ok(())
}

/// Checks that every page is in the book's summary, and that every linked page and file exists.
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
        for (name, anchor) in includes(&text) {
            let included = fs::read_to_string(beside.join(name))
                .with_context(|| format!("{} includes {name}", page.display()))?;
            let part = part(&included, anchor)
                .with_context(|| format!("{} includes `{anchor}` of {name}", page.display()))?;
            if name.ends_with(".md") {
                all_there(page, links(part))?;
            }
        }
        all_there(page, links(&text))?;
        let fresh = with_code(&text, beside).with_context(|| format!("the code of {}", page.display()))?;
        ensure!(
            fresh == text,
            "code in {} differs from its source file; run `cargo xtask docs`",
            page.display()
        );
    }
    Ok(())
}

/// The text of a page in the folder `beside`, with up-to-date code from the files that its comments name.
fn with_code(text: &str, beside: &Path) -> Result<String> {
    const BEGIN: &str = "<!-- from ";
    const END: &str = "<!-- end -->";
    let mut fresh = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(BEGIN) {
        let (name, after) =
            after.split_once(" -->\n").context("`<!-- from FILE -->` must have a line of its own")?;
        let (_, after) = after.split_once(END).with_context(|| format!("no `{END}` after {name}"))?;
        let (path, anchor) = name.split_once(':').unwrap_or((name, ""));
        let source = fs::read_to_string(beside.join(path)).with_context(|| name.to_owned())?;
        let code = part(&source, anchor).with_context(|| name.to_owned())?;
        // The closing anchor's line is not part of the code.
        let code =
            if anchor.is_empty() { code } else { code.rsplit_once('\n').map_or(code, |(code, _)| code) };
        let code: Vec<&str> = code.lines().filter(|line| !line.contains("ANCHOR")).collect();
        let code = code.join("\n");
        let language = match path.rsplit('.').next() {
            Some("rs") => "rust",
            Some("ts") => "typescript",
            other => other.unwrap_or_default(),
        };
        ensure!(!code.contains("```"), "{name} contains a code fence");
        fresh.push_str(&format!(
            "{before}{BEGIN}{name} -->\n```{language}\n{}\n```\n{END}",
            code.trim_matches('\n')
        ));
        rest = after;
    }
    Ok(fresh + rest)
}

/// Checks that the files exist that `page` links to. In the book, links in included text are relative to
/// the including page.
fn all_there<'a>(page: &Path, mut links: impl Iterator<Item = &'a str>) -> Result<()> {
    let missing = links.find(|link| !page.with_file_name(link).is_file());
    ensure!(missing.is_none(), "{} links to {}, which does not exist", page.display(), missing.unwrap_or(""));
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

/// The files that `{{#include …}}` names, each with its anchor, empty for the whole file.
fn includes(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let found = text.split("{{#include ").skip(1).filter_map(|rest| rest.split_once("}}"));
    found.map(|(name, _)| name.trim().split_once(':').unwrap_or((name.trim(), "")))
}

/// The part of a file between the comments of `anchor`.
fn part<'a>(text: &'a str, anchor: &str) -> Result<&'a str> {
    if anchor.is_empty() {
        return Ok(text);
    }
    let between = |start: &str, end: &str| Some(text.split_once(start)?.1.split_once(end)?.0);
    between(&format!("ANCHOR: {anchor}"), &format!("ANCHOR_END: {anchor}"))
        .with_context(|| format!("`ANCHOR: {anchor}` and `ANCHOR_END: {anchor}` are missing"))
}

/// The files that `](…)` links to, without their fragments; web links are left out.
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
    fn links_and_includes_are_found() {
        let text = "[a](a.md#part) {{#include ../b.rs:part}} [web](https://c.d) ![e](e.png)\n[f](#here)";
        assert_eq!(links(text).collect::<Vec<_>>(), ["a.md", "e.png"]);
        assert_eq!(includes(text).collect::<Vec<_>>(), [("../b.rs", "part")]);
    }

    #[test]
    fn code_comes_from_its_file() {
        let folder = root().join("docs");
        let page = "a\n<!-- from ../cli/templates/fib.rs -->\nold\n<!-- end -->\nb\n";
        let fresh = with_code(page, &folder).expect("it is there");
        assert!(fresh.starts_with("a\n<!-- from ../cli/templates/fib.rs -->\n```rust\n//! Fib"), "{fresh}");
        assert!(fresh.ends_with("}\n```\n<!-- end -->\nb\n"), "{fresh}");
        assert_eq!(with_code(&fresh, &folder).ok(), Some(fresh));
        for wrong in ["<!-- from ../none.rs -->\n<!-- end -->", "<!-- from ../cli/templates/fib.rs -->\n"] {
            assert!(with_code(wrong, &folder).is_err(), "{wrong}");
        }
    }

    #[test]
    fn text_outside_an_anchor_is_not_in_the_book() {
        let text = "[a](a.md)\n<!-- ANCHOR: p -->\n[b](b.md)\n<!-- ANCHOR_END: p -->\n[c](c.md)";
        assert_eq!(part(text, "p").map(|part| links(part).collect()).ok(), Some(vec!["b.md"]));
        assert_eq!(part(text, "").ok(), Some(text));
        assert!(part(text, "q").is_err());
    }

    #[test]
    fn a_link_to_nothing_is_found() {
        let page = root().join("docs/SUMMARY.md");
        all_there(&page, ["introduction.md"].into_iter()).expect("it is there");
        let found = all_there(&page, ["introduction.md", "scenes/none.png"].into_iter());
        assert!(found.is_err_and(|error| {
            error.to_string().ends_with("links to scenes/none.png, which does not exist")
        }));
    }

    #[test]
    fn the_book_is_complete() {
        check().expect("nothing is missing");
    }
}
