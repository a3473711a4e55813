//! Figures for machines (JSON lines, CSV) and for people (a table, the report).

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Serialize;

use crate::figure::{Better, Figure, shown};
use crate::machine::Interference;

/// The report's text, with marks where figures go.
const TEMPLATE: &str = include_str!("report.md");

/// One line of `--json`.
#[derive(Serialize)]
struct Line<'a> {
    bench: &'a str,
    figure: &'a str,
    value: f64,
    unit: &'a str,
    baseline: &'a str,
    bar: Option<f64>,
    better: Better,
}

/// `figure` as one JSON object, without a line's end.
pub fn json(figure: &Figure) -> Result<String> {
    Ok(serde_json::to_string(&Line {
        bench: figure.bench,
        figure: &figure.name,
        value: figure.value(),
        unit: figure.unit,
        baseline: &figure.baseline,
        bar: figure.goal.map(|goal| goal.bar),
        better: figure.better,
    })?)
}

/// The columns of the table, for the terminal and the report alike.
const COLUMNS: [&str; 7] = ["bench", "figure", "value", "least … greatest", "against", "bar", "met"];

fn row(figure: &Figure) -> [String; 7] {
    let unit = if figure.unit == "ratio" { String::new() } else { format!(" {}", figure.unit) };
    let (min, max) = (figure.samples.min(), figure.samples.max());
    [
        figure.bench.to_owned(),
        figure.name.clone(),
        format!("{}{unit}", shown(figure.value())),
        format!("{} … {}", shown(min), shown(max)),
        figure.baseline.clone(),
        figure.goal.map(|goal| figure.limit(goal.bar)).unwrap_or_default(),
        figure.is_met().map(|met| if met { "yes" } else { "NO" }.to_owned()).unwrap_or_default(),
    ]
}

/// All figures as a table for a terminal.
pub fn table(figures: &[Figure]) -> String {
    let rows: Vec<[String; 7]> =
        std::iter::once(COLUMNS.map(str::to_owned)).chain(figures.iter().map(row)).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; 7] = std::array::from_fn(width);
    let mut text = String::new();
    for row in &rows {
        let cells: Vec<String> =
            row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        text += cells.join("  ").trim_end();
        text.push('\n');
    }
    text
}

/// All figures as CSV, with what the table shows and JSON has no room for.
fn csv(figures: &[Figure]) -> String {
    let mut text = "bench,figure,value,min,max,unit,baseline,bar,aim,better,met\n".to_owned();
    for figure in figures {
        let number = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
        let cells = [
            quoted(figure.bench),
            quoted(&figure.name),
            number(Some(figure.value())),
            number(Some(figure.samples.min())),
            number(Some(figure.samples.max())),
            quoted(figure.unit),
            quoted(&figure.baseline),
            number(figure.goal.map(|goal| goal.bar)),
            number(figure.goal.map(|goal| goal.aim)),
            if figure.better == Better::Lower { "lower" } else { "higher" }.to_owned(),
            figure.is_met().map(|met| met.to_string()).unwrap_or_default(),
        ];
        text += &cells.join(",");
        text.push('\n');
    }
    text
}

fn quoted(text: &str) -> String {
    if text.contains([',', '"']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}

/// Writes `results.csv` and `README.md` into `folder`.
pub fn write(folder: &Path, figures: &[Figure], interference: Option<Interference>) -> Result<()> {
    let put = |name: &str, text: String| {
        let path = folder.join(name);
        fs::write(&path, text).with_context(|| format!("{} cannot be written", path.display()))
    };
    put("results.csv", csv(figures))?;
    put("README.md", markdown(figures, interference))
}

fn markdown(figures: &[Figure], interference: Option<Interference>) -> String {
    let mut table = String::new();
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    table += &line(&COLUMNS.map(str::to_owned));
    table += &line(&COLUMNS.map(|_| "---".to_owned()));
    figures.iter().for_each(|figure| table += &line(&row(figure)));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let noise = interference.map_or_else(
        || "How much else ran meanwhile is not known on this system.".to_owned(),
        |noise| format!("Meanwhile {noise}."),
    );
    TEMPLATE
        .replace("{findings}", findings(figures).trim_end())
        .replace("{machine}", &format!("{cores} cores, {}, {}", std::env::consts::ARCH, std::env::consts::OS))
        .replace("{noise}", &noise)
        .replace("{table}", table.trim_end())
}

/// What came of each bar, those not met first.
fn findings(figures: &[Figure]) -> String {
    let mut goals: Vec<_> = figures.iter().filter_map(|figure| Some((figure, figure.goal?))).collect();
    goals.sort_by_key(|(figure, goal)| figure.reaches(goal.bar));
    let met = goals.iter().filter(|(figure, goal)| figure.reaches(goal.bar)).count();
    let aimed = goals.iter().filter(|(figure, goal)| figure.reaches(goal.aim)).count();
    let mut text = format!("Of {} bars {met} are met, and {aimed} aims are reached.\n\n", goals.len());
    for (figure, goal) in goals {
        let unit = if figure.unit == "ratio" { String::new() } else { format!(" {}", figure.unit) };
        let met = if figure.reaches(goal.aim) {
            format!("as aimed ({})", figure.limit(goal.aim))
        } else if figure.reaches(goal.bar) {
            format!(
                "within the bar ({}), short of the aim ({})",
                figure.limit(goal.bar),
                figure.limit(goal.aim)
            )
        } else {
            format!("**misses the bar** ({})", figure.limit(goal.bar))
        };
        let (bench, name, value) = (figure.bench, &figure.name, shown(figure.value()));
        let _ = writeln!(text, "- {bench}, {name}: **{value}{unit}**, {met}.");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures() -> Vec<Figure> {
        let samples = || [0.5, 0.4, 0.7].into_iter().collect();
        vec![
            Figure::ratio("spawn", "a", samples()).against("b, 3 ns").goal(0.6, 0.25),
            Figure::ratio("scale", "c", samples()).against("d").higher().goal(0.93, 0.99),
            Figure::ratio("start", "e", samples()).unit("ms"),
        ]
    }

    #[test]
    fn json_has_the_fields_that_were_promised() {
        let lines: Vec<String> = figures().iter().map(|figure| json(figure).expect("is JSON")).collect();
        assert_eq!(
            lines[0],
            r#"{"bench":"spawn","figure":"a","value":0.5,"unit":"ratio","baseline":"b, 3 ns","bar":0.6,"better":"lower"}"#
        );
        assert!(lines[1].ends_with(r#""bar":0.93,"better":"higher"}"#));
        assert!(lines[2].contains(r#""unit":"ms","baseline":"","bar":null"#));
    }

    #[test]
    fn csv_quotes_what_has_commas() {
        let text = csv(&figures());
        assert_eq!(text.lines().nth(1), Some(r#"spawn,a,0.5,0.4,0.7,ratio,"b, 3 ns",0.6,0.25,lower,true"#));
        assert!(text.lines().all(|line| line.replace(", ", " ").split(',').count() == 11));
    }

    #[test]
    fn findings_begin_with_what_is_missed() {
        let text = findings(&figures());
        assert!(text.starts_with("Of 2 bars 1 are met, and 0 aims are reached."));
        let first = text.lines().nth(2).expect("there is a finding");
        assert!(first.contains("**misses the bar** (≥ 0.93)"), "{first}");
    }

    #[test]
    fn the_template_is_filled() {
        let text = markdown(&figures(), None);
        assert!(!text.contains(['{', '}']), "a mark is left");
        assert!(text.contains("| spawn | a | 0.500 | 0.400 … 0.700 | b, 3 ns | ≤ 0.6 | yes |"));
    }
}
