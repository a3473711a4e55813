//! Benchmarks in parts that can be measured one by one.

use anyhow::{Result, bail};

use crate::figure::{Figure, shown};

/// A part, with its name.
pub type Part = (&'static str, fn() -> Result<Vec<Figure>>);

/// The flag that chooses parts, followed by their names, separated by commas.
pub const FLAG: &str = "--part=";

/// The parts that flags name; all if there are no flags.
///
/// # Errors
/// When there is no such part.
pub fn chosen(all: &[Part], flags: &[&str]) -> Result<Vec<Part>> {
    if flags.is_empty() {
        return Ok(all.to_vec());
    }
    let names: Vec<&str> =
        flags.iter().filter_map(|flag| flag.strip_prefix(FLAG)).flat_map(|names| names.split(',')).collect();
    if let Some(other) = names.iter().find(|name| all.iter().all(|(known, _)| known != *name)) {
        let known: Vec<&str> = all.iter().map(|(known, _)| *known).collect();
        bail!("there is no part `{other}`; the parts are: {}", known.join(", "));
    }
    Ok(all.iter().filter(|(name, _)| names.contains(name)).copied().collect())
}

/// Measures parts, one after another; figures are reported as they come.
pub fn measure(bench: &str, parts: &[Part]) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for (name, part) in parts {
        eprintln!("{bench}: {name}");
        let measured = part()?;
        for figure in &measured {
            eprintln!("{bench}: {}: {}{}", figure.name, shown(figure.value()), figure.unit);
        }
        figures.extend(measured);
    }
    Ok(figures)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_chosen_by_name() {
        let all: [Part; 2] = [("one", || Ok(Vec::new())), ("two", || Ok(Vec::new()))];
        let names = |flags: &[&str]| {
            chosen(&all, flags).map(|parts| parts.iter().map(|(name, _)| *name).collect::<Vec<_>>())
        };
        assert_eq!(names(&[]).expect("all"), ["one", "two"]);
        assert_eq!(names(&["--part=two"]).expect("one"), ["two"]);
        assert_eq!(names(&["--part=two,one"]).expect("both"), ["one", "two"]);
        let error = names(&["--part=three"]).expect_err("there is none").to_string();
        assert!(error.contains("`three`") && error.contains("one, two"), "{error}");
    }
}
