//! Takes samples so that noise affects both sides alike.
//!
//! The two sides alternate, A B A B …, and ratios are computed round by round: a machine
//! that is slow for some seconds is slow for both. A figure is the median of its rounds; the lowest
//! and the highest round are shown beside it.
//!
//! Where one thread computes on both sides, its processor time is compared, so that other load
//! matters less. Where several threads compute, wall-clock time is compared.

use std::hint::black_box;
use std::io::{IsTerminal, stderr};
use std::ops::RangeInclusive;
use std::time::Instant;

use anyhow::Result;

use crate::machine::Usage;

/// One quantity, with a value for each round.
#[derive(Debug, Clone, PartialEq)]
pub struct Samples(Vec<f64>);

impl Samples {
    /// The middle value, or the mean of the two in the middle.
    ///
    /// # Panics
    /// Without a value.
    pub fn median(&self) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        f64::midpoint(sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2])
    }

    /// The least value.
    pub fn min(&self) -> f64 {
        self.0.iter().copied().fold(f64::INFINITY, f64::min)
    }

    /// The greatest value.
    pub fn max(&self) -> f64 {
        self.0.iter().copied().fold(f64::NEG_INFINITY, f64::max)
    }

    /// Each value of `self` over the value of the same round in `baseline`.
    pub fn over(&self, baseline: &Self) -> Self {
        self.with(baseline, |value, base| value / base)
    }

    /// Each value of `self` less the value of the same round in `baseline`.
    pub fn less(&self, baseline: &Self) -> Self {
        self.with(baseline, |value, base| value - base)
    }

    /// Each value times `factor`.
    pub fn times(&self, factor: f64) -> Self {
        Self(self.0.iter().map(|value| value * factor).collect())
    }

    /// The geometric means over `all` of their least values, of their medians, and of their greatest values.
    pub fn geometric_mean(all: &[Self]) -> Self {
        let mean = |value: fn(&Self) -> f64| {
            let logarithms: f64 = all.iter().map(|samples| value(samples).ln()).sum();
            (logarithms / all.len() as f64).exp()
        };
        Self(vec![mean(Self::min), mean(Self::median), mean(Self::max)])
    }

    fn with(&self, other: &Self, operation: impl Fn(f64, f64) -> f64) -> Self {
        Self(self.0.iter().zip(&other.0).map(|(left, right)| operation(*left, *right)).collect())
    }
}

impl FromIterator<f64> for Samples {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Self {
        Self(values.into_iter().collect())
    }
}

/// Minimum and maximum number of rounds, whatever time they take.
const ROUNDS: RangeInclusive<usize> = 5..=51;
/// With fewer undisturbed rounds, the disturbed rounds count as well.
const QUIET_ROUNDS_MIN: usize = 2;

/// Calls `round` once to warm up and then again for about `budget_s` seconds; each call measures
/// every side once, in turn, and returns the `N` values in that order.
///
/// A round in which other processes ran is repeated, with at most half as many rounds again, and counts only if
/// there are too few others.
pub fn interleave<const N: usize>(
    about: &str,
    budget_s: f64,
    mut round: impl FnMut() -> Result<[f64; N]>,
) -> Result<[Samples; N]> {
    let is_terminal = stderr().is_terminal();
    let (warm_up, result) = time(&mut round);
    result?;
    let count = ((budget_s / warm_up.wall) as usize).clamp(*ROUNDS.start(), *ROUNDS.end());
    let (mut quiet, mut disturbed) = (Vec::new(), Vec::new());
    while quiet.len() < count && quiet.len() + disturbed.len() < count * 3 / 2 {
        if is_terminal {
            eprint!("\r{about}: round {} of {count} ", quiet.len() + 1);
        }
        let before = Usage::now();
        let values = round()?;
        let is_disturbed = before.is_some_and(|before| before.is_disturbed_since());
        if is_disturbed { &mut disturbed } else { &mut quiet }.push(values);
    }
    eprintln!("\r{about}: {} rounds, and {} in which others ran", quiet.len(), disturbed.len());
    if quiet.len() < QUIET_ROUNDS_MIN {
        quiet.append(&mut disturbed);
    }
    Ok(std::array::from_fn(|side| quiet.iter().map(|round| round[side]).collect()))
}

/// How long something took, in seconds.
#[derive(Debug, Clone, Copy)]
pub struct Took {
    /// Wall-clock time.
    pub wall: f64,
    /// Processor time of all this process's threads together.
    pub processor: f64,
}

/// Times `call`, and returns its result, which need not be used.
pub fn time<T>(call: impl FnOnce() -> T) -> (Took, T) {
    let (started, processor) = (Instant::now(), processor_s());
    let result = black_box(call());
    (Took { wall: started.elapsed().as_secs_f64(), processor: processor_s() - processor }, result)
}

/// The processor time of this process, in seconds since some start.
#[cfg(unix)]
fn processor_s() -> f64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 * 1e-9
}

/// On other systems, wall-clock time replaces it.
#[cfg(not(unix))]
fn processor_s() -> f64 {
    use std::sync::OnceLock;
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(values: &[f64]) -> Samples {
        values.iter().copied().collect()
    }

    #[test]
    fn medians_of_odd_and_even_counts() {
        assert_eq!(samples(&[3.0, 1.0, 2.0]).median(), 2.0);
        assert_eq!(samples(&[4.0, 1.0, 2.0, 3.0]).median(), 2.5);
        assert_eq!((samples(&[3.0, 1.0]).min(), samples(&[3.0, 1.0]).max()), (1.0, 3.0));
    }

    #[test]
    fn ratios_are_computed_round_by_round() {
        let (slow, fast) = (samples(&[2.0, 8.0]), samples(&[1.0, 2.0]));
        assert_eq!(slow.over(&fast), samples(&[2.0, 4.0]));
        assert_eq!(slow.less(&fast), samples(&[1.0, 6.0]));
    }

    #[test]
    fn means_combine_least_medians_and_greatest() {
        let mean = Samples::geometric_mean(&[samples(&[1.0]), samples(&[2.0, 16.0, 4.0])]);
        let close = |value: f64, expected: f64| (value - expected).abs() < 1e-12;
        assert!(close(mean.min(), 2.0_f64.sqrt()) && close(mean.median(), 2.0) && close(mean.max(), 4.0));
    }

    #[test]
    fn the_first_round_does_not_count() {
        let mut calls = 0.0;
        let [counted] = interleave("test", 0.0, || {
            calls += 1.0;
            Ok([calls])
        })
        .expect("the rounds give values");
        assert_eq!(counted, samples(&[2.0, 3.0, 4.0, 5.0, 6.0]));
    }
}
