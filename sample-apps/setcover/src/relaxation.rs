//! Lagrangian relaxation: rows may stay uncovered, at a price (Beasley, "An algorithm for set covering
//! problem", European Journal of Operational Research 31, 1987).
//!
//! With prices u, no cover costs less than the sum of all prices and of all reduced costs that are
//! negative, a column's reduced cost being its cost less the prices of the rows that it covers. That
//! holds for any prices; steps along the subgradient make them good. All is in whole numbers, so a bound
//! is exact and the same everywhere.

use crate::instance::Instance;

/// Prices are in this part of a cost.
pub const UNIT: i64 = 1 << 12;

/// What is left of an instance at a node of the search, and prices for it.
pub struct Relaxation<'a> {
    pub instance: &'a Instance,
    /// By column: whether it may still be taken.
    pub available: &'a mut [bool],
    /// By row: whether it is yet to be covered.
    pub is_open: &'a [bool],
    /// By row; 0 for rows that are covered.
    pub prices: &'a mut [i64],
    /// By column: the reduced cost of those that are available.
    pub reduced: Vec<i64>,
}

/// What came of improving the prices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// Nothing below the limit is left.
    Closed,
    /// No cover costs less than this, in units.
    AtLeast(i64),
}

impl Relaxation<'_> {
    /// Improves the prices in so many `steps` at most; drops the columns that no cover of a cost up to
    /// `limit`, in units, can hold. Calls `look` after each step.
    pub fn improve(&mut self, steps: u32, limit: i64, mut look: impl FnMut(u32, &Self)) -> Bound {
        let mut best = i64::MIN;
        let mut best_prices = Vec::new();
        // How far to go, as a fraction of the way to the limit, out of 256.
        let (mut pace, mut since) = (256, 0);
        let mut slacks = vec![0_i64; self.is_open.len()];
        for step in 0..steps {
            let bound = self.bound(&mut slacks);
            if bound > limit {
                return Bound::Closed;
            }
            self.drop_columns(bound, limit);
            look(step, self);
            if bound > best {
                (best, since) = (bound, 0);
                best_prices.clear();
                best_prices.extend_from_slice(self.prices);
            } else {
                since += 1;
                if since == 4 {
                    (pace, since) = (pace * 5 / 8, 0);
                }
            }
            let norm: i64 = slacks.iter().map(|slack| slack * slack).sum();
            if norm == 0 || pace < 4 || step + 1 == steps {
                break;
            }
            let way = pace * (limit + UNIT - bound) / (256 * norm) + 1;
            for (price, slack) in self.prices.iter_mut().zip(&slacks) {
                *price = (*price + way * slack).max(0);
            }
        }
        self.prices.copy_from_slice(&best_prices);
        Bound::AtLeast(best)
    }

    /// The bound at these prices. Leaves in `slacks`, by open row: 1 less the number of columns with a
    /// negative reduced cost that cover it.
    fn bound(&mut self, slacks: &mut [i64]) -> i64 {
        for (slack, is_open) in slacks.iter_mut().zip(self.is_open) {
            *slack = i64::from(*is_open);
        }
        let mut bound: i64 = self.prices.iter().sum();
        let columns = self.instance.rows.iter().zip(&self.instance.costs).zip(self.available.iter());
        for (((rows, cost), is_available), reduced) in columns.zip(&mut self.reduced) {
            if !is_available {
                continue;
            }
            *reduced = cost * UNIT - rows.iter().map(|row| self.prices[*row as usize]).sum::<i64>();
            if *reduced < 0 {
                bound += *reduced;
                for row in rows {
                    slacks[*row as usize] -= 1;
                }
            }
        }
        // Covered rows have no price, and no slack.
        for (slack, is_open) in slacks.iter_mut().zip(self.is_open) {
            *slack *= i64::from(*is_open);
        }
        bound
    }

    fn drop_columns(&mut self, bound: i64, limit: i64) {
        for (reduced, is_available) in self.reduced.iter().zip(self.available.iter_mut()) {
            if *is_available && bound + *reduced > limit {
                *is_available = false;
            }
        }
    }
}
