//! Divides bodies among jobs: into ranges, in the tree's order, of about equal cost (the costzones of
//! Singh, Holt, Totsuka, Gupta and Hennessy, "Load balancing and data locality in adaptive hierarchical N-body
//! methods", 1995).

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// Maximum zones: for smaller jobs, a thief would take longer to build the tree than to use it. The number is odd, as
/// one more zone is kept where they are divided.
const ZONES_MAX: usize = 65;
/// Minimum bodies in a zone: those that are computed together.
const BODIES_MIN: usize = 32;

/// Where to divide the zones `first` to before `end`. The first part is kept, and is larger if their number is odd:
/// receiving the bodies takes a thief about as long as a zone.
pub fn middle(first: usize, end: usize) -> usize {
    first + (end - first).div_ceil(2)
}

/// Where zones begin, in ascending order, and where the last one ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Zones(Vec<u32>);

impl Zones {
    /// Zones with equal numbers of `bodies`, while their costs are unknown.
    pub fn even(bodies: usize) -> Self {
        let count = (bodies / BODIES_MIN).clamp(1, ZONES_MAX);
        Self((0..=count).map(|nth| (bodies * nth / count) as u32).collect())
    }

    /// The same number of zones with equal costs, given the present zones' `costs`, assuming equal costs within a zone.
    /// Unchanged if the costs are unknown.
    pub fn balanced(self, costs: &[u64]) -> Self {
        let (begins, count, all) = (&self.0, self.count(), costs.iter().sum::<u64>());
        if costs.len() != count || all == 0 {
            return self;
        }
        let (mut zone, mut before) = (0, 0);
        let mut balanced: Vec<u32> = (0..count)
            .map(|nth| {
                let goal = u128::from(all) * nth as u128 / count as u128;
                // The zone in which this cost is reached.
                while u128::from(before + costs[zone]) < goal {
                    before += costs[zone];
                    zone += 1;
                }
                let bodies = u128::from(begins[zone + 1] - begins[zone]);
                let within = (goal - u128::from(before)) * bodies / u128::from(costs[zone].max(1));
                begins[zone] + within as u32
            })
            .collect();
        // The last zones may cost nothing.
        balanced.push(begins[count]);
        Self(balanced)
    }

    /// The number of zones.
    pub fn count(&self) -> usize {
        self.0.len() - 1
    }

    /// The bodies of some zones.
    pub fn bodies(&self, zones: Range<usize>) -> Range<usize> {
        self.0[zones.start] as usize..self.0[zones.end] as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_become_equal_in_cost() {
        // A body's cost is its index.
        let cost = |bodies: Range<usize>| bodies.map(|body| body as u64).sum::<u64>();
        let mut zones = Zones::even(10_000);
        for _ in 0..5 {
            let costs: Vec<u64> = (0..zones.count()).map(|zone| cost(zones.bodies(zone..zone + 1))).collect();
            zones = zones.balanced(&costs);
        }
        assert_eq!((zones.count(), zones.bodies(0..ZONES_MAX)), (ZONES_MAX, 0..10_000));
        for zone in 0..ZONES_MAX {
            let share = cost(zones.bodies(zone..zone + 1)) as f64 * ZONES_MAX as f64 / cost(0..10_000) as f64;
            assert!((0.95..1.05).contains(&share), "zone {zone} costs {share} of the mean");
        }
    }

    #[test]
    fn any_bodies_and_costs_can_be_divided() {
        for bodies in [0, 1, 31, 63, 64, 100, 5000] {
            let zones = Zones::even(bodies);
            assert_eq!(zones.bodies(0..zones.count()), 0..bodies);
            for cost in [0, 1, u64::MAX / 100] {
                let mut costs = vec![0; zones.count()];
                for costly in 0..zones.count() {
                    costs[costly] = cost;
                    let balanced = zones.clone().balanced(&costs);
                    assert_eq!(balanced.bodies(0..zones.count()), 0..bodies);
                    assert!(balanced.0.is_sorted(), "{balanced:?}");
                }
            }
            assert_eq!(zones.clone().balanced(&[]), zones);
        }
    }
}
