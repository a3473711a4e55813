//! Jobs of this host's runtime that other hosts run.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::{HostId, JobKey, JobSpec, JobTag, LoanId, RuntimeJobId, StealId, Time};

/// Confirmation state of a loan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoanState {
    /// The job was lent in answer to this request.
    Given(StealId),
    /// The host that runs the orphan was asked to accept this host as its owner.
    Asked,
    /// That host has agreed.
    Agreed,
}

/// A job of this host's runtime that another host runs.
#[derive(Debug)]
pub struct Loan {
    number: RuntimeJobId,
    spec: JobSpec,
    thief: HostId,
    pub state: LoanState,
    /// A `Holding` with a greater number was made after the thief had learned of the loan.
    pub holding: u64,
    /// When the thief last confirmed that it has the loan, or when the loan began; and whether the thief ever did.
    pub heard: Time,
    pub is_heard: bool,
    /// When its job was last sent, and the number of doubts about its thief by then.
    sent: (Time, u64),
    /// Since the host was asked, an entry has named it again as running the job.
    pub is_renewed: bool,
}

impl Loan {
    /// A loan that begins now. `number` is the runtime's number of the job, and `holding` that of the thief's last
    /// `Holding`.
    pub fn new(
        now: Time,
        number: RuntimeJobId,
        spec: JobSpec,
        thief: HostId,
        state: LoanState,
        holding: u64,
    ) -> Self {
        let sent = (now, 0);
        Self { number, spec, thief, state, holding, heard: now, is_heard: false, sent, is_renewed: false }
    }

    /// The runtime's number of the job.
    pub fn number(&self) -> RuntimeJobId {
        self.number
    }

    /// The job that was lent.
    pub fn spec(&self) -> &JobSpec {
        &self.spec
    }

    /// The job of a loan that is over.
    pub fn into_spec(self) -> JobSpec {
        self.spec
    }

    /// The host that runs the job.
    pub fn thief(&self) -> HostId {
        self.thief
    }
}

/// The jobs of one run that this host has lent to others, by the number under which they have them.
#[derive(Debug, Default)]
pub struct Loans {
    loans: BTreeMap<LoanId, Loan>,
    /// By the runtime's number.
    by_number: BTreeMap<RuntimeJobId, LoanId>,
    by_thief: BTreeSet<(HostId, LoanId)>,
    by_tag: BTreeSet<(JobTag, LoanId)>,
    /// For each thief, how often messages in transit to it may have been lost. A broken link concerns thousands of
    /// loans, and this count avoids visiting them.
    doubts: BTreeMap<HostId, u64>,
}

impl Loans {
    /// The number of loans.
    pub fn len(&self) -> usize {
        self.loans.len()
    }

    /// Whether no job is lent.
    pub fn is_empty(&self) -> bool {
        self.loans.is_empty()
    }

    /// The length of the index by the runtime's numbers.
    pub fn numbers_len(&self) -> usize {
        self.by_number.len()
    }

    /// The length of the index by tag.
    #[cfg(test)]
    pub fn tags_len(&self) -> usize {
        self.by_tag.len()
    }

    /// A loan.
    pub fn get(&self, loan: LoanId) -> Option<&Loan> {
        self.loans.get(&loan)
    }

    /// A loan, to record what is learned of it.
    pub fn get_mut(&mut self, loan: LoanId) -> Option<&mut Loan> {
        self.loans.get_mut(&loan)
    }

    /// Whether there is a loan of this number.
    pub fn contains(&self, loan: LoanId) -> bool {
        self.loans.contains_key(&loan)
    }

    /// All loans.
    pub fn iter(&self) -> impl Iterator<Item = (LoanId, &Loan)> {
        self.loans.iter().map(|(number, loan)| (*number, loan))
    }

    /// All loans without their numbers.
    pub fn values(&self) -> impl Iterator<Item = &Loan> {
        self.loans.values()
    }

    /// The loan of the job with this number of the runtime.
    pub fn of_number(&self, number: RuntimeJobId) -> Option<LoanId> {
        self.by_number.get(&number).copied()
    }

    /// Adds a loan.
    pub fn lend(&mut self, loan: LoanId, mut entry: Loan) {
        entry.sent.1 = self.doubts_of(entry.thief);
        self.by_number.insert(entry.number, loan);
        self.by_thief.insert((entry.thief, loan));
        self.by_tag.insert((entry.spec.key.tag(), loan));
        self.loans.insert(loan, entry);
    }

    /// Removes and returns a loan.
    pub fn end(&mut self, loan: LoanId) -> Option<Loan> {
        let entry = self.loans.remove(&loan)?;
        self.by_number.remove(&entry.number);
        self.by_thief.remove(&(entry.thief, loan));
        self.by_tag.remove(&(entry.spec.key.tag(), loan));
        if self.to(entry.thief).next().is_none() {
            self.doubts.remove(&entry.thief);
        }
        Some(entry)
    }

    /// Whether a job was lent to a host in answer to this request.
    pub fn is_lent(&self, thief: HostId, steal: StealId) -> bool {
        let mut loans = self.to(thief).filter_map(|number| self.loans.get(&number));
        loans.any(|loan| loan.state == LoanState::Given(steal))
    }

    /// The requests of a host that were answered with jobs whose loans it has not confirmed.
    pub fn lent_for(&self, thief: HostId) -> BTreeSet<StealId> {
        let loans = self.to(thief).filter_map(|number| self.loans.get(&number));
        let lent = loans.filter_map(|loan| match loan.state {
            LoanState::Given(steal) => Some(steal),
            LoanState::Asked | LoanState::Agreed => None,
        });
        lent.collect()
    }

    /// Messages in transit to a host may have been lost.
    pub fn doubt(&mut self, thief: HostId) {
        if self.to(thief).next().is_some() {
            *self.doubts.entry(thief).or_default() += 1;
        }
    }

    fn doubts_of(&self, thief: HostId) -> u64 {
        self.doubts.get(&thief).copied().unwrap_or_default()
    }

    /// Whether a loan's job may still be in transit to the thief, if messages take no longer than `wait`.
    pub fn is_on_its_way(&self, loan: LoanId, now: Time, wait: Duration) -> bool {
        self.loans.get(&loan).is_some_and(|loan| {
            let (at, doubts) = loan.sent;
            now < at + wait && doubts == self.doubts_of(loan.thief)
        })
    }

    /// Records that a loan's job is sent again.
    pub fn note_sent(&mut self, now: Time, loan: LoanId) {
        if let Some(loan) = self.loans.get_mut(&loan) {
            loan.sent = (now, self.doubts.get(&loan.thief).copied().unwrap_or_default());
        }
    }

    /// The numbers of the loans of a job and of jobs equal to it.
    pub fn of_job(&self, key: &JobKey) -> impl Iterator<Item = LoanId> + use<'_> {
        let (tag, key) = (key.tag(), *key);
        let numbers = self.by_tag.range((tag, LoanId(0))..=(tag, LoanId(u64::MAX)));
        let is_of_job =
            move |number: &LoanId| self.loans.get(number).is_some_and(|loan| loan.spec.key == key);
        numbers.map(|(_, number)| *number).filter(is_of_job)
    }

    /// The numbers of the loans to a host.
    pub fn to(&self, thief: HostId) -> impl Iterator<Item = LoanId> + use<'_> {
        let range = (thief, LoanId(0))..=(thief, LoanId(u64::MAX));
        self.by_thief.range(range).map(|(_, number)| *number)
    }
}

#[cfg(test)]
mod tests {
    use super::super::bonds::{job, loan};
    use super::*;

    const THIEF: HostId = HostId(20);
    const OTHER: HostId = HostId(21);

    /// Checks that the indexes name all loans and nothing else.
    fn check(loans: &Loans) {
        for (here, loan) in loans.iter() {
            assert_eq!(loans.of_number(loan.number()), Some(here));
            assert!(loans.to(loan.thief()).any(|number| number == here));
            assert!(loans.of_job(&loan.spec().key).any(|number| number == here));
        }
        let lengths = [loans.by_number.len(), loans.by_thief.len(), loans.by_tag.len(), loans.numbers_len()];
        assert_eq!(lengths, [loans.len(); 4]);
    }

    #[test]
    fn loans_are_found_by_number_thief_and_job_until_they_end() {
        let mut loans = Loans::default();
        for (here, number, thief) in [(101, 1, THIEF), (102, 2, OTHER), (103, 3, THIEF)] {
            loans.lend(LoanId(here), loan(number, thief, LoanState::Asked));
            check(&loans);
        }
        assert_eq!(loans.to(THIEF).collect::<Vec<_>>(), [101, 103].map(LoanId));
        assert_eq!(loans.of_job(&job(2).key).collect::<Vec<_>>(), [LoanId(102)]);
        let ended = loans.end(LoanId(101)).expect("it is lent");
        check(&loans);
        assert_eq!((ended.number(), ended.thief(), ended.into_spec()), (RuntimeJobId(1), THIEF, job(1)));
        assert!(loans.end(LoanId(101)).is_none() && !loans.contains(LoanId(101)));
        assert_eq!((loans.of_number(RuntimeJobId(1)), loans.of_job(&job(1).key).count()), (None, 0));
        for here in [102, 103] {
            loans.end(LoanId(here));
        }
        check(&loans);
        assert!(loans.is_empty());
    }

    #[test]
    fn equal_jobs_may_be_lent_at_once() {
        let mut loans = Loans::default();
        for (here, thief) in [(101, THIEF), (102, OTHER)] {
            let lent = Loan::new(Time(0), RuntimeJobId(here), job(1), thief, LoanState::Asked, 0);
            loans.lend(LoanId(here), lent);
        }
        check(&loans);
        assert_eq!(loans.of_job(&job(1).key).count(), 2);
        loans.end(LoanId(101));
        check(&loans);
        assert_eq!(loans.of_job(&job(1).key).collect::<Vec<_>>(), [LoanId(102)]);
    }

    #[test]
    fn a_job_that_answers_a_request_may_be_in_transit_until_it_is_lost() {
        let mut loans = Loans::default();
        let given = LoanState::Given(StealId(4));
        loans.lend(LoanId(101), Loan::new(Time(5), RuntimeJobId(1), job(1), THIEF, given, 0));
        loans.lend(LoanId(102), loan(2, THIEF, LoanState::Agreed));
        assert!(loans.is_lent(THIEF, StealId(4)) && !loans.is_lent(OTHER, StealId(4)));
        assert_eq!(loans.lent_for(THIEF), BTreeSet::from([StealId(4)]));
        let wait = Duration::from_nanos(10);
        let is_on_its_way = |loans: &Loans, now: u64| loans.is_on_its_way(LoanId(101), Time(now), wait);
        assert!(is_on_its_way(&loans, 14) && !is_on_its_way(&loans, 15));
        loans.doubt(OTHER);
        assert!(is_on_its_way(&loans, 14));
        loans.doubt(THIEF);
        assert!(!is_on_its_way(&loans, 14));
        loans.note_sent(Time(14), LoanId(101));
        assert!(is_on_its_way(&loans, 14));
        loans.lend(LoanId(103), Loan::new(Time(14), RuntimeJobId(3), job(3), THIEF, given, 0));
        assert!(loans.is_on_its_way(LoanId(103), Time(14), wait), "it was lent after that");
        loans.doubt(THIEF);
        assert!(!is_on_its_way(&loans, 14) && !loans.is_on_its_way(LoanId(103), Time(14), wait));
        check(&loans);
        for number in 101..=103 {
            loans.end(LoanId(number));
        }
        assert!(loans.doubts.is_empty(), "nothing is left of a thief that has nothing");
    }
}
