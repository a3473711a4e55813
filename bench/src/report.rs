//! Figures for machines (JSON lines) and for people (a table, the report).

use std::fmt::Write as _;

use anyhow::Result;
use serde::Serialize;

use crate::figure::{Better, shown};
use crate::machine::Interference;
use crate::record::Record;

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

/// `record` as one JSON object, without a line's end.
pub fn json(record: &Record) -> Result<String> {
    Ok(serde_json::to_string(&Line {
        bench: &record.bench,
        figure: &record.figure,
        value: record.value,
        unit: &record.unit,
        baseline: &record.baseline,
        bar: record.bar,
        better: record.better,
    })?)
}

/// The columns of the table, for the terminal and the report alike.
const COLUMNS: [&str; 7] = ["bench", "figure", "value", "least … greatest", "against", "bar", "met"];

fn row(record: &Record) -> [String; 7] {
    [
        record.bench.clone(),
        record.figure.clone(),
        format!("{}{}", shown(record.value), unit(record)),
        format!("{} … {}", shown(record.min), shown(record.max)),
        record.baseline.clone(),
        record.bar.map(|bar| record.limit(bar)).unwrap_or_default(),
        record.met.map(|met| if met { "yes" } else { "NO" }.to_owned()).unwrap_or_default(),
    ]
}

/// The text after a value.
fn unit(record: &Record) -> String {
    if record.unit == "ratio" { String::new() } else { format!(" {}", record.unit) }
}

/// All figures as a table for a terminal.
pub fn table(records: &[Record]) -> String {
    let rows: Vec<[String; 7]> =
        std::iter::once(COLUMNS.map(str::to_owned)).chain(records.iter().map(row)).collect();
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

/// The report: a page of Markdown.
pub fn page(records: &[Record]) -> String {
    let mut table = String::new();
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    table += &line(&COLUMNS.map(str::to_owned));
    table += &line(&COLUMNS.map(|_| "---".to_owned()));
    records.iter().for_each(|record| table += &line(&row(record)));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    TEMPLATE
        .replace("{findings}", findings(records).trim_end())
        .replace("{machine}", &format!("{cores} cores, {}, {}", std::env::consts::ARCH, std::env::consts::OS))
        .replace("{noise}", noise(records).trim_end())
        .replace("{table}", table.trim_end())
}

/// How much each benchmark was disturbed.
fn noise(records: &[Record]) -> String {
    let mut text = String::new();
    for benchmark in records.chunk_by(|one, other| one.bench == other.bench) {
        let [Record { bench, others, withheld, .. }, ..] = benchmark else { continue };
        let noise = others.zip(*withheld).map_or_else(
            || "the other load is not known".to_owned(),
            |(others, withheld)| Interference { others, withheld }.to_string(),
        );
        let _ = writeln!(text, "- {bench}: {noise}.");
    }
    text
}

/// The outcome for each bar, those not met first.
fn findings(records: &[Record]) -> String {
    let mut goals: Vec<_> =
        records.iter().filter_map(|record| Some((record, record.bar?, record.aim?))).collect();
    goals.sort_by_key(|(record, bar, _)| record.reaches(*bar));
    let met = goals.iter().filter(|(record, bar, _)| record.reaches(*bar)).count();
    let aimed = goals.iter().filter(|(record, _, aim)| record.reaches(*aim)).count();
    let mut text = format!("Of {} bars {met} are met, and {aimed} aims are reached.\n\n", goals.len());
    for (record, bar, aim) in goals {
        let (bar_limit, aim_limit) = (record.limit(bar), record.limit(aim));
        let met = if record.reaches(aim) {
            format!("as aimed ({aim_limit})")
        } else if record.reaches(bar) {
            format!("within the bar ({bar_limit}), short of the aim ({aim_limit})")
        } else {
            format!("**misses the bar** ({bar_limit})")
        };
        let (bench, name, value) = (&record.bench, &record.figure, shown(record.value));
        let _ = writeln!(text, "- {bench}, {name}: **{value}{}**, {met}.", unit(record));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::Figure;

    fn records() -> Vec<Record> {
        let samples = || [0.5, 0.4, 0.7].into_iter().collect();
        let noise = Some(Interference { others: 0.125, withheld: 0.0 });
        [
            Figure::ratio("spawn", "a", samples()).against("b, 3 ns").goal(0.6, 0.25),
            Figure::ratio("scale", "c", samples()).against("d").higher().goal(0.93, 0.99),
            Figure::ratio("start", "e", samples()).unit("ms"),
        ]
        .iter()
        .map(|figure| Record::of(figure, noise))
        .collect()
    }

    #[test]
    fn json_has_the_documented_fields() {
        let lines: Vec<String> = records().iter().map(|record| json(record).expect("is JSON")).collect();
        assert_eq!(
            lines[0],
            r#"{"bench":"spawn","figure":"a","value":0.5,"unit":"ratio","baseline":"b, 3 ns","bar":0.6,"better":"lower"}"#
        );
        assert!(lines[1].ends_with(r#""bar":0.93,"better":"higher"}"#));
        assert!(lines[2].contains(r#""unit":"ms","baseline":"","bar":null"#));
    }

    #[test]
    fn findings_begin_with_missed_bars() {
        let text = findings(&records());
        assert!(text.starts_with("Of 2 bars 1 are met, and 0 aims are reached."));
        let first = text.lines().nth(2).expect("there is a finding");
        assert!(first.contains("**misses the bar** (≥ 0.93)"), "{first}");
    }

    #[test]
    fn the_template_is_filled() {
        let text = page(&records());
        assert!(!text.contains(['{', '}']), "a mark is left");
        assert!(text.contains("| spawn | a | 0.500 | 0.400 … 0.700 | b, 3 ns | ≤ 0.6 | yes |"));
        assert!(text.contains("- scale: other processes used 12.5 % of the processors' time"));
    }
}
