//! Clauses in one array, and their watches.

use crate::formula::Literal;

/// Initial maximum of learned clauses before the worse half is forgotten; the bound grows.
const LEARNED_MAX: usize = 4_000;

/// A clause by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClauseRef(u32);

/// A clause that must be visited when a literal becomes false.
#[derive(Debug, Clone, Copy)]
pub struct Watch {
    pub clause: ClauseRef,
    /// Another literal of the clause: while it is true, there is nothing to do.
    pub blocker: Literal,
}

struct Clause {
    start: u32,
    length: u32,
    /// The number of its literals' decision levels when it was learned; `None` if it was given.
    glue: Option<u32>,
}

/// All clauses of a solver. The first two literals of each are watched.
pub struct Clauses {
    literals: Vec<Literal>,
    clauses: Vec<Clause>,
    /// By literal: the clauses that watch it.
    pub watches: Vec<Vec<Watch>>,
    learned: usize,
    learned_max: usize,
}

impl Clauses {
    /// An empty set of clauses over `literals` literals.
    pub fn new(literals: usize) -> Self {
        Self {
            literals: Vec::new(),
            clauses: Vec::new(),
            watches: vec![Vec::new(); literals],
            learned: 0,
            learned_max: LEARNED_MAX,
        }
    }

    /// Adds a clause of at least two literals and watches the first two.
    pub fn add(&mut self, literals: &[Literal], glue: Option<u32>) -> ClauseRef {
        let clause = ClauseRef(self.clauses.len() as u32);
        self.clauses.push(Clause { start: self.literals.len() as u32, length: literals.len() as u32, glue });
        self.literals.extend_from_slice(literals);
        self.learned += usize::from(glue.is_some());
        self.watches[literals[0].index()].push(Watch { clause, blocker: literals[1] });
        self.watches[literals[1].index()].push(Watch { clause, blocker: literals[0] });
        clause
    }

    pub fn literals(&self, clause: ClauseRef) -> &[Literal] {
        let Clause { start, length, .. } = self.clauses[clause.0 as usize];
        &self.literals[start as usize..(start + length) as usize]
    }

    pub fn literals_mut(&mut self, clause: ClauseRef) -> &mut [Literal] {
        let Clause { start, length, .. } = self.clauses[clause.0 as usize];
        &mut self.literals[start as usize..(start + length) as usize]
    }

    /// Forgets the worse half of the learned clauses, if there are too many. `reasons` of the
    /// variables on `trail` are kept; called without decisions.
    pub fn reduce(&mut self, reasons: &[Option<ClauseRef>], trail: &[Literal]) {
        if self.learned < self.learned_max {
            return;
        }
        self.learned_max += self.learned_max / 4;
        let mut glues: Vec<u32> = self.clauses.iter().filter_map(|clause| clause.glue).collect();
        glues.sort_unstable();
        let median = glues[glues.len() / 2];
        let mut forgotten: Vec<bool> = self
            .clauses
            .iter()
            .map(|clause| clause.glue.is_some_and(|glue| glue > 2 && glue >= median))
            .collect();
        for reason in trail.iter().filter_map(|literal| reasons[literal.variable()]) {
            forgotten[reason.0 as usize] = false;
        }
        for watches in &mut self.watches {
            watches.retain(|watch| !forgotten[watch.clause.0 as usize]);
        }
        for (clause, forgotten) in self.clauses.iter_mut().zip(forgotten) {
            if forgotten {
                clause.glue = None;
                clause.length = 0;
                self.learned -= 1;
            }
        }
    }
}
