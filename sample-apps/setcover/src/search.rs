//! The search: branches on the columns that cover the row that the fewest columns cover.

use serde::{Deserialize, Serialize};

use crate::instance::Instance;
use crate::opening::Opening;
use crate::relaxation::{AT_ONCE, Bound, Relaxation, UNIT};

/// Steps along the subgradient at a node.
const STEPS: u32 = 12;

/// An unvisited node of the search.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// The columns taken.
    chosen: Vec<u32>,
    /// The columns that may still be taken, ascending.
    available: Vec<u32>,
    /// Prices by row, from the parent node.
    prices: Vec<i64>,
}

impl Node {
    /// The whole search.
    pub fn whole(instance: &Instance, opening: &Opening) -> Self {
        Self {
            chosen: Vec::new(),
            available: (0..).take(instance.costs.len()).collect(),
            prices: opening.prices.clone(),
        }
    }
}

/// A running search.
pub struct Search<'a> {
    instance: &'a Instance,
    /// Only covers that cost less are looked for.
    ceiling: i64,
    best: Option<Vec<u32>>,
    /// Unvisited nodes, the next one last.
    stack: Vec<Node>,
    // Workspace of a visit, reused by the next.
    is_open: Vec<bool>,
    available: Vec<bool>,
    /// By row: the number of available columns that cover it, or [`COVERED`] or more.
    counts: Vec<u32>,
}

impl<'a> Search<'a> {
    /// The search below `node` for covers that cost less than `ceiling`.
    pub fn new(instance: &'a Instance, node: Node, ceiling: i64) -> Self {
        let (is_open, available) = (vec![false; instance.covers.len()], vec![false; instance.costs.len()]);
        let counts = vec![0; instance.covers.len()];
        Self { instance, ceiling, best: None, stack: vec![node], is_open, available, counts }
    }

    /// Visits up to `nodes_max` nodes. They are the same wherever and however often the search is stopped.
    pub fn run(&mut self, nodes_max: u64) {
        for _ in 0..nodes_max {
            let Some(node) = self.stack.pop() else { return };
            self.visit(node);
        }
    }

    /// The columns of the best cover found, if any costs less than the initial ceiling.
    pub fn best(&mut self) -> Option<Vec<u32>> {
        self.best.take()
    }

    /// The cost that a cover must now stay below.
    pub fn ceiling(&self) -> i64 {
        self.ceiling
    }

    /// The unvisited nodes, the next one last.
    pub fn into_nodes(self) -> Vec<Node> {
        self.stack
    }

    fn visit(&mut self, node: Node) {
        let Node { mut chosen, available, mut prices } = node;
        let instance = self.instance;
        self.is_open.fill(true);
        self.available.fill(false);
        for column in &available {
            self.available[*column as usize] = true;
        }
        let mut cost = 0;
        for column in &chosen {
            cost += self.take(*column, &mut prices);
        }
        let Some(row) = self.take_forced(&mut chosen, &mut cost, &mut prices) else { return };
        if row == ALL_COVERED {
            self.found(chosen, cost);
            return;
        }
        let limit = (self.ceiling - 1 - cost) * UNIT;
        let mut relaxation = Relaxation::new(instance, &self.available, &self.is_open, &prices);
        if relaxation.improve(STEPS, limit, |_| {}) == Bound::Closed {
            return;
        }
        relaxation.put_prices(&self.is_open, &mut prices);
        self.available.fill(false);
        let mut reduced = vec![0; instance.costs.len()];
        for (column, cost) in relaxation.columns() {
            self.available[column as usize] = true;
            reduced[column as usize] = cost;
        }
        let row = match self.take_forced(&mut chosen, &mut cost, &mut prices) {
            None => return,
            Some(ALL_COVERED) => return self.found(chosen, cost),
            Some(row) => row,
        };
        if cost >= self.ceiling {
            return;
        }
        // The most promising first. A later child excludes the columns of those before it.
        let mut columns: Vec<u32> = self.columns_of(row).collect();
        columns.sort_by_key(|column| reduced[*column as usize]);
        let mut available: Vec<u32> = (0..).zip(&self.available).filter(|it| *it.1).map(|it| it.0).collect();
        let first = self.stack.len();
        for column in columns {
            available.retain(|other| *other != column);
            let mut chosen = chosen.clone();
            chosen.push(column);
            self.stack.push(Node { chosen, available: available.clone(), prices: prices.clone() });
        }
        self.stack[first..].reverse();
    }

    fn found(&mut self, chosen: Vec<u32>, cost: i64) {
        if cost < self.ceiling {
            self.ceiling = cost;
            self.best = Some(chosen);
        }
    }

    /// Takes `column`, and returns its cost.
    fn take(&mut self, column: u32, prices: &mut [i64]) -> i64 {
        self.available[column as usize] = false;
        let mut cover = |row: u32| {
            self.is_open[row as usize] = false;
            self.counts[row as usize] = COVERED;
            prices[row as usize] = 0;
        };
        let (quads, others) = self.instance.rows[column as usize].as_chunks::<AT_ONCE>();
        for [a, b, c, d] in quads {
            cover(*a);
            cover(*b);
            cover(*c);
            cover(*d);
        }
        others.iter().for_each(|row| cover(*row));
        self.instance.costs[column as usize]
    }

    /// Takes the columns that alone cover some row; then returns the open row that the fewest columns
    /// cover, [`ALL_COVERED`] if none is open, or `None` if some row cannot be covered.
    fn take_forced(&mut self, chosen: &mut Vec<u32>, cost: &mut i64, prices: &mut [i64]) -> Option<u32> {
        const ROWS_AT_ONCE: usize = 8;
        self.count();
        loop {
            let (mut fewest, mut rarest, mut is_forced) = (COVERED, ALL_COVERED, false);
            for first in (0..self.counts.len()).step_by(ROWS_AT_ONCE) {
                let rows = first..self.counts.len().min(first + ROWS_AT_ONCE);
                // Most rows are unaffected.
                let least = self.counts[rows.clone()].iter().copied().min().unwrap_or(COVERED);
                if least >= fewest && least > 1 {
                    continue;
                }
                for row in rows {
                    // A column taken meanwhile covers rows, and changes nothing for rows that stay open.
                    match self.counts[row] {
                        0 => return None,
                        1 => {
                            let column = self.columns_of(row as u32).next()?;
                            chosen.push(column);
                            *cost += self.take(column, prices);
                            is_forced = true;
                        }
                        count if count < fewest => (fewest, rarest) = (count, row as u32),
                        _ => {}
                    }
                }
            }
            if !is_forced {
                return Some(rarest);
            }
        }
    }

    /// Counts the available columns that cover each open row.
    fn count(&mut self) {
        let counts = &mut self.counts;
        for (count, is_open) in counts.iter_mut().zip(&self.is_open) {
            *count = if *is_open { 0 } else { COVERED };
        }
        for (rows, _) in
            self.instance.rows.iter().zip(&self.available).filter(|(_, is_available)| **is_available)
        {
            let (quads, others) = rows.as_chunks::<AT_ONCE>();
            for [a, b, c, d] in quads {
                counts[*a as usize] += 1;
                counts[*b as usize] += 1;
                counts[*c as usize] += 1;
                counts[*d as usize] += 1;
            }
            others.iter().for_each(|row| counts[*row as usize] += 1);
        }
    }

    fn columns_of(&self, row: u32) -> impl Iterator<Item = u32> {
        let columns = &self.instance.covers[row as usize];
        columns.iter().copied().filter(|column| self.available[*column as usize])
    }
}

/// The count of a covered row: more than there are columns.
const COVERED: u32 = 1 << 30;

/// Stands for a row when all are covered.
const ALL_COVERED: u32 = u32::MAX;
