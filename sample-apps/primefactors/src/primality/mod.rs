//! Is a number prime? Up to 128 bits, the answer is proved, not just likely.

mod lucas;
mod wide;

use crate::modulus::{Modulus, NarrowModulus};
use crate::number::Whole;

pub use wide::{Verdict, verdict};

/// The first primes, bases of the test of Miller and Rabin.
const BASES: [u32; 13] = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41];

/// The least composite number that passes the test with all [`BASES`] (Sorenson and Webster, "Strong
/// pseudoprimes to twelve prime bases", Mathematics of Computation 86, 2017).
const LEAST_PSEUDOPRIME: u128 = 3_317_044_064_679_887_385_961_981;

/// Maximum bases that are tried for a proof.
const PROOF_BASES_MAX: u32 = 10_000;

/// Whether `n`, odd and above 41, is prime. `factors` factorises a smaller number; it is called
/// only when the test of Miller and Rabin is not a proof.
pub fn is_prime(n: u128, factors: impl FnOnce(u128) -> Vec<u128>) -> bool {
    let modulus = NarrowModulus::new(n);
    if !BASES.iter().all(|base| passes(&modulus, *base)) {
        return false;
    }
    n < LEAST_PSEUDOPRIME || is_proved(&modulus, &factors(n - 1))
}

/// The test of Miller and Rabin. Primes pass with every base; with a given base, few other numbers pass.
fn passes<M: Modulus>(modulus: &M, base: u32) -> bool {
    let before = modulus.value() - Whole::ONE;
    let twos = before.twos();
    let mut power = modulus.power(modulus.residue(Whole::small(base)), before >> twos as usize);
    if modulus.number(power) == Whole::ONE {
        return true;
    }
    for _ in 0..twos {
        if modulus.number(power) == before {
            return true;
        }
        power = modulus.squared(power);
    }
    false
}

/// Lucas' proof, with a separate base for each of the prime `factors` of n − 1 (Brillhart, Lehmer and
/// Selfridge, "New primality criteria and factorizations of 2^m ± 1", Mathematics of Computation 29,
/// 1975). The chance that no base is found for a factor of a prime is negligible; the prime would then be treated
/// as composite, and as no factor of it is found, there would be no wrong answer.
fn is_proved(modulus: &NarrowModulus, factors: &[u128]) -> bool {
    let before = modulus.value() - 1;
    factors.iter().all(|factor| {
        (2..PROOF_BASES_MAX).any(|base| {
            let base = modulus.residue(base.into());
            modulus.number(modulus.power(base, before)) == 1
                && modulus.number(modulus.power(base, before / factor)) != 1
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::primes::sieve;

    #[test]
    fn all_small_numbers_are_classified() {
        let is = sieve(100_000);
        for n in (43..100_000_u32).step_by(2) {
            assert_eq!(is_prime(u128::from(n), |_| unreachable!()), is[n as usize], "{n}");
        }
    }

    #[test]
    fn pseudoprimes_are_detected() {
        // To the bases up to 7, 11, 13, 17, 31 and 37 (OEIS A014233), and to all of `BASES`.
        for n in [
            3_215_031_751,
            2_152_302_898_747,
            3_474_749_660_383,
            341_550_071_728_321,
            3_825_123_056_546_413_051,
            318_665_857_834_031_151_167_461,
        ] {
            assert!(!is_prime(n, |_| unreachable!()), "{n}");
        }
        let factors = |n| {
            assert_eq!(n, LEAST_PSEUDOPRIME - 1);
            vec![2, 3, 5, 23]
        };
        assert!(BASES.iter().all(|base| passes(&NarrowModulus::new(LEAST_PSEUDOPRIME), *base)));
        assert!(!is_prime(LEAST_PSEUDOPRIME, factors));
    }
}
