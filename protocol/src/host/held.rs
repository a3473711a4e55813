//! Jobs that this host runs for others, and the owners that wait for their results.

use std::collections::BTreeMap;

use crate::limits::{LISTED_JOBS_MAX, UNCONFIRMED_RESULTS_MAX};
use crate::{AssignmentId, Finished, HeldId, HostId, JobKey, JobSpec, JobTag, LoanId, RuntimeJobId, Time};

use super::taken::Taken;
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
    finished: Option<Finished>,
    since: Time,
    lender: Option<HostId>,
    /// The request that it answered, and when it arrived; `None` once it has begun.
    pub asked: Option<(Request, Time)>,
    /// What it took from elsewhere.
    pub taken: Taken,
    begun: bool,
    was_begun: bool,
    /// Whether a worker was idle when it came, and is to begin it.
    has_worker: bool,
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
        let (begun, has_worker) = (false, false);
        let taken = Taken::default();
        Self {
            spec,
            owners,
            finished: None,
            since: now,
            lender,
            asked: None,
            taken,
            begun,
            was_begun,
            has_worker,
        }
    }

    /// The same job, which this run may never have begun: the entries that are looked up are of earlier runs, or may be below
    /// it and do not name it.
    pub fn never_begun(self) -> Self {
        Self { was_begun: false, ..self }
    }

    /// The same job, which an idle worker is to begin, or not.
    pub fn with_worker(self, has_worker: bool) -> Self {
        Self { has_worker, ..self }
    }

    /// Whether a worker is to begin it, and has not.
    pub fn keeps_worker(&self) -> bool {
        self.has_worker && !self.begun
    }

    /// Whether it waits for a worker.
    fn is_waiting(&self) -> bool {
        !self.begun && self.finished.is_none()
    }

    /// A job that has its result before it is begun.
    pub fn done(now: Time, spec: JobSpec, owner: Owner, finished: Finished) -> Self {
        let new = Self::new(now, spec, owner);
        Self { finished: Some(finished), lender: None, begun: true, ..new }
    }

    /// Its outcome, if it is known.
    pub fn finished(&self) -> Option<&Finished> {
        self.finished.as_ref()
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

    /// Since when its owners have been notified that it is held.
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
        self.waiting -= usize::from(held.is_waiting());
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
        self.waiting += usize::from(held.is_waiting());
        self.by_key.insert(held.spec.key, token);
        self.by_tag.insert(held.spec.key.tag(), token);
        let before = self.held.insert(token, held);
        self.waiting -= usize::from(before.is_some_and(|before| before.is_waiting()));
    }

    /// A job's result is known.
    pub fn finish(&mut self, token: HeldId, finished: Finished) {
        if let Some(held) = self.held.get_mut(&token) {
            self.waiting -= usize::from(held.is_waiting());
            held.finished = Some(finished);
        }
    }

    /// Removes and returns a job.
    pub fn forget(&mut self, token: HeldId) -> Option<Held> {
        let held = self.held.remove(&token)?;
        self.waiting -= usize::from(held.is_waiting());
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
mod tests;
