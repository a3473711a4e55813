//! Sums of counts from which counts can be subtracted again.

use crate::steals::{Latencies, StealCounts, Steals};
use crate::{Counts, HeldCounts, Jobs};

/// How many numbers a [`Counts`] has.
const WORDS: usize = 83;

/// A sum of the counts of many hosts. Hosts may report any numbers, so each sum has room for the largest number of
/// every host; counts that were added can be subtracted exactly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WideCounts([u128; WORDS]);

impl Default for WideCounts {
    fn default() -> Self {
        Self([0; WORDS])
    }
}

impl WideCounts {
    /// Adds `after` and subtracts `before`, which was added earlier.
    pub fn replace(&mut self, before: &Counts, after: &Counts) {
        for ((sum, before), after) in self.0.iter_mut().zip(words(before)).zip(words(after)) {
            *sum = *sum + u128::from(after) - u128::from(before);
        }
    }

    /// The sum as counts; numbers that are too large saturate.
    pub fn to_counts(&self) -> Counts {
        from_words(&self.0)
    }
}

/// A runtime's counts, of which those that people see grow are at least what they were `before`. It adds up what its workers do
/// without stopping them, estimates the work of guests that have not reported it, and no longer counts a job as executed that it has
/// stopped or given back.
pub fn no_less_than(before: &Counts, mut counts: Counts) -> Counts {
    counts.jobs.executed = counts.jobs.executed.max(before.jobs.executed);
    counts.jobs.exposed = counts.jobs.exposed.max(before.jobs.exposed);
    counts.work_ns = counts.work_ns.max(before.work_ns);
    counts.redone_work_ns = counts.redone_work_ns.max(before.redone_work_ns);
    counts
}

/// The difference between a host's `counts` and those `before`. Numbers that describe the present (workers, memory) are
/// not subtracted.
pub fn counted_since(before: &Counts, counts: &Counts) -> Counts {
    let before = Counts { busy: 0, workers: 0, shared_bytes: 0, ..*before };
    let mut left = words(counts).map(u128::from);
    for (word, before) in left.iter_mut().zip(words(&before)) {
        *word = word.saturating_sub(u128::from(before));
    }
    from_words(&left)
}

fn words(counts: &Counts) -> [u64; WORDS] {
    let mut words = [0; WORDS];
    let mut next = words.iter_mut();
    for_each_word(&mut { *counts }, |word| {
        if let Some(place) = next.next() {
            *place = *word;
        }
    });
    words
}

fn from_words(words: &[u128; WORDS]) -> Counts {
    let mut words = words.iter().map(|word| u64::try_from(*word).unwrap_or(u64::MAX));
    let mut counts = Counts::default();
    for_each_word(&mut counts, |word| *word = words.next().unwrap_or_default());
    counts
}

/// Visits every number of `counts`, always in the same order. A visit may change it; what is too large for its field
/// saturates.
fn for_each_word(counts: &mut Counts, mut visit: impl FnMut(&mut u64)) {
    // Every field is named, so that the compiler reports a new one that is missing here.
    let Counts {
        jobs,
        steal_requests,
        work_ns,
        saved_work_ns,
        redone_work_ns,
        orphaned,
        orphans_saved,
        held,
        steals,
        updates,
        shared_bytes,
        busy,
        workers,
        earlier,
        earlier_work_ns,
    } = counts;
    let Jobs {
        spawned,
        exposed,
        executed,
        stolen_local,
        stolen,
        stolen_wide,
        reused,
        lost,
        given_back,
        adopted,
        recorded,
        aborted,
    } = jobs;
    for word in [
        spawned,
        exposed,
        executed,
        stolen_local,
        stolen,
        stolen_wide,
        reused,
        lost,
        given_back,
        adopted,
        recorded,
        aborted,
        steal_requests,
        work_ns,
        saved_work_ns,
        redone_work_ns,
        orphaned,
        orphans_saved,
        updates,
        shared_bytes,
        earlier,
        earlier_work_ns,
    ] {
        visit(word);
    }
    for short in [busy, workers] {
        let mut word = u64::from(*short);
        visit(&mut word);
        *short = u32::try_from(word).unwrap_or(u32::MAX);
    }
    for HeldCounts { begun, done, failed, aborted } in held {
        [begun, done, failed, aborted].into_iter().for_each(&mut visit);
    }
    let Steals { scopes } = steals;
    for StealCounts { jobs, refused, unanswered, latencies: Latencies { buckets, sum_ns } } in scopes {
        [jobs, refused, unanswered, sum_ns].into_iter().chain(buckets).for_each(&mut visit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts in which no two numbers are the same.
    fn distinct(first: u64) -> Counts {
        let mut words = [0_u128; WORDS];
        words.iter_mut().enumerate().for_each(|(place, word)| *word = u128::from(first) + place as u128);
        from_words(&words)
    }

    #[test]
    fn every_number_has_a_word_of_its_own() {
        let counts = distinct(1);
        let mut numbers = words(&counts);
        assert_eq!(
            numbers.map(u128::from).as_slice(),
            std::array::from_fn::<u128, WORDS, _>(|n| n as u128 + 1)
        );
        numbers.sort_unstable();
        assert!(numbers.windows(2).all(|pair| pair[0] != pair[1]));
        // `Counts` has no more numbers than words.
        assert_eq!(size_of::<Counts>(), 8 * (WORDS - 2) + 2 * 4);
    }

    #[test]
    fn a_wide_sum_equals_the_sum_and_can_be_subtracted_from() {
        let (one, other) = (distinct(1), distinct(1000));
        let mut sum = one;
        sum.add(&other);
        let mut wide = WideCounts::default();
        wide.replace(&Counts::default(), &one);
        wide.replace(&Counts::default(), &other);
        assert_eq!(wide.to_counts(), sum);
        let absurd = from_words(&[u128::MAX; WORDS]);
        wide.replace(&other, &absurd);
        assert_eq!(wide.to_counts(), absurd);
        wide.replace(&absurd, &Counts::default());
        assert_eq!(wide.to_counts(), one);
    }
}
