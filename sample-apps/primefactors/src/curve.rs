//! One elliptic curve: Lenstra's method ("Factoring integers with elliptic curves", Annals of
//! Mathematics 126, 1987) on Montgomery's curves, with Suyama's parameters and a second stage
//! ("Speeding the Pollard and elliptic curve methods of factorization", Mathematics of Computation 48,
//! 1987).

use std::cell::RefCell;
use std::rc::Rc;

use crate::modulus::{Modulus, Residue};

/// The second stage goes this many times as far as the first.
const SECOND_STAGE: u32 = 50;

/// Steps of the second stage; a multiple of 2, 3, 5 and 7.
const STRIDE: u32 = 210;
const HALF_STRIDE: usize = (STRIDE / 2) as usize;

/// A point in projective coordinates without y.
#[derive(Clone, Copy)]
struct Point {
    x: Residue,
    z: Residue,
}

/// A curve by² = x³ + ax² + x, as far as it is needed: (a + 2)/4 as a fraction.
struct Curve<'modulus> {
    modulus: &'modulus Modulus,
    /// Numerator times 1, denominator times 4, so that nothing is divided.
    numerator: Residue,
    denominator: Residue,
}

/// Looks for a factor of `modulus` on the curve number `index`. Finds a prime factor p if the order of
/// that curve modulo p has no prime factor above `bound`, but for one up to 50 times as large.
///
/// Gives a proper factor, not always prime, or `None`.
pub fn factor_by_curve(modulus: &Modulus, index: u32, bound: u32) -> Option<u128> {
    let primes = Primes::up_to(bound * SECOND_STAGE);
    let (curve, mut point) = Curve::suyama(modulus, 6 + u128::from(index));
    for prime in primes.small(bound) {
        let mut power = prime;
        while power <= bound / prime {
            power *= prime;
        }
        point = curve.times(point, power);
    }
    let proper = |divisor: u128| (divisor != 1 && divisor != modulus.value()).then_some(divisor);
    match modulus.common_divisor(point.z) {
        1 => proper(modulus.common_divisor(curve.second_stage(point, bound, &primes))),
        divisor => proper(divisor),
    }
}

impl<'modulus> Curve<'modulus> {
    /// The curve that belongs to `sigma`, and a point on it. Its order is a multiple of 12.
    fn suyama(modulus: &'modulus Modulus, sigma: u128) -> (Self, Point) {
        let times = |left, right| modulus.multiply(left, right);
        let cubed = |residue| times(residue, modulus.squared(residue));
        let number = |number| modulus.residue(number);
        let sigma = number(sigma);
        let u = modulus.squared(sigma).minus(number(5));
        let v = times(number(4), sigma);
        let difference = v.minus(u);
        let numerator = times(cubed(difference), times(number(3), u).plus(v));
        // a + 2 = (v − u)³ (3u + v) / 4u³v
        let denominator = times(number(4), times(cubed(u), v));
        let curve = Self { modulus, numerator, denominator: times(number(4), denominator) };
        (curve, Point { x: cubed(u), z: cubed(v) })
    }

    /// 2 × `point`.
    #[inline(always)]
    fn doubled(&self, point: Point) -> Point {
        let n = self.modulus;
        let plus = n.squared(point.x.plus(point.z));
        let minus = n.squared(point.x.minus(point.z));
        let difference = plus.minus(minus);
        let scaled = n.multiply(minus, self.denominator);
        Point {
            x: n.multiply(plus, scaled),
            z: n.multiply(difference, scaled.plus(n.multiply(difference, self.numerator))),
        }
    }

    /// `left` + `right`, whose difference is `difference`.
    #[inline(always)]
    fn sum(&self, left: Point, right: Point, difference: Point) -> Point {
        let n = self.modulus;
        let u = n.multiply(left.x.minus(left.z), right.x.plus(right.z));
        let v = n.multiply(left.x.plus(left.z), right.x.minus(right.z));
        Point {
            x: n.multiply(difference.z, n.squared(u.plus(v))),
            z: n.multiply(difference.x, n.squared(u.minus(v))),
        }
    }

    /// `factor` × `point`, by Montgomery's ladder; `factor` is not 0.
    fn times(&self, point: Point, factor: u32) -> Point {
        let (mut low, mut high) = (point, self.doubled(point));
        for bit in (0..factor.ilog2()).rev() {
            let sum = self.sum(high, low, point);
            if factor >> bit & 1 == 1 {
                (low, high) = (sum, self.doubled(high));
            } else {
                (low, high) = (self.doubled(low), sum);
            }
        }
        low
    }

    /// A product that is 0 modulo each prime p modulo which `point` times some prime from `bound` to 50
    /// times `bound` is the neutral element.
    ///
    /// Each such prime is a multiple of the stride plus or minus one of 24 numbers; the points of those
    /// two differ only in the sign of y when their sum or difference is neutral.
    fn second_stage(&self, point: Point, bound: u32, primes: &Primes) -> Residue {
        let n = self.modulus;
        // By odd factors: point × 1, × 3, × 5, ….
        let twice = self.doubled(point);
        let mut steps = vec![point, self.sum(twice, point, point)];
        while steps.len() <= HALF_STRIDE / 2 {
            let [before, last] = [steps[steps.len() - 2], steps[steps.len() - 1]];
            steps.push(self.sum(last, twice, before));
        }
        let products: Vec<Residue> = steps.iter().map(|step| n.multiply(step.x, step.z)).collect();

        let stride = self.times(point, STRIDE);
        let first = (bound / STRIDE).max(1);
        let mut before = if first == 1 { point } else { self.times(stride, first - 1) };
        let mut middle = self.times(stride, first);
        let mut product = n.one();
        for nth in first..=bound * SECOND_STAGE / STRIDE {
            let middle_product = n.multiply(middle.x, middle.z);
            for half in primes.around(nth) {
                let step = steps[*half];
                // (x − x′)(z + z′) − xz + x′z′ = xz′ − x′z
                let crossed = n.multiply(middle.x.minus(step.x), middle.z.plus(step.z));
                let difference = crossed.minus(middle_product).plus(products[*half]);
                product = n.multiply(product, difference);
            }
            let next = if nth == 1 { self.doubled(stride) } else { self.sum(middle, stride, before) };
            (before, middle) = (middle, next);
        }
        product
    }
}

/// The primes up to some limit, as both stages want them.
struct Primes {
    limit: u32,
    is_prime: Vec<bool>,
    /// For each multiple of the stride: half of each odd number below half the stride that is, added
    /// or subtracted, a prime's distance from it.
    around: Vec<Vec<usize>>,
}

impl Primes {
    /// Made once in each sandbox for each limit.
    fn up_to(limit: u32) -> Rc<Self> {
        thread_local! {
            static LAST: RefCell<Option<Rc<Primes>>> = const { RefCell::new(None) };
        }
        LAST.with_borrow_mut(|last| match last {
            Some(primes) if primes.limit == limit => Rc::clone(primes),
            _ => Rc::clone(last.insert(Rc::new(Self::new(limit)))),
        })
    }

    fn new(limit: u32) -> Self {
        let is_prime = sieve(limit + STRIDE);
        let around = (0..=limit / STRIDE)
            .map(|nth| {
                let middle = (nth * STRIDE) as usize;
                (0..=HALF_STRIDE / 2)
                    .filter(|half| {
                        let step = 2 * half + 1;
                        is_prime[middle + step] || (middle > step && is_prime[middle - step])
                    })
                    .collect()
            })
            .collect();
        Self { limit, is_prime, around }
    }

    fn small(&self, bound: u32) -> impl Iterator<Item = u32> {
        (2..=bound).filter(|number| self.is_prime[*number as usize])
    }

    fn around(&self, nth: u32) -> &[usize] {
        &self.around[nth as usize]
    }
}

/// Which numbers up to `limit` are prime (Eratosthenes).
pub fn sieve(limit: u32) -> Vec<bool> {
    let mut is_prime = vec![true; limit as usize + 1];
    is_prime[..2].fill(false);
    let mut number = 2;
    while number * number < is_prime.len() {
        if is_prime[number] {
            is_prime[number * number..].iter_mut().step_by(number).for_each(|is_prime| *is_prime = false);
        }
        number += 1;
    }
    is_prime
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sieve_finds_as_many_primes_as_there_are() {
        // OEIS A006880.
        for (limit, count) in [(10, 4), (100, 25), (1_000, 168), (1_000_000, 78_498)] {
            assert_eq!(sieve(limit).iter().filter(|is_prime| **is_prime).count(), count);
        }
    }

    #[test]
    fn the_ladder_and_additions_agree() {
        let modulus = Modulus::new((1 << 107) - 1);
        let (curve, point) = Curve::suyama(&modulus, 11);
        let same = |left: Point, right: Point| {
            let crossed = modulus.multiply(left.x, right.z).minus(modulus.multiply(right.x, left.z));
            modulus.number(crossed) == 0
        };
        for (left, right) in [(2, 3), (7, 11), (210, 13)] {
            let product = curve.times(point, left * right);
            assert!(same(curve.times(curve.times(point, left), right), product));
            assert!(!same(curve.times(point, left * right + 1), product));
        }
        assert!(same(curve.times(point, 1), point) && same(curve.times(point, 2), curve.doubled(point)));
    }

    #[test]
    fn some_curve_finds_each_factor() {
        for (p, q) in [(65_537, 65_539), (4_294_967_311, 4_294_967_357), (193_707_721, 761_838_257_287)] {
            let modulus = Modulus::new(p * q);
            let found = (0..64).find_map(|index| factor_by_curve(&modulus, index, 2_000));
            assert!(found == Some(p) || found == Some(q), "{p} * {q}: {found:?}");
        }
    }
}
