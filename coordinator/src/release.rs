//! The releases of hosts and clients that the operator accepts.
//!
//! A host names its release in its hello, `sateen` and the Python client name theirs in the header `User-Agent`. This keeps out
//! programs that are too old, and nobody who wants to get in: a program can name any release. Programs of other people
//! name none of these, and browsers get the dashboard from the coordinator itself.

use std::fmt::{self, Display};
use std::str::FromStr;

use semver::Version;
use thiserror::Error;

/// The release of this coordinator.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The programs that name their release in the header `User-Agent`.
const CLIENTS: [&str; 2] = ["sateen", "sateen-python"];

/// The oldest release of hosts and clients that may use a grid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MinimumVersion(Version);

/// A program of a release that is too old.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "{program} {release} is too old for this grid: its operator accepts release {minimum} and later; update {program} to \
     {minimum} or later"
)]
pub struct TooOld {
    program: String,
    release: String,
    minimum: Version,
}

impl Display for MinimumVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for MinimumVersion {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let version = Version::parse(text).map_err(|error| {
            format!("expected the number of a release, with three parts, for example {VERSION} ({error})")
        })?;
        Ok(Self(version))
    }
}

impl MinimumVersion {
    /// Whether it keeps out programs of this coordinator's own release.
    pub fn is_above_own(&self) -> bool {
        !self.admits(VERSION)
    }

    fn admits(&self, release: &str) -> bool {
        Version::parse(release).is_ok_and(|release| release.cmp_precedence(&self.0).is_ge())
    }

    /// Checks the release that a program names.
    ///
    /// # Errors
    /// If it is older, or is not the number of a release.
    pub fn check(&self, program: &str, release: &str) -> Result<(), TooOld> {
        if self.admits(release) {
            return Ok(());
        }
        Err(TooOld { program: program.to_owned(), release: release.to_owned(), minimum: self.0.clone() })
    }

    /// Checks the program that a request names in the header `User-Agent`, if that is one of Sateen's.
    ///
    /// # Errors
    /// If it is older.
    pub fn check_client(&self, user_agent: &str) -> Result<(), TooOld> {
        let product = user_agent.split_ascii_whitespace().next().and_then(|product| product.split_once('/'));
        match product {
            Some((program, release)) if CLIENTS.contains(&program) => self.check(program, release),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn minimum(text: &str) -> MinimumVersion {
        text.parse().expect("a release")
    }

    #[test]
    fn older_releases_are_refused_with_both_numbers_and_what_to_do() {
        let minimum = minimum("0.10.0");
        for release in ["0.10.0", "0.10.0+abc", "0.10.1", "0.11.0-rc.1", "1.0.0"] {
            assert_eq!(minimum.check("sateen-host", release), Ok(()), "{release}");
        }
        for release in ["0.9.9", "0.10.0-rc.1", "0.1.0", "", "new", "0.10", "v1.0.0"] {
            let why = minimum.check("sateen-host", release).expect_err(release).to_string();
            let expected = format!(
                "sateen-host {release} is too old for this grid: its operator accepts release 0.10.0 and later; update \
                 sateen-host to 0.10.0 or later"
            );
            assert_eq!(why, expected);
        }
    }

    #[test]
    fn only_clients_of_sateen_name_a_release_that_counts() {
        let minimum = minimum("0.10.0");
        for old in ["sateen/0.9.0", "sateen-python/0.9.0 extra/1", "sateen/x"] {
            assert!(minimum.check_client(old).is_err(), "{old}");
        }
        for other in ["sateen/0.10.0", "curl/0.9.0", "Mozilla/5.0 (X11) sateen/0.9.0", "sateen", "", "/"] {
            assert_eq!(minimum.check_client(other), Ok(()), "{other}");
        }
    }

    #[test]
    fn a_minimum_is_the_number_of_a_release() {
        for wrong in ["", "1", "0.2", "v0.2.0", "0.2.x", "latest"] {
            let why = wrong.parse::<MinimumVersion>().expect_err(wrong);
            assert!(why.contains("for example ") && why.contains(VERSION), "{why}");
        }
        assert!(minimum("999.0.0").is_above_own() && !minimum(VERSION).is_above_own());
    }
}
