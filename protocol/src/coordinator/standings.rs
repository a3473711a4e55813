//! What is known of owners from runs that have ended.

use std::collections::BTreeMap;

use crate::limits::STANDINGS_MAX;

use super::claims::Owner;

/// How many units of each owner have been verified in runs that have ended. The coordinator does not save it: once it is started
/// again, no owner has standing, and all are checked as if they were new.
#[derive(Debug, Default)]
pub struct Standings {
    verified: BTreeMap<Owner, u64>,
}

impl Standings {
    /// The units of an owner that have been verified.
    pub fn verified(&self, owner: &Owner) -> u64 {
        self.verified.get(owner).copied().unwrap_or(0)
    }

    /// Units of an owner have been verified.
    pub fn raise(&mut self, owner: Owner, units: u64) {
        if self.verified.len() < STANDINGS_MAX || self.verified.contains_key(&owner) {
            let verified = self.verified.entry(owner).or_default();
            *verified = verified.saturating_add(units);
        }
    }

    /// An owner is proven to lie.
    pub fn fall(&mut self, owner: &Owner) {
        self.verified.remove(owner);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PublicKey;

    #[test]
    fn standing_rises_with_verified_units_and_falls_with_one_lie() {
        let mut standings = Standings::default();
        let [one, two] = [1, 2].map(|number| PublicKey([number; 32]));
        standings.raise(one, 3);
        standings.raise(one, 4);
        assert_eq!([one, two].map(|owner| standings.verified(&owner)), [7, 0]);
        standings.fall(&one);
        assert_eq!(standings.verified(&one), 0);
    }

    #[test]
    fn standings_are_bounded() {
        let mut standings = Standings::default();
        let owner = |number: usize| {
            let mut key = PublicKey([0; 32]);
            key.0[..8].copy_from_slice(&(number as u64).to_le_bytes());
            key
        };
        (0..=STANDINGS_MAX).for_each(|number| standings.raise(owner(number), 1));
        assert_eq!([0, STANDINGS_MAX].map(|number| standings.verified(&owner(number))), [1, 0]);
        standings.raise(owner(0), 1);
        assert_eq!(standings.verified(&owner(0)), 2);
    }
}
