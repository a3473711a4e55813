//! Divides a number until only primes are left: by small numbers, by roots, by curves.

use ruint::aliases::U512;
use serde::{Deserialize, Serialize};

use crate::number::{Number, Whole, remainder};
use crate::power;
use crate::primality::{self, Verdict};
use crate::primes::sieve;

/// Divisors below this are tried one by one.
const TRIED_MAX: u32 = 1 << 16;

/// The bound of a curve's first stage, and the number of such curves before the next round.
/// The last round is repeated for as long as it takes, which is rare for factors of 64 bits.
const ROUNDS: [(u32, u32); 6] = [(150, 8), (500, 16), (2_000, 32), (5_000, 64), (11_000, 128), (25_000, 256)];

/// The second stage goes this many times as far as the first.
pub const REACH: u32 = 50;

/// The same for numbers of more than 128 bits, whose factors may be larger. From the third round on, each
/// is meant for factors with five more digits, from 15 to 50 (P. Zimmermann's table of GMP-ECM).
const WIDE_ROUNDS: [(u32, u32); 10] = [
    (150, 8),
    (500, 16),
    (2_000, 25),
    (11_000, 90),
    (50_000, 300),
    (250_000, 700),
    (1_000_000, 1_800),
    (3_000_000, 5_100),
    (11_000_000, 10_600),
    (43_000_000, 19_300),
];

/// The second stage of numbers of more than 128 bits goes this many times as far as the first.
pub const WIDE_REACH: u32 = 100;

/// Rounds with lower bounds are too short to be worth a line of the log.
const LOGGED_BOUND_MIN: u32 = 50_000;

/// Rounds that look for factors only to prove that a number is prime: one to three seconds of one worker.
const PROOF_ROUNDS: usize = 3;

/// One more round for numbers of up to this many bits, whose curves are fast.
const LONG_PROOF_BITS_MAX: u32 = 256;

/// A prime factor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Prime {
    /// The factor.
    pub value: Number,
    /// Whether it is proved to be prime. If not, no composite number is known that passes the same tests.
    pub is_proved: bool,
}

/// Tries a range of curves: the number, the bound, the first curve, the count.
pub type TryCurves<'a> = &'a dyn Fn(u128, u32, u32, u32) -> Option<u128>;

/// Functions that try a range of curves.
pub struct Curves<'a> {
    /// For numbers of up to 128 bits.
    pub narrow: TryCurves<'a>,
    /// For larger ones.
    pub wide: &'a dyn Fn(U512, u32, u32, u32) -> Option<U512>,
}

/// The prime factors of `n`, in rising order.
pub fn factorised(n: u128, try_curves: TryCurves) -> Vec<u128> {
    let (mut factors, rest) = tried(n);
    if rest > 1 {
        divide(rest, try_curves, &mut factors);
    }
    factors.sort_unstable();
    factors
}

/// The same for numbers of up to 512 bits.
pub fn wide_factorised(n: U512, curves: &Curves) -> Vec<Prime> {
    let (small, rest) = wide_tried(n);
    let mut factors: Vec<Prime> = small.into_iter().map(|prime| proved(prime.into())).collect();
    wide_divide(rest, curves, &mut factors);
    factors.sort_unstable();
    factors
}

/// Prime factors of `n` that are proved and easily found, until their product satisfies `is_enough`.
pub fn easy_factors(n: U512, curves: &Curves, is_enough: impl Fn(U512) -> bool) -> Vec<U512> {
    let (small, rest) = wide_tried(n);
    let mut factors: Vec<U512> = small.into_iter().map(U512::from).collect();
    let mut parts = vec![rest];
    while let Some(part) = parts.pop() {
        if is_enough(factors.iter().product()) {
            break;
        }
        if let Some(narrow) = Number(part).narrow() {
            let mut found = Vec::new();
            divide(narrow, curves.narrow, &mut found);
            factors.extend(found.into_iter().map(U512::from));
            continue;
        }
        match primality::verdict(part, curves) {
            Verdict::Prime => factors.push(part),
            Verdict::ProbablePrime => {}
            Verdict::Composite => {
                let rounds = PROOF_ROUNDS + usize::from(part.bits() <= LONG_PROOF_BITS_MAX);
                let rounds = WIDE_ROUNDS.into_iter().take(rounds);
                let found =
                    tried_rounds(rounds, |bound, first, count| (curves.wide)(part, bound, first, count));
                if let Some(factor) = found {
                    parts.extend([part / factor, factor]);
                }
            }
        }
    }
    factors
}

/// Adds the prime factors of `n`, which has none below [`TRIED_MAX`], to `factors`.
fn divide(n: u128, try_curves: TryCurves, factors: &mut Vec<u128>) {
    if n == 1 {
        return;
    }
    let least_composite = u128::from(TRIED_MAX) * u128::from(TRIED_MAX);
    if n < least_composite || primality::is_prime(n, |smaller| factorised(smaller, try_curves)) {
        factors.push(n);
        return;
    }
    let last = ROUNDS[ROUNDS.len() - 1];
    let rounds = ROUNDS.into_iter().chain(std::iter::repeat(last));
    let found = tried_rounds(rounds, |bound, first, count| try_curves(n, bound, first, count));
    // The rounds have no end.
    let Some(factor) = found else { return };
    divide(factor, try_curves, factors);
    divide(n / factor, try_curves, factors);
}

/// The same for numbers of up to 512 bits.
fn wide_divide(n: U512, curves: &Curves, factors: &mut Vec<Prime>) {
    if let Some(narrow) = Number(n).narrow() {
        let mut found = Vec::new();
        divide(narrow, curves.narrow, &mut found);
        factors.extend(found.into_iter().map(proved));
        return;
    }
    if let Some((root, exponent)) = power::root_and_exponent(n) {
        let mut found = Vec::new();
        wide_divide(root, curves, &mut found);
        (0..exponent).for_each(|_| factors.extend_from_slice(&found));
        return;
    }
    let verdict = primality::verdict(n, curves);
    if verdict != Verdict::Composite {
        factors.push(Prime { value: Number(n), is_proved: verdict == Verdict::Prime });
        return;
    }
    let last = WIDE_ROUNDS[WIDE_ROUNDS.len() - 1];
    let rounds = WIDE_ROUNDS.into_iter().chain(std::iter::repeat(last));
    let found = tried_rounds(rounds, |bound, first, count| {
        if bound >= LOGGED_BOUND_MIN {
            sateen::log!("{count} curves with a bound of {bound} for {n}");
        }
        (curves.wide)(n, bound, first, count)
    });
    // The rounds have no end.
    let Some(factor) = found else { return };
    sateen::log!("{factor} divides {n}");
    wide_divide(factor, curves, factors);
    wide_divide(n / factor, curves, factors);
}

/// The factor found by the first successful round. `try_curves` receives the bound, the first curve, and the count.
fn tried_rounds<V>(
    rounds: impl Iterator<Item = (u32, u32)>,
    try_curves: impl Fn(u32, u32, u32) -> Option<V>,
) -> Option<V> {
    let mut first = 0;
    for (bound, count) in rounds {
        let found = try_curves(bound, first, count);
        if found.is_some() {
            return found;
        }
        first += count;
    }
    None
}

fn proved(prime: u128) -> Prime {
    Prime { value: prime.into(), is_proved: true }
}

/// The prime factors below [`TRIED_MAX`], and the remaining cofactor of `n`; for 0, it is 1.
fn tried(mut n: u128) -> (Vec<u128>, u128) {
    let mut factors = Vec::new();
    if n == 0 {
        return (factors, 1);
    }
    for (divisor, is_prime) in (0..).zip(sieve(TRIED_MAX)) {
        if divisor * divisor > n {
            break;
        }
        while is_prime && n.is_multiple_of(divisor) {
            factors.push(divisor);
            n /= divisor;
        }
    }
    (factors, n)
}

/// The same for numbers of up to 512 bits. The cofactor may be a prime below [`TRIED_MAX`].
fn wide_tried(mut n: U512) -> (Vec<u32>, U512) {
    if n.is_zero() {
        return (Vec::new(), U512::ONE);
    }
    let mut factors = Vec::new();
    for (divisor, _) in (0..).zip(sieve(TRIED_MAX)).filter(|(_, is_prime)| *is_prime) {
        while remainder(n, divisor) == 0 {
            factors.push(divisor);
            n /= U512::from(divisor);
        }
    }
    (factors, n)
}
