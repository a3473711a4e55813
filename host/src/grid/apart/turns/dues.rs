//! How many turns each process is due: submitters get turns by their weights, and the runs of one by their priorities.
//! None is due more than it can use, and what is left over the others get in the same proportion.

use sateen_protocol::Share;

/// A process that takes part.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Claim {
    /// What it is to get.
    pub share: Share,
    /// How many turns it can use.
    pub demand: u32,
}

/// The turns of `count` that each of these processes is due; usually not a whole number.
pub fn dues(count: u32, claims: &[Claim]) -> Vec<f64> {
    let mut submitters: Vec<Submitter> = Vec::new();
    for (place, claim) in claims.iter().enumerate() {
        let known = submitters.iter_mut().find(|submitter| submitter.number == claim.share.submitter);
        let submitter = match known {
            Some(submitter) => submitter,
            None => submitters.push_mut(Submitter::new(claim.share.submitter)),
        };
        submitter.weight = submitter.weight.max(claim.share.weight().into());
        submitter.demand += f64::from(claim.demand);
        submitter.places.push(place);
    }
    let wanted: Vec<_> = submitters.iter().map(|one| (one.weight, one.demand)).collect();
    let mut dues = vec![0.0; claims.len()];
    for (submitter, due) in submitters.iter().zip(fill(count.into(), &wanted)) {
        let runs = submitter.places.iter().map(|place| &claims[*place]);
        let wanted: Vec<_> =
            runs.map(|claim| (claim.share.priority.weight().into(), f64::from(claim.demand))).collect();
        for (place, due) in submitter.places.iter().zip(fill(due, &wanted)) {
            dues[*place] = due;
        }
    }
    dues
}

struct Submitter {
    number: u64,
    weight: f64,
    demand: f64,
    /// Of its processes among all.
    places: Vec<usize>,
}

impl Submitter {
    fn new(number: u64) -> Self {
        Self { number, weight: 0.0, demand: 0.0, places: Vec::new() }
    }
}

/// Divides an amount in proportion to weights, so that nobody gets more than he wants. Each entry is a weight and what is
/// wanted.
fn fill(mut amount: f64, wanted: &[(f64, f64)]) -> Vec<f64> {
    let mut got = vec![0.0; wanted.len()];
    let mut open: Vec<usize> = (0..wanted.len()).collect();
    // Each round satisfies somebody, or is the last.
    while !open.is_empty() {
        let weights: f64 = open.iter().map(|one| wanted[*one].0).sum();
        let level = amount / weights;
        let (content, rest): (Vec<_>, Vec<_>) =
            open.into_iter().partition(|one| wanted[*one].1 <= level * wanted[*one].0);
        if content.is_empty() {
            rest.iter().for_each(|one| got[*one] = level * wanted[*one].0);
            break;
        }
        for one in content {
            got[one] = wanted[one].1;
            amount -= got[one];
        }
        open = rest;
    }
    got
}

#[cfg(test)]
mod tests {
    use sateen_protocol::Priority::{High, Low, Normal};

    use super::*;

    fn claim(submitter: u64, weight: u16, priority: sateen_protocol::Priority, demand: u32) -> Claim {
        Claim { share: Share { submitter, weight, priority }, demand }
    }

    fn due(count: u32, claims: &[Claim]) -> Vec<f64> {
        let dues = dues(count, claims);
        dues.into_iter().map(|due| (due * 1000.0).round() / 1000.0).collect()
    }

    #[test]
    fn turns_are_due_by_weight_and_among_runs_of_one_submitter_by_priority() {
        let one = |submitter, weight| claim(submitter, weight, Normal, 9);
        assert_eq!(due(2, &[]), Vec::<f64>::new());
        assert_eq!(due(2, &[one(1, 1)]), [2.0]);
        assert_eq!(due(2, &[one(1, 1), one(2, 1), one(3, 2)]), [0.5, 0.5, 1.0]);
        assert_eq!(due(2, &[one(1, 1), one(1, 1), one(2, 1)]), [0.5, 0.5, 1.0]);
        assert_eq!(due(5, &[claim(1, 1, High, 9), claim(1, 1, Normal, 9)]), [4.0, 1.0]);
        assert_eq!(
            due(5, &[claim(1, 1, Low, 9), claim(2, 1, High, 9)]),
            [2.5, 2.5],
            "priorities are his own affair"
        );
    }

    #[test]
    fn what_one_cannot_use_others_get() {
        assert_eq!(due(4, &[claim(1, 1, Normal, 1), claim(2, 1, Normal, 9)]), [1.0, 3.0]);
        assert_eq!(
            due(4, &[claim(1, 3, Normal, 1), claim(1, 3, Normal, 9), claim(2, 1, Normal, 9)]),
            [1.0, 2.0, 1.0],
            "first those of the same submitter"
        );
        assert_eq!(due(4, &[claim(1, 1, Normal, 0), claim(2, 1, Normal, 2)]), [0.0, 2.0]);
        assert_eq!(
            due(8, &[claim(1, 1, Low, 2), claim(1, 1, High, 1), claim(2, 1, Normal, 1)]),
            [2.0, 1.0, 1.0]
        );
    }
}
