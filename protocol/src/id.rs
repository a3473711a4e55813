//! The ids of hosts, runs and grids, and the numbers of steal requests, of jobs between hosts and their runtimes, and of
//! assignments.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A host: one volunteer process, from start to end. A host that comes back soon after it was given up keeps its id, as
/// another incarnation; later, it gets a new id (fail-stop; 2005 result table, section 3).
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

/// The number of a job that a host holds for others, or for itself. The host gives it, from the same count as its
/// [`LoanId`]s, and never twice; only the host and its own runtime speak of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct HeldId(pub u64);

/// The number of a job that a host lends to a thief, or of an orphan that it adopts from the host that runs it. The owner
/// gives it and never uses one twice; between the two hosts, the job goes by it. Two owners may use the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct LoanId(pub u64);

/// The number of a job that a host's runtime has given up for a thief, or looks up. The runtime gives it, another each
/// time, and never one twice; only the runtime and its own host speak of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RuntimeJobId(pub u64);

/// The number of an assignment of a run's root job to a host. The coordinator counts them up in each run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct AssignmentId(pub u64);

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

    #[test]
    fn a_number_of_a_job_is_encoded_as_the_number_alone() {
        for number in [0, 1, 127, 128, u64::MAX] {
            let alone = postcard::to_allocvec(&number);
            assert_eq!(postcard::to_allocvec(&HeldId(number)), alone);
            assert_eq!(postcard::to_allocvec(&LoanId(number)), alone);
            assert_eq!(postcard::to_allocvec(&RuntimeJobId(number)), alone);
            assert_eq!(postcard::to_allocvec(&AssignmentId(number)), alone);
        }
    }
}
