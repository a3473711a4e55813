//! Shared objects (TOPLAS 3.2 and 4.2): they are replicated, changed only by updates that are sent to every replica,
//! and read locally.
//!
//! A [`Replica`] belongs to one host. It is a snapshot of the object (its *base*) and the later updates, in the order
//! in which they came to that host. All instances of the app on the host apply the same updates in the same order.
//! Updates of one host are applied in that host's order everywhere; those of different hosts may come in any order.
//!
//! An update is identified by its [`Writer`] and its number. A writer is one host from the time when it gets its
//! replica until it forgets it. No two updates ever have the same writer and number. Replicas with the same updates
//! have the same [`Digest`], so different digests reveal that this rule was broken.
//!
//! A [`SharedReplica`] is a replica that guests and the host's state machine share: a guest reads it and appends to it
//! without waiting for the machine.

#[cfg(test)]
mod crowd;
mod exchange;
mod handle;
mod replica;
mod tails;
#[cfg(test)]
mod tests;
mod versions;
mod writer;

pub use exchange::{Catchup, Installed, Log, Missing, ObjectId, Received, Snapshot, Update};
pub use handle::SharedReplica;
pub use replica::Replica;
pub use versions::Versions;
pub use writer::{Digest, Writer};
