//! The primes up to some limit, in the form that both stages of a curve need.

use std::cell::RefCell;
use std::rc::Rc;

/// The stride of the second stage: a multiple of 2, 3, 5 and 7.
const STRIDE: u32 = 210;

/// The stride from [`FAR`] on: a multiple of 11, too. It has more steps, which are computed once, and fewer strides.
const LONG_STRIDE: u32 = 2_310;
const FAR: u64 = 2_000_000;

/// Odd numbers that are sieved at a time.
const SEGMENT: usize = 1 << 16;

/// The primes up to the bounds of both stages.
pub struct Primes {
    bound: u32,
    limit: u64,
    small: Vec<u32>,
    stride: u32,
    /// Numbers below half the stride that have no divisor in common with it.
    steps: Vec<u32>,
    /// For each multiple of the stride from the first on, a set of bits: the steps that lead to a prime when added or
    /// subtracted.
    around: Vec<u64>,
}

impl Primes {
    /// The primes up to `bound` for the first stage, from there to `limit` for the second. Made once in each
    /// sandbox for each limit.
    pub fn up_to(bound: u32, limit: u64) -> Rc<Self> {
        thread_local! {
            static LAST: RefCell<Option<Rc<Primes>>> = const { RefCell::new(None) };
        }
        LAST.with_borrow_mut(|last| match last {
            Some(primes) if primes.bound == bound && primes.limit == limit => Rc::clone(primes),
            _ => {
                let primes = sateen::per_sandbox(&(bound, limit), || Self::new(bound, limit));
                Rc::clone(last.insert(Rc::new(primes)))
            }
        })
    }

    fn new(bound: u32, limit: u64) -> Self {
        let stride = if limit < FAR { STRIDE } else { LONG_STRIDE };
        let steps: Vec<u32> =
            (1..stride / 2).filter(|step| greatest_common_divisor(*step, stride) == 1).collect();
        let mut bits = vec![0; stride as usize / 2 + 1];
        for (bit, step) in steps.iter().enumerate() {
            bits[*step as usize] = bit;
        }
        let mut primes = Self { bound, limit, small: vec![2], stride, steps, around: Vec::new() };
        let (words, first) = (primes.words(), u64::from(primes.first_multiple()));
        let multiples = (limit / u64::from(stride) + 1).saturating_sub(first) as usize;
        primes.around = vec![0; multiples * words];
        for_each_odd_prime(limit + u64::from(stride), |prime| {
            if prime <= u64::from(bound) {
                primes.small.push(prime as u32);
            }
            let multiple = (prime + u64::from(stride / 2)) / u64::from(stride);
            let nth = multiple.wrapping_sub(first) as usize;
            if multiple >= first && nth < multiples {
                let bit = bits[prime.abs_diff(multiple * u64::from(stride)) as usize];
                primes.around[nth * words + bit / 64] |= 1 << (bit % 64);
            }
        });
        primes
    }

    /// The primes up to the bound of the first stage.
    pub fn small(&self) -> &[u32] {
        &self.small
    }

    /// The stride of the second stage.
    pub fn stride(&self) -> u32 {
        self.stride
    }

    /// The distances of primes from multiples of the stride, rising, the first of them 1.
    pub fn steps(&self) -> &[u32] {
        &self.steps
    }

    /// The index of the first multiple of [`around`](Self::around).
    pub fn first_multiple(&self) -> u32 {
        (self.bound / self.stride).max(1)
    }

    /// For one multiple of the stride after another, the steps to primes around it, 64 a word.
    pub fn around(&self) -> impl Iterator<Item = &[u64]> {
        self.around.chunks_exact(self.words())
    }

    fn words(&self) -> usize {
        self.steps.len().div_ceil(64)
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

/// The odd primes up to `limit`, below 2³³, in rising order. Takes little memory.
fn for_each_odd_prime(limit: u64, mut visit: impl FnMut(u64)) {
    let divisors = sieve(limit.isqrt() as u32 + 1);
    let divisors = (3..divisors.len()).step_by(2).filter(|number| divisors[*number]);
    // A divisor, and the distance to its next multiple; an odd number's place is half of it.
    let square = |divisor: usize| (divisor as u64 * divisor as u64 / 2) as usize;
    let mut multiples: Vec<_> = divisors.map(|divisor| (divisor, square(divisor))).collect();
    let segment = SEGMENT.min((limit / 2 + 1) as usize);
    let mut is_prime = vec![true; segment];
    for start in (0..=limit / 2).step_by(segment) {
        is_prime.fill(true);
        for (divisor, next) in &mut multiples {
            while *next < segment {
                is_prime[*next] = false;
                *next += *divisor;
            }
            *next -= segment;
        }
        for (place, _) in (start..).zip(&is_prime).filter(|(_, is_prime)| **is_prime) {
            let number = 2 * place + 1;
            if number > 1 && number <= limit {
                visit(number);
            }
        }
    }
}

fn greatest_common_divisor(left: u32, right: u32) -> u32 {
    if right == 0 { left } else { greatest_common_divisor(right, left % right) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sieves_find_as_many_primes_as_there_are() {
        // OEIS A006880.
        for (limit, count) in [(10, 4), (100, 25), (1_000, 168), (1_000_000, 78_498), (10_000_000, 664_579)] {
            assert_eq!(sieve(limit).iter().filter(|is_prime| **is_prime).count(), count);
            let mut odd = 0;
            for_each_odd_prime(u64::from(limit), |_| odd += 1);
            assert_eq!(odd + 1, count);
        }
    }

    #[test]
    fn the_second_stage_gets_each_prime_between_the_bounds() {
        for (bound, limit) in [(150, 7_500), (2_000, 100_000), (30_000, 3_000_000)] {
            let primes = Primes::new(bound, limit);
            let mut found = vec![false; limit as usize + primes.stride as usize];
            for (nth, words) in (primes.first_multiple()..).zip(primes.around()) {
                for (index, step) in primes.steps.iter().enumerate() {
                    if words[index / 64] >> (index % 64) & 1 == 1 {
                        found[(nth * primes.stride + step) as usize] = true;
                        found[(nth * primes.stride - step) as usize] = true;
                    }
                }
            }
            let is_prime = sieve(limit as u32);
            // The last primes may be nearer to the multiple after the limit.
            let last = limit as usize - primes.stride as usize;
            assert!((bound as usize + 1..last).all(|number| !is_prime[number] || found[number]));
            assert!(primes.small.iter().all(|prime| is_prime[*prime as usize] && *prime <= bound));
            assert_eq!(primes.small.len(), is_prime[..=bound as usize].iter().filter(|is| **is).count());
        }
    }
}
