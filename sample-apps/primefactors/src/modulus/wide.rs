//! Up to 512 bits, with as few digits as possible.

use ruint::aliases::U512;

use super::{DIGIT_BITS, DIGIT_MASK, Modulus, Residue, negative_inverse};
use crate::number::Whole;

/// A number modulo a [`WideModulus`], times R. With at most 20 digits, sums of products stay below 2⁶².
///
/// Digits of 32 bits, sums included, as wasm's vectors have products of those and not of 64 bits.
#[derive(Debug, Clone, Copy)]
pub struct WideResidue<const DIGITS: usize>([i32; DIGITS]);

impl<const DIGITS: usize> Residue for WideResidue<DIGITS> {
    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        Self(std::array::from_fn(|nth| self.0[nth] + other.0[nth]))
    }

    #[inline(always)]
    fn minus(self, other: Self) -> Self {
        Self(std::array::from_fn(|nth| self.0[nth] - other.0[nth]))
    }
}

/// An odd number greater than 1, of up to 27 × `DIGITS` − 7 bits.
#[derive(Debug, Clone, Copy)]
pub struct WideModulus<const DIGITS: usize> {
    value: U512,
    digits: [i32; DIGITS],
    /// −1/n modulo 2²⁷.
    inverse: i64,
    /// R modulo n: the residue of 1.
    one: WideResidue<DIGITS>,
    /// R² modulo n.
    square: WideResidue<DIGITS>,
}

/// A task with a modulus whose number of digits depends on its size.
pub trait WideTask {
    /// Its result.
    type Output;

    /// Runs the task.
    fn run<M: Modulus<Value = U512>>(self, modulus: &M) -> Self::Output;
}

/// Runs `task` with the modulus `value`, which is odd and greater than 1.
pub fn with_modulus<T: WideTask>(value: U512, task: T) -> T::Output {
    match value.bits() {
        0..=182 => task.run(&WideModulus::<7>::new(value)),
        183..=263 => task.run(&WideModulus::<10>::new(value)),
        264..=371 => task.run(&WideModulus::<14>::new(value)),
        _ => task.run(&WideModulus::<20>::new(value)),
    }
}

impl<const DIGITS: usize> WideModulus<DIGITS> {
    /// The modulus `value`, which is odd, greater than 1 and not too large.
    pub fn new(value: U512) -> Self {
        let r_bits = DIGIT_BITS * DIGITS as u32;
        debug_assert!(value.bit(0) && value > U512::ONE && value.bits() + 7 <= r_bits);
        let digits = digits(value);
        let doubled = |number: U512| (0..r_bits).fold(number, |number, _| number.add_mod(number, value));
        let one = doubled(U512::ONE);
        Self {
            value,
            digits,
            inverse: negative_inverse(digits[0].into()),
            one: WideResidue(self::digits(one)),
            square: WideResidue(self::digits(doubled(one))),
        }
    }

    /// Adds `digit` × `other` to `sums`, and the multiple of the modulus that makes the lowest digit 0;
    /// then shifts the others down.
    #[inline(always)]
    fn add_row(&self, sums: &mut [i64; DIGITS], digit: i32, other: &[i32; DIGITS]) {
        let digit = i64::from(digit);
        let low = sums[0] + digit * i64::from(other[0]);
        let multiple = low.wrapping_mul(self.inverse) & DIGIT_MASK;
        let carry = (low + multiple * i64::from(self.digits[0])) >> DIGIT_BITS;
        for nth in 1..DIGITS {
            sums[nth - 1] =
                sums[nth] + digit * i64::from(other[nth]) + multiple * i64::from(self.digits[nth]);
        }
        sums[DIGITS - 1] = 0;
        sums[0] += carry;
    }
}

impl<const DIGITS: usize> Modulus for WideModulus<DIGITS> {
    type Value = U512;
    type Residue = WideResidue<DIGITS>;

    fn value(&self) -> U512 {
        self.value
    }

    fn residue(&self, number: U512) -> WideResidue<DIGITS> {
        self.multiply(WideResidue(digits(number % self.value)), self.square)
    }

    fn one(&self) -> WideResidue<DIGITS> {
        self.one
    }

    fn number(&self, residue: WideResidue<DIGITS>) -> U512 {
        let one = std::array::from_fn(|nth| i32::from(nth == 0));
        let reduced = self.multiply(residue, WideResidue(one));
        let number = reduced.0.iter().rev().fold(U512::ZERO, |number, digit| {
            // A number reduced to at most n has no negative digits.
            (number << DIGIT_BITS as usize) | U512::from(digit.cast_unsigned())
        });
        if number == self.value { U512::ZERO } else { number }
    }

    // A call costs less than inlining the code of up to 800 products everywhere.
    #[inline(never)]
    fn multiply(&self, left: WideResidue<DIGITS>, right: WideResidue<DIGITS>) -> WideResidue<DIGITS> {
        let mut sums = [0; DIGITS];
        for digit in left.0 {
            self.add_row(&mut sums, digit, &right.0);
        }
        WideResidue(carried(sums))
    }

    // Rows of all lengths, with each product of two different digits taken once, would not suit vectors.
    #[inline(always)]
    fn squared(&self, residue: WideResidue<DIGITS>) -> WideResidue<DIGITS> {
        self.multiply(residue, residue)
    }

    fn common_divisor(&self, residue: WideResidue<DIGITS>) -> U512 {
        self.value.gcd(self.number(residue))
    }
}

/// Digits of 27 bits, except the highest, which is as small if the number is of the modulus' size.
#[allow(clippy::cast_possible_truncation)]
#[inline(always)]
fn carried<const DIGITS: usize>(mut sums: [i64; DIGITS]) -> [i32; DIGITS] {
    for nth in 1..DIGITS {
        sums[nth] += sums[nth - 1] >> DIGIT_BITS;
        sums[nth - 1] &= DIGIT_MASK;
    }
    sums.map(|digit| digit as i32)
}

#[allow(clippy::cast_possible_truncation)] // masked to 27 bits
fn digits<const DIGITS: usize>(number: U512) -> [i32; DIGITS] {
    std::array::from_fn(|nth| {
        let shifted = number >> (DIGIT_BITS as usize * nth);
        (shifted.as_limbs()[0].cast_signed() & DIGIT_MASK) as i32
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computes with numbers of the modulus' size and compares with ruint's.
    struct Compare(U512, U512);

    impl WideTask for Compare {
        type Output = ();

        fn run<M: Modulus<Value = U512>>(self, modulus: &M) {
            let n = modulus.value();
            let (a, b) = (self.0 % n, self.1 % n);
            let (ra, rb) = (modulus.residue(a), modulus.residue(b));
            assert_eq!(modulus.number(modulus.one()), U512::ONE);
            assert_eq!(modulus.number(ra), a);
            assert_eq!(modulus.number(modulus.multiply(ra, rb)), a.mul_mod(b, n), "{a} * {b} % {n}");
            assert_eq!(modulus.number(modulus.squared(rb)), b.mul_mod(b, n), "{b}^2 % {n}");
            // The maximum number of sums, of both signs.
            let (sum, difference) = (ra.plus(rb).plus(ra), rb.minus(ra).minus(ra));
            let doubled = a.add_mod(a, n);
            let (plus, minus) = (doubled.add_mod(b, n), b.add_mod(n - doubled, n));
            assert_eq!(modulus.number(modulus.multiply(sum, difference)), plus.mul_mod(minus, n));
            assert_eq!(modulus.number(modulus.squared(difference)), minus.mul_mod(minus, n));
            assert_eq!(modulus.number(modulus.power(ra, b)), a.pow_mod(b, n), "{a}^{b} % {n}");
            assert_eq!(modulus.common_divisor(modulus.residue(U512::ZERO)), n);
        }
    }

    #[test]
    fn products_sums_and_differences_are_right_for_any_size() {
        let mut state = 1_u64;
        let mut random = move || {
            U512::from_limbs([(); 8].map(|()| {
                state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(12345);
                state ^ (state >> 31)
            }))
        };
        for bits in 2..=512 {
            for n in [random() | (U512::ONE << 511), U512::MAX] {
                let n = (n >> (512 - bits)) | U512::ONE;
                with_modulus(n, Compare(random(), random()));
                with_modulus(n, Compare(n - U512::ONE, U512::ONE));
            }
        }
    }
}
