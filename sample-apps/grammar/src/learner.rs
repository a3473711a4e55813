//! Learns one automaton by evidence-driven state merging with a blue fringe (Lang, Pearlmutter and
//! Price, "Results of the Abbadingo One DFA learning competition and a new evidence-driven state merging
//! algorithm", ICGI 1998).
//!
//! *Red* states belong to the automaton and differ from one another. Their successors are
//! *blue*, roots of subtrees. A blue state that cannot be merged with any red state becomes red;
//! if there is none, the pair of a red and a blue state with the most evidence is merged.

use std::cmp::Reverse;

use crate::automaton::{Automaton, Merge, State};

/// The state of learning.
#[derive(Debug, Clone)]
pub struct Learner {
    pub automaton: Automaton,
    /// Red states, in the order in which they became red.
    red: Vec<State>,
    is_red: Vec<bool>,
    /// By blue state: the red states that it cannot be merged with, as bits by their order. Merging
    /// never removes a contradiction.
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

    /// Merges until only red states are left, and returns their number. `choices` selects the first merges:
    /// 0 the one with the most evidence, 1 the next, and so on; all later merges have the most evidence.
    /// `None` if there are fewer merges to choose from, or more than `most` states.
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
                    // The states' numbers break ties.
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

    /// Lists the possible merges, or makes the first blue state red that cannot be merged.
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
    /// Possible merges, with their evidence.
    Merges(Vec<(u32, Merge)>),
}
