//! Numbers of up to 512 bits: reading, printing and encoding. Arithmetic is ruint's.

use std::fmt;
use std::ops::{Shr, Sub};

use ruint::aliases::U512;
use sateen::BadInput;
use serde::{Deserialize, Serialize};

/// Operations of both sizes of numbers that curves and tests of primality need.
pub trait Whole: Copy + Eq + Sub<Output = Self> + Shr<usize, Output = Self> {
    /// One.
    const ONE: Self;

    /// Converts a small number.
    fn small(number: u32) -> Self;

    /// Its bits, without leading zeros.
    fn bits(self) -> u32;

    /// Whether the bit of value 2^`nth` is set.
    fn has_bit(self, nth: u32) -> bool;

    /// Its number of trailing zero bits; it must not be 0.
    fn twos(self) -> u32;
}

impl Whole for u128 {
    const ONE: Self = 1;

    fn small(number: u32) -> Self {
        Self::from(number)
    }

    fn bits(self) -> u32 {
        Self::BITS - self.leading_zeros()
    }

    fn has_bit(self, nth: u32) -> bool {
        self >> nth & 1 == 1
    }

    fn twos(self) -> u32 {
        self.trailing_zeros()
    }
}

impl Whole for U512 {
    const ONE: Self = Self::ONE;

    fn small(number: u32) -> Self {
        Self::from(number)
    }

    fn bits(self) -> u32 {
        self.bit_len() as u32
    }

    fn has_bit(self, nth: u32) -> bool {
        self.bit(nth as usize)
    }

    fn twos(self) -> u32 {
        self.trailing_zeros() as u32
    }
}

/// A number as a parameter or a result: its decimal digits, which is also how trees of jobs show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct Number(pub U512);

impl Number {
    /// The number, if it has at most 128 bits.
    pub fn narrow(self) -> Option<u128> {
        u128::try_from(self.0).ok()
    }
}

impl From<u128> for Number {
    fn from(number: u128) -> Self {
        Self(U512::from(number))
    }
}

/// Text that is not a number decodes to 0: `sateen build` has each type decode an example, which may be any text.
impl From<String> for Number {
    fn from(text: String) -> Self {
        Self(parsed(&text).unwrap_or_default())
    }
}

impl From<Number> for String {
    fn from(number: Number) -> Self {
        number.to_string()
    }
}

impl fmt::Display for Number {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// Reads the words as numbers.
///
/// # Errors
/// When there is none, or one is not a whole number of at most 512 bits.
pub fn parse(words: &[String]) -> Result<Vec<Number>, BadInput> {
    if words.is_empty() {
        return Err(BadInput("a number is missing; give one or several whole numbers".to_owned()));
    }
    let number = |word: &String| {
        parsed(word).map(Number).ok_or_else(|| {
            BadInput(format!("`{word}` is not a whole number from 0 to 2^512 - 1 (512 bits, 155 digits)"))
        })
    };
    words.iter().map(number).collect()
}

/// The remainder of a division by a small number, without the division of large ones.
pub fn remainder(n: U512, divisor: u32) -> u32 {
    let divisor = u64::from(divisor);
    let halves = n.as_limbs().iter().rev().flat_map(|limb| [limb >> 32, limb & 0xffff_ffff]);
    halves.fold(0, |remainder, half| ((remainder << 32) | half) % divisor) as u32
}

/// Reads decimal digits, maybe after a plus. (ruint also accepts prefixes of other radices, and underscores.)
fn parsed(word: &str) -> Option<U512> {
    let digits = word.strip_prefix('+').unwrap_or(word);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| U512::from_str_radix(digits, 10).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_u128_reads_them() {
        for word in ["0", "7", "+7", "007", "+007", "", "+", "-7", "++7", "0x7", "1_000", "7 ", "٧"] {
            assert_eq!(parsed(word), word.parse::<u128>().ok().map(U512::from), "{word}");
        }
        let zeros = "0".repeat(1_000) + "7";
        assert_eq!(parsed(&zeros), Some(U512::from(7)));
        assert_eq!(parsed(&U512::MAX.to_string()), Some(U512::MAX));
    }

    #[test]
    fn numbers_above_the_bound_are_refused() {
        // 2^512 and 10^180, which has 598 bits.
        let above = "13407807929942597099574024998205846127479365820592393377723561443721764030073\
                     546976801874298166903427690031858186486050853753882811946569946433649006084096";
        for word in [above, &("1".to_owned() + &"0".repeat(180))] {
            assert_eq!(parsed(word), None);
        }
    }

    #[test]
    fn numbers_are_encoded_as_their_digits() {
        for number in [U512::ZERO, U512::from(u128::MAX), U512::MAX] {
            assert_eq!(Number::from(String::from(Number(number))), Number(number));
        }
        assert_eq!(Number::from("a".to_owned()), Number(U512::ZERO));
    }
}
