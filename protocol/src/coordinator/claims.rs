//! What owners say of one unit of a run: the executors when they report it, and those that compute it again.

mod audited;

use std::collections::{BTreeMap, BTreeSet};

use crate::limits::REFUSALS_MAX;
use crate::{BlobHash, HostId, JobSpec, Outcome, PublicKey, RunEnd, Unit, UnitChild};

/// The owner that answers for a host: its key.
pub type Owner = PublicKey;

/// What an owner says that a job's outcome is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Answer {
    /// The hash of its outcome.
    Outcome(BlobHash),
    /// It exceeds a limit of the run.
    Limit,
    /// It fails in a way that no other job can catch.
    Failure,
}

impl Answer {
    /// The answer of a host that ended so.
    pub fn of(end: &RunEnd) -> Self {
        match end {
            RunEnd::Finished(finished) => Self::Outcome(finished.outcome.hash()),
            RunEnd::Failed(_) => Self::Failure,
            RunEnd::Limit(_) | RunEnd::Unable(_) | RunEnd::Cancelled | RunEnd::Unverified(_) => Self::Limit,
        }
    }
}

/// What an owner says of its own accord, as it has executed the unit.
#[derive(Debug)]
struct Claim {
    host: HostId,
    answer: Answer,
    inputs: Inputs,
    /// The outcome itself, if its executor has sent that.
    outcome: Option<Outcome>,
}

/// The results of other jobs that an executor was given.
#[derive(Debug)]
enum Inputs {
    /// These, as it says.
    Taken(Vec<UnitChild>),
    /// It has not said which.
    Unknown,
}

/// Why a unit is computed again, if it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Draw {
    /// An audit has not drawn it: it is believed.
    No,
    /// It is one of its owner's first, which all are, or nobody knows what it was computed with.
    Always,
    /// By chance.
    Chance,
}

/// The outcome of a unit that is used from now on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verified {
    /// The outcome itself.
    Is(RunEnd),
    /// The answer alone: the outcome takes too much memory.
    Known(Answer),
    /// None: too many owners could not compute it.
    Unknown,
}

impl Verified {
    /// The answer, if there is one.
    pub fn answer(&self) -> Option<Answer> {
        match self {
            Self::Is(end) => Some(Answer::of(end)),
            Self::Known(answer) => Some(*answer),
            Self::Unknown => None,
        }
    }

    /// Whether there is an answer; unlike [`answer`](Self::answer), hashes nothing.
    pub fn has_answer(&self) -> bool {
        !matches!(self, Self::Unknown)
    }

    /// Size of the outcome, in bytes.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Is(RunEnd::Finished(finished)) => finished.outcome.bytes().len(),
            Self::Is(_) | Self::Known(_) | Self::Unknown => 0,
        }
    }
}

/// A unit and its votes.
#[derive(Debug)]
pub struct Claims {
    job: JobSpec,
    work_ns: u64,
    claims: BTreeMap<Owner, Claim>,
    /// The first owner that has claimed to be the executor. Its claim counts like a check; that of others does not, as owners
    /// that lie together could all claim the same unit.
    executor: Option<Owner>,
    /// What checkers have found; they are drawn.
    votes: BTreeMap<Owner, (HostId, Answer)>,
    /// Owners that compute it again at present, and whether they are late.
    checkers: BTreeMap<Owner, bool>,
    /// How often each owner could not compute it.
    refusals: BTreeMap<Owner, u32>,
    /// The outcomes that checkers have found.
    outcomes: BTreeMap<Answer, RunEnd>,
    verified: Option<Verified>,
    draw: Draw,
    /// The outcome is the executor's word: nobody has computed the unit again.
    is_believed: bool,
    /// What checkers of an audit are given, from the first of them on.
    basis: Option<Vec<UnitChild>>,
    /// Children that are only known from owners that lie.
    hints: Vec<UnitChild>,
}

impl Claims {
    /// Of a job of which no owner has said anything.
    pub fn new(job: JobSpec) -> Self {
        Self {
            job,
            work_ns: 0,
            claims: BTreeMap::new(),
            executor: None,
            votes: BTreeMap::new(),
            checkers: BTreeMap::new(),
            refusals: BTreeMap::new(),
            outcomes: BTreeMap::new(),
            verified: None,
            draw: Draw::Always,
            is_believed: false,
            basis: None,
            hints: Vec::new(),
        }
    }

    // ---- getters ----

    /// The job.
    pub fn job(&self) -> &JobSpec {
        &self.job
    }

    /// Processor time that it took, as the first executor says, in nanoseconds.
    pub fn work_ns(&self) -> u64 {
        self.work_ns
    }

    /// The outcome, if it is verified.
    pub fn verified(&self) -> Option<&Verified> {
        self.verified.as_ref()
    }

    /// The jobs below it that executors took from elsewhere. Those that are not below it are left out.
    pub fn children(&self) -> impl Iterator<Item = &UnitChild> {
        let children = self.claims.values().flat_map(|claim| match &claim.inputs {
            Inputs::Taken(children) => children.as_slice(),
            Inputs::Unknown => &[],
        });
        children.chain(&self.hints).filter(|child| child.depth > self.job.depth)
    }

    /// Whether an owner may check it: its answer does not count already.
    pub fn may_be_checked_by(&self, owner: &Owner) -> bool {
        self.executor != Some(*owner)
            && !self.votes.contains_key(owner)
            && !self.checkers.contains_key(owner)
            && !self.has_refused(owner)
    }

    /// Whether an owner could not compute it, and is not asked again: once may be chance, as when its guests crash.
    fn has_refused(&self, owner: &Owner) -> bool {
        self.refusals.get(owner).is_some_and(|times| *times >= REFUSALS_MAX)
    }

    /// The number of owners whose answer counts.
    pub fn votes_len(&self) -> usize {
        self.answers().count()
    }

    /// The number of different answers.
    pub fn answers_len(&self) -> usize {
        self.answers().collect::<BTreeSet<_>>().len()
    }

    /// The answers that count.
    fn answers(&self) -> impl Iterator<Item = Answer> {
        let executor = self.executor.and_then(|owner| self.claims.get(&owner)).map(|claim| claim.answer);
        self.votes.values().map(|(_, answer)| *answer).chain(executor)
    }

    /// How many more checks it needs, besides those under way that are not late.
    pub fn checks_needed(&self, quorum: usize) -> usize {
        if self.verified.is_some() {
            return 0;
        }
        let (answer, agree) = self.most();
        let lacks_outcome = answer.is_none_or(|answer| !self.outcomes.contains_key(&answer));
        let needed = quorum.saturating_sub(agree).max(usize::from(lacks_outcome));
        needed.saturating_sub(self.checkers.values().filter(|is_late| !**is_late).count())
    }

    /// The answer of most owners, and how many these are.
    fn most(&self) -> (Option<Answer>, usize) {
        let mut counts: BTreeMap<Answer, usize> = BTreeMap::new();
        for answer in self.answers() {
            *counts.entry(answer).or_default() += 1;
        }
        let most =
            counts.into_iter().max_by_key(|(answer, count)| (*count, self.outcomes.contains_key(answer)));
        most.map_or((None, 0), |(answer, count)| (Some(answer), count))
    }

    // ---- what owners say ----

    /// An executor reports the unit. Only its first claim counts; false if this is not the first.
    pub fn claim(&mut self, owner: Owner, host: HostId, unit: Unit) -> bool {
        let Unit { job: _, result, work_ns, mut children, outcome } = unit;
        if self.claims.contains_key(&owner) {
            return false;
        }
        if self.claims.is_empty() {
            self.work_ns = work_ns;
        }
        children.shrink_to_fit();
        let (answer, inputs) = (Answer::Outcome(result), Inputs::Taken(children));
        let claim = Claim { host, answer, inputs, outcome };
        self.add_claim(owner, claim);
        true
    }

    /// An executor sends the outcome itself, as that of the root. If it has not reported the unit, this is its claim.
    pub fn deliver(&mut self, owner: Owner, host: HostId, end: RunEnd) {
        let answer = Answer::of(&end);
        if !self.claims.contains_key(&owner) {
            self.add_claim(owner, Claim { host, answer, inputs: Inputs::Unknown, outcome: None });
        }
        if self.verified.is_none() {
            self.outcomes.entry(answer).or_insert(end);
        }
    }

    fn add_claim(&mut self, owner: Owner, claim: Claim) {
        if !self.votes.contains_key(&owner) && !self.checkers.contains_key(&owner) {
            self.executor.get_or_insert(owner);
        }
        self.claims.insert(owner, claim);
    }

    /// An owner begins to compute it again.
    pub fn begin_check(&mut self, owner: Owner) {
        self.checkers.insert(owner, false);
    }

    /// A check takes long: another owner may be asked as well.
    pub fn note_late(&mut self, owner: &Owner) {
        self.checkers.entry(*owner).and_modify(|is_late| *is_late = true);
    }

    /// An owner no longer computes it, and has not said why.
    pub fn end_check(&mut self, owner: &Owner) {
        self.checkers.remove(owner);
    }

    /// Owners that could not compute it may be asked again.
    pub fn forgive(&mut self) {
        self.refusals.clear();
    }

    /// No owner computes it any more.
    pub fn end_checks(&mut self) {
        self.checkers.clear();
    }

    /// An owner cannot compute it.
    pub fn refuse(&mut self, owner: Owner, quorum: usize) {
        self.checkers.remove(&owner);
        *self.refusals.entry(owner).or_default() += 1;
        let refused = self.refusals.keys().filter(|owner| self.has_refused(owner)).count();
        if self.verified.is_none() && self.votes.is_empty() && refused >= quorum {
            self.verified = Some(Verified::Unknown);
        }
    }

    /// An owner has computed it again.
    pub fn answer(&mut self, owner: Owner, host: HostId, end: RunEnd) {
        self.checkers.remove(&owner);
        let answer = Answer::of(&end);
        self.votes.entry(owner).or_insert((host, answer));
        if self.verified.is_none() {
            self.outcomes.entry(answer).or_insert(end);
        }
    }

    /// What an owner has said is void: it lies. What it says that it took from elsewhere is still of use, as those jobs need not
    /// be computed again with this one.
    pub fn forget(&mut self, owner: &Owner) {
        if self.is_believed && self.executor == Some(*owner) {
            self.doubt();
        }
        if self.verified.is_none() {
            let claim = self.claims.remove(owner);
            if let Some(Claim { inputs: Inputs::Taken(children), .. }) = claim {
                let known: BTreeSet<_> = self.children().map(|child| child.key).collect();
                self.hints.extend(children.into_iter().filter(|child| !known.contains(&child.key)));
            }
            self.votes.remove(owner);
            self.checkers.remove(owner);
            self.executor = self.executor.filter(|executor| executor != owner);
        }
    }

    /// If enough owners agree on an outcome that is known, that is the unit's from now on. Returns whether it is
    /// so since this call.
    pub fn settle(&mut self, quorum: usize) -> bool {
        let (Some(answer), agree) = self.most() else { return false };
        if self.verified.is_some() || agree < quorum {
            return false;
        }
        let Some(end) = self.outcomes.remove(&answer) else { return false };
        self.outcomes.clear();
        self.verified = Some(Verified::Is(end));
        true
    }

    /// Keeps no more of the outcome than its hash.
    pub fn forget_outcome(&mut self) {
        let answer = self.verified.as_ref().and_then(Verified::answer);
        self.verified = answer.map(Verified::Known).or(self.verified.take());
    }

    /// After the outcome was verified: the owners that said another one, although all that they had taken from elsewhere was
    /// right, as far as `are_right` knows. All checkers are given the same. Limits differ between hosts, so a limit is not a
    /// lie.
    pub fn liars(&self, are_right: impl Fn(&[UnitChild]) -> bool) -> Vec<(Owner, HostId)> {
        let Some(verified) = self.verified.as_ref().and_then(Verified::answer) else { return Vec::new() };
        let is_outcome = |answer: Answer| matches!(answer, Answer::Outcome(_));
        let is_wrong = |answer: Answer| answer != verified && is_outcome(answer) && is_outcome(verified);
        let executors = self.claims.iter().filter(|(_, claim)| {
            is_wrong(claim.answer) && matches!(&claim.inputs, Inputs::Taken(children) if are_right(children))
        });
        let checkers = self.votes.iter().filter(|(_, (_, answer))| is_wrong(*answer));
        let executors = executors.map(|(owner, claim)| (*owner, claim.host));
        executors.chain(checkers.map(|(owner, (host, _))| (*owner, *host))).collect()
    }
}

#[cfg(test)]
mod tests;
