//! Copies figures to pages from `bench/README.md`, where `cargo xtask bench NAME --save` writes them.
//!
//! A row between `<!-- figures -->` and `<!-- end -->` names a bench and a figure; its other cells are copied.

use std::fs;

use anyhow::{Context, Result, ensure};

use crate::shell::root;

/// Pages with a table of figures.
const PAGES: [&str; 2] = ["README.md", "docs/peers.md"];
const BEGIN: &str = "<!-- figures -->\n";
const END: &str = "<!-- end -->";

/// Updates the figures, and reports pages in which any changed.
pub fn write() -> Result<()> {
    for page in PAGES {
        let path = root().join(page);
        let (text, fresh) = both(page)?;
        if fresh != text {
            fs::write(&path, fresh).with_context(|| path.display().to_string())?;
            eprintln!("{page}: its figures were updated");
        }
    }
    Ok(())
}

/// Checks that the figures are the latest measurements.
pub fn check() -> Result<()> {
    for page in PAGES {
        let (text, fresh) = both(page)?;
        ensure!(text == fresh, "figures in {page} differ from bench/README.md; run `cargo xtask docs`");
    }
    Ok(())
}

/// The page as it is and as it should be.
fn both(page: &str) -> Result<(String, String)> {
    let read = |path: &str| fs::read_to_string(root().join(path)).with_context(|| path.to_owned());
    let (text, measured) = (read(page)?, read("bench/README.md")?);
    let fresh = with_figures(&text, &measured).with_context(|| format!("the figures in {page}"))?;
    Ok((text, fresh))
}

/// The text, with the cells of its figures from the page of measurements.
fn with_figures(text: &str, measured: &str) -> Result<String> {
    let (before, rest) = text.split_once(BEGIN).with_context(|| format!("there is no {BEGIN}"))?;
    let (table, after) = rest.split_once(END).with_context(|| format!("there is no {END}"))?;
    let mut fresh = String::new();
    for (number, line) in table.lines().enumerate() {
        if number < 2 {
            fresh.push_str(&format!("{line}\n"));
            continue;
        }
        let [bench, figure, ..] = cells(line)[..] else { continue };
        let mut rows =
            measured.lines().map(cells).filter(|cells| cells[..2.min(cells.len())] == [bench, figure]);
        let row =
            rows.next().with_context(|| format!("bench/README.md has no figure `{figure}` of `{bench}`"))?;
        let [_, _, value, _, beside, ..] = row[..] else { continue };
        fresh.push_str(&format!("| {bench} | {figure} | {value} | {beside} |\n"));
    }
    Ok(format!("{before}{BEGIN}{fresh}{END}{after}"))
}

/// The cells of a table's row.
fn cells(line: &str) -> Vec<&str> {
    let inner = line.trim().trim_start_matches('|').trim_end_matches('|');
    inner.split('|').map(str::trim).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEASURED: &str = "| start | a | 2 ms | 1 … 3 | nothing, 1 ms | ≤ 3 | yes |\n";

    #[test]
    fn cells_are_copied_from_the_measurements() {
        let text = "x\n<!-- figures -->\n| h |\n| --- |\n| start | a | | |\n<!-- end -->\ny";
        let fresh = with_figures(text, MEASURED).expect("it is there");
        assert!(fresh.contains("| start | a | 2 ms | nothing, 1 ms |\n<!-- end -->\ny"), "{fresh}");
        assert_eq!(with_figures(&fresh, MEASURED).ok(), Some(fresh.clone()));
    }

    #[test]
    fn a_figure_that_was_not_measured_is_named() {
        let text = "<!-- figures -->\n| h |\n| --- |\n| start | b | | |\n<!-- end -->";
        let error = with_figures(text, MEASURED).expect_err("there is no such figure").to_string();
        assert!(error.contains("`b` of `start`"), "{error}");
    }

    #[test]
    fn figures_of_pages_are_the_newest() {
        check().unwrap_or_else(|error| panic!("{error:#}"));
    }
}
