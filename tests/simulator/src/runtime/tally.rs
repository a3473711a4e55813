//! Counts of jobs in addition to those of hosts.

/// A host's counts of a run in addition to [`sateen_protocol::Jobs`], so that all jobs can be accounted for.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tally {
    /// Roots that were begun.
    pub roots: u64,
    /// Jobs that came back from the machine to be run here, as they were lost or never left.
    pub requeued: u64,
    /// Children that were elsewhere when they were no longer wanted. Each is counted where it ended; one that was on
    /// its way at the end is counted nowhere.
    pub given_up: u64,
    /// The work of calls that returned and of which others are equal, with that of all in one stretch with them.
    pub twins_ns: u64,
    /// The work that is part of no recorded result because it was a job of another host, and took too little to be recorded.
    pub small_ns: u64,
}

impl Tally {
    /// Adds another's.
    pub fn add(&mut self, other: &Self) {
        self.roots += other.roots;
        self.requeued += other.requeued;
        self.given_up += other.given_up;
        self.twins_ns += other.twins_ns;
        self.small_ns += other.small_ns;
    }
}
