//! What a run gets of a host that has other runs, too.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A run's share of a host. Hosts divide their workers among submitters by weight, and what a submitter gets among its runs
/// by priority. What one does not use, others get.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// The submitter: its runs have the same number, which says nothing else about it.
    pub submitter: u64,
    /// The submitter's weight.
    pub weight: u16,
    /// How much of what the submitter gets is for this run.
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
    /// The weight of a submitter who was given none.
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
            format!("unknown priority `{text}`; expected one of {words}")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn priorities_are_read_as_they_are_written() {
        for priority in Priority::ALL {
            assert_eq!(priority.to_string().parse(), Ok(priority));
        }
        assert_eq!(
            "urgent".parse::<Priority>(),
            Err("unknown priority `urgent`; expected one of low, normal, high".to_owned())
        );
    }
}
