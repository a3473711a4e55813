//! What replicas, guests and hosts give one another.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Digest, Versions, Writer};
use crate::Bytes;
use crate::limits::SHARED_UPDATE_OVERHEAD_BYTES;

/// A shared object, or what stands for it in jobs' keys: see [`Mention`](crate::Mention).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ObjectId(pub [u8; 16]);

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0[..4].iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// An update in a replica's order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Update {
    /// Whose it is.
    pub writer: Writer,
    /// What the guest encoded: which update function, and its arguments.
    pub bytes: Bytes,
}

/// A replica on its way to another host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// The object as a guest encoded it.
    pub base: Bytes,
    /// Which updates the base has.
    pub base_versions: Versions,
    /// Of these updates, and of the object as it was created.
    pub base_digest: Digest,
    /// The updates after it, in an order that is one host's; each has the next number of its writer.
    pub updates: Vec<Update>,
}

impl Snapshot {
    /// Which updates it has, in the base and after it.
    pub fn versions(&self) -> Versions {
        let mut versions = self.base_versions.clone();
        for update in &self.updates {
            versions.count(update.writer);
        }
        versions
    }

    /// About what it takes.
    pub fn bytes(&self) -> usize {
        let updates = self.updates.iter().map(|update| update.bytes.len() + SHARED_UPDATE_OVERHEAD_BYTES);
        self.base.len() + updates.sum::<usize>()
    }

    /// Whether a stranger may have sent it.
    pub fn is_sound(&self) -> bool {
        self.base_versions.is_sound() && self.versions().is_sound()
    }
}

/// The log in which a host's updates go when it gets a replica.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Log {
    /// Of the log that it begins: the host has not used it before.
    pub incarnation: u64,
    /// The log that it had when it forgot the object, and how many updates there were. It goes on with it if
    /// the replica has them all.
    pub before: Option<(Writer, u64)>,
}

impl Log {
    /// A log without a past.
    pub fn new(incarnation: u64) -> Self {
        Self { incarnation, before: None }
    }
}

/// What an instance must do to have all that the replica has.
#[derive(Debug, PartialEq, Eq)]
pub enum Catchup {
    /// It has it.
    Nothing,
    /// Apply these.
    Updates(Vec<Bytes>),
    /// Start from the base, and apply these to it.
    Whole(Bytes, Vec<Bytes>),
}

/// What became of another host's updates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Received {
    /// So many are new, and in the replica now; earlier ones that had waited for them are counted.
    pub applied: usize,
    /// Updates before them are missing: they wait.
    pub has_gap: bool,
    /// They were not taken, because the object has too many writers.
    pub is_full: bool,
}

/// What became of another host's replica.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Installed {
    /// It had nothing that this one has not, or nobody can have such a one.
    Nothing,
    /// Its updates were added to this one's.
    Merged,
    /// It is this host's now, with what it had not itself. Instances start from it.
    Replaced {
        /// So many updates that this one had are not in it now, because the other had not got them and
        /// this one has forgotten all but their effect. Whoever made them has them still, if it is there.
        lost: u64,
    },
}

/// What another replica has not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Missing {
    /// It has all.
    Nothing,
    /// Updates: whose, the number of the first, and they.
    Updates(Vec<(Writer, u64, Vec<Bytes>)>),
    /// So much, or of so long ago, that a snapshot is better.
    Whole,
}
