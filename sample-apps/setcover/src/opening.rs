//! Initial prices and an initial cover.

use crate::instance::Instance;
use crate::relaxation::{Bound, Relaxation, UNIT};

/// Steps along the subgradient.
const STEPS: u32 = 400;

/// The start of the search.
pub struct Opening {
    /// By row.
    pub prices: Vec<i64>,
    /// The columns of the best cover found.
    pub cover: Vec<u32>,
    pub cost: i64,
}

/// Finds prices and a cover for a reduced instance.
pub fn open(instance: &Instance) -> Opening {
    let costs: Vec<i64> = instance.costs.iter().map(|cost| cost * UNIT).collect();
    let cover = greedy(instance, &costs);
    let cost = |cover: &[u32]| cover.iter().map(|column| instance.costs[*column as usize]).sum::<i64>();
    let mut opening = Opening { prices: Vec::new(), cost: cost(&cover), cover };
    // Each row begins with its share of the cheapest column that covers it.
    opening.prices = (instance.covers.iter())
        .map(|columns| {
            let share = |column: &u32| {
                let column = *column as usize;
                costs[column] / instance.rows[column].len() as i64
            };
            columns.iter().map(share).min().unwrap_or_default()
        })
        .collect();
    let mut best: Option<Vec<u32>> = None;
    let is_open = vec![true; instance.covers.len()];
    let available = vec![true; costs.len()];
    let mut relaxation = Relaxation::new(instance, &available, &is_open, &opening.prices);
    let mut reduced = costs;
    // The limit is the cost of the greedy cover, so none of its columns is lost.
    let bound = relaxation.improve(STEPS, opening.cost * UNIT, |relaxation| {
        for (column, cost) in relaxation.columns() {
            reduced[column as usize] = cost;
        }
        let found = greedy(instance, &reduced);
        if cost(&found) < best.as_ref().map_or(opening.cost, |best| cost(best)) {
            best = Some(found);
        }
    });
    if let Some(best) = best {
        opening.cost = cost(&best);
        opening.cover = best;
    }
    if bound != Bound::Closed {
        relaxation.put_prices(&is_open, &mut opening.prices);
    }
    opening
}

/// A greedy cover: repeatedly takes the column with the lowest cost per newly covered row, at the costs
/// `costs`; then removes superfluous columns, the most expensive first.
fn greedy(instance: &Instance, costs: &[i64]) -> Vec<u32> {
    let mut times = vec![0_u32; instance.covers.len()];
    let mut chosen: Vec<u32> = Vec::new();
    let mut open = times.len();
    while open > 0 {
        let worth = |column: usize| {
            let added = instance.rows[column].iter().filter(|row| times[**row as usize] == 0).count() as i64;
            // A column with a negative cost is better the more rows it adds, any other the less it costs per row.
            let rank =
                if costs[column] <= 0 { costs[column] * added } else { costs[column] * 1024 / added.max(1) };
            (added > 0).then_some((rank, column))
        };
        // Each row can be covered, so while a row is open there is such a column.
        let Some((_, column)) = (0..costs.len()).filter_map(worth).min() else { break };
        chosen.push(column as u32);
        for row in &instance.rows[column] {
            open -= usize::from(times[*row as usize] == 0);
            times[*row as usize] += 1;
        }
    }
    chosen.sort_unstable_by_key(|column| std::cmp::Reverse(instance.costs[*column as usize]));
    chosen.retain(|column| {
        let rows = &instance.rows[*column as usize];
        let is_needed = rows.iter().any(|row| times[*row as usize] == 1);
        if !is_needed {
            rows.iter().for_each(|row| times[*row as usize] -= 1);
        }
        is_needed
    });
    chosen
}
