//! How many primes are there below N? Many independent pieces of one whole.

use sateen::prelude::*;

/// How many numbers one job checks.
const PIECE: u64 = 10_000;

/// Counts the primes from `from` up to, but not including, `to`.
#[job]
fn primes(from: u64, to: u64) -> u64 {
    (from..to).filter(|n| is_prime(*n)).count() as u64
}

fn is_prime(n: u64) -> bool {
    n >= 2 && (2..).take_while(|factor| factor * factor <= n).all(|factor| n % factor != 0)
}

/// The entry point: one job for each piece, and the results in order.
#[main]
fn main(n: u64) -> u64 {
    let pieces = (0..n).step_by(PIECE as usize).map(|from| (from, n.min(from + PIECE)));
    primes::spawn_all(pieces).sync().iter().sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `sateen test` runs it in sandboxes as well.
    #[sateen::test]
    fn known_answers() {
        // OEIS A006880.
        for (n, count) in [(0, 0), (10, 4), (1_000, 168), (100_000, 9_592)] {
            assert_eq!(main(n), count, "primes below {n}");
        }
    }
}
