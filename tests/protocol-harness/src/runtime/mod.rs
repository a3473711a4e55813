//! A model of a host's runtime, as far as its machine sees it: how jobs are exchanged between the two.
//!
//! The simulator and the storyteller both have runtimes that compute nothing. They differ in how they know their
//! jobs: the simulator has nodes of a tree, with virtual time, and the storyteller has names, and a script. What
//! becomes of a job that is exposed, lent, looked up, returned or abandoned is the same for both, and here. The rules
//! are those of the real runtime (`host/src/scheduler`).

mod inherited;
mod lookups;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use sateen_protocol::host::Notice;
use sateen_protocol::{Again, Finished, HeldId, JobSpec, RuntimeJobId};

pub use inherited::Inherited;
pub use lookups::Lookups;

/// The place of a job as a child of a task. A task is a job with an instance of its own.
pub trait Place: Clone + PartialEq {
    /// Names a task.
    type Task: Copy + PartialEq;

    /// The task that the job is a child of.
    fn task(&self) -> Self::Task;
}

/// An exposed job that has not been taken.
#[derive(Debug)]
pub struct Open<P> {
    /// Its place.
    pub place: P,
    /// The worker that exposed it; `None` if it has come back.
    pub worker: Option<usize>,
    /// Its specification.
    pub spec: JobSpec,
    /// The number of reports about lookups when it came back; 0 if it was never away.
    asked: u64,
}

impl<P: Place> Open<P> {
    /// Whether one task has spawned both, at the same depth.
    fn is_like(&self, other: &Self) -> bool {
        self.place.task() == other.place.task() && self.spec.depth == other.spec.depth
    }
}

/// Where a job that comes back is queued among the open ones. The real runtime lends them by depth, then
/// by age.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Among {
    /// Before the oldest.
    Oldest,
    /// Behind the newest.
    Newest,
}

/// The outcome of a request for a job.
#[derive(Debug)]
pub struct Offer<P> {
    /// Jobs that are looked up instead, each with its number.
    pub looked_up: Vec<(P, RuntimeJobId)>,
    /// The jobs that are lent.
    pub lent: Vec<(P, RuntimeJobId, JobSpec)>,
}

/// A job that has come back and is open.
#[derive(Debug)]
pub struct Returned<P> {
    /// Its place.
    pub place: P,
    /// Whether it was redone before it was away.
    pub was_redone: bool,
}

/// The reason why no task waits for a job that the machine has an answer for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unwanted {
    /// It was abandoned.
    Abandoned,
    /// It was not away.
    Unknown,
}

/// The jobs of a run that a runtime and its machine exchange.
pub struct Exchange<P: Place> {
    /// Exposed jobs, oldest first.
    open: VecDeque<Open<P>>,
    /// Jobs that the machine has: lent, or looked up.
    away: BTreeMap<RuntimeJobId, (P, JobSpec)>,
    /// Jobs that the machine had and nobody wants, whose results may still arrive.
    abandoned: BTreeSet<RuntimeJobId>,
    /// Tasks by the machine's numbers.
    held: BTreeMap<HeldId, P::Task>,
    lookups: Lookups,
    /// The number of waiting thieves.
    thieves: usize,
    /// Whether guests are being suspended.
    is_draining: bool,
    /// Notices for the machine.
    notices: VecDeque<Notice>,
    next_number: u64,
}

impl<P: Place> Exchange<P> {
    /// An exchange without jobs, which numbers jobs that are away from `first` on.
    pub fn numbered_from(first: u64) -> Self {
        Self {
            open: VecDeque::new(),
            away: BTreeMap::new(),
            abandoned: BTreeSet::new(),
            held: BTreeMap::new(),
            lookups: Lookups::default(),
            thieves: 0,
            is_draining: false,
            notices: VecDeque::new(),
            next_number: first,
        }
    }

    /// Notifies the machine.
    pub fn notify(&mut self, notice: Notice) {
        self.notices.push_back(notice);
    }

    /// The next notice for the machine.
    pub fn poll_notice(&mut self) -> Option<Notice> {
        self.notices.pop_front()
    }

    // ---- open jobs ----

    /// Open jobs, oldest first.
    pub fn open(&self) -> impl DoubleEndedIterator<Item = &Open<P>> + ExactSizeIterator {
        self.open.iter()
    }

    /// The index of the open job at a place.
    pub fn find_open(&self, place: &P) -> Option<usize> {
        self.open.iter().rposition(|open| open.place == *place)
    }

    /// The index of the newest open job that a worker has exposed: the one that it takes back first.
    pub fn newest_of(&self, worker: usize) -> Option<usize> {
        self.open.iter().rposition(|open| open.worker == Some(worker))
    }

    /// Makes a job visible.
    pub fn expose(&mut self, place: P, worker: Option<usize>, spec: JobSpec) {
        self.open.push_back(Open { place, worker, spec, asked: 0 });
        self.announce();
    }

    /// Takes an open job, by its index.
    pub fn take(&mut self, index: usize) -> Option<Open<P>> {
        self.open.remove(index)
    }

    /// Takes the open job at a place.
    pub fn withdraw(&mut self, place: &P) -> Option<JobSpec> {
        let index = self.find_open(place)?;
        self.open.remove(index).map(|open| open.spec)
    }

    /// Takes all open children of a task.
    pub fn withdraw_all(&mut self, task: P::Task) {
        self.open.retain(|open| open.place.task() != task);
    }

    /// Looks up an open redone job before it begins, by its index, if there was news of it since it became open: for
    /// example, its thief was away for a moment and still runs it. Returns its place and its number if so.
    pub fn ask_first(&mut self, index: usize) -> Option<(P, RuntimeJobId)> {
        let open = self.open.get(index).filter(|open| open.spec.redone && !self.is_draining)?;
        if !self.lookups.has_news(open.spec.key.tag(), open.asked) {
            return None;
        }
        let Open { place, spec, .. } = self.open.remove(index)?;
        let number = self.look_up(place.clone(), spec);
        Some((place, number))
    }

    /// Gives the oldest open job up, and at most `more` that are like it and not redone, the newest first: half of the open
    /// jobs stay.
    pub fn offer(&mut self, more: usize) -> Offer<P> {
        let looked_up: Vec<(P, RuntimeJobId)> = std::iter::from_fn(|| self.ask_first(0)).collect();
        let most = (1 + more).min(self.open.len().div_ceil(2)).max(1);
        let mut lent: Vec<Open<P>> = self.open.pop_front().into_iter().collect();
        while lent.len() < most
            && let Some(first) = lent.first()
            && let Some(like) = self.open.iter().rposition(|open| open.is_like(first) && !open.spec.redone)
        {
            lent.extend(self.open.remove(like));
        }
        let lent = lent.into_iter().map(|Open { place, spec, .. }| {
            let number = self.send_away(place.clone(), spec.clone());
            (place, number, spec)
        });
        Offer { looked_up, lent: lent.collect() }
    }

    // ---- thieves ----

    /// The number of waiting thieves.
    pub fn thieves(&self) -> usize {
        self.thieves
    }

    /// Sets the number of waiting thieves; returns the number before.
    pub fn want(&mut self, thieves: usize) -> usize {
        let before = std::mem::replace(&mut self.thieves, thieves);
        // Jobs exposed before a thief wanted them were not announced.
        self.announce();
        before
    }

    /// Notifies the machine that there is an open job, if a thief waits for one.
    fn announce(&mut self) {
        if self.thieves > 0 && !self.open.is_empty() {
            self.notify(Notice::Exposed);
        }
    }

    // ---- jobs that are away ----

    /// Jobs that the machine has, by their numbers.
    pub fn away(&self) -> impl ExactSizeIterator<Item = (RuntimeJobId, &P, &JobSpec)> {
        self.away.iter().map(|(number, (place, spec))| (*number, place, spec))
    }

    /// Has the machine look up a job before it may run.
    pub fn look_up(&mut self, place: P, spec: JobSpec) -> RuntimeJobId {
        let number = self.send_away(place, spec.clone());
        self.notify(Notice::Lookup { number, spec });
        number
    }

    /// The machine has a job's result: its place, and its specification.
    ///
    /// # Errors
    /// When no task waits for it.
    pub fn complete(&mut self, number: RuntimeJobId) -> Result<(P, JobSpec), Unwanted> {
        self.away.remove(&number).ok_or_else(|| self.forget(number))
    }

    /// A job is to be run here that the machine had: it is open again.
    ///
    /// # Errors
    /// When no task waits for it.
    pub fn requeue(
        &mut self,
        number: RuntimeJobId,
        again: Again,
        among: Among,
    ) -> Result<Returned<P>, Unwanted> {
        let (place, mut spec) = self.complete(number)?;
        let was_redone = spec.redone;
        spec.redone |= again.redone;
        spec.given_back = again.given_back;
        spec.lookup_below = again.lookup_below;
        let open = Open { place: place.clone(), worker: None, spec, asked: self.lookups.told() };
        match among {
            Among::Oldest => self.open.push_front(open),
            Among::Newest => self.open.push_back(open),
        }
        self.announce();
        Ok(Returned { place, was_redone })
    }

    /// A job that the machine has is not wanted any more.
    pub fn give_up(&mut self, number: RuntimeJobId) {
        self.away.remove(&number);
        self.abandoned.insert(number);
        self.notify(Notice::Abandoned { number });
    }

    // ---- jobs that are held ----

    /// Tasks that run jobs for the machine, by its numbers.
    pub fn held(&self) -> impl Iterator<Item = (HeldId, P::Task)> {
        self.held.iter().map(|(held, task)| (*held, *task))
    }

    /// The task that runs a job for the machine.
    pub fn task_of(&self, held: HeldId) -> Option<P::Task> {
        self.held.get(&held).copied()
    }

    /// A task runs a job for the machine.
    pub fn hold(&mut self, held: HeldId, task: P::Task) {
        self.held.insert(held, task);
    }

    /// The task that runs a job for the machine is gone.
    pub fn release(&mut self, held: HeldId) {
        self.held.remove(&held);
    }

    /// A job for the machine has finished.
    pub fn finish(&mut self, held: HeldId, finished: Finished) {
        self.release(held);
        self.notify(Notice::Finished { held, finished });
    }

    // ---- records ----

    /// Records the result of an exposed job that was not stolen, if its work is worth it.
    pub fn record(
        &mut self,
        spec: &JobSpec,
        work_ns: u64,
        least_ns: u64,
        finished: impl FnOnce() -> Finished,
    ) {
        if work_ns >= least_ns {
            let (key, depth, lineage) = (spec.key, spec.depth, spec.lineage.clone());
            self.notify(Notice::Recorded { key, depth, lineage, finished: finished() });
        }
    }

    // ---- states ----

    /// What lookups may find.
    pub fn lookups(&self) -> &Lookups {
        &self.lookups
    }

    /// The same, to be notified.
    pub fn lookups_mut(&mut self) -> &mut Lookups {
        &mut self.lookups
    }

    /// Guests are to be suspended.
    pub fn drain(&mut self) {
        self.is_draining = true;
    }

    /// Whether guests are being suspended.
    pub fn is_draining(&self) -> bool {
        self.is_draining
    }

    fn send_away(&mut self, place: P, spec: JobSpec) -> RuntimeJobId {
        let number = RuntimeJobId(self.next_number);
        self.next_number += 1;
        self.away.insert(number, (place, spec));
        number
    }

    /// Forgets a job for which no task waits, as its only answer has come.
    fn forget(&mut self, number: RuntimeJobId) -> Unwanted {
        if self.abandoned.remove(&number) { Unwanted::Abandoned } else { Unwanted::Unknown }
    }
}

#[cfg(test)]
mod tests;
