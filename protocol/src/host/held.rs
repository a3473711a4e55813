//! Jobs that this host runs for others, and the owners that wait for their results.

use std::collections::BTreeMap;

use crate::limits::{LISTED_JOBS_MAX, UNCONFIRMED_RESULTS_MAX};
use crate::{AssignmentId, Finished, HeldId, HostId, JobKey, JobSpec, JobTag, LoanId, RuntimeJobId, Time};

use super::thief::Request;

/// For whom a job is held, and the number under which it is waited for there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Owner {
    /// The coordinator: the job is a root.
    Coordinator(AssignmentId),
    /// It was stolen from there, or adopted by it; the number is that host's.
    Host(HostId, LoanId),
    /// This host: a redone job of its runtime waits for the result, under the runtime's number.
    Here(RuntimeJobId),
}

/// A job that this host runs for others.
#[derive(Debug)]
pub struct Held {
    spec: JobSpec,
    owners: Vec<Owner>,
    /// Its outcome, which is kept until all owners have it.
    pub finished: Option<Finished>,
    since: Time,
    lender: Option<HostId>,
    /// The request that it answered, and when it arrived; `None` once it has begun.
    pub asked: Option<(Request, Time)>,
    begun: bool,
    was_begun: bool,
}

impl Held {
    /// A job that is to be run for an owner.
    pub fn new(now: Time, spec: JobSpec, owner: Owner) -> Self {
        let lender = match owner {
            Owner::Host(victim, _) => Some(victim),
            Owner::Coordinator(_) | Owner::Here(_) => None,
        };
        let owners = vec![owner];
        let was_begun = spec.was_begun();
        Self { spec, owners, finished: None, since: now, lender, asked: None, begun: false, was_begun }
    }

    /// The same job, for which entries are looked up that may be below it and do not name it: it may never have been
    /// begun.
    pub fn unnamed(self) -> Self {
        Self { was_begun: false, ..self }
    }

    /// A job that has its result before it is begun.
    pub fn done(now: Time, spec: JobSpec, owner: Owner, finished: Finished) -> Self {
        let new = Self::new(now, spec, owner);
        Self { finished: Some(finished), lender: None, begun: true, ..new }
    }

    /// The job's specification.
    pub fn spec(&self) -> &JobSpec {
        &self.spec
    }

    /// Whether a worker has begun to run it.
    pub fn is_begun(&self) -> bool {
        self.begun
    }

    /// Whether the job itself is known to have been begun before it came here.
    pub fn was_begun(&self) -> bool {
        self.was_begun
    }

    /// Its owners, each with its own number for the job. An orphan has none.
    pub fn owners(&self) -> &[Owner] {
        &self.owners
    }

    /// Whether another host waits for it.
    pub fn is_for(&self, host: HostId) -> bool {
        self.owners.iter().any(|owner| matches!(owner, Owner::Host(other, _) if *other == host))
    }

    /// The owners and the specification of a job that is no longer held.
    pub fn into_owners(self) -> (Vec<Owner>, JobSpec) {
        (self.owners, self.spec)
    }

    /// Since when its owners have been told that it is held.
    pub fn since(&self) -> Time {
        self.since
    }

    /// The host that lent it.
    pub fn lender(&self) -> Option<HostId> {
        self.lender
    }

    /// Whether it has no owners.
    pub fn is_orphan(&self) -> bool {
        self.owners.is_empty()
    }
}

/// The jobs that this host runs for others in one run, by the number under which its runtime has them, their *token*.
#[derive(Debug, Default)]
pub struct HeldJobs {
    held: BTreeMap<HeldId, Held>,
    /// The tokens by key; of equal jobs, that of the last one.
    by_key: BTreeMap<JobKey, HeldId>,
    by_tag: BTreeMap<JobTag, HeldId>,
    by_owner: BTreeMap<Owner, HeldId>,
    /// The number of jobs that no worker has begun.
    waiting: usize,
    /// The proofs that the coordinator assigned the root jobs, by its numbers.
    root_proofs: BTreeMap<AssignmentId, u64>,
}

impl HeldJobs {
    /// The number of held jobs.
    pub fn len(&self) -> usize {
        self.held.len()
    }

    /// Whether no job is held.
    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// A held job.
    pub fn get(&self, token: HeldId) -> Option<&Held> {
        self.held.get(&token)
    }

    /// A held job, to record its progress.
    pub fn get_mut(&mut self, token: HeldId) -> Option<&mut Held> {
        self.held.get_mut(&token)
    }

    /// All held jobs.
    pub fn iter(&self) -> impl Iterator<Item = (HeldId, &Held)> {
        self.held.iter().map(|(token, held)| (*token, held))
    }

    /// All held jobs without their tokens.
    pub fn values(&self) -> impl Iterator<Item = &Held> {
        self.held.values()
    }

    /// The tokens of all held jobs.
    pub fn tokens(&self) -> impl Iterator<Item = HeldId> {
        self.held.keys().copied()
    }

    /// The job with this key.
    pub fn of_key(&self, key: &JobKey) -> Option<HeldId> {
        self.by_key.get(key).copied()
    }

    /// The token of the nearest held job among these ancestors, which are ordered from the root down.
    pub fn nearest(&self, above: &[JobTag]) -> Option<HeldId> {
        above.iter().rev().find_map(|tag| self.by_tag.get(tag)).copied()
    }

    /// The job that an owner waits for.
    pub fn of_owner(&self, owner: Owner) -> Option<HeldId> {
        self.by_owner.get(&owner).copied()
    }

    /// The number of jobs that wait for a worker.
    pub fn waiting(&self) -> usize {
        self.waiting
    }

    /// A worker has begun to run a job.
    pub fn begin(&mut self, token: HeldId) -> Option<&mut Held> {
        let held = self.held.get_mut(&token)?;
        self.waiting -= usize::from(!held.begun);
        held.begun = true;
        Some(held)
    }

    /// The jobs that another host waits for: its numbers, and the tokens.
    pub fn of_host(&self, host: HostId) -> impl Iterator<Item = (LoanId, HeldId)> {
        self.by_owner.range(Owner::Host(host, LoanId(0))..).map_while(move |(owner, token)| match owner {
            Owner::Host(other, loan) if *other == host => Some((*loan, *token)),
            _ => None,
        })
    }

    /// Whether another host may wait for one more job. The list of all for which it waits must fit into a message, and it
    /// must confirm results.
    pub fn has_room_for(&self, host: HostId) -> bool {
        let is_finished = |token| self.held.get(&token).is_some_and(|held| held.finished.is_some());
        let finished = self.of_host(host).filter(|(_, token)| is_finished(*token));
        self.of_host(host).nth(LISTED_JOBS_MAX - 1).is_none()
            && finished.take(UNCONFIRMED_RESULTS_MAX).count() < UNCONFIRMED_RESULTS_MAX
    }

    /// The root jobs that the coordinator waits for: its numbers, and the tokens.
    pub fn roots(&self) -> impl Iterator<Item = (AssignmentId, HeldId)> {
        self.by_owner.range(Owner::Coordinator(AssignmentId(0))..).map_while(|(owner, token)| match owner {
            Owner::Coordinator(number) => Some((*number, *token)),
            _ => None,
        })
    }

    /// Adds a job.
    pub fn hold(&mut self, token: HeldId, held: Held) {
        for owner in &held.owners {
            self.by_owner.insert(*owner, token);
        }
        self.waiting += usize::from(!held.begun);
        self.by_key.insert(held.spec.key, token);
        self.by_tag.insert(held.spec.key.tag(), token);
        let before = self.held.insert(token, held);
        self.waiting -= usize::from(before.is_some_and(|before| !before.begun));
    }

    /// Removes and returns a job.
    pub fn forget(&mut self, token: HeldId) -> Option<Held> {
        let held = self.held.remove(&token)?;
        self.waiting -= usize::from(!held.begun);
        for owner in &held.owners {
            self.by_owner.remove(owner);
        }
        if self.by_key.get(&held.spec.key) == Some(&token) {
            self.by_key.remove(&held.spec.key);
            self.by_tag.remove(&held.spec.key.tag());
        }
        Some(held)
    }

    /// Adds an owner to a held job.
    pub fn add_owner(&mut self, token: HeldId, owner: Owner) {
        if let Some(held) = self.held.get_mut(&token)
            && !held.owners.contains(&owner)
        {
            held.owners.push(owner);
            self.by_owner.insert(owner, token);
        }
    }

    /// Removes an owner from a held job. Returns the job's token, if there is such a job.
    pub fn remove_owner(&mut self, owner: Owner) -> Option<HeldId> {
        let token = self.by_owner.remove(&owner)?;
        if let Some(held) = self.held.get_mut(&token) {
            held.owners.retain(|known| *known != owner);
        }
        Some(token)
    }

    /// The coordinator has assigned a root job, with a proof. Proofs of root jobs that are no longer held are
    /// forgotten.
    pub fn note_root(&mut self, number: AssignmentId, proof: u64) {
        let by_owner = &self.by_owner;
        self.root_proofs.retain(|number, _| by_owner.contains_key(&Owner::Coordinator(*number)));
        self.root_proofs.insert(number, proof);
    }

    /// The held root jobs by the coordinator's numbers, with the proofs that it assigned them.
    pub fn proven_roots(&self) -> impl Iterator<Item = (AssignmentId, u64)> {
        self.roots().filter_map(|(number, _)| Some((number, *self.root_proofs.get(&number)?)))
    }

    /// The length of the longest index by key, tag or number, where owners of the same job count once.
    pub fn indexed_len(&self) -> usize {
        let owners: usize = self.held.values().map(|held| held.owners.len()).sum();
        let by_owner = self.by_owner.len().saturating_sub(owners) + self.held.len();
        self.by_key.len().max(self.by_tag.len()).max(by_owner)
    }

    /// Leaves an index entry behind, as a fault would.
    #[cfg(test)]
    pub fn leave_behind(&mut self, owner: Owner, token: HeldId) {
        self.by_owner.insert(owner, token);
    }
}

#[cfg(test)]
mod tests {
    use super::super::bonds::job;
    use super::*;
    use crate::Outcome;

    const NOW: Time = Time(3);
    const VICTIM: HostId = HostId(20);
    const OTHER: HostId = HostId(21);

    fn lender(host: HostId, number: u64) -> Owner {
        Owner::Host(host, LoanId(number))
    }

    /// The job of this number, lent under the same.
    fn held(number: u8, host: HostId) -> Held {
        Held::new(NOW, job(number), lender(host, number.into()))
    }

    /// The root of this number, assigned under the same.
    fn root(number: u8) -> Held {
        Held::new(NOW, job(number), Owner::Coordinator(AssignmentId(number.into())))
    }

    /// Checks that the indexes name all held jobs and nothing else.
    fn check(jobs: &HeldJobs) {
        for (token, held) in jobs.iter() {
            let same = jobs.of_key(&held.spec().key).expect("it has a key");
            assert_eq!(jobs.get(same).expect("it is held").spec().key, held.spec().key);
            assert_eq!(jobs.nearest(&[held.spec().key.tag()]), Some(same));
            assert!(held.owners().iter().all(|owner| jobs.of_owner(*owner) == Some(token)));
        }
        for (owner, token) in &jobs.by_owner {
            assert!(jobs.get(*token).expect("it is held").owners().contains(owner));
        }
        let keys: Vec<HeldId> = jobs.by_key.values().chain(jobs.by_tag.values()).copied().collect();
        assert!(keys.iter().all(|token| jobs.get(*token).is_some()), "{keys:?}");
        assert!(jobs.indexed_len() <= jobs.len());
    }

    #[test]
    fn held_jobs_are_found_by_key_tag_and_number_until_they_are_forgotten() {
        let mut jobs = HeldJobs::default();
        for number in 1..=3 {
            jobs.hold(HeldId(100 + u64::from(number)), held(number, VICTIM));
            check(&jobs);
        }
        assert_eq!((jobs.len(), jobs.indexed_len()), (3, 3));
        assert_eq!(jobs.nearest(&[1, 2, 9].map(|number| job(number).key.tag())), Some(HeldId(102)));
        assert_eq!(jobs.forget(HeldId(102)).expect("it is held").into_owners().1, job(2));
        check(&jobs);
        assert_eq!(jobs.of_key(&job(2).key), None);
        assert_eq!(jobs.of_owner(lender(VICTIM, 2)), None);
        assert!(jobs.forget(HeldId(102)).is_none());
        assert_eq!(jobs.tokens().collect::<Vec<_>>(), [101, 103].map(HeldId));
        for token in [101, 103] {
            jobs.forget(HeldId(token));
        }
        assert_eq!((jobs.is_empty(), jobs.indexed_len()), (true, 0));
    }

    #[test]
    fn the_last_of_equal_jobs_is_found_by_its_key() {
        let mut jobs = HeldJobs::default();
        jobs.hold(HeldId(1), held(1, VICTIM));
        jobs.hold(HeldId(2), held(1, OTHER));
        check(&jobs);
        assert_eq!(jobs.of_key(&job(1).key), Some(HeldId(2)));
        jobs.forget(HeldId(1));
        check(&jobs);
        assert_eq!(jobs.of_key(&job(1).key), Some(HeldId(2)), "the other is held still");
    }

    #[test]
    fn owners_are_added_and_removed() {
        let mut jobs = HeldJobs::default();
        let token = HeldId(7);
        jobs.hold(token, held(1, VICTIM));
        for _ in 0..2 {
            jobs.add_owner(token, lender(OTHER, 5));
        }
        jobs.add_owner(HeldId(8), lender(OTHER, 6));
        check(&jobs);
        assert_eq!(jobs.get(token).expect("it is held").owners().len(), 2);
        assert_eq!(jobs.of_host(OTHER).collect::<Vec<_>>(), [(LoanId(5), token)]);
        assert!(!jobs.by_owner.keys().any(|owner| matches!(owner, Owner::Here(_))));
        assert_eq!(jobs.remove_owner(lender(OTHER, 6)), None, "it does not wait for it");
        assert_eq!(jobs.remove_owner(lender(VICTIM, 1)), Some(token));
        assert!(!jobs.get(token).expect("it is held").is_orphan());
        assert_eq!(jobs.remove_owner(lender(OTHER, 5)), Some(token));
        check(&jobs);
        assert!(jobs.get(token).expect("it is held").is_orphan());
    }

    #[test]
    fn roots_are_proven_while_they_are_held() {
        let mut jobs = HeldJobs::default();
        let proven = |jobs: &HeldJobs| jobs.proven_roots().collect::<Vec<_>>();
        jobs.note_root(AssignmentId(1), 11);
        assert_eq!(proven(&jobs), [], "it has not come yet");
        jobs.hold(HeldId(101), root(1));
        jobs.hold(HeldId(102), root(2));
        assert_eq!(proven(&jobs), [(AssignmentId(1), 11)], "the other has no proof");
        jobs.forget(HeldId(101));
        assert_eq!(proven(&jobs), []);
        jobs.note_root(AssignmentId(2), 12);
        assert_eq!((proven(&jobs), jobs.root_proofs.len()), (vec![(AssignmentId(2), 12)], 1));
    }

    #[test]
    fn a_job_that_is_done_before_it_begins_has_no_lender() {
        let finished = Finished { outcome: Outcome::Done(vec![1].into()), work_ns: 1, span_ns: 1 };
        let done = Held::done(NOW, job(1), lender(VICTIM, 1), finished.clone());
        assert_eq!((done.lender(), done.begun, done.finished), (None, true, Some(finished)));
        let new = held(1, VICTIM);
        assert_eq!((new.lender(), new.begun, new.since()), (Some(HostId(20)), false, NOW));
        assert_eq!(Held::new(NOW, job(1), Owner::Here(RuntimeJobId(1))).lender(), None);
    }
}
