//! Records of figures: a line each of `results.csv`, which later runs of other benchmarks keep.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::figure::{Better, Figure};
use crate::machine::Interference;

/// A figure that was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The benchmark that it comes from.
    pub bench: String,
    /// Its name.
    pub figure: String,
    /// The median of its rounds.
    pub value: f64,
    /// The value of the least round.
    pub min: f64,
    /// The value of the greatest round.
    pub max: f64,
    /// `ratio`, or the unit of the values.
    pub unit: String,
    /// Its baseline.
    pub baseline: String,
    /// The bar that it must reach, if any.
    pub bar: Option<f64>,
    /// The aim that it should reach.
    pub aim: Option<f64>,
    /// The direction of improvement.
    pub better: Better,
    /// Whether it reaches the bar.
    pub met: Option<bool>,
    /// The share of all processor time that other processes used while its benchmark measured, 0 to 1.
    pub others: Option<f64>,
    /// The share that a hypervisor withheld.
    pub withheld: Option<f64>,
}

impl Record {
    /// The record of `figure`, with the interference during its benchmark.
    pub fn of(figure: &Figure, interference: Option<Interference>) -> Self {
        let mut record = Self {
            bench: figure.bench.to_owned(),
            figure: figure.name.clone(),
            value: figure.value(),
            min: figure.samples.min(),
            max: figure.samples.max(),
            unit: figure.unit.to_owned(),
            baseline: figure.baseline.clone(),
            bar: figure.goal.map(|goal| goal.bar),
            aim: figure.goal.map(|goal| goal.aim),
            better: figure.better,
            met: None,
            others: interference.map(|it| it.others),
            withheld: interference.map(|it| it.withheld),
        };
        record.met = record.bar.map(|bar| record.reaches(bar));
        record
    }

    /// Whether the figure is at least as good as `limit`.
    pub fn reaches(&self, limit: f64) -> bool {
        match self.better {
            Better::Lower => self.value <= limit,
            Better::Higher => self.value >= limit,
        }
    }

    /// A limit of this figure as text: `≤ 0.6`.
    pub fn limit(&self, limit: f64) -> String {
        let sign = match self.better {
            Better::Lower => '≤',
            Better::Higher => '≥',
        };
        format!("{sign} {limit}")
    }
}

/// The records in `file`; none if there is no such file.
pub fn read(file: &Path) -> Result<Vec<Record>> {
    if !file.exists() {
        return Ok(Vec::new());
    }
    let unreadable = || format!("{} cannot be read", file.display());
    csv::Reader::from_path(file)
        .with_context(unreadable)?
        .deserialize()
        .collect::<Result<_, _>>()
        .with_context(unreadable)
}

/// Writes `records` to `file`.
pub fn write(file: &Path, records: &[Record]) -> Result<()> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for record in records {
        writer.serialize(record)?;
    }
    fs::write(file, writer.into_inner()?).with_context(|| format!("{} cannot be written", file.display()))
}

/// `kept`, with the records of `bench` replaced by `new`. Benchmarks are in the order of `order`; others are
/// left out.
pub fn replaced(kept: Vec<Record>, bench: &str, new: Vec<Record>, order: &[&str]) -> Vec<Record> {
    let mut records: Vec<Record> = kept.into_iter().filter(|record| record.bench != bench).collect();
    records.extend(new);
    let place = |record: &Record| order.iter().position(|bench| *bench == record.bench);
    records.retain(|record| place(record).is_some());
    records.sort_by_key(place);
    records
}

/// `new`, after the records of `bench` in `known` that are about other figures.
pub fn with_others(known: &[Record], bench: &str, new: Vec<Record>) -> Vec<Record> {
    let is_new = |figure: &str| new.iter().any(|record| record.figure == figure);
    let others = known.iter().filter(|record| record.bench == bench && !is_new(&record.figure));
    let mut records: Vec<Record> = others.cloned().collect();
    records.extend(new);
    records
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(bench: &'static str, values: &[f64]) -> Figure {
        Figure::ratio(bench, "a figure, \"quoted\"", values.iter().copied().collect())
    }

    #[test]
    fn the_median_decides() {
        let met = |figure: &Figure| Record::of(figure, None).met;
        let lower = figure("spawn", &[0.5, 0.6, 9.0]).goal(0.6, 0.25);
        assert_eq!(met(&lower), Some(true));
        assert_eq!(met(&lower.higher().goal(0.93, 0.99)), Some(false));
        assert_eq!(met(&figure("spawn", &[1.0])), None);
    }

    #[test]
    fn written_records_are_read_back() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("results.csv");
        assert_eq!(read(&file).expect("nothing is there"), []);
        let interference = Some(Interference { others: 0.125, withheld: 0.0 });
        let records = [
            Record::of(&figure("spawn", &[0.5]).goal(0.6, 0.25).against("b, 3 ns"), interference),
            Record::of(&figure("scale", &[0.1 + 0.2]).higher().unit("ms"), None),
        ];
        write(&file, &records).expect("it can be written");
        assert_eq!(read(&file).expect("it was written"), records);
        fs::write(&file, "bench,figure\nspawn,a\n").expect("it can be written");
        assert!(read(&file).is_err());
    }

    #[test]
    fn a_benchmarks_records_replace_its_older_ones() {
        let of = |bench, value| Record::of(&figure(bench, &[value]), None);
        let kept = vec![of("scale", 1.0), of("gone", 2.0), of("spawn", 3.0), of("spawn", 4.0)];
        let records = replaced(kept, "spawn", vec![of("spawn", 5.0)], &["spawn", "scale"]);
        assert_eq!(records, [of("spawn", 5.0), of("scale", 1.0)]);
    }

    #[test]
    fn a_part_of_a_benchmark_leaves_the_others() {
        let of = |bench: &str, name: &str, value| Record {
            figure: name.to_owned(),
            bench: bench.to_owned(),
            ..Record::of(&figure("spawn", &[value]), None)
        };
        let known = [of("comfort", "a", 1.0), of("comfort", "b", 2.0), of("spawn", "c", 3.0)];
        let records = with_others(&known, "comfort", vec![of("comfort", "b", 4.0)]);
        assert_eq!(records, [of("comfort", "a", 1.0), of("comfort", "b", 4.0)]);
    }
}
