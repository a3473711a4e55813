//! One elliptic curve: Lenstra's method ("Factoring integers with elliptic curves", Annals of
//! Mathematics 126, 1987) on Montgomery's curves, with Suyama's parameters and a second stage
//! ("Speeding the Pollard and elliptic curve methods of factorization", Mathematics of Computation 48,
//! 1987).

use crate::modulus::{Modulus, Residue};
use crate::number::Whole;
use crate::primes::Primes;

/// A point in projective coordinates without y.
#[derive(Clone, Copy)]
struct Point<R> {
    x: R,
    z: R,
}

/// The needed part of a curve by² = x³ + ax² + x: (a + 2)/4 as a fraction.
struct Curve<'modulus, M: Modulus> {
    modulus: &'modulus M,
    /// Numerator times 1, denominator times 4, which avoids a division.
    numerator: M::Residue,
    denominator: M::Residue,
}

/// Looks for a factor of `modulus` on the curve number `index`. Finds a prime factor p if the order of
/// that curve modulo p has no prime factor above `bound`, except one up to `reach` times as large.
///
/// Returns a proper factor, not always prime, or `None`.
pub fn factor_by_curve<M: Modulus>(modulus: &M, index: u32, bound: u32, reach: u32) -> Option<M::Value> {
    let primes = Primes::up_to(bound, u64::from(bound) * u64::from(reach));
    let (curve, mut point) = Curve::suyama(modulus, 6 + index);
    for &prime in primes.small() {
        let mut power = prime;
        while power <= bound / prime {
            power *= prime;
        }
        point = curve.times(point, power);
    }
    let proper = |divisor: M::Value| (divisor != Whole::ONE && divisor != modulus.value()).then_some(divisor);
    let divisor = modulus.common_divisor(point.z);
    if divisor != Whole::ONE {
        return proper(divisor);
    }
    proper(modulus.common_divisor(curve.second_stage(point, &primes)))
}

impl<'modulus, M: Modulus> Curve<'modulus, M> {
    /// The curve that belongs to `sigma`, and a point on it. Its order is a multiple of 12.
    fn suyama(modulus: &'modulus M, sigma: u32) -> (Self, Point<M::Residue>) {
        let times = |left, right| modulus.multiply(left, right);
        let cubed = |residue| times(residue, modulus.squared(residue));
        let number = |number| modulus.residue(Whole::small(number));
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
    fn doubled(&self, point: Point<M::Residue>) -> Point<M::Residue> {
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
    fn sum(
        &self,
        left: Point<M::Residue>,
        right: Point<M::Residue>,
        difference: Point<M::Residue>,
    ) -> Point<M::Residue> {
        let n = self.modulus;
        let u = n.multiply(left.x.minus(left.z), right.x.plus(right.z));
        let v = n.multiply(left.x.plus(left.z), right.x.minus(right.z));
        Point {
            x: n.multiply(difference.z, n.squared(u.plus(v))),
            z: n.multiply(difference.x, n.squared(u.minus(v))),
        }
    }

    /// `factor` × `point`, by Montgomery's ladder; `factor` is not 0.
    fn times(&self, point: Point<M::Residue>, factor: u32) -> Point<M::Residue> {
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

    /// A product that is 0 modulo each prime p modulo which `point` times some prime between both bounds
    /// is the neutral element.
    ///
    /// Each such prime is a multiple of the stride plus or minus one of a few steps; the points of the multiple and the
    /// step differ only in the sign of y when their sum or difference is neutral.
    fn second_stage(&self, point: Point<M::Residue>, primes: &Primes) -> M::Residue {
        let n = self.modulus;
        // `point` × 1, × 3, × 5, …; the steps among them are kept, each with its product.
        let twice = self.doubled(point);
        let (mut before, mut odd) = (point, self.sum(twice, point, point));
        let mut steps = vec![(point, n.multiply(point.x, point.z))];
        let mut factor = 3;
        for step in &primes.steps()[1..] {
            while factor < *step {
                (before, odd) = (odd, self.sum(odd, twice, before));
                factor += 2;
            }
            steps.push((odd, n.multiply(odd.x, odd.z)));
        }

        let stride = self.times(point, primes.stride());
        let first = primes.first_multiple();
        let mut before = if first == 1 { point } else { self.times(stride, first - 1) };
        let mut middle = self.times(stride, first);
        let mut product = n.one();
        for (nth, words) in (first..).zip(primes.around()) {
            let middle_product = n.multiply(middle.x, middle.z);
            for (word, first_step) in words.iter().zip((0..).step_by(64)) {
                let mut bits = *word;
                while bits != 0 {
                    let (step, step_product) = steps[first_step + bits.trailing_zeros() as usize];
                    bits &= bits - 1;
                    // (x − x′)(z + z′) − xz + x′z′ = xz′ − x′z
                    let crossed = n.multiply(middle.x.minus(step.x), middle.z.plus(step.z));
                    let difference = crossed.minus(middle_product).plus(step_product);
                    product = n.multiply(product, difference);
                }
            }
            let next = if nth == 1 { self.doubled(stride) } else { self.sum(middle, stride, before) };
            (before, middle) = (middle, next);
        }
        product
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modulus::NarrowModulus;

    #[test]
    fn the_ladder_and_additions_agree() {
        let modulus = NarrowModulus::new((1 << 107) - 1);
        let (curve, point) = Curve::suyama(&modulus, 11);
        let same = |left: Point<_>, right: Point<_>| {
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
            let modulus = NarrowModulus::new(p * q);
            let found = (0..64).find_map(|index| factor_by_curve(&modulus, index, 2_000, 50));
            assert!(found == Some(p) || found == Some(q), "{p} * {q}: {found:?}");
        }
    }
}
