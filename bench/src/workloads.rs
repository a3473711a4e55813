//! The apps, each with an instance that takes about a second, and their plain versions natively.
//!
//! A native version is the very function that the sandbox runs, from the same crate, compiled for
//! this machine with optimisation.

use std::fmt::Display;
use std::hint::black_box;

use anyhow::{Context, Result, anyhow, bail};

/// An app and what it is to do.
pub struct Workload {
    /// The app's name.
    pub name: &'static str,
    /// The words of its command line, with blanks between.
    pub arguments: &'static str,
}

impl Workload {
    /// The words of its command line.
    pub fn words(&self) -> Vec<&'static str> {
        self.arguments.split_ascii_whitespace().collect()
    }
}

/// All sample apps.
pub const WORKLOADS: [Workload; 3] = [
    Workload { name: "fib", arguments: "40" },
    Workload { name: "nqueens", arguments: "14" },
    Workload { name: "knapsack", arguments: "300 3" },
];

/// What the plain version of the app `name` gives natively.
pub fn native(name: &str, arguments: &str) -> Result<String> {
    let arguments = black_box(arguments);
    let [first, second] = numbers(arguments)?;
    match name {
        "fib" => shown(fib::plain(first)),
        "nqueens" => shown(nqueens::plain(first)),
        "knapsack" => shown(knapsack::plain(Some(first), Some(second))),
        "coarse" => Ok(coarse::plain(first, second).to_string()),
        _ => bail!("there is no workload `{name}`"),
    }
}

fn shown<T: Display, E: Display>(result: Result<T, E>) -> Result<String> {
    result.map(|value| value.to_string()).map_err(|error| anyhow!("{error}"))
}

/// One or two numbers; a missing one is 0.
fn numbers(arguments: &str) -> Result<[u64; 2]> {
    let mut numbers = [0; 2];
    for (place, word) in numbers.iter_mut().zip(arguments.split_ascii_whitespace()) {
        *place = word.parse().with_context(|| format!("`{word}` is no number"))?;
    }
    Ok(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workloads_run_natively() {
        assert_eq!(native("fib", "20").ok().as_deref(), Some("6765"));
        assert_eq!(native("nqueens", "8").ok().as_deref(), Some("92"));
        assert_eq!(native("coarse", "2 9").ok(), Some(coarse::main(2, 9).to_string()));
        assert!(native("fib", "x").is_err() && native("none", "1").is_err());
    }
}
