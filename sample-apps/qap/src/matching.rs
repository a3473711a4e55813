//! The cheapest way to give each row a column of its own (Kuhn's Hungarian method, with shortest
//! augmenting paths).

use crate::instance::SIZE_MAX;

/// A square matrix of costs, of which the first `size` rows and columns count.
pub type Costs = [[i64; SIZE_MAX]; SIZE_MAX];

/// The least sum of entries in different rows and columns. What is left of `costs` is by how much an
/// entry is dearer than its row's and column's share of that sum, at least 0.
pub fn reduce(costs: &mut Costs, size: usize) -> i64 {
    const NONE: usize = SIZE_MAX;
    let mut of_row = [0_i64; SIZE_MAX];
    let mut of_column = [0_i64; SIZE_MAX];
    let mut row_at = [NONE; SIZE_MAX];
    for new in 0..size {
        let mut least = [i64::MAX; SIZE_MAX];
        let mut from = [NONE; SIZE_MAX];
        let mut done = [false; SIZE_MAX];
        let mut row = new;
        let mut column = NONE;
        // From the new row to rows whose columns it might take, until a column is free.
        loop {
            let (mut step, mut next) = (i64::MAX, NONE);
            for (other, cost) in costs[row % SIZE_MAX][..size].iter().enumerate() {
                if done[other] {
                    continue;
                }
                let slack = cost - of_row[row % SIZE_MAX] - of_column[other];
                if slack < least[other] {
                    least[other] = slack;
                    from[other] = column;
                }
                if least[other] < step {
                    (step, next) = (least[other], other);
                }
            }
            of_row[new] += step;
            for other in 0..size {
                if done[other] {
                    of_row[row_at[other] % SIZE_MAX] += step;
                    of_column[other] -= step;
                } else {
                    least[other] -= step;
                }
            }
            column = next % SIZE_MAX;
            done[column] = true;
            if row_at[column] == NONE {
                break;
            }
            row = row_at[column];
        }
        // Each row on the way takes the column that it was reached by.
        while column != NONE {
            let before = from[column % SIZE_MAX];
            row_at[column % SIZE_MAX] = if before == NONE { new } else { row_at[before] };
            column = before;
        }
    }
    for (costs, of_row) in costs.iter_mut().zip(&of_row).take(size) {
        for (cost, of_column) in costs.iter_mut().zip(&of_column).take(size) {
            *cost -= of_row + of_column;
        }
    }
    of_row[..size].iter().sum::<i64>() + of_column[..size].iter().sum::<i64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The least sum, by trying all orders of columns.
    fn by_trying(costs: &Costs, size: usize, row: usize, taken: u32) -> i64 {
        (0..size)
            .filter(|column| taken >> column & 1 == 0)
            .map(|column| costs[row][column] + by_trying(costs, size, row + 1, taken | 1 << column))
            .min()
            .unwrap_or(0)
    }

    #[test]
    fn random_matrices_are_matched_as_by_trying_everything() {
        let mut state = 1_u64;
        for size in (1..=7).cycle().take(200) {
            let mut costs = [[0; SIZE_MAX]; SIZE_MAX];
            for cost in costs.iter_mut().take(size).flat_map(|row| &mut row[..size]) {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                *cost = (state >> 59) as i64;
            }
            let expected = by_trying(&costs, size, 0, 0);
            let mut reduced = costs;
            assert_eq!(reduce(&mut reduced, size), expected);
            assert!(reduced.iter().take(size).all(|row| row[..size].iter().all(|cost| *cost >= 0)));
            assert_eq!(by_trying(&reduced, size, 0, 0), 0, "a cheapest matching is free in what is left");
        }
    }
}
