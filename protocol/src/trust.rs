//! How far a run trusts the hosts that compute it.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Millionths in one.
pub const MILLIONTHS: u32 = 1_000_000;

/// A run's trust policy: what must be true of a result before the run believes it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Trust {
    /// Every result of every host is believed.
    #[default]
    Trust,
    /// A result is believed once this many owners have computed it and agree (Sarmenta, "Sabotage-tolerance mechanisms for
    /// volunteer computing systems", 2002: voting).
    Quorum(u8),
    /// Hosts are believed, but this share of what each of them computed is drawn, in millionths, and another owner computes it
    /// again (the same: spot-checking).
    Audit(u32),
}

impl Trust {
    /// Range of the number of owners that must agree.
    pub const QUORUM: RangeInclusive<u8> = 2..=5;
    /// Range of the share that an audit draws, in millionths.
    pub const AUDIT: RangeInclusive<u32> = 1..=MILLIONTHS;
    /// The share that an audit draws if none is named.
    pub const AUDIT_DEFAULT: Self = Self::Audit(MILLIONTHS / 20);

    /// The number of owners that must agree on what is checked; `None` if nothing is.
    pub fn quorum(self) -> Option<usize> {
        match self {
            Self::Trust => None,
            Self::Quorum(owners) => Some(owners.clamp(*Self::QUORUM.start(), *Self::QUORUM.end()).into()),
            Self::Audit(_) => Some(2),
        }
    }

    /// The share that is drawn, in millionths; `None` if either everything is checked, or nothing.
    pub fn audited(self) -> Option<u32> {
        match self {
            Self::Audit(share) => Some(share.clamp(*Self::AUDIT.start(), *Self::AUDIT.end())),
            Self::Trust | Self::Quorum(_) => None,
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
            Self::Audit(MILLIONTHS..) => f.write_str("audit=1"),
            Self::Audit(share) => {
                let digits = format!("{share:06}");
                write!(f, "audit=0.{}", digits.trim_end_matches('0'))
            }
        }
    }
}

/// A text that is not a trust policy.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "{text:?} is not a trust policy; expected `trust`, `audit`, `audit=P` with P above 0 and up to 1, with at most 6 digits \
     after the point, or `quorum=N` with N from {} to {}",
    Trust::QUORUM.start(),
    Trust::QUORUM.end()
)]
pub struct NotTrust {
    text: String,
}

impl FromStr for Trust {
    type Err = NotTrust;

    fn from_str(text: &str) -> Result<Self, NotTrust> {
        let parsed = match text.split_once('=') {
            None if text == "trust" => Some(Self::Trust),
            None if text == "audit" => Some(Self::AUDIT_DEFAULT),
            Some(("quorum", owners)) => {
                let owners = digits(owners).and_then(|owners| owners.parse().ok());
                owners.filter(|owners| Self::QUORUM.contains(owners)).map(Self::Quorum)
            }
            Some(("audit", share)) => {
                millionths(share).filter(|share| Self::AUDIT.contains(share)).map(Self::Audit)
            }
            _ => None,
        };
        parsed.ok_or_else(|| NotTrust { text: text.to_owned() })
    }
}

/// The text, if it consists of decimal digits.
fn digits(text: &str) -> Option<&str> {
    (!text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())).then_some(text)
}

/// A number from 0 to 9, written with a point or without, in millionths.
fn millionths(text: &str) -> Option<u32> {
    const PLACES: usize = 6;
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    let (whole, part) = (digits(whole).filter(|whole| whole.len() == 1)?, digits(part)?);
    let part = (part.len() <= PLACES).then(|| format!("{part:0<PLACES$}"))?;
    Some(whole.parse::<u32>().ok()? * MILLIONTHS + part.parse::<u32>().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_written_policy_is_parsed_and_nothing_else_is() {
        for trust in [
            Trust::Trust,
            Trust::Quorum(2),
            Trust::Quorum(5),
            Trust::Audit(1),
            Trust::Audit(100_000),
            Trust::Audit(MILLIONTHS),
        ] {
            assert_eq!(trust.to_string().parse(), Ok(trust));
        }
        for (text, share) in
            [("audit", 50_000), ("audit=0.5", 500_000), ("audit=0.050", 50_000), ("audit=1.0", 1_000_000)]
        {
            assert_eq!(text.parse(), Ok(Trust::Audit(share)), "{text}");
        }
        assert_eq!(Trust::Audit(50_000).to_string(), "audit=0.05");
        for text in [
            "",
            "Trust",
            "quorum",
            "quorum=",
            "quorum=1",
            "quorum=6",
            "quorum=+2",
            "quorum=2 ",
            "quorum=-3",
            "trust=1",
            "audit=",
            "audit=0",
            "audit=0.0",
            "audit=1.000001",
            "audit=2",
            "audit=.5",
            "audit=5%",
            "audit=1e-3",
            "audit=0.0000001",
            "audit=00.5",
            "audit=-0.5",
            "audit=+1",
            "audit=NaN",
            "audit=0.5.5",
        ] {
            let error = text.parse::<Trust>().expect_err(text).to_string();
            let is_told =
                error.contains("`quorum=N` with N from 2 to 5") && error.contains("P above 0 and up to 1");
            assert!(is_told, "{error}");
        }
    }

    #[test]
    fn a_policy_from_elsewhere_is_within_its_range() {
        let quorum = |owners| Trust::Quorum(owners).quorum();
        assert_eq!([quorum(0), quorum(3), quorum(u8::MAX)], [Some(2), Some(3), Some(5)]);
        let audited = |share| Trust::Audit(share).audited();
        assert_eq!([audited(0), audited(3), audited(u32::MAX)], [Some(1), Some(3), Some(MILLIONTHS)]);
        assert_eq!((Trust::Quorum(3).audited(), Trust::Audit(1).quorum()), (None, Some(2)));
        assert!(
            !Trust::default().is_checked() && Trust::Quorum(2).is_checked() && Trust::Audit(1).is_checked()
        );
    }
}
