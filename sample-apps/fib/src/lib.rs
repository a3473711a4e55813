//! Fibonacci numbers the slow way: nothing but spawns, so it measures the cost of a spawn.

use sateen::prelude::*;
use serde::{Deserialize, Serialize};

/// The largest `n` whose number fits 64 bits.
const N_MAX: u64 = 93;

/// `fib(n)`, one spawn for each addition.
#[job]
pub fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let left = fib::spawn(n - 1);
    let right = fib(n - 2);
    left.sync() + right
}

/// `fib(n)` without spawns.
#[inline(never)]
pub fn fib_plain(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let left = fib_plain(n - 1);
    let right = fib_plain(n - 2);
    left + right
}

/// Eight words, the first of which is `n`: a parameter of 64 bytes.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Wide {
    n: u64,
    rest: [u64; 7],
}

impl Wide {
    /// Derives all words from `n`, so that none can be left out.
    fn new(n: u64) -> Self {
        Self { n, rest: [n ^ 1, n ^ 2, n ^ 3, n ^ 4, n ^ 5, n ^ 6, n ^ 7] }
    }
}

/// Returns `n` if the other words are those that [`Wide::new`] derives from it.
fn checked_word(n: u64, rest: [u64; 7]) -> u64 {
    // 1 ^ 2 ^ … ^ 7 is 0, and seven times n is n.
    if rest.iter().fold(0, |sum, word| sum ^ word) == n { n } else { u64::MAX }
}

/// `fib(n)` with a parameter of 64 bytes, all of which are used.
#[job]
pub fn wide_fib(wide: Wide) -> u64 {
    let Wide { n, rest } = wide;
    if n < 2 {
        return checked_word(n, rest);
    }
    let left = wide_fib::spawn(Wide::new(n - 1));
    let right = wide_fib(Wide::new(n - 2));
    left.sync() + right
}

/// As `wide_fib`, without spawns.
#[inline(never)]
pub fn wide_fib_plain(wide: Wide) -> u64 {
    let Wide { n, rest } = wide;
    if n < 2 {
        return checked_word(n, rest);
    }
    let left = wide_fib_plain(Wide::new(n - 1));
    let right = wide_fib_plain(Wide::new(n - 2));
    left + right
}

fn checked(n: u64) -> Result<u64, BadInput> {
    if n <= N_MAX {
        Ok(n)
    } else {
        Err(BadInput(format!("fib({n}) does not fit 64 bits; n is at most {N_MAX}")))
    }
}

/// `sateen run fib.wasm N`
#[main]
pub fn main(n: u64) -> Result<u64, BadInput> {
    Ok(fib(checked(n)?))
}

/// The same without spawns: `--function plain`.
#[main]
pub fn plain(n: u64) -> Result<u64, BadInput> {
    Ok(fib_plain(checked(n)?))
}

/// The same with a wide parameter: `--function wide`.
#[main]
pub fn wide(n: u64) -> Result<u64, BadInput> {
    Ok(wide_fib(Wide::new(checked(n)?)))
}

/// The same with a wide parameter and without spawns: `--function wide_plain`.
#[main]
pub fn wide_plain(n: u64) -> Result<u64, BadInput> {
    Ok(wide_fib_plain(Wide::new(checked(n)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// OEIS A000045.
    const KNOWN: [(u64, u64); 4] = [(0, 0), (1, 1), (10, 55), (25, 75_025)];

    #[test]
    fn known_answers() {
        for (n, expected) in KNOWN {
            assert_eq!(main(n), Ok(expected));
            assert_eq!(plain(n), Ok(expected));
            assert_eq!(wide(n), Ok(expected));
            assert_eq!(wide_plain(n), Ok(expected));
        }
    }

    #[test]
    fn numbers_that_do_not_fit_are_refused() {
        assert!(main(94).is_err_and(|error| error.0.contains("at most 93")));
    }
}
