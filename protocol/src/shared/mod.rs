//! Shared objects (TOPLAS 3.2 and 4.2): they are replicated, changed only by updates that are sent to every replica,
//! and read locally.
//!
//! A [`Replica`] belongs to one host. It is a snapshot of the object (its *base*) and the later updates, in the order
//! in which they came to that host. Updates of one host are applied in that host's order everywhere; those of different
//! hosts may come in any order.
//!
//! An update is identified by its [`Writer`] and its number. A writer is one host from the time when it gets its
//! replica until it forgets it. No two updates ever have the same writer and number. Replicas with the same updates
//! have the same [`Digest`], so different digests reveal that this rule was broken.
//!
//! The replica is the state machine's. The host's runtime has a [`View`] of the object, with a base and later updates of
//! its own: guests read it and append to it without waiting. The two send each other values only, each in order: the
//! runtime its guests' updates and the bases that they make ([`NewBase`]), the state machine what comes from other hosts
//! ([`Change`]). All instances of the app on the host apply the updates of the view in its order. The state machine
//! names the runtime's updates as they arrive, and notes in [`Shown`] what the runtime has.

#[cfg(test)]
mod crowd;
mod exchange;
mod replica;
mod shown;
mod tails;
#[cfg(test)]
mod tests;
mod versions;
mod view;
mod writer;

pub use exchange::{
    Catchup, Change, FormerSharer, Installed, Log, Missing, NamedSharers, NewBase, ObjectId, Received, Seen,
    Snapshot, Update,
};
pub use replica::Replica;
pub use shown::Shown;
pub use versions::Versions;
pub use view::View;
pub use writer::{Digest, Writer};
