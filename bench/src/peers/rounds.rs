//! Rounds in which systems take turns, and what was measured in them.

use anyhow::{Context, Result};

use super::BENCH;
use super::install::Environment;
use super::system::{Kind, System};
use crate::figure::{Figure, shown};
use crate::measure::Samples;

/// Values by system and by what they are, one for each round.
pub struct Rounds(Vec<(Kind, &'static str, Vec<f64>)>);

/// Measures `systems` in `count` rounds. `measure` returns values with what they are, the same in each round.
///
/// A system of others that cannot be installed, does not start or fails is left out from then on, with all its values,
/// and the reason is printed.
///
/// # Errors
/// When Sateen or rayon fails.
pub fn measure(
    about: &str,
    systems: &[Kind],
    count: usize,
    mut measure: impl FnMut(Kind, &mut System) -> Result<Vec<(&'static str, f64)>>,
) -> Result<Rounds> {
    let environment = Environment::prepare();
    let mut left = systems.to_vec();
    let mut rounds = Rounds(Vec::new());
    for round in 0..count {
        let mut turns = left.clone();
        if !turns.is_empty() {
            let first = round % turns.len();
            turns.rotate_left(first);
        }
        for kind in turns {
            eprintln!("peers: {about}, round {} of {count}: {}", round + 1, kind.name());
            let values = match &environment {
                Ok(environment) => {
                    System::start(kind, environment).and_then(|mut system| measure(kind, &mut system))
                }
                Err(error) => Err(anyhow::anyhow!("{error:#}")),
            };
            match values {
                Ok(values) => values.into_iter().for_each(|(what, value)| rounds.add(kind, what, value)),
                Err(error) if kind.is_peer() => {
                    eprintln!("peers: {} is left out: {error:#}", kind.versioned());
                    left.retain(|other| *other != kind);
                    rounds.0.retain(|(other, ..)| *other != kind);
                }
                Err(error) => return Err(error.context(kind.name())),
            }
        }
    }
    Ok(rounds)
}

impl Rounds {
    fn add(&mut self, kind: Kind, what: &'static str, value: f64) {
        match self.0.iter_mut().find(|(known, known_what, _)| (*known, *known_what) == (kind, what)) {
            Some((_, _, values)) => values.push(value),
            None => self.0.push((kind, what, vec![value])),
        }
    }

    /// The values of a system, unless it was left out.
    pub fn of(&self, kind: Kind, what: &str) -> Option<Samples> {
        let mut all = self.0.iter();
        let (_, _, values) = all.find(|(known, known_what, _)| (*known, *known_what) == (kind, what))?;
        Some(values.iter().copied().collect())
    }

    /// The system among `kinds` with the least median.
    pub fn best(&self, kinds: &[Kind], what: &str) -> Option<(Kind, Samples)> {
        let measured = kinds.iter().filter_map(|kind| Some((*kind, self.of(*kind, what)?)));
        measured.min_by(|(_, one), (_, other)| one.median().total_cmp(&other.median()))
    }

    /// Each system's own values, in the order of [`Kind::ALL`].
    pub fn raw(&self, what: &str, unit: &'static str, name: impl Fn(Kind) -> String) -> Vec<Figure> {
        let figure = |kind: Kind| {
            let samples = self.of(kind, what)?;
            Some(Figure::ratio(BENCH, name(kind), samples).unit(unit).against(kind.versioned()))
        };
        Kind::ALL.into_iter().filter_map(figure).collect()
    }

    /// The values of `kind` over those of `other`, round by round, if both were measured.
    pub fn ratio(&self, kind: Kind, other: Kind, what: &str, about: &str) -> Result<Option<Figure>> {
        let Some(baseline) = self.of(other, what) else { return Ok(None) };
        let samples = self.of(kind, what).with_context(|| format!("{} was not measured", kind.name()))?;
        let name = format!("{about}: {} ÷ {}", kind.name(), other.name());
        let beside = format!("{}, {} s", other.versioned(), shown(baseline.median()));
        Ok(Some(Figure::ratio(BENCH, name, samples.over(&baseline)).against(beside)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds() -> Rounds {
        let mut rounds = Rounds(Vec::new());
        for (kind, value) in [(Kind::Ray, 4.0), (Kind::Dask, 2.0), (Kind::Grid, 1.0), (Kind::Grid, 3.0)] {
            rounds.add(kind, "time", value);
        }
        rounds
    }

    #[test]
    fn the_best_of_those_measured_is_found() {
        let best = |kinds: &[Kind]| rounds().best(kinds, "time").map(|(kind, _)| kind);
        assert_eq!(best(&[Kind::Ray, Kind::Dask, Kind::HyperQueue]), Some(Kind::Dask));
        assert_eq!(best(&[Kind::HyperQueue]), None);
    }

    #[test]
    fn systems_that_are_left_out_have_no_figures() {
        let figures = rounds().raw("time", "s", |kind| kind.name().to_owned());
        let names: Vec<&str> = figures.iter().map(|figure| figure.name.as_str()).collect();
        assert_eq!(names, ["Sateen's grid", "Ray", "Dask"]);
        let against = |other| rounds().ratio(Kind::Grid, other, "time", "x").expect("the grid was measured");
        assert!(against(Kind::HyperQueue).is_none());
        assert_eq!(against(Kind::Ray).expect("Ray was measured").name, "x: Sateen's grid ÷ Ray");
        assert!(rounds().ratio(Kind::Process, Kind::Ray, "time", "x").is_err());
    }
}
