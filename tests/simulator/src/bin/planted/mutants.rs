//! Mutants: cargo-mutants' changes to the protocol, as bugs. A random sample of them estimates the share that
//! the tests catch.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::bug::Bug;

/// The quantile of the normal distribution for intervals of 95 %.
const Z: f64 = 1.96;

/// All mutants of the protocol.
///
/// # Errors
/// When cargo-mutants is missing, or its list is not understood.
pub fn all(root: &Path) -> io::Result<Vec<Bug>> {
    let words = ["mutants", "--list", "--json", "--package", "sateen-protocol"];
    let output = Command::new("cargo").args(words).current_dir(root).output()?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(io::Error::other(format!(
            "cargo mutants --list failed; if it is missing, install it with `cargo install cargo-mutants --locked`\n{text}"
        )));
    }
    let list: Vec<Value> = serde_json::from_slice(&output.stdout)?;
    list.iter().map(|mutant| read(mutant, root)).collect()
}

fn read(mutant: &Value, root: &Path) -> io::Result<Bug> {
    let wrong = || io::Error::other(format!("a mutant that is not understood: {mutant}"));
    let file = PathBuf::from(mutant["file"].as_str().ok_or_else(wrong)?);
    let source = fs::read_to_string(root.join(&file))?;
    let to = mutant["replacement"].as_str().ok_or_else(wrong)?.to_owned();
    let place = |end: &str| {
        let number = |part: &str| Some(mutant["span"][end][part].as_u64()? as usize);
        byte_at(&source, number("line")?, number("column")?)
    };
    let at = place("start").ok_or_else(wrong)?..place("end").ok_or_else(wrong)?;
    let name = mutant["name"].as_str().ok_or_else(wrong)?.to_owned();
    Ok(Bug { what: name.clone(), name, file, at, to })
}

/// The byte at a line and a column in characters, both counted from 1.
fn byte_at(source: &str, line: usize, column: usize) -> Option<usize> {
    let begins = source.split_inclusive('\n').take(line.checked_sub(1)?).map(str::len).sum::<usize>();
    let rest = source.get(begins..)?;
    Some(begins + rest.chars().take(column.checked_sub(1)?).map(char::len_utf8).sum::<usize>())
}

/// Draws `count` of these, each subset with equal probability.
pub fn sample(mut all: Vec<Bug>, count: usize, seed: u64) -> Vec<Bug> {
    let count = count.min(all.len());
    let mut state = seed;
    for at in 0..count {
        let other = at + (next(&mut state) % (all.len() - at) as u64) as usize;
        all.swap(at, other);
    }
    all.truncate(count);
    all
}

/// SplitMix64.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// Wilson's 95 % interval for a share estimated from a sample.
pub fn interval(caught: usize, total: usize) -> (f64, f64) {
    let count = total.max(1) as f64;
    let share = caught as f64 / count;
    let middle = share + Z * Z / (2.0 * count);
    let half = Z * (share * (1.0 - share) / count + Z * Z / (4.0 * count * count)).sqrt();
    let scale = 1.0 + Z * Z / count;
    ((middle - half) / scale, (middle + half) / scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bug(number: usize) -> Bug {
        let name = format!("{number:04}");
        Bug { what: name.clone(), name, file: PathBuf::new(), at: 0..0, to: String::new() }
    }

    #[test]
    fn a_sample_is_the_same_for_a_seed_and_another_for_another() {
        let drawn = |count, seed| -> Vec<String> {
            let all = (0..1_000).map(bug).collect();
            sample(all, count, seed).into_iter().map(|bug| bug.name).collect()
        };
        let hundred = drawn(100, 7);
        assert_eq!(hundred, drawn(100, 7));
        assert_ne!(hundred, drawn(100, 8));
        assert_eq!(hundred[..50], drawn(50, 7));
        assert_eq!(drawn(2_000, 7).iter().collect::<std::collections::BTreeSet<_>>().len(), 1_000);
        // Each half of the list has about half of the sample.
        let low = hundred.iter().filter(|name| name.as_str() < "0500").count();
        assert!((30..70).contains(&low), "{low}");
    }

    #[test]
    fn an_interval_is_wilsons() {
        let (from, to) = interval(90, 100);
        assert!((from - 0.8256).abs() < 1e-3 && (to - 0.9448).abs() < 1e-3, "{from} {to}");
        let (from, to) = interval(10, 10);
        assert!((from - 0.7225).abs() < 1e-3 && (to - 1.0).abs() < 1e-9, "{from} {to}");
    }

    #[test]
    fn places_are_counted_in_characters_from_one() {
        let source = "a\nαβ = 1;\n";
        assert_eq!(byte_at(source, 2, 4), source.find('='));
        assert_eq!((byte_at(source, 1, 1), byte_at(source, 0, 1)), (Some(0), None));
    }
}
