//! The automaton being learned: a tree of all prefixes, some of whose states have been merged.

use sateen::BadInput;

use crate::sample::Sample;

/// A state.
pub type State = u32;

/// Stands for a missing state.
const NONE: State = State::MAX;

/// Maximum transitions that fit a sandbox.
const TRANSITIONS_MAX: usize = 1 << 28;

/// The label of a state: unknown, accepting or rejecting.
const UNKNOWN: u8 = 0;
const ACCEPTS: u8 = 1;
const REJECTS: u8 = 2;

/// Merging the tree below `blue`, which is reached from `parent` by `symbol`, into `red`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Merge {
    pub red: State,
    pub blue: State,
    pub parent: State,
    pub symbol: usize,
}

/// A deterministic automaton. Its first state is 0.
#[derive(Debug, Clone)]
pub struct Automaton {
    alphabet: usize,
    /// Transitions of a state: one for each symbol, and one more if these are odd.
    stride: usize,
    /// By state and symbol.
    next: Vec<State>,
    labels: Vec<u8>,
    /// The changes of a merge, to be undone.
    log: Vec<Change>,
    /// Pairs of states still to be merged.
    pairs: Vec<(State, State)>,
}

#[derive(Debug, Clone, Copy)]
enum Change {
    /// The transition at this place was added.
    Next(u32),
    /// The label of this state was added.
    Label(State),
}

impl Automaton {
    /// The tree that accepts and rejects exactly the strings of `sample`.
    ///
    /// # Errors
    /// When the same string is accepted on one line and rejected on another.
    pub fn tree(input: &str, sample: &Sample) -> Result<Self, BadInput> {
        let stride = sample.alphabet.next_multiple_of(2);
        let mut tree = Self {
            alphabet: sample.alphabet,
            stride,
            next: vec![NONE; stride],
            labels: vec![UNKNOWN],
            log: Vec::new(),
            pairs: Vec::new(),
        };
        // By state: the line that labelled it.
        let mut lines = vec![0];
        for string in &sample.strings {
            let mut state: State = 0;
            for symbol in &string.symbols {
                let at = state as usize * stride + usize::from(*symbol);
                if tree.next[at] == NONE {
                    if tree.next.len() >= TRANSITIONS_MAX {
                        let (line, states) = (string.line, tree.states());
                        let what = format!(
                            "the strings up to here have {states} prefixes, too many for this number of symbols"
                        );
                        return Err(BadInput::at_line(input, line, what));
                    }
                    tree.next[at] = tree.labels.len() as State;
                    tree.labels.push(UNKNOWN);
                    lines.push(0);
                    tree.next.resize(tree.next.len() + stride, NONE);
                }
                state = tree.next[at];
            }
            let label = if string.is_accepted { ACCEPTS } else { REJECTS };
            let known = &mut tree.labels[state as usize];
            if *known != UNKNOWN && *known != label {
                let (line, before) = (string.line, lines[state as usize]);
                let what = format!("the same string as on line {before}, with the other label");
                return Err(BadInput::at_line(input, line, what));
            }
            (*known, lines[state as usize]) = (label, string.line);
        }
        Ok(tree)
    }

    /// The number of states of the tree.
    pub fn states(&self) -> usize {
        self.labels.len()
    }

    /// The states that are reached from `state` in one step, by symbol.
    pub fn after(&self, state: State) -> impl Iterator<Item = (usize, State)> {
        let from = state as usize * self.stride;
        let next = self.next[from..from + self.alphabet].iter().copied();
        next.enumerate().filter(|(_, next)| *next != NONE)
    }

    /// Whether the string is accepted; unknown strings are rejected.
    pub fn accepts(&self, symbols: &[u16]) -> bool {
        let mut state = 0;
        for symbol in symbols {
            let symbol = usize::from(*symbol);
            if symbol >= self.alphabet {
                return false;
            }
            state = self.next[state as usize * self.stride + symbol];
            if state == NONE {
                return false;
            }
        }
        self.labels[state as usize] == ACCEPTS
    }

    /// The evidence for `merge`: the number of accepting states that would be merged with accepting ones, and
    /// of rejecting with rejecting ones. `None` if it would merge an accepting with a rejecting state.
    pub fn evidence(&mut self, merge: Merge) -> Option<u32> {
        let evidence = self.apply(merge);
        while let Some(change) = self.log.pop() {
            match change {
                Change::Next(at) => self.next[at as usize] = NONE,
                Change::Label(state) => self.labels[state as usize] = UNKNOWN,
            }
        }
        self.next[merge.parent as usize * self.stride + merge.symbol] = merge.blue;
        evidence
    }

    /// Merges. No accepting state may be merged with a rejecting one.
    pub fn merge(&mut self, merge: Merge) {
        let evidence = self.apply(merge);
        debug_assert!(evidence.is_some());
        self.log.clear();
    }

    fn apply(&mut self, merge: Merge) -> Option<u32> {
        let Merge { red, blue, parent, symbol } = merge;
        self.next[parent as usize * self.stride + symbol] = red;
        self.fold(red, blue)
    }

    fn fold(&mut self, red: State, blue: State) -> Option<u32> {
        let mut evidence = 0;
        self.pairs.clear();
        let (mut into, mut from) = (red, blue);
        loop {
            let (known, label) = (self.labels[into as usize], self.labels[from as usize]);
            if label != UNKNOWN {
                if known == UNKNOWN {
                    self.labels[into as usize] = label;
                    self.log.push(Change::Label(into));
                } else if known == label {
                    evidence += 1;
                } else {
                    return None;
                }
            }
            let (into_row, from_row) = (into as usize * self.stride, from as usize * self.stride);
            // Two symbols per turn, as a guest checks at each turn whether to stop.
            for symbol in (0..self.stride).step_by(2) {
                self.fold_symbol(into_row + symbol, from_row + symbol);
                self.fold_symbol(into_row + symbol + 1, from_row + symbol + 1);
            }
            let Some(next) = self.pairs.pop() else { return Some(evidence) };
            (into, from) = next;
        }
    }

    /// Folds the transition at `from` into that at `into`.
    #[inline(always)]
    fn fold_symbol(&mut self, into: usize, from: usize) {
        let below = self.next[from];
        if below == NONE {
            return;
        }
        match self.next[into] {
            NONE => {
                self.next[into] = below;
                self.log.push(Change::Next(into as u32));
            }
            beside => self.pairs.push((beside, below)),
        }
    }
}
