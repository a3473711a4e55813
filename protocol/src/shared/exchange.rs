//! Data that replicas, guests and hosts exchange.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Digest, Versions, Writer};
use crate::limits::{FORMER_SHARERS_PER_MESSAGE_MAX, SHARED_UPDATE_OVERHEAD_BYTES, SHARERS_PER_MESSAGE_MAX};
use crate::{Bytes, HostId};

/// The id of a shared object, or the id that represents it in the keys of jobs: see [`Mention`](crate::Mention).
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

/// An update of a shared object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Update {
    /// The writer that made it.
    pub writer: Writer,
    /// The update function and its arguments, as the guest encoded them.
    pub bytes: Bytes,
}

/// A replica in transit to another host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// The object at some moment, as a guest encoded it.
    pub base: Bytes,
    /// The updates that the base contains.
    pub base_versions: Versions,
    /// The digest of these updates, and of the object as it was created.
    pub base_digest: Digest,
    /// The updates after the base, in the order of one host; each has the next number of its writer.
    pub updates: Vec<Update>,
}

impl Snapshot {
    /// The updates that it contains, in the base and after it.
    pub fn versions(&self) -> Versions {
        let mut versions = self.base_versions.clone();
        for update in &self.updates {
            versions.count(update.writer);
        }
        versions
    }

    /// About how many bytes it takes.
    pub fn bytes(&self) -> usize {
        let updates = self.updates.iter().map(|update| update.bytes.len() + SHARED_UPDATE_OVERHEAD_BYTES);
        self.base.len() + updates.sum::<usize>()
    }

    /// Whether it keeps the rules for snapshots from other hosts.
    pub fn is_sound(&self) -> bool {
        self.base_versions.is_sound() && self.versions().is_sound()
    }
}

/// The hosts that a message names as having a replica of an object.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedSharers {
    /// Some of those that are known to have one; at most `SHARERS_PER_MESSAGE_MAX`.
    pub known: Vec<HostId>,
    /// Some of those that had one and were given up; at most `FORMER_SHARERS_PER_MESSAGE_MAX`.
    pub former: Vec<FormerSharer>,
}

impl NamedSharers {
    /// Whether it keeps the rules for messages from other hosts.
    pub fn is_sound(&self) -> bool {
        self.known.len() <= SHARERS_PER_MESSAGE_MAX && self.former.len() <= FORMER_SHARERS_PER_MESSAGE_MAX
    }
}

/// A host that was given up while it had a replica of an object. It may only be asleep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FormerSharer {
    /// The host.
    pub host: HostId,
    /// The number of all updates that there were when it was given up.
    pub total: u64,
    /// The time since then, in milliseconds.
    pub ago_ms: u64,
}

/// The log to which a host's updates belong once it gets a replica.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Log {
    /// The incarnation of a new log, which the host has not used before.
    pub incarnation: u64,
    /// The log that the host had when it forgot the object, and the number of its updates. The host continues that log
    /// if the replica has them all.
    pub before: Option<(Writer, u64)>,
}

impl Log {
    /// A log without a past.
    pub fn new(incarnation: u64) -> Self {
        Self { incarnation, before: None }
    }
}

/// What an instance must do to have all updates of its host's view.
#[derive(Debug, PartialEq, Eq)]
pub enum Catchup {
    /// Nothing: it has them all.
    Nothing,
    /// Apply these updates.
    Updates(Vec<Bytes>),
    /// Start from this base, and apply these updates to it.
    Whole(Bytes, Vec<Bytes>),
}

/// The number of updates that a runtime has seen of an object.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// Those that its guests made, since it has a place for the object.
    pub own: u64,
    /// Those that the state machine sent, since it last sent the whole object.
    pub others: u64,
}

impl Seen {
    /// The number of those that its guests made, or of the others.
    pub(super) fn of(self, is_own: bool) -> u64 {
        if is_own { self.own } else { self.others }
    }

    /// Counts one more, and returns its number.
    pub(super) fn count(&mut self, is_own: bool) -> u64 {
        let count = if is_own { &mut self.own } else { &mut self.others };
        *count += 1;
        *count - 1
    }

    /// Whether it lies between two others.
    pub(super) fn is_within(self, least: Self, most: Self) -> bool {
        (least.own..=most.own).contains(&self.own) && (least.others..=most.others).contains(&self.others)
    }
}

/// A change of an object that the state machine sends to its runtime. The runtime applies all of them in order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Change {
    /// The whole object, for the first time, or because the replica was replaced. Own updates that are not among the
    /// first `own` ones are in transit to the state machine, and are applied to it again.
    Whole {
        /// The object at some moment.
        base: Bytes,
        /// The updates since.
        updates: Vec<Bytes>,
        /// The number of the runtime's updates that the state machine has received.
        own: u64,
    },
    /// Updates of other hosts. If there are none, only the number that the state machine has received is sent.
    More {
        /// The updates.
        updates: Vec<Bytes>,
        /// The number of the runtime's updates that the state machine has received.
        own: u64,
    },
}

/// The value of a guest, from which instances and other hosts start from now on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewBase {
    /// How often the runtime has been sent the whole object.
    pub generation: u64,
    /// The updates that it contains, in addition to those in the base that the runtime was sent last.
    pub seen: Seen,
    /// The object, as the guest encoded it.
    pub base: Bytes,
}

/// The effect of another host's updates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Received {
    /// The number of updates that the replica now has in addition, including updates that had waited for these.
    pub applied: usize,
    /// Updates before these are missing, so these wait.
    pub has_gap: bool,
    /// The updates were refused because the object has too many writers.
    pub is_full: bool,
}

/// The effect of another host's replica.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Installed {
    /// It had no updates that this one lacks, or was unsound.
    Nothing,
    /// Its updates were added to this one's.
    Merged,
    /// It replaced this host's replica, with the updates added that it lacked. The runtime gets it as a whole.
    Replaced {
        /// The number of updates that were lost here: the other replica lacked them, and this one had kept only their
        /// effect. The hosts that made them still have them, if they are connected.
        lost: u64,
    },
}

/// The updates that another replica lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Missing {
    /// None.
    Nothing,
    /// These updates: for each writer, the number of the first, and the updates.
    Updates(Vec<(Writer, u64, Vec<Bytes>)>),
    /// So many, or such old ones, that a snapshot is better.
    Whole,
}
