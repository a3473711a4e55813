//! Arithmetic modulo an odd number, after Montgomery ("Modular multiplication without trial division",
//! Mathematics of Computation 44, 1985): `narrow` up to 128 bits, `wide` up to 512.
//!
//! Both represent a number as signed digits of 27 bits. A product of two digits and its sums fit 64 bits with
//! room to spare, so a multiplication has no carries, and wasm, which has no
//! product of 128 bits, loses nothing. R is at least 128 times the largest modulus: sums and
//! differences need no reduction before they are multiplied.

mod narrow;
mod wide;

use crate::number::Whole;

pub use narrow::NarrowModulus;
#[cfg(test)]
pub use wide::WideModulus;
pub use wide::{WideTask, with_modulus};

const DIGIT_BITS: u32 = 27;
const DIGIT_MASK: i64 = (1 << DIGIT_BITS) - 1;

/// A number modulo a [`Modulus`], times R.
///
/// What [`Modulus::multiply`] returns is between −n/8 and 9n/8; up to three of these may be added or
/// subtracted before the next multiplication.
pub trait Residue: Copy {
    /// The sum.
    fn plus(self, other: Self) -> Self;

    /// The difference.
    fn minus(self, other: Self) -> Self;
}

/// An odd number greater than 1, with arithmetic modulo it.
pub trait Modulus {
    /// The modulus and its divisors.
    type Value: Whole;
    /// Numbers modulo it.
    type Residue: Residue;

    /// The modulus itself.
    fn value(&self) -> Self::Value;

    /// The residue of `number`.
    fn residue(&self, number: Self::Value) -> Self::Residue;

    /// The residue of 1.
    fn one(&self) -> Self::Residue;

    /// The number from 0 to n − 1 that `residue` represents.
    fn number(&self, residue: Self::Residue) -> Self::Value;

    /// The product.
    fn multiply(&self, left: Self::Residue, right: Self::Residue) -> Self::Residue;

    /// The square.
    fn squared(&self, residue: Self::Residue) -> Self::Residue;

    /// The greatest common divisor of the modulus and the number that `residue` represents; the modulus itself
    /// if that number is 0.
    fn common_divisor(&self, residue: Self::Residue) -> Self::Value;

    /// `base` to the power of `exponent`.
    fn power(&self, base: Self::Residue, exponent: Self::Value) -> Self::Residue {
        (0..exponent.bits()).rev().fold(self.one(), |power, bit| {
            let power = self.squared(power);
            if exponent.has_bit(bit) { self.multiply(power, base) } else { power }
        })
    }
}

/// −1/`digit` modulo 2²⁷, of an odd digit.
fn negative_inverse(digit: i64) -> i64 {
    // Newton's iteration doubles the number of correct bits; an odd number is its own inverse in three bits.
    let mut inverse = digit;
    for _ in 0..4 {
        inverse = inverse.wrapping_mul(2_i64.wrapping_sub(digit.wrapping_mul(inverse)));
    }
    inverse.wrapping_neg() & DIGIT_MASK
}
