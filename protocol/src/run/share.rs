//! What a run gets of a host that has other runs, too.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A run's share of a host. Hosts divide their workers among submitters by weight, and what a submitter gets among his runs
/// by priority. What one does not use, others get.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// Whose run it is: runs of one submitter have the same number. It says nothing else about him.
    pub submitter: u64,
    /// The submitter's weight.
    pub weight: u16,
    /// What the run gets of it.
    pub priority: Priority,
}

impl Default for Share {
    /// That of a run whose submitter is not known.
    fn default() -> Self {
        Self { submitter: 0, weight: Self::WEIGHT, priority: Priority::default() }
    }
}

impl Share {
    /// Range of a submitter's weight.
    pub const WEIGHTS: RangeInclusive<u16> = 1..=1000;
    /// The weight of a submitter to whom nobody gave another.
    pub const WEIGHT: u16 = 1;

    /// The submitter's weight, within its range: it may come from another machine.
    pub fn weight(&self) -> u16 {
        self.weight.clamp(*Self::WEIGHTS.start(), *Self::WEIGHTS.end())
    }
}

/// Which runs of one submitter get more than others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Priority {
    /// A quarter of what a normal run gets.
    Low,
    /// That of most runs.
    #[default]
    Normal,
    /// Four times as much as a normal run.
    High,
}

impl Priority {
    /// All priorities.
    pub const ALL: [Self; 3] = [Self::Low, Self::Normal, Self::High];

    /// What a run gets, in relation to others of its submitter.
    pub fn weight(self) -> u32 {
        match self {
            Self::Low => 1,
            Self::Normal => 4,
            Self::High => 16,
        }
    }

    /// The priority in a word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Normal => "normal",
            Self::High => "high",
        }
    }
}

impl fmt::Display for Priority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl FromStr for Priority {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|priority| priority.word() == text);
        found.ok_or_else(|| {
            let words = Self::ALL.map(Self::word).join(", ");
            format!("`{text}` is no priority; there are {words}")
        })
    }
}

/// What each of some runs is due, as a part of the whole, while all of them have work enough for all workers.
pub fn due(shares: &[Share]) -> Vec<f64> {
    let of_submitter = |share: &Share| {
        let own = shares.iter().filter(|other| other.submitter == share.submitter);
        own.fold((0, 0), |(weight, runs), own| {
            (weight.max(u32::from(own.weight())), runs + own.priority.weight())
        })
    };
    let mut submitters: Vec<(u64, u32)> =
        shares.iter().map(|share| (share.submitter, of_submitter(share).0)).collect();
    submitters.sort_unstable();
    submitters.dedup();
    let all: u32 = submitters.iter().map(|(_, weight)| weight).sum();
    let due = |share: &Share| {
        let (weight, runs) = of_submitter(share);
        f64::from(weight) / f64::from(all) * f64::from(share.priority.weight()) / f64::from(runs)
    };
    shares.iter().map(due).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(submitter: u64, weight: u16, priority: Priority) -> Share {
        Share { submitter, weight, priority }
    }

    #[test]
    fn submitters_are_due_their_weights_and_their_runs_a_part_of_them() {
        use Priority::{High, Low, Normal};
        assert_eq!(due(&[]), Vec::<f64>::new());
        assert_eq!(due(&[share(7, 1, Low)]), [1.0], "a run alone is due everything");
        assert_eq!(due(&[share(1, 1, Normal), share(2, 1, Normal), share(3, 2, Normal)]), [0.25, 0.25, 0.5]);
        // Many runs are no more than one.
        assert_eq!(due(&[share(1, 1, Normal), share(1, 1, Normal), share(2, 1, Low)]), [0.25, 0.25, 0.5]);
        assert_eq!(due(&[share(1, 1, High), share(1, 1, Normal)]), [0.8, 0.2]);
        assert_eq!(due(&[share(1, 1, Low), share(1, 1, Normal)]), [0.2, 0.8]);
        // The weight was changed between two runs, and weights may come from a coordinator that lies.
        assert_eq!(
            due(&[share(1, 1, Normal), share(1, 3, Normal), share(2, 1, Normal)]),
            [0.375, 0.375, 0.25]
        );
        assert_eq!(due(&[share(1, 0, Normal), share(2, 1, Normal)]), [0.5, 0.5]);
    }

    #[test]
    fn priorities_are_read_as_they_are_written() {
        for priority in Priority::ALL {
            assert_eq!(priority.to_string().parse(), Ok(priority));
        }
        assert_eq!(
            "urgent".parse::<Priority>(),
            Err("`urgent` is no priority; there are low, normal, high".to_owned())
        );
    }
}
