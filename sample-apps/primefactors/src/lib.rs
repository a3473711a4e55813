//! The prime factors of numbers of up to 512 bits.
//!
//! Satin's application divides the range of the trial divisors among its jobs. Here only divisors of up
//! to 16 bits are tried; the rest is divided by elliptic curves, whose time depends on the size of
//! the factor and which are independent of one another. The curves of a round are a range of
//! numbers, which is halved down to single curves: `division` has the rounds, `modulus` does the arithmetic, `curve`
//! is a single curve, and `primality` decides whether a factor is prime.
//!
//! Numbers that fit 128 bits are `u128`, have jobs of their own, and their primes are proved; larger ones are `Number`.
//!
//! A number has one factorisation, so it does not matter which curve succeeds first.

mod curve;
mod division;
mod modulus;
mod number;
mod power;
mod primality;
mod primes;

use std::fmt::Write;

use curve::factor_by_curve;
use division::{Curves, REACH, WIDE_REACH, factorised, wide_factorised};
use modulus::{Modulus, NarrowModulus, WideTask, with_modulus};
use ruint::aliases::U512;
use sateen::prelude::*;

pub use division::Prime;
pub use number::Number;

/// `sateen run primefactors.wasm N…`: each number, a colon, and its prime factors in rising order, as
/// coreutils' `factor` prints them. The log names factors that are not proved to be prime.
///
/// # Errors
/// When there is no number, or one is not a whole number of at most 512 bits.
#[main]
pub fn main(numbers: Vec<String>) -> Result<String, BadInput> {
    let numbers = number::parse(&numbers)?;
    let handles: Vec<_> = numbers.iter().rev().map(|number| Handle::new(*number)).collect();
    let factors: Vec<_> = handles.into_iter().rev().map(Handle::sync).collect();
    Ok(lines(&numbers, &factors))
}

/// The same without spawns: the baseline of the spawning version.
///
/// # Errors
/// As [`main()`].
#[main]
pub fn plain(numbers: Vec<String>) -> Result<String, BadInput> {
    let numbers = number::parse(&numbers)?;
    let factors: Vec<_> = numbers
        .iter()
        .map(|number| match number.narrow() {
            Some(narrow) => all_proved(factors_plain(narrow)),
            None => wide_factors_plain(*number),
        })
        .collect();
    Ok(lines(&numbers, &factors))
}

/// The prime factors of `n`, in rising order, found with spawns.
#[job]
pub fn factors(n: u128) -> Vec<u128> {
    factorised(n, &spawning)
}

/// The prime factors of `n`, in rising order, found without spawns.
pub fn factors_plain(n: u128) -> Vec<u128> {
    factorised(n, &in_turn)
}

/// The prime factors of `n`, of up to 512 bits, in rising order, found with spawns.
#[job]
pub fn wide_factors(n: Number) -> Vec<Prime> {
    let wide = |composite, bound, first, count| {
        try_wide_curves(Number(composite), bound, first, count).map(|factor| factor.0)
    };
    wide_factorised(n.0, &Curves { narrow: &spawning, wide: &wide })
}

/// The prime factors of `n`, of up to 512 bits, in rising order, found without spawns.
pub fn wide_factors_plain(n: Number) -> Vec<Prime> {
    let wide = |composite, bound, first, count| with_modulus(composite, InTurn { bound, first, count });
    wide_factorised(n.0, &Curves { narrow: &in_turn, wide: &wide })
}

/// A proper factor of `composite` by the `count` curves from `first` on, whose first stages go to
/// `bound`. When the lower half has found a factor, the upper half is not waited for.
#[job]
fn try_curves(composite: u128, bound: u32, first: u32, count: u32) -> Option<u128> {
    if count == 1 {
        return factor_by_curve(&NarrowModulus::new(composite), first, bound, REACH);
    }
    let half = count / 2;
    let upper = try_curves::spawn(composite, bound, first + half, count - half);
    try_curves(composite, bound, first, half).or_else(|| upper.sync())
}

/// The same for a number of more than 128 bits.
#[job]
fn try_wide_curves(composite: Number, bound: u32, first: u32, count: u32) -> Option<Number> {
    if count == 1 {
        return with_modulus(composite.0, InTurn { bound, first, count }).map(Number);
    }
    let half = count / 2;
    let upper = try_wide_curves::spawn(composite, bound, first + half, count - half);
    try_wide_curves(composite, bound, first, half).or_else(|| upper.sync())
}

fn spawning(composite: u128, bound: u32, first: u32, count: u32) -> Option<u128> {
    try_curves(composite, bound, first, count)
}

fn in_turn(composite: u128, bound: u32, first: u32, count: u32) -> Option<u128> {
    let modulus = NarrowModulus::new(composite);
    (first..first + count).find_map(|index| factor_by_curve(&modulus, index, bound, REACH))
}

/// As [`in_turn`], for any modulus.
struct InTurn {
    bound: u32,
    first: u32,
    count: u32,
}

impl WideTask for InTurn {
    type Output = Option<U512>;

    fn run<M: Modulus<Value = U512>>(self, modulus: &M) -> Option<U512> {
        (self.first..self.first + self.count)
            .find_map(|index| factor_by_curve(modulus, index, self.bound, WIDE_REACH))
    }
}

/// The job that factorises a number.
enum Handle {
    Narrow(Spawned<factors>),
    Wide(Spawned<wide_factors>),
}

impl Handle {
    fn new(number: Number) -> Self {
        match number.narrow() {
            Some(narrow) => Self::Narrow(factors::spawn(narrow)),
            None => Self::Wide(wide_factors::spawn(number)),
        }
    }

    fn sync(self) -> Vec<Prime> {
        match self {
            Self::Narrow(handle) => all_proved(handle.sync()),
            Self::Wide(handle) => handle.sync(),
        }
    }
}

fn all_proved(primes: Vec<u128>) -> Vec<Prime> {
    primes.into_iter().map(|prime| Prime { value: prime.into(), is_proved: true }).collect()
}

fn lines(numbers: &[Number], factors: &[Vec<Prime>]) -> String {
    let line = |(number, factors): (&Number, &Vec<Prime>)| {
        let mut line = format!("{number}:");
        for factor in factors {
            let _ = write!(line, " {}", factor.value);
            if !factor.is_proved {
                sateen::log!("{} is a probable prime: it passes all tests, but is not proved", factor.value);
            }
        }
        line
    };
    numbers.iter().zip(factors).map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2^128 + 1 and 2^256 + 1, whose factors are found by curves, and a number of either size.
    #[sateen::test]
    fn numbers_of_either_size_have_the_same_factors_everywhere() -> Result<String, BadInput> {
        let numbers = [
            "340282366920938463463374607431768211457",
            "115792089237316195423570985008687907853269984665640564039457584007913129639937",
            "11111111111111111111111111111111111111111111111",
            "18446744073709551617",
        ];
        main(numbers.map(str::to_owned).to_vec())
    }
}
