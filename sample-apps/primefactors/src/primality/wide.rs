//! Primes of more than 128 bits: every verdict is likely to be right, and many are proved.

use ruint::aliases::U512;

use super::{BASES, PROOF_BASES_MAX, lucas, passes};
use crate::division::{Curves, easy_factors};
use crate::modulus::{Modulus, WideTask, with_modulus};
use crate::power::{raised, root};

/// The verdict on a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It has factors.
    Composite,
    /// No composite number is known that passes the tests that it has passed.
    ProbablePrime,
    /// It has been proved.
    Prime,
}

/// The verdict on `n`, of more than 128 bits and neither a perfect power nor divisible by a small number. The
/// verdict is the same on all hosts, whatever the order in which curves end.
///
/// Baillie and Wagstaff's test is that of Miller and Rabin to the base 2, then the strong test of
/// Lucas. A number that passes is proved if n − 1 has enough factors that are easily found.
pub fn verdict(n: U512, curves: &Curves) -> Verdict {
    if !with_modulus(n, Test) {
        return Verdict::Composite;
    }
    let before = n - U512::ONE;
    let is_enough = |factored: U512| raised(factored, 3).is_none_or(|cube| cube >= n);
    let mut primes = easy_factors(before, curves, is_enough);
    primes.sort_unstable();
    primes.dedup();
    let (mut factored, mut rest) = (U512::ONE, before);
    for prime in &primes {
        while rest % prime == U512::ZERO {
            rest /= prime;
            factored *= prime;
        }
    }
    if is_enough(factored) && with_modulus(n, Proof { primes: &primes }) && has_no_two_factors(n, factored) {
        Verdict::Prime
    } else {
        Verdict::ProbablePrime
    }
}

struct Test;

impl WideTask for Test {
    type Output = bool;

    fn run<M: Modulus<Value = U512>>(self, modulus: &M) -> bool {
        passes(modulus, 2) && lucas::passes(modulus) && BASES.iter().all(|base| passes(modulus, *base))
    }
}

/// Pocklington's proof that each prime factor of n is 1 modulo the factored part of n − 1, with a separate
/// base for each of its `primes`.
struct Proof<'primes> {
    primes: &'primes [U512],
}

impl WideTask for Proof<'_> {
    type Output = bool;

    fn run<M: Modulus<Value = U512>>(self, modulus: &M) -> bool {
        let before = modulus.value() - U512::ONE;
        self.primes.iter().all(|prime| {
            (2..PROOF_BASES_MAX).any(|base| {
                let root = modulus.power(modulus.residue(U512::from(base)), before / prime);
                let power = modulus.number(modulus.power(root, *prime));
                let root = modulus.number(root);
                power == U512::ONE && (root - U512::ONE).gcd(modulus.value()) == U512::ONE
            })
        })
    }
}

/// Whether n is not a product of two primes, given that its prime factors are 1 modulo `factored`, which is at
/// least its cube root (Brillhart, Lehmer and Selfridge, "New primality criteria and factorizations of
/// 2^m ± 1", Mathematics of Computation 29, 1975, theorem 5).
fn has_no_two_factors(n: U512, factored: U512) -> bool {
    // n = (u × factored + 1)(v × factored + 1), whose digits are u × v and u + v.
    let rest = n / factored;
    let (product, sum) = (rest / factored, rest % factored);
    if product == U512::ZERO {
        return true; // Above the square root there is room for one.
    }
    let square = sum.checked_mul(sum).and_then(|square| square.checked_sub(product << 2));
    square.is_none_or(|square| raised(root(square, 2), 2) != Some(square))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modulus::WideModulus;

    /// F. Arnault, "Rabin-Miller primality test: composite numbers which pass it", Mathematics of Computation
    /// 64, 1995.
    #[test]
    fn a_pseudoprime_to_many_bases_is_not_taken_for_prime() {
        let [p, q] = [24_444_516_448_431_392_447_461_u128, 48_889_032_896_862_784_894_921].map(U512::from);
        let modulus = WideModulus::<7>::new(p * q);
        assert!(BASES.iter().take(11).all(|base| passes(&modulus, *base)));
        assert!(!lucas::passes(&modulus));
        let none = Curves { narrow: &|_, _, _, _| None, wide: &|_, _, _, _| None };
        assert_eq!(verdict(p * q, &none), Verdict::Composite);
    }

    #[test]
    fn products_of_two_primes_are_distinguished_from_primes() {
        // Both are 1 modulo 2^20, which is above the cube root of their product but not above its root.
        let (p, q) = (7 * (1_u64 << 20) + 1, 13 * (1_u64 << 20) + 1);
        let product = U512::from(p) * U512::from(q);
        let factored = U512::ONE << 20;
        assert!(product % factored == U512::ONE && !has_no_two_factors(product, factored));
        // 3 × 2^41 + 1 and 15 × 2^27 + 1 are prime.
        assert!(has_no_two_factors(U512::from(3 * (1_u64 << 41) + 1), U512::ONE << 41));
        assert!(has_no_two_factors(U512::from(15 * (1_u64 << 27) + 1), U512::ONE << 14));
    }
}
