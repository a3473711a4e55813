//! The numbers that a host uses in one run, none of them twice.

use crate::{HeldId, LoanId, StealId};

/// The numbers that a host uses in one run: of steal requests, of jobs that it lends or holds, and of its `Holding`
/// messages.
#[derive(Debug, Clone, Copy)]
pub struct Numbers {
    steal: u64,
    job: u64,
    /// Counts the `Holding` messages sent to all hosts.
    holding: u64,
}

impl Numbers {
    /// Continues after all numbers that were used when the host had the run before.
    pub fn after(used: u64) -> Self {
        Self { steal: used, job: used, holding: used }
    }

    /// The greatest number used.
    pub fn used(self) -> u64 {
        self.steal.max(self.job).max(self.holding)
    }

    /// A new number for a request.
    pub fn new_steal(&mut self) -> StealId {
        let steal = StealId(self.steal);
        self.steal += 1;
        steal
    }

    /// The number that the next request will have.
    pub fn next_steal(self) -> StealId {
        StealId(self.steal)
    }

    /// Whether there was a request with this number.
    pub fn has_asked(self, steal: StealId) -> bool {
        steal.0 < self.steal
    }

    /// The number of a job that is held from now on, never used before.
    pub fn new_held(&mut self) -> HeldId {
        HeldId(self.next_job())
    }

    /// A loan's number, never used before.
    pub fn new_loan(&mut self) -> LoanId {
        LoanId(self.next_job())
    }

    fn next_job(&mut self) -> u64 {
        self.job += 1;
        self.job
    }

    /// Whether there may have been a loan of this number. Held jobs are counted with the loans, so it may as well have
    /// been one of these: what a peer says of that is taken for something late about a loan that is over.
    pub fn has_given(self, loan: LoanId) -> bool {
        loan.0 <= self.job
    }

    /// A new number for a `Holding` message.
    pub fn new_holding(&mut self) -> u64 {
        self.holding += 1;
        self.holding
    }

    /// The number of the last `Holding` message.
    pub fn holding(self) -> u64 {
        self.holding
    }

    /// Continues after these numbers.
    #[cfg(test)]
    pub fn of(steal: u64, job: u64, holding: u64) -> Self {
        Self { steal, job, holding }
    }

    /// Whether each number is at least as great as that of `other`.
    #[cfg(test)]
    pub fn is_past(self, other: Self) -> bool {
        self.steal >= other.steal && self.job >= other.job && self.holding >= other.holding
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{RUN, host, spec};
    use super::*;
    use crate::Time;
    use crate::message::ToHost;

    #[test]
    fn each_number_is_used_once_and_only_used_ones_are_known() {
        let mut numbers = Numbers::after(7);
        assert_eq!((numbers.used(), numbers.next_steal(), numbers.holding()), (7, StealId(7), 7));
        assert!(!numbers.has_asked(StealId(7)) && !numbers.has_given(LoanId(8)));
        assert_eq!((numbers.new_steal(), numbers.new_steal()), (StealId(7), StealId(8)));
        assert_eq!((numbers.new_held(), numbers.new_loan()), (HeldId(8), LoanId(9)));
        assert_eq!((numbers.new_holding(), numbers.holding()), (8, 8));
        assert!(numbers.has_asked(StealId(8)) && !numbers.has_asked(StealId(9)));
        assert!(numbers.has_given(LoanId(9)) && !numbers.has_given(LoanId(10)));
    }

    #[test]
    fn the_numbers_of_a_run_that_comes_again_continue_after_the_greatest() {
        for (steal, job, holding) in [(5, 7, 9), (9, 5, 7), (7, 9, 5)] {
            let before = Numbers::of(steal, job, holding);
            assert_eq!(before.used(), 9);
            assert!(Numbers::after(before.used()).is_past(before));
            assert!(!before.is_past(Numbers::after(9)));
        }
    }

    #[test]
    fn a_run_that_is_given_again_uses_no_number_a_second_time() {
        let now = Time::default();
        // Each kind of number is the greatest once.
        for (steal, number, holding) in [(5, 7, 9), (9, 5, 7), (7, 9, 5)] {
            let mut host = host();
            let host_run = host.runs.get_mut(&RUN).expect("it takes part");
            let before = Numbers::of(steal, number, holding);
            host_run.numbers = before;
            host.handle_from_coordinator(now, ToHost::StopRun { run: RUN });
            host.handle_from_coordinator(now, ToHost::StartRun { run: RUN, spec: spec().into() });
            assert!(host.runs[&RUN].numbers.is_past(before));
        }
    }
}
