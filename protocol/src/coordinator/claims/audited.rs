//! What audits need of a unit: most are believed without being computed again, and some are checked while what they were computed
//! with may still turn out to be wrong.

use std::collections::BTreeSet;

use crate::{BlobHash, Outcome, RunEnd, UnitChild};

use super::{Answer, Claims, Draw, Inputs, Owner, Verified};

impl Claims {
    // ---- getters ----

    /// The executor, with what it says that it took from elsewhere and what it found; none if no owner has reported the unit.
    pub fn executed(&self) -> Option<(Owner, &[UnitChild], Answer)> {
        let executor = self.executor?;
        let claim = self.claims.get(&executor)?;
        match &claim.inputs {
            Inputs::Taken(children) => Some((executor, children, claim.answer)),
            Inputs::Unknown => None,
        }
    }

    /// The outcome with this hash, if anybody has sent it.
    pub fn outcome(&self, hash: &BlobHash) -> Option<&Outcome> {
        let answer = Answer::Outcome(*hash);
        if let Some(Verified::Is(RunEnd::Finished(finished))) = &self.verified
            && finished.outcome.hash() == *hash
        {
            return Some(&finished.outcome);
        }
        let same = self.claims.values().filter(|claim| claim.answer == answer);
        same.filter_map(|claim| claim.outcome.as_ref()).next()
    }

    /// Why it is computed again, if it is.
    pub fn draw(&self) -> Draw {
        self.draw
    }

    /// Whether others have computed it, and agree on its outcome.
    pub fn is_checked(&self) -> bool {
        !self.is_believed && self.verified.as_ref().is_some_and(Verified::has_answer)
    }

    /// What checkers of an audit are given, from the first of them on.
    pub fn basis(&self) -> Option<&[UnitChild]> {
        self.basis.as_deref()
    }

    /// Whether more owners agree on one answer than on any other.
    pub fn has_majority(&self) -> bool {
        let (answer, agree) = self.most();
        self.answers().filter(|other| Some(*other) != answer).count() < agree
    }

    /// Whether owners that report it have found different results.
    pub fn is_contradicted(&self) -> bool {
        let answers: BTreeSet<Answer> = self.claims.values().map(|claim| claim.answer).collect();
        answers.len() > 1
    }

    /// The number of owners that have reported it.
    pub fn claims_len(&self) -> usize {
        self.claims.len()
    }

    /// Whether its outcome is known, and not only its hash.
    pub fn has_outcome(&self) -> bool {
        self.executed().is_some_and(|(_, _, answer)| self.outcomes.contains_key(&answer))
    }

    // ---- what follows ----

    /// It is drawn, or not.
    pub fn set_draw(&mut self, draw: Draw) {
        self.draw = draw;
    }

    /// What the first checker is given, and with it all others.
    pub fn give(&mut self, basis: Vec<UnitChild>) {
        self.basis.get_or_insert(basis);
    }

    /// The executor is believed.
    pub fn believe(&mut self) {
        let Some((_, _, answer)) = self.executed() else { return };
        let outcome = self.outcomes.remove(&answer);
        self.verified = Some(outcome.map_or(Verified::Known(answer), Verified::Is));
        self.is_believed = true;
    }

    /// What an owner has said is void, also if the outcome was verified by that. Returns whether it was.
    pub fn take_back(&mut self, owner: &Owner) -> bool {
        let agreed = self.verified.as_ref().and_then(Verified::answer).filter(|_| !self.is_believed);
        let voted = self.votes.get(owner).map(|(_, answer)| *answer);
        let claimed =
            self.claims.get(owner).filter(|_| self.executor == Some(*owner)).map(|claim| claim.answer);
        let is_void = agreed.is_some() && [voted, claimed].contains(&agreed);
        if is_void && let Some(Verified::Is(end)) = self.verified.take() {
            self.outcomes.insert(Answer::of(&end), end);
        }
        self.forget(owner);
        is_void
    }

    /// The executor is not believed any more: what it was given may be wrong, or it lies.
    pub fn doubt(&mut self) {
        if self.is_believed
            && let Some(Verified::Is(end)) = self.verified.take()
        {
            self.outcomes.insert(Answer::of(&end), end);
        }
        if self.is_believed {
            (self.verified, self.is_believed) = (None, false);
        }
    }

    /// What was found of it so far was found with something wrong: it begins anew.
    pub fn begin_anew(&mut self) {
        (self.verified, self.is_believed) = (None, false);
        (self.basis, self.executor, self.draw) = (None, None, Draw::Always);
        self.votes.clear();
        self.checkers.clear();
        self.outcomes.clear();
    }
}
