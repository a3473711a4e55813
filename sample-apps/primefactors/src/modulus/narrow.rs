//! Up to 128 bits: five digits.

use super::{DIGIT_BITS, DIGIT_MASK, Modulus, Residue, negative_inverse};

const DIGITS: usize = 5;
/// The bits of R.
const R_BITS: u32 = DIGIT_BITS * DIGITS as u32;

/// A number modulo a [`NarrowModulus`], times R.
#[derive(Debug, Clone, Copy)]
pub struct NarrowResidue([i64; DIGITS]);

impl Residue for NarrowResidue {
    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        Self(std::array::from_fn(|nth| self.0[nth] + other.0[nth]))
    }

    #[inline(always)]
    fn minus(self, other: Self) -> Self {
        Self(std::array::from_fn(|nth| self.0[nth] - other.0[nth]))
    }
}

/// An odd number greater than 1, of up to 128 bits.
#[derive(Debug, Clone, Copy)]
pub struct NarrowModulus {
    value: u128,
    digits: [i64; DIGITS],
    /// −1/n modulo 2²⁷.
    inverse: i64,
    /// R modulo n: the residue of 1.
    one: NarrowResidue,
    /// R² modulo n.
    square: NarrowResidue,
}

impl NarrowModulus {
    /// The modulus `value`, which is odd and greater than 1.
    pub fn new(value: u128) -> Self {
        debug_assert!(value % 2 == 1 && value > 1);
        let digits = digits(value);
        let doubled = |number: u128, times: u32| {
            (0..times).fold(number, |number, _| {
                // Without 2n, which may not fit.
                if number >= value - number { number - (value - number) } else { 2 * number }
            })
        };
        let one = doubled(1, R_BITS);
        Self {
            value,
            digits,
            inverse: negative_inverse(digits[0]),
            one: NarrowResidue(self::digits(one)),
            square: NarrowResidue(self::digits(doubled(one, R_BITS))),
        }
    }
}

impl Modulus for NarrowModulus {
    type Value = u128;
    type Residue = NarrowResidue;

    fn value(&self) -> u128 {
        self.value
    }

    fn residue(&self, number: u128) -> NarrowResidue {
        self.multiply(NarrowResidue(digits(number % self.value)), self.square)
    }

    fn one(&self) -> NarrowResidue {
        self.one
    }

    fn number(&self, residue: NarrowResidue) -> u128 {
        let reduced = self.multiply(residue, NarrowResidue([1, 0, 0, 0, 0]));
        let number = reduced.0.iter().rev().fold(0_u128, |number, digit| {
            number.wrapping_shl(DIGIT_BITS).wrapping_add(i128::from(*digit).cast_unsigned())
        });
        if number == self.value { 0 } else { number }
    }

    #[inline(always)]
    fn multiply(&self, left: NarrowResidue, right: NarrowResidue) -> NarrowResidue {
        let [b0, b1, b2, b3, b4] = right.0;
        let [n0, n1, n2, n3, n4] = self.digits;
        let (mut t0, mut t1, mut t2, mut t3, mut t4) = (0, 0, 0, 0, 0);
        // Unrolled by hand: the digits stay in registers, in wasm too.
        macro_rules! row {
            ($nth:literal) => {
                let a = left.0[$nth];
                let low: i64 = t0 + a * b0;
                let m = low.wrapping_mul(self.inverse) & DIGIT_MASK;
                let carry = (low + m * n0) >> DIGIT_BITS;
                t0 = t1 + a * b1 + m * n1 + carry;
                t1 = t2 + a * b2 + m * n2;
                t2 = t3 + a * b3 + m * n3;
                t3 = t4 + a * b4 + m * n4;
                t4 = 0;
            };
        }
        row!(0);
        row!(1);
        row!(2);
        row!(3);
        row!(4);
        t1 += t0 >> DIGIT_BITS;
        t2 += t1 >> DIGIT_BITS;
        t3 += t2 >> DIGIT_BITS;
        t4 += t3 >> DIGIT_BITS;
        NarrowResidue([t0 & DIGIT_MASK, t1 & DIGIT_MASK, t2 & DIGIT_MASK, t3 & DIGIT_MASK, t4])
    }

    /// As [`multiply`](Self::multiply), with each product of two different digits taken once.
    #[inline(always)]
    fn squared(&self, residue: NarrowResidue) -> NarrowResidue {
        let [a0, a1, a2, a3, a4] = residue.0;
        let (b0, b1, b2, b3) = (2 * a0, 2 * a1, 2 * a2, 2 * a3);
        let [n0, n1, n2, n3, n4] = self.digits;
        // By power of 2²⁷.
        let s0 = a0 * a0;
        let mut s1 = b0 * a1;
        let mut s2 = b0 * a2 + a1 * a1;
        let mut s3 = b0 * a3 + b1 * a2;
        let mut s4 = b0 * a4 + b1 * a3 + a2 * a2;
        let mut s5 = b1 * a4 + b2 * a3;
        let mut s6 = b2 * a4 + a3 * a3;
        let mut s7 = b3 * a4;
        let mut s8 = a4 * a4;
        macro_rules! reduce {
            ($t0:ident $t1:ident $t2:ident $t3:ident $t4:ident) => {
                let m = $t0.wrapping_mul(self.inverse) & DIGIT_MASK;
                $t1 += m * n1 + (($t0 + m * n0) >> DIGIT_BITS);
                $t2 += m * n2;
                $t3 += m * n3;
                $t4 += m * n4;
            };
        }
        reduce!(s0 s1 s2 s3 s4);
        reduce!(s1 s2 s3 s4 s5);
        reduce!(s2 s3 s4 s5 s6);
        reduce!(s3 s4 s5 s6 s7);
        reduce!(s4 s5 s6 s7 s8);
        s6 += s5 >> DIGIT_BITS;
        s7 += s6 >> DIGIT_BITS;
        s8 += s7 >> DIGIT_BITS;
        let top = s8 >> DIGIT_BITS;
        NarrowResidue([s5 & DIGIT_MASK, s6 & DIGIT_MASK, s7 & DIGIT_MASK, s8 & DIGIT_MASK, top])
    }

    fn common_divisor(&self, residue: NarrowResidue) -> u128 {
        greatest_common_divisor(self.value, self.number(residue))
    }
}

#[allow(clippy::cast_possible_truncation)] // masked to 27 bits
fn digits(number: u128) -> [i64; DIGITS] {
    std::array::from_fn(|nth| (number >> (DIGIT_BITS * nth as u32)) as i64 & DIGIT_MASK)
}

/// The greatest common divisor of an odd number and any other.
fn greatest_common_divisor(odd: u128, other: u128) -> u128 {
    let (mut a, mut b) = (odd, other);
    while b != 0 {
        b >>= b.trailing_zeros();
        (a, b) = (a.min(b), a.abs_diff(b));
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By doubling and adding.
    fn product(a: u128, b: u128, n: u128) -> u128 {
        let add = |a: u128, b: u128| if a >= n - b { a - (n - b) } else { a + b };
        (0..128).rev().fold(0, |sum, bit| {
            let sum = add(sum, sum);
            if b >> bit & 1 == 1 { add(sum, a % n) } else { sum }
        })
    }

    #[test]
    fn products_sums_and_differences_are_right_for_any_size() {
        let mut state = 1_u128;
        let mut random = move || {
            state = state.wrapping_mul(0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645).wrapping_add(12345);
            state ^ (state >> 64)
        };
        for round in 0..2000 {
            let n = (random() >> (round % 127)) | 1;
            let n = if n == 1 { u128::MAX } else { n };
            let (a, b) = (random() % n, random() % n);
            let modulus = NarrowModulus::new(n);
            let (ra, rb) = (modulus.residue(a), modulus.residue(b));
            assert_eq!(modulus.number(modulus.one()), 1);
            assert_eq!(modulus.number(ra), a);
            assert_eq!(modulus.number(modulus.multiply(ra, rb)), product(a, b, n), "{a} * {b} % {n}");
            let (sum, difference) = (ra.plus(rb), ra.minus(rb));
            let expected = product(a, a, n).abs_diff(product(b, b, n));
            let found = modulus.number(modulus.multiply(sum, difference));
            assert!(found == expected || found == n - expected, "({a} + {b}) * ({a} - {b}) % {n}");
        }
    }

    #[test]
    fn divisors_and_powers() {
        let modulus = NarrowModulus::new(91);
        assert_eq!(modulus.common_divisor(modulus.residue(26)), 13);
        assert_eq!(modulus.common_divisor(modulus.residue(0)), 91);
        assert_eq!(modulus.number(modulus.power(modulus.residue(3), 5)), 243 % 91);
        assert_eq!(modulus.number(modulus.power(modulus.residue(3), 0)), 1);
    }
}
