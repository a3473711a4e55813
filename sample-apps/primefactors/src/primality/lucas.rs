//! The strong test of Lucas, with Selfridge's parameters (Baillie and Wagstaff, "Lucas pseudoprimes",
//! Mathematics of Computation 35, 1980).

use ruint::aliases::U512;

use crate::modulus::{Modulus, Residue};
use crate::number::{Whole, remainder};

/// Whether the modulus, which is neither a square nor divisible by a small number, passes. Primes do.
pub fn passes<M: Modulus<Value = U512>>(modulus: &M) -> bool {
    let n = modulus.value();
    // 5, −7, 9, −11, …: for a number that is not a square, one of the first has the symbol −1.
    let Some(discriminant) = (0_i32..)
        .map(|nth| if nth % 2 == 0 { 5 + 2 * nth } else { -5 - 2 * nth })
        .find(|discriminant| symbol(*discriminant, n) == -1)
    else {
        return false;
    };
    let residue = |number: i32| {
        let magnitude = U512::from(number.unsigned_abs());
        modulus.residue(if number < 0 { n - magnitude } else { magnitude })
    };
    let after = n + U512::ONE;
    let half = modulus.residue(after >> 1);
    let halved = |sum| modulus.multiply(sum, half);
    let (discriminant, first_q) = (residue(discriminant), residue((1 - discriminant) / 4));

    let twos = after.twos();
    let odd = after >> twos as usize;
    // The sequences' members U and V, and Q to the power of their index.
    let (mut u, mut v, mut q) = (modulus.one(), modulus.one(), first_q);
    let doubled_v = |v, q: M::Residue| modulus.squared(v).minus(q.plus(q));
    for bit in (0..odd.bits() - 1).rev() {
        u = modulus.multiply(u, v);
        v = doubled_v(v, q);
        q = modulus.squared(q);
        if odd.has_bit(bit) {
            (u, v) = (halved(u.plus(v)), halved(modulus.multiply(discriminant, u).plus(v)));
            q = modulus.multiply(q, first_q);
        }
    }
    let is_zero = |residue| modulus.number(residue) == U512::ZERO;
    if is_zero(u) || is_zero(v) {
        return true;
    }
    (1..twos).any(|_| {
        v = doubled_v(v, q);
        q = modulus.squared(q);
        is_zero(v)
    })
}

/// The Jacobi symbol of `number` over `n`, both odd, by the law of reciprocity.
fn symbol(number: i32, n: U512) -> i32 {
    let magnitude = number.unsigned_abs();
    let is_three = |number: u32| number % 4 == 3;
    let is_changed = is_three(remainder(n, 4)) && (is_three(magnitude) != (number < 0));
    let symbol = small_symbol(remainder(n, magnitude), magnitude);
    if is_changed { -symbol } else { symbol }
}

/// The same for numbers of 32 bits, with `over` odd.
fn small_symbol(mut number: u32, mut over: u32) -> i32 {
    let mut symbol = 1;
    while number != 0 {
        let twos = number.trailing_zeros();
        number >>= twos;
        if twos % 2 == 1 && matches!(over % 8, 3 | 5) {
            symbol = -symbol;
        }
        if number % 4 == 3 && over % 4 == 3 {
            symbol = -symbol;
        }
        (number, over) = (over % number, number);
    }
    if over == 1 { symbol } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modulus::WideModulus;
    use crate::primes::sieve;

    #[test]
    fn symbols_are_those_of_euler() {
        for prime in [3_u32, 7, 11, 13, 101, 65_537] {
            let modulus = WideModulus::<7>::new(U512::from(prime));
            for number in (1..prime.min(100)).chain([prime]) {
                let power = modulus.power(modulus.residue(U512::from(number)), U512::from((prime - 1) / 2));
                let expected = match modulus.number(power) {
                    U512::ZERO => 0,
                    U512::ONE => 1,
                    _ => -1,
                };
                assert_eq!(small_symbol(number % prime, prime), expected, "{number} over {prime}");
            }
        }
        for n in (5_u32..2_000).step_by(2) {
            for number in [-15_i32, -11, -7, -3, -1, 1, 3, 5, 9, 13] {
                let expected = small_symbol(number.rem_euclid(n as i32) as u32, n);
                assert_eq!(symbol(number, U512::from(n)), expected, "{number} over {n}");
            }
        }
    }

    #[test]
    fn only_the_known_pseudoprimes_pass() {
        // OEIS A217255.
        let pseudoprimes = [5_459, 5_777, 10_877, 16_109, 18_971];
        let is_prime = sieve(20_000);
        for n in (101_u32..20_000).step_by(2).filter(|n| n.isqrt().pow(2) != *n) {
            let passes = passes(&WideModulus::<7>::new(U512::from(n)));
            assert_eq!(passes, is_prime[n as usize] || pseudoprimes.contains(&n), "{n}");
        }
    }
}
