//! The cheapest assignment of a separate column to each row (Kuhn's Hungarian method, with the shortest
//! augmenting paths of Jonker and Volgenant, 1987).

use wide::f64x4;

use crate::instance::SIZE_MAX;

/// Columns that are processed at a time.
pub const LANES: usize = 4;

/// A row of a matrix; entries beyond the matrix's size may be any finite number.
pub type Row = [f64; SIZE_MAX];

/// A square matrix of costs; only the first `size` rows and columns count.
pub type Costs = [Row; SIZE_MAX];

/// No row, or no column.
const NONE: usize = SIZE_MAX;

/// The least sum of entries in different rows and columns. Replaces `costs` by the reduced costs, the excess of an
/// entry over its row's and column's share of that sum, at least 0. Exact for whole numbers whose
/// sums are below 2^53.
pub fn reduce(costs: &mut Costs, size: usize) -> f64 {
    let mut matching = Matching {
        of_row: [0.0; SIZE_MAX],
        of_column: [0.0; SIZE_MAX],
        row_at: [NONE; SIZE_MAX],
        blocks: size.div_ceil(LANES).min(SIZE_MAX / LANES),
    };
    for row in 0..size {
        matching.add(costs, size, row);
    }
    let Matching { of_row, of_column, .. } = matching;
    for (costs, of_row) in costs.iter_mut().zip(&of_row).take(size) {
        for (cost, of_column) in costs.iter_mut().zip(&of_column).take(size) {
            *cost -= of_row + of_column;
        }
    }
    of_row[..size].iter().sum::<f64>() + of_column[..size].iter().sum::<f64>()
}

struct Matching {
    /// Prices at which matched entries cost nothing and no entry costs less.
    of_row: Row,
    of_column: Row,
    /// By column.
    row_at: [usize; SIZE_MAX],
    /// Blocks of columns that count.
    blocks: usize,
}

/// The paths from a new row to the columns.
struct Ways {
    /// Their lengths.
    lengths: Row,
    /// The last column before, as a number.
    from: Row,
    /// Zero for a column whose shortest path is not known yet; infinite for others.
    gone: Row,
}

impl Matching {
    /// Assigns a column to a new row, and reassigns others if needed.
    fn add(&mut self, costs: &Costs, size: usize, new: usize) {
        let mut ways = Ways {
            lengths: [f64::INFINITY; SIZE_MAX],
            from: [0.0; SIZE_MAX],
            gone: [f64::INFINITY; SIZE_MAX],
        };
        ways.gone[..size].fill(0.0);
        let mut reached = [NONE; SIZE_MAX];
        let mut count = 0;
        let (mut row, mut before, mut length) = (new, NONE, 0.0);
        // From the new row to rows whose columns it might take, until a column is free.
        let mut column = loop {
            let so_far = length - self.of_row[row % SIZE_MAX];
            length = self.go_on(&costs[row % SIZE_MAX], so_far, before, &mut ways);
            let column = ways.nearest(length, self.blocks);
            ways.gone[column] = f64::INFINITY;
            if self.row_at[column] == NONE {
                break column;
            }
            reached[count % SIZE_MAX] = column;
            count += 1;
            (row, before) = (self.row_at[column], column);
        };
        self.of_row[new] += length;
        for column in &reached[..count] {
            let change = length - ways.lengths[column % SIZE_MAX];
            self.of_column[column % SIZE_MAX] -= change;
            self.of_row[self.row_at[column % SIZE_MAX] % SIZE_MAX] += change;
        }
        // Each row on the path takes the column through which it was reached.
        loop {
            let before = ways.from[column % SIZE_MAX] as usize;
            if before == NONE {
                self.row_at[column % SIZE_MAX] = new;
                return;
            }
            self.row_at[column % SIZE_MAX] = self.row_at[before % SIZE_MAX];
            column = before;
        }
    }

    /// Continues from a row; returns the length of the shortest path that is not known yet.
    fn go_on(&self, costs: &Row, so_far: f64, before: usize, ways: &mut Ways) -> f64 {
        let (so_far, before) = (f64x4::splat(so_far), f64x4::splat(before as f64));
        let mut least = f64x4::splat(f64::INFINITY);
        let (lengths, from) = (ways.lengths.as_chunks_mut::<LANES>().0, ways.from.as_chunks_mut::<LANES>().0);
        let (gone, costs) = (ways.gone.as_chunks::<LANES>().0, costs.as_chunks::<LANES>().0);
        let of_column = self.of_column.as_chunks::<LANES>().0;
        for block in 0..self.blocks.min(lengths.len()) {
            let length = f64x4::new(costs[block]) + so_far - f64x4::new(of_column[block]);
            let known = f64x4::new(lengths[block]);
            let is_shorter = length.simd_lt(known);
            let length = length.fast_min(known);
            lengths[block] = length.to_array();
            from[block] = is_shorter.select(before, f64x4::new(from[block])).to_array();
            least = least.fast_min(length + f64x4::new(gone[block]));
        }
        let [a, b, c, d] = least.to_array();
        lesser(lesser(a, b), lesser(c, d))
    }
}

impl Ways {
    /// The first column to which a path of this length is the shortest that is not known yet.
    fn nearest(&self, length: f64, blocks: usize) -> usize {
        let (lengths, gone) = (self.lengths.as_chunks::<LANES>().0, self.gone.as_chunks::<LANES>().0);
        for (block, (lengths, gone)) in lengths.iter().zip(gone).enumerate().take(blocks) {
            let is_it = (f64x4::new(*lengths) + f64x4::new(*gone)).simd_eq(f64x4::splat(length)).to_bitmask();
            if is_it != 0 {
                return (block * LANES + is_it.trailing_zeros() as usize) % SIZE_MAX;
            }
        }
        unreachable!("some column is left for each row")
    }
}

/// `f64::min` is a call in WebAssembly.
fn lesser(a: f64, b: f64) -> f64 {
    if b < a { b } else { a }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The least sum, by exhaustive search.
    fn by_trying(costs: &Costs, size: usize, row: usize, taken: u32) -> f64 {
        if row == size {
            return 0.0;
        }
        (0..size)
            .filter(|column| taken >> column & 1 == 0)
            .map(|column| costs[row][column] + by_trying(costs, size, row + 1, taken | 1 << column))
            .fold(f64::INFINITY, f64::min)
    }

    #[test]
    fn random_matrices_are_matched_as_by_exhaustive_search() {
        let mut state = 1_u64;
        for size in (1..=7).cycle().take(200) {
            let mut costs = [[0.0; SIZE_MAX]; SIZE_MAX];
            for cost in costs.iter_mut().take(size).flat_map(|row| &mut row[..size]) {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                *cost = (state >> 59) as f64;
            }
            let expected = by_trying(&costs, size, 0, 0);
            let mut reduced = costs;
            assert_eq!(reduce(&mut reduced, size), expected);
            assert!(reduced.iter().take(size).all(|row| row[..size].iter().all(|cost| *cost >= 0.0)));
            assert_eq!(
                by_trying(&reduced, size, 0, 0),
                0.0,
                "a cheapest matching costs nothing at reduced costs"
            );
        }
    }
}
