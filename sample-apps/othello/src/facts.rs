//! The part of the transposition tables that is worth sending to all hosts.

use std::cell::RefCell;

use sateen::prelude::*;
use serde::{Deserialize, Serialize};

use crate::search::Question;
use crate::table::Fact;

/// Facts that every host keeps.
const FACTS: usize = 4096;

/// Facts that are sent at once.
const TOLD: usize = 16;

/// Facts are sent only for questions that are this much deeper than those answered without spawning.
const DEEPER: u32 = 2;

/// Facts about the deeper questions: each has one place, and if two share a place, the deeper one stays.
#[derive(Debug, Serialize, Deserialize)]
pub struct Facts {
    places: Vec<Option<Fact>>,
}

impl Facts {
    /// No facts.
    pub fn new() -> Self {
        Self { places: vec![None; FACTS] }
    }

    /// The known facts.
    fn get(&self, question: Question) -> Option<Fact> {
        let fact = self.places[question.position.hash() % FACTS]?;
        fact.is_about(question.position, question.depth).then_some(fact)
    }
}

#[shared]
impl Facts {
    /// Adds facts. However often and in whatever order facts arrive, the kept facts are true.
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

/// Sends an answer to all hosts, together with others.
pub fn tell(facts: &Shared<Facts>, question: Question, refutation: Option<u32>, plain: u32) {
    thread_local! {
        /// Local facts that are still to be sent. Losing them does no harm.
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
    fn repeated_or_late_facts_lose_nothing() {
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
