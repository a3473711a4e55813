//! Set cover instances, and the removal of superfluous rows and columns.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Maximum compared pairs of rows or columns, times the words of each.
const COMPARISONS_MAX: usize = 400_000_000;

/// Rows, and columns that cover them, with costs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instance {
    /// By column.
    pub costs: Vec<i64>,
    /// By row: the columns that cover it, ascending.
    pub covers: Vec<Vec<u32>>,
    /// By column: the rows that it covers, ascending.
    pub rows: Vec<Vec<u32>>,
    /// By column: its number in the input, from 0.
    pub names: Vec<u32>,
}

/// A cover: its cost, and its columns by number, ascending.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cover {
    /// The cost of all its columns.
    pub cost: i64,
    /// Ascending, from 0.
    pub columns: Vec<u32>,
}

/// The cost, and on a second line the columns, from 1.
impl fmt::Display for Cover {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns: Vec<String> = self.columns.iter().map(|column| (column + 1).to_string()).collect();
        write!(formatter, "{}\n{}", self.cost, columns.join(" "))
    }
}

impl Instance {
    /// An instance of columns with these costs, in which each row is covered by its columns in `covers`.
    pub fn new(costs: Vec<i64>, covers: Vec<Vec<u32>>) -> Self {
        let names = (0..).take(costs.len()).collect();
        Self::named(costs, covers, names)
    }

    fn named(costs: Vec<i64>, mut covers: Vec<Vec<u32>>, names: Vec<u32>) -> Self {
        let mut rows = vec![Vec::new(); costs.len()];
        for (row, covers) in (0..).zip(&mut covers) {
            covers.sort_unstable();
            covers.dedup();
            for column in covers.iter() {
                rows[*column as usize].push(row);
            }
        }
        Self { costs, covers, rows, names }
    }

    /// The same instance without superfluous columns and rows. A column is superfluous if another column
    /// covers all its rows at no higher cost; a row, if each column that covers some other row covers it too.
    /// At least one cover of least cost remains. The columns come in the order of their costs.
    pub fn reduced(&self) -> Self {
        let mut reduced = self.sorted();
        loop {
            let before = (reduced.costs.len(), reduced.covers.len());
            reduced = reduced.without_dominated_columns().without_dominated_rows();
            if (reduced.costs.len(), reduced.covers.len()) == before {
                return reduced;
            }
        }
    }

    /// The cover by these columns.
    pub fn cover(&self, columns: &[u32]) -> Cover {
        let mut names: Vec<u32> = columns.iter().map(|column| self.names[*column as usize]).collect();
        names.sort_unstable();
        Cover { cost: columns.iter().map(|column| self.costs[*column as usize]).sum(), columns: names }
    }

    fn sorted(&self) -> Self {
        let mut order: Vec<usize> = (0..self.costs.len()).collect();
        order.sort_by_key(|column| (self.costs[*column], std::cmp::Reverse(self.rows[*column].len())));
        self.with_columns(&order)
    }

    /// Keeps only these columns, in this order.
    fn with_columns(&self, kept: &[usize]) -> Self {
        let mut places = vec![None; self.costs.len()];
        for (place, column) in (0..).zip(kept) {
            places[*column] = Some(place);
        }
        let covers = (self.covers.iter())
            .map(|columns| columns.iter().filter_map(|column| places[*column as usize]).collect())
            .collect();
        let costs = kept.iter().map(|column| self.costs[*column]).collect();
        Self::named(costs, covers, kept.iter().map(|column| self.names[*column]).collect())
    }

    fn without_dominated_columns(&self) -> Self {
        let sets = Sets::of(&self.rows, self.covers.len());
        let is_dominated = |column: usize| {
            // Only columns that cover its rarest row can cover all its rows.
            let Some(row) = self.rows[column].iter().min_by_key(|row| self.covers[**row as usize].len())
            else {
                return true;
            };
            self.covers[*row as usize].iter().any(|other| {
                let other = *other as usize;
                let (cheaper, dearer) = (self.costs[other], self.costs[column]);
                other != column
                    && cheaper <= dearer
                    && sets.contains(other, column)
                    && (cheaper < dearer || other < column || !sets.contains(column, other))
            })
        };
        if sets.comparisons() > COMPARISONS_MAX {
            return self.clone();
        }
        let kept: Vec<usize> = (0..self.costs.len()).filter(|column| !is_dominated(*column)).collect();
        self.with_columns(&kept)
    }

    fn without_dominated_rows(&self) -> Self {
        let sets = Sets::of(&self.covers, self.costs.len());
        if sets.comparisons() > COMPARISONS_MAX {
            return self.clone();
        }
        let is_dominated = |row: usize| {
            (0..self.covers.len()).any(|other| {
                other != row && sets.contains(row, other) && (other < row || !sets.contains(other, row))
            })
        };
        let kept = (0..self.covers.len()).filter(|row| !is_dominated(*row));
        let covers = kept.map(|row| self.covers[row].clone()).collect();
        Self::named(self.costs.clone(), covers, self.names.clone())
    }
}

/// Sets of numbers as bits.
struct Sets {
    words: usize,
    bits: Vec<u64>,
}

impl Sets {
    fn of(sets: &[Vec<u32>], limit: usize) -> Self {
        let words = limit.div_ceil(64).max(1);
        let mut bits = vec![0; sets.len() * words];
        for (set, members) in sets.iter().enumerate() {
            for member in members {
                bits[set * words + *member as usize / 64] |= 1 << (member % 64);
            }
        }
        Self { words, bits }
    }

    /// Whether `outer` contains all numbers in `inner`.
    fn contains(&self, outer: usize, inner: usize) -> bool {
        let [outer, inner] = [outer, inner].map(|set| &self.bits[set * self.words..][..self.words]);
        outer.iter().zip(inner).all(|(outer, inner)| inner & !outer == 0)
    }

    fn comparisons(&self) -> usize {
        self.bits.len().saturating_mul(self.bits.len() / self.words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn superfluous_columns_and_rows_are_removed() {
        // Column 1 is like column 0, but cheaper; row 2 is covered by every column that covers row 0.
        let instance =
            Instance::new(vec![5, 4, 9, 3], vec![vec![0, 1, 2], vec![2, 3], vec![0, 1, 2, 3], vec![3, 2]]);
        let reduced = instance.reduced();
        assert_eq!(reduced.names, [3, 1, 2]);
        assert_eq!(reduced.covers, [vec![1, 2], vec![0, 2]]);
        assert_eq!(reduced.cover(&[0, 1]).to_string(), "7\n2 4");
        assert_eq!(Instance::new(vec![1], vec![]).reduced().costs, [0_i64; 0]);
        // Of two equal columns, the first stays.
        assert_eq!(Instance::new(vec![2, 2], vec![vec![0, 1]; 3]).reduced().names, [0]);
    }
}
