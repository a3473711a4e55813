//! Lagrangian relaxation: rows may stay uncovered, at a price (Beasley, "An algorithm for set covering
//! problem", European Journal of Operational Research 31, 1987).
//!
//! With prices u, no cover costs less than the sum of all prices and of all reduced costs that are
//! negative, a column's reduced cost being its cost less the prices of the rows that it covers. That
//! holds for any prices; steps along the subgradient improve them. All numbers are whole, so a bound
//! is exact and the same everywhere.

use crate::instance::Instance;

/// Prices are in units of 1/`UNIT` of a cost.
pub const UNIT: i64 = 1 << 12;

/// The remaining instance at a node of the search, with prices.
///
/// Covered rows and columns that cannot be taken are left out, and the rest is renumbered:
/// deep in the search little of an instance is left, and each step goes through all of it.
pub struct Relaxation {
    /// By column: its own number, its cost in units, and where its rows end.
    columns: Vec<Column>,
    /// The rows of all columns, one column after the other; for each a multiple of [`AT_ONCE`], filled up
    /// with [`NO_ROW`].
    rows: Vec<u32>,
    /// By row, in units.
    prices: Vec<i64>,
    /// By row: 1 less the number of columns with a negative reduced cost that cover it.
    slacks: Vec<i32>,
    /// The greatest reduced cost.
    dearest: i64,
}

#[derive(Clone, Copy)]
struct Column {
    number: u32,
    rows_end: u32,
    cost: i64,
    reduced: i64,
}

/// A dummy row without a price.
const NO_ROW: u32 = 0;

/// Rows per turn of a loop. A guest checks at each turn whether to stop, which takes as long as a row.
pub const AT_ONCE: usize = 4;

/// The outcome of improving the prices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// No cover below the limit is left.
    Closed,
    /// No cover costs less than this, in units.
    AtLeast(i64),
}

impl Relaxation {
    /// The remaining instance: the columns that are `available`, and the rows that are open. `prices`
    /// are by row of the instance.
    pub fn new(instance: &Instance, available: &[bool], is_open: &[bool], prices: &[i64]) -> Self {
        let mut numbers = vec![0; is_open.len()];
        let mut open_prices = Vec::with_capacity(is_open.len() + 1);
        open_prices.push(0);
        for ((number, is_open), price) in numbers.iter_mut().zip(is_open).zip(prices) {
            *number = open_prices.len() as u32;
            if *is_open {
                open_prices.push(*price);
            }
        }
        let own_columns = || instance.rows.iter().enumerate().filter(|(number, _)| available[*number]);
        let room = own_columns().map(|(_, rows)| rows.len() + 2 * AT_ONCE).sum();
        let (mut columns, mut rows) = (Vec::new(), vec![NO_ROW; room]);
        let mut at = 0;
        for (number, own_rows) in own_columns() {
            let before = at;
            // Written whether it is open or not, and overwritten if not: no branch to mispredict.
            let mut put = |row: u32| {
                rows[at] = numbers[row as usize];
                at += usize::from(is_open[row as usize]);
            };
            let (quads, others) = own_rows.as_chunks::<AT_ONCE>();
            for [a, b, c, d] in quads {
                put(*a);
                put(*b);
                put(*c);
                put(*d);
            }
            others.iter().for_each(|row| put(*row));
            rows[at] = NO_ROW;
            if at == before {
                continue;
            }
            at = at.next_multiple_of(AT_ONCE);
            let cost = instance.costs[number] * UNIT;
            columns.push(Column { number: number as u32, rows_end: at as u32, cost, reduced: cost });
        }
        rows.truncate(at);
        let slacks = vec![0; open_prices.len()];
        Self { columns, rows, prices: open_prices, slacks, dearest: 0 }
    }

    /// The columns that may still be taken, with their reduced costs.
    pub fn columns(&self) -> impl Iterator<Item = (u32, i64)> {
        self.columns.iter().map(|column| (column.number, column.reduced))
    }

    /// Sets `prices`, by row of the instance, to those of the open rows.
    pub fn put_prices(&self, is_open: &[bool], prices: &mut [i64]) {
        let open = prices.iter_mut().zip(is_open).filter(|(_, is_open)| **is_open);
        open.zip(&self.prices[1..]).for_each(|((price, _), improved)| *price = *improved);
    }

    /// Improves the prices in at most `steps` steps; drops the columns that no cover with a cost up to
    /// `limit`, in units, can contain. Calls `look` after each step.
    pub fn improve(&mut self, steps: u32, limit: i64, mut look: impl FnMut(&Self)) -> Bound {
        let mut best = i64::MIN;
        let mut best_prices = Vec::new();
        // The step's length, as a fraction of the distance to the limit, in 256ths.
        let (mut pace, mut since) = (256, 0);
        for step in 0..steps {
            let bound = self.bound();
            if bound > limit {
                return Bound::Closed;
            }
            self.drop_columns(bound, limit);
            look(self);
            if bound > best {
                (best, since) = (bound, 0);
                best_prices.clone_from(&self.prices);
            } else {
                since += 1;
                if since == 4 {
                    (pace, since) = (pace * 5 / 8, 0);
                }
            }
            let norm: i64 = self.slacks.iter().map(|slack| i64::from(*slack) * i64::from(*slack)).sum();
            if norm == 0 || pace < 4 || step + 1 == steps {
                break;
            }
            let way = pace * (limit + UNIT - bound) / (256 * norm) + 1;
            for (price, slack) in self.prices.iter_mut().zip(&self.slacks) {
                *price = (*price + way * i64::from(*slack)).max(0);
            }
        }
        self.prices = best_prices;
        Bound::AtLeast(best)
    }

    /// The bound at these prices; sets the reduced costs and the slacks.
    fn bound(&mut self) -> i64 {
        let Self { columns, rows, prices, slacks, .. } = self;
        slacks.fill(1);
        let mut bound: i64 = prices.iter().sum();
        let mut dearest = i64::MIN;
        let mut rest = rows.as_slice();
        let mut rows_begin = 0;
        for column in columns.iter_mut() {
            let (own, others) = rest.split_at(column.rows_end as usize - rows_begin);
            (rest, rows_begin) = (others, column.rows_end as usize);
            let mut sum = 0;
            for row in own.as_chunks::<AT_ONCE>().0 {
                let [a, b, c, d] = row.map(|row| prices[row as usize]);
                sum += (a + b) + (c + d);
            }
            column.reduced = column.cost - sum;
            dearest = dearest.max(column.reduced);
            if column.reduced < 0 {
                bound += column.reduced;
                for row in own.as_chunks::<AT_ONCE>().0 {
                    let [a, b, c, d] = row.map(|row| row as usize);
                    slacks[a] -= 1;
                    slacks[b] -= 1;
                    slacks[c] -= 1;
                    slacks[d] -= 1;
                }
            }
        }
        slacks[NO_ROW as usize] = 0;
        self.dearest = dearest;
        bound
    }

    /// Drops the columns whose reduced costs alone take `bound` above `limit`.
    fn drop_columns(&mut self, bound: i64, limit: i64) {
        if self.columns.is_empty() || bound + self.dearest <= limit {
            return;
        }
        let (mut kept_rows, mut rows_begin) = (0, 0);
        self.columns.retain_mut(|column| {
            let own = rows_begin..column.rows_end as usize;
            rows_begin = own.end;
            let is_kept = bound + column.reduced <= limit;
            if is_kept {
                self.rows.copy_within(own.clone(), kept_rows);
                kept_rows += own.len();
                column.rows_end = kept_rows as u32;
            }
            is_kept
        });
        self.rows.truncate(kept_rows);
    }
}
