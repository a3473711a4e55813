//! The last numbers of the series that a host counts on from, whatever becomes of its runs.

use super::numbers::Numbers;

/// The last numbers that this host has used, of each kind.
#[derive(Debug, Default)]
pub struct LastNumbers {
    /// What a run that is given again counts on from, so that late answers are not taken for new ones.
    of_runs: u64,
    /// The last incarnation of a log of updates; no two of this host's logs have the same.
    incarnation: u64,
    /// Series of counts begun.
    series: u64,
}

impl LastNumbers {
    /// The numbers of a run that begins.
    pub fn begin_run(&self) -> Numbers {
        Numbers::after(self.of_runs)
    }

    /// A run with these numbers is dropped.
    pub fn end_run(&mut self, numbers: Numbers) {
        self.of_runs = self.of_runs.max(numbers.used());
    }

    /// The incarnation of the next log of updates. It is used up by [`use_incarnation`](Self::use_incarnation).
    pub fn next_incarnation(&self) -> u64 {
        self.incarnation + 1
    }

    /// A log of updates has the next incarnation.
    pub fn use_incarnation(&mut self) {
        self.incarnation += 1;
    }

    /// Begins a series of counts.
    pub fn new_series(&mut self) -> u64 {
        self.series += 1;
        self.series
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_number_is_used_twice() {
        let mut last = LastNumbers::default();
        let (mut one, mut other) = (last.begin_run(), last.begin_run());
        for _ in 0..3 {
            one.new_loan();
        }
        other.new_holding();
        last.end_run(one);
        last.end_run(other);
        assert_eq!(last.begin_run().used(), 3, "the other one used fewer");
        assert_eq!([last.new_series(), last.new_series()], [1, 2]);
        assert_eq!([last.next_incarnation(), last.next_incarnation()], [1, 1]);
        last.use_incarnation();
        assert_eq!(last.next_incarnation(), 2);
    }
}
