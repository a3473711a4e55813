//! The prime factors of numbers of up to 128 bits.
//!
//! Satin's application divides the range of the trial divisors among its jobs. Here only divisors of up
//! to 16 bits are tried; what is left is divided by elliptic curves, whose time depends on the size of
//! the factor and which have nothing to do with one another. The curves of a round are a range of
//! numbers, which is halved down to single curves: `modulus` computes, `curve` is one of them, and
//! `primality` says when a factor is prime.
//!
//! A number has one factorisation, so it does not matter which curve is lucky first.

mod curve;
mod modulus;
mod primality;

use std::fmt::Write;

use curve::{factor_by_curve, sieve};
use modulus::Modulus;
use sateen::prelude::*;

/// Divisors below this are tried one by one.
const TRIED_MAX: u32 = 1 << 16;

/// How far the first stage of a curve goes, and how many such curves are tried before the next round.
/// The last round is repeated for as long as it takes, which for factors of 64 bits is seldom.
const ROUNDS: [(u32, u32); 6] = [(150, 8), (500, 16), (2_000, 32), (5_000, 64), (11_000, 128), (25_000, 256)];

/// `sateen run primefactors.wasm N…`: each number, a colon, and its prime factors in rising order, as
/// coreutils' `factor` prints them.
///
/// # Errors
/// When there is no number, or one is no whole number of at most 128 bits.
#[main]
pub fn main(numbers: Vec<String>) -> Result<String, BadInput> {
    let numbers = parse(&numbers)?;
    let handles: Vec<_> = numbers.iter().rev().map(|number| factors::spawn(*number)).collect();
    let mut factors: Vec<_> = handles.sync_all();
    factors.reverse();
    Ok(lines(&numbers, &factors))
}

/// The same without spawns: what the spawning version is measured against.
///
/// # Errors
/// As [`main()`].
#[main]
pub fn plain(numbers: Vec<String>) -> Result<String, BadInput> {
    let numbers = parse(&numbers)?;
    let factors: Vec<_> = numbers.iter().map(|number| factors_plain(*number)).collect();
    Ok(lines(&numbers, &factors))
}

/// The prime factors of `n`, in rising order, found with spawns.
#[job]
pub fn factors(n: u128) -> Vec<u128> {
    factorised(n, &|composite, round, first, count| try_curves(composite, round, first, count))
}

/// The prime factors of `n`, in rising order, found without spawns.
pub fn factors_plain(n: u128) -> Vec<u128> {
    factorised(n, &|composite, round, first, count| {
        let modulus = Modulus::new(composite);
        (first..first + count).find_map(|index| factor_by_curve(&modulus, index, round))
    })
}

/// A proper factor of `composite` by the `count` curves from `first` on, whose first stages go to
/// `bound`. What the upper half finds is not waited for when the lower half has found one.
#[job]
fn try_curves(composite: u128, bound: u32, first: u32, count: u32) -> Option<u128> {
    if count == 1 {
        return factor_by_curve(&Modulus::new(composite), first, bound);
    }
    let half = count / 2;
    let upper = try_curves::spawn(composite, bound, first + half, count - half);
    try_curves(composite, bound, first, half).or_else(|| upper.sync())
}

/// A way to try a range of curves: of what, how far, from which on, how many.
type TryCurves<'a> = &'a dyn Fn(u128, u32, u32, u32) -> Option<u128>;

fn factorised(n: u128, try_curves: TryCurves) -> Vec<u128> {
    let (mut factors, rest) = tried(n);
    if rest > 1 {
        divide(rest, try_curves, &mut factors);
    }
    factors.sort_unstable();
    factors
}

/// Adds the prime factors of `n`, which has none below [`TRIED_MAX`], to `factors`.
fn divide(n: u128, try_curves: TryCurves, factors: &mut Vec<u128>) {
    let least_composite = u128::from(TRIED_MAX) * u128::from(TRIED_MAX);
    if n < least_composite || primality::is_prime(n, |smaller| factorised(smaller, try_curves)) {
        factors.push(n);
        return;
    }
    let last = ROUNDS[ROUNDS.len() - 1];
    let mut first = 0;
    let found = ROUNDS.into_iter().chain(std::iter::repeat(last)).find_map(|(bound, count)| {
        let found = try_curves(n, bound, first, count);
        first += count;
        found
    });
    // The rounds have no end.
    let Some(factor) = found else { return };
    divide(factor, try_curves, factors);
    divide(n / factor, try_curves, factors);
}

/// The prime factors below [`TRIED_MAX`], and what is left of `n`; 0 is left as 1.
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

fn parse(words: &[String]) -> Result<Vec<u128>, BadInput> {
    if words.is_empty() {
        return Err(BadInput("a number is missing; give one or several whole numbers".to_owned()));
    }
    let number = |word: &String| {
        word.parse().map_err(|_| {
            BadInput(format!("`{word}` is not a whole number from 0 to {} (128 bits)", u128::MAX))
        })
    };
    words.iter().map(number).collect()
}

fn lines(numbers: &[u128], factors: &[Vec<u128>]) -> String {
    let line = |(number, factors): (&u128, &Vec<u128>)| {
        let mut line = format!("{number}:");
        for factor in factors {
            let _ = write!(line, " {factor}");
        }
        line
    };
    numbers.iter().zip(factors).map(line).collect::<Vec<_>>().join("\n")
}
