//! Perfect powers. Curves find a factor of p² no sooner than one of p × q, while a root is quickly found.

use ruint::aliases::U512;

use crate::number::Whole;

/// Possible exponents for a number of 512 bits without factors of up to 16 bits.
const EXPONENTS: [u32; 11] = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31];

/// A root of `n`, which has no factor of up to 16 bits, and the prime exponent of the power;
/// `None` if `n` is not a perfect power.
pub fn root_and_exponent(n: U512) -> Option<(U512, u32)> {
    EXPONENTS.into_iter().find_map(|exponent| {
        let root = root(n, exponent);
        (raised(root, exponent) == Some(n)).then_some((root, exponent))
    })
}

/// The greatest number that raised to `exponent` is at most `n`.
pub fn root(n: U512, exponent: u32) -> U512 {
    (0..=n.bits() / exponent).rev().fold(U512::ZERO, |root, bit| {
        let greater = root | (U512::ONE << bit as usize);
        if raised(greater, exponent).is_some_and(|power| power <= n) { greater } else { root }
    })
}

/// `base` to the power of `exponent`, if that has at most 512 bits.
pub fn raised(base: U512, exponent: u32) -> Option<U512> {
    base.checked_pow(U512::from(exponent))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_are_exact() {
        for exponent in EXPONENTS {
            for base in [65_537_u64, 65_539, 4_294_967_311, u64::MAX - 58] {
                let Some(power) = raised(U512::from(base), exponent) else { continue };
                assert_eq!(root(power, exponent), U512::from(base));
                assert_eq!(root(power - U512::ONE, exponent), U512::from(base - 1));
                assert_eq!(root_and_exponent(power), Some((U512::from(base), exponent)));
                assert_eq!(root_and_exponent(power + U512::ONE), None);
            }
        }
        assert_eq!(root(U512::MAX, 2), (U512::ONE << 256) - U512::ONE);
    }
}
