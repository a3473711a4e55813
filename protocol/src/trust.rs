//! How far a run trusts the hosts that compute it.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A run's trust policy: what must be true of a result before the run believes it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Trust {
    /// Every result of every host is believed.
    #[default]
    Trust,
    /// A result is believed once this many owners have computed it and agree (Sarmenta, "Sabotage-tolerance mechanisms for
    /// volunteer computing systems", 2002: voting).
    Quorum(u8),
}

impl Trust {
    /// Range of the number of owners that must agree.
    pub const QUORUM: RangeInclusive<u8> = 2..=5;

    /// The number of owners that must agree; `None` if results are not checked.
    pub fn quorum(self) -> Option<usize> {
        match self {
            Self::Trust => None,
            Self::Quorum(owners) => Some(owners.clamp(*Self::QUORUM.start(), *Self::QUORUM.end()).into()),
        }
    }

    /// Whether hosts report what they have computed, so that it can be checked.
    pub fn is_checked(self) -> bool {
        self.quorum().is_some()
    }
}

impl fmt::Display for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Trust => f.write_str("trust"),
            Self::Quorum(owners) => write!(f, "quorum={owners}"),
        }
    }
}

/// A text that is not a trust policy.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "{text:?} is not a trust policy; expected `trust`, or `quorum=N` with N from {} to {}",
    Trust::QUORUM.start(),
    Trust::QUORUM.end()
)]
pub struct NotTrust {
    text: String,
}

impl FromStr for Trust {
    type Err = NotTrust;

    fn from_str(text: &str) -> Result<Self, NotTrust> {
        let quorum = || {
            let digits = text.strip_prefix("quorum=")?;
            let owners =
                digits.parse().ok().filter(|_| digits.bytes().all(|digit| digit.is_ascii_digit()))?;
            Self::QUORUM.contains(&owners).then_some(Self::Quorum(owners))
        };
        if text == "trust" {
            Ok(Self::Trust)
        } else {
            quorum().ok_or_else(|| NotTrust { text: text.to_owned() })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_written_policy_is_parsed_and_nothing_else_is() {
        for trust in [Trust::Trust, Trust::Quorum(2), Trust::Quorum(5)] {
            assert_eq!(trust.to_string().parse(), Ok(trust));
        }
        for text in
            ["", "Trust", "quorum", "quorum=", "quorum=1", "quorum=6", "quorum=+2", "quorum=2 ", "quorum=-3"]
        {
            let error = text.parse::<Trust>().expect_err(text).to_string();
            assert!(error.contains("`quorum=N` with N from 2 to 5"), "{error}");
        }
    }

    #[test]
    fn a_quorum_from_elsewhere_is_within_its_range() {
        let quorum = |owners| Trust::Quorum(owners).quorum();
        assert_eq!([quorum(0), quorum(3), quorum(u8::MAX)], [Some(2), Some(3), Some(5)]);
        assert!(!Trust::default().is_checked() && Trust::Quorum(2).is_checked());
    }
}
