//! What each of several runs is due of an amount: submitters are due a part by their weights, and the runs of one by their
//! priorities. None is due more than it can use, and what is left over the others are due in the same proportion.

use super::share::Share;

/// A run that is to get a part.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Claim {
    /// Its share.
    pub share: Share,
    /// How much of the amount it can use; infinite if that is not known.
    pub demand: f64,
}

/// What each of these runs is due of an amount.
pub fn dues(amount: f64, claims: &[Claim]) -> Vec<f64> {
    let mut submitters: Vec<Submitter> = Vec::new();
    for (place, claim) in claims.iter().enumerate() {
        let known = submitters.iter_mut().find(|submitter| submitter.number == claim.share.submitter);
        let submitter = match known {
            Some(submitter) => submitter,
            None => submitters.push_mut(Submitter::new(claim.share.submitter)),
        };
        submitter.weight = submitter.weight.max(claim.share.weight().into());
        submitter.demand += claim.demand;
        submitter.places.push(place);
    }
    let wanted: Vec<_> = submitters.iter().map(|one| (one.weight, one.demand)).collect();
    let mut dues = vec![0.0; claims.len()];
    for (submitter, due) in submitters.iter().zip(fill(amount, &wanted)) {
        let runs = submitter.places.iter().map(|place| &claims[*place]);
        let wanted: Vec<_> = runs.map(|claim| (claim.share.priority.weight().into(), claim.demand)).collect();
        for (place, due) in submitter.places.iter().zip(fill(due, &wanted)) {
            dues[*place] = due;
        }
    }
    dues
}

/// What each of these runs is due, as a part of the whole, while all of them have work enough.
pub fn due(shares: &[Share]) -> Vec<f64> {
    let claims: Vec<_> = shares.iter().map(|&share| Claim { share, demand: f64::INFINITY }).collect();
    dues(1.0, &claims)
}

struct Submitter {
    number: u64,
    weight: f64,
    demand: f64,
    /// The indexes of its runs.
    places: Vec<usize>,
}

impl Submitter {
    fn new(number: u64) -> Self {
        Self { number, weight: 0.0, demand: 0.0, places: Vec::new() }
    }
}

/// Divides an amount in proportion to weights, so that none gets more than it wants. Each entry is a weight and what is
/// wanted.
fn fill(mut amount: f64, wanted: &[(f64, f64)]) -> Vec<f64> {
    let mut got = vec![0.0; wanted.len()];
    let mut open: Vec<usize> = (0..wanted.len()).collect();
    // Each round satisfies at least one, or is the last.
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
    use super::*;
    use crate::Priority::{self, High, Low, Normal};

    fn share(submitter: u64, weight: u16, priority: Priority) -> Share {
        Share { submitter, weight, priority }
    }

    fn claim(submitter: u64, weight: u16, priority: Priority, demand: u32) -> Claim {
        Claim { share: share(submitter, weight, priority), demand: demand.into() }
    }

    fn rounded(dues: &[f64]) -> Vec<f64> {
        dues.iter().map(|due| (due * 1000.0).round() / 1000.0).collect()
    }

    #[test]
    fn submitters_are_due_their_weights_and_their_runs_a_part_of_them() {
        assert_eq!(due(&[]), Vec::<f64>::new());
        assert_eq!(due(&[share(7, 1, Low)]), [1.0], "a run alone is due everything");
        let of_submitters = |weights: [u16; 3]| {
            due(&[1, 2, 3].map(|submitter| share(submitter, weights[submitter as usize - 1], Normal)))
        };
        assert_eq!(of_submitters([1, 1, 2]), [0.25, 0.25, 0.5]);
        // Many runs are due no more than one.
        assert_eq!(due(&[share(1, 1, Normal), share(1, 1, Normal), share(2, 1, Low)]), [0.25, 0.25, 0.5]);
        assert_eq!(rounded(&due(&[share(1, 1, High), share(1, 1, Normal)])), [0.8, 0.2]);
        assert_eq!(rounded(&due(&[share(1, 1, Low), share(1, 1, Normal)])), [0.2, 0.8]);
        let dues = due(&[share(1, 1, Low), share(2, 1, High)]);
        assert_eq!(dues, [0.5, 0.5], "a submitter's priorities do not concern others");
        // The weight was changed between two runs, and weights may come from a coordinator that lies.
        let dues = due(&[share(1, 1, Normal), share(1, 3, Normal), share(2, 1, Normal)]);
        assert_eq!(dues, [0.375, 0.375, 0.25]);
        assert_eq!(due(&[share(1, 0, Normal), share(2, 1, Normal)]), [0.5, 0.5]);
    }

    #[test]
    fn what_one_cannot_use_others_get() {
        let dues = |count: u32, claims: &[Claim]| rounded(&dues(count.into(), claims));
        assert_eq!(dues(2, &[claim(1, 1, Normal, 9)]), [2.0]);
        assert_eq!(dues(4, &[claim(1, 1, Normal, 1), claim(2, 1, Normal, 9)]), [1.0, 3.0]);
        assert_eq!(
            dues(4, &[claim(1, 3, Normal, 1), claim(1, 3, Normal, 9), claim(2, 1, Normal, 9)]),
            [1.0, 2.0, 1.0],
            "first those of the same submitter"
        );
        assert_eq!(dues(4, &[claim(1, 1, Normal, 0), claim(2, 1, Normal, 2)]), [0.0, 2.0]);
        assert_eq!(
            dues(8, &[claim(1, 1, Low, 2), claim(1, 1, High, 1), claim(2, 1, Normal, 1)]),
            [2.0, 1.0, 1.0],
            "nobody wants the rest"
        );
    }
}
