//! One way to an automaton: evidence-driven state merging with a blue fringe (Lang, Pearlmutter and
//! Price, "Results of the Abbadingo One DFA learning competition and a new evidence-driven state merging
//! algorithm", ICGI 1998).
//!
//! *Red* states belong to the automaton and differ from one another. The states that follow on them are
//! *blue*, roots of what is still a tree. A blue state that can be merged with no red one becomes red;
//! if there is none, the pair of a red and a blue state that the most evidence speaks for is merged.

use std::cmp::Reverse;

use crate::automaton::{Automaton, Merge, State};

/// An automaton on its way.
#[derive(Debug, Clone)]
pub struct Learner {
    pub automaton: Automaton,
    /// In the order in which they became red.
    red: Vec<State>,
    is_red: Vec<bool>,
    /// By blue state: the red states that it cannot be merged with, as bits by their order. Merging
    /// takes no contradiction away.
    refused: Vec<Vec<u64>>,
}

impl Learner {
    /// Nothing merged yet.
    pub fn new(tree: &Automaton) -> Self {
        let states = tree.states();
        let mut is_red = vec![false; states];
        is_red[0] = true;
        Self { automaton: tree.clone(), red: vec![0], is_red, refused: vec![Vec::new(); states] }
    }

    /// Merges until only red states are left, and gives their number. The first merges are those that
    /// `choices` say: 0 the one with the most evidence, 1 the next, and so on; all others are the first.
    /// `None` if there are not so many to choose from, or more than `most` states.
    pub fn learn(&mut self, choices: &[u32], most: usize) -> Option<usize> {
        let mut choices = choices.iter();
        loop {
            if self.red.len() > most {
                return None;
            }
            let merge = match self.merges() {
                Step::Promoted => continue,
                Step::Finished => return choices.next().is_none().then_some(self.red.len()),
                Step::Merges(mut merges) => {
                    let choice = choices.next().copied().unwrap_or(0) as usize;
                    // The states' numbers settle ties.
                    let rank = |(evidence, merge): &(u32, Merge)| (Reverse(*evidence), merge.blue, merge.red);
                    if choice >= merges.len() {
                        return None;
                    }
                    merges.select_nth_unstable_by_key(choice, rank).1.1
                }
            };
            self.automaton.merge(merge);
        }
    }

    /// What can be merged; or makes the first blue state red that cannot be.
    fn merges(&mut self) -> Step {
        let mut merges = Vec::new();
        for nth in 0..self.red.len() {
            let parent = self.red[nth];
            let blue: Vec<(usize, State)> =
                self.automaton.after(parent).filter(|(_, state)| !self.is_red[*state as usize]).collect();
            for (symbol, blue) in blue {
                let before = merges.len();
                self.refused[blue as usize].resize(self.red.len().div_ceil(64), 0);
                for (place, red) in self.red.iter().enumerate() {
                    let refused = &mut self.refused[blue as usize][place / 64];
                    if *refused >> (place % 64) & 1 == 1 {
                        continue;
                    }
                    let merge = Merge { red: *red, blue, parent, symbol };
                    match self.automaton.evidence(merge) {
                        Some(evidence) => merges.push((evidence, merge)),
                        None => *refused |= 1 << (place % 64),
                    }
                }
                if merges.len() == before {
                    self.red.push(blue);
                    self.is_red[blue as usize] = true;
                    return Step::Promoted;
                }
            }
        }
        if merges.is_empty() { Step::Finished } else { Step::Merges(merges) }
    }
}

enum Step {
    /// A blue state became red.
    Promoted,
    /// No blue state is left.
    Finished,
    /// What can be merged, with the evidence for it.
    Merges(Vec<(u32, Merge)>),
}
