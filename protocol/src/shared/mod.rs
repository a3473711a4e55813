//! Shared objects (TOPLAS 3.2 and 4.2): replicated, changed only by updates that are shipped to every
//! replica, read locally.
//!
//! A [`Replica`] is one host's: a snapshot of the object (its *base*) and the updates since, in the order
//! in which they came here. All instances of the app on that host apply the same updates in the same order.
//! Those of one host have that host's order everywhere; those of different hosts may come in any order.
//!
//! An update is its [`Writer`]'s, which is one host from when it got its replica until it forgets it, and has a
//! number there. No two updates are ever called the same. Replicas with the same updates have the same
//! [`Digest`], which shows when that is broken.
//!
//! A [`SharedReplica`] is the replica as guests and the host's machine have it between them: a guest reads
//! it and appends to it without waiting for anybody.

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
