//! The ids of hosts, runs, grids and steal requests.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A host: one volunteer process, from start to end. A host that comes back after it was given up gets a new id
/// (fail-stop; 2005 result table, section 3).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct HostId(pub u64);

impl HostId {
    /// Parses what `Display` writes.
    pub fn parse(text: &str) -> Option<Self> {
        u64::from_str_radix(text.strip_prefix('h')?, 16).ok().map(Self)
    }
}

impl fmt::Display for HostId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "h{:x}", self.0)
    }
}

impl fmt::Debug for HostId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A run: one execution of an app with arguments. A coordinator numbers its runs from 1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RunId(pub u64);

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "run {}", self.0)
    }
}

/// A grid: identifies a coordinator's data folder, from its first use on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct GridId(pub u64);

/// The number of a steal request. A thief numbers its requests in order and never uses a number twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct StealId(pub u64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_written_host_id_is_parsed_and_nothing_else_is() {
        for id in [HostId(0), HostId(0x2a), HostId(u64::MAX)] {
            assert_eq!(HostId::parse(&id.to_string()), Some(id));
        }
        for other in ["", "h", "2a", "hx", "h10000000000000000", "run 1"] {
            assert_eq!(HostId::parse(other), None, "{other:?}");
        }
    }
}
