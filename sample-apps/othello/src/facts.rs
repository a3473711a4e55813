//! What all hosts are told of what was found out: the part of the tables that is worth its way.

use std::cell::RefCell;

use sateen::prelude::*;
use serde::{Deserialize, Serialize};

use crate::search::Question;
use crate::table::Fact;

/// How many facts every host keeps.
const FACTS: usize = 4096;

/// How many facts are told at once.
const TOLD: usize = 16;

/// Only of questions so much deeper than those that are answered without spawning are facts told.
const DEEPER: u32 = 2;

/// Facts about the deeper questions: each has one place, and of two that fall together the deeper stays.
#[derive(Debug, Serialize, Deserialize)]
pub struct Facts {
    places: Vec<Option<Fact>>,
}

impl Facts {
    /// No facts.
    pub fn new() -> Self {
        Self { places: vec![None; FACTS] }
    }

    /// What is known.
    fn get(&self, question: Question) -> Option<Fact> {
        let fact = self.places[question.position.hash() % FACTS]?;
        fact.is_about(question.position, question.depth).then_some(fact)
    }
}

#[shared]
impl Facts {
    /// These are true, too. However often and in whatever order facts come, what is kept is true.
    #[update]
    pub fn learn(&mut self, facts: Vec<Fact>) {
        for fact in facts {
            let place = &mut self.places[fact.position.hash() % FACTS];
            match place {
                Some(known) if known.is_about(fact.position, u32::from(fact.depth)) => known.add(fact),
                Some(known) if known.depth > fact.depth => {}
                _ => *place = Some(fact),
            }
        }
    }
}

/// Whether a question is deep enough; `plain` is the depth of those that are answered without spawning.
fn is_worth_telling(question: Question, plain: u32) -> bool {
    question.depth >= plain + DEEPER
}

/// Whether all hosts know the answer.
pub fn known(facts: &Shared<Facts>, question: Question, plain: u32) -> Option<bool> {
    if !is_worth_telling(question, plain) {
        return None;
    }
    let fact = facts.read().get(question)?;
    if i32::from(fact.low) >= question.beta {
        Some(true)
    } else if i32::from(fact.high) < question.beta {
        Some(false)
    } else {
        None
    }
}

/// Tells all hosts of an answer: not of each at once, but of some together.
pub fn tell(facts: &Shared<Facts>, question: Question, refutation: Option<u32>, plain: u32) {
    thread_local! {
        /// What was found out here and is yet to be told. What is never told is not missed.
        static UNTOLD: RefCell<Vec<Fact>> = const { RefCell::new(Vec::new()) };
    }
    if !is_worth_telling(question, plain) {
        return;
    }
    let fact = Fact::of(question.position, question.depth, question.beta, refutation);
    let told = UNTOLD.with_borrow_mut(|untold| {
        untold.push(fact);
        if untold.len() < TOLD { Vec::new() } else { std::mem::take(untold) }
    });
    if !told.is_empty() {
        facts.learn(told);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::Position;

    #[test]
    fn facts_that_come_twice_or_late_lose_nothing() {
        let question = |depth, beta| Question { position: Position::START, depth, beta };
        let facts = Shared::new(Facts::new());
        let low = Fact::of(Position::START, 8, 100, Some(19));
        let high = Fact::of(Position::START, 8, 301, None);
        for order in [vec![low, high], vec![high, low, low], vec![high]] {
            facts.learn(order);
        }
        // A shallower question does not take the place of a deeper one.
        facts.learn(vec![Fact::of(Position::START, 7, 500, Some(19))]);
        let known = |beta| known(&facts, question(8, beta), 4);
        assert_eq!((known(100), known(101), known(300), known(301)), (Some(true), None, None, Some(false)));
    }
}
