//! Parcels: messages that are too large to be sent in one piece.
//!
//! A result of 64 MiB in one message keeps a slow link busy for a minute: pings wait behind it, and if the link breaks,
//! all of it is sent again. So the sender encodes such a message once, keeps it, and *announces* it. The receiver
//! *pulls* it: it grants credit for a range of bytes, gets them in chunks, and grants more as they come. If chunks are
//! lost, it asks again for the bytes after those that it has, on whichever route exists by then. Once all bytes have
//! arrived, the message is handled as if it had come in one piece.
//!
//! ```text
//! sender                                 receiver
//!    Announce { contents, bytes }  ───►
//!                                  ◄───  Pull { from, until }
//!    Chunk { offset, bytes } …     ───►
//!                                  ◄───  Pull { from, until }      before the credit is used up
//!    Chunk { offset, bytes } …     ───►
//!                                  ◄───  Received                  or Refused, at any time
//! ```
//!
//! Announcing contents again while they are under way sends no chunk twice, so code that repeats a message until it is
//! acknowledged may announce it each time. A replica of a shared object ages while its parcel waits for the receiver: if
//! it is announced again before any of it was pulled, another parcel takes its place and its turn. Chunks are *bulk*: a
//! driver takes them one at a time with [`Host::poll_bulk`](crate::host::Host::poll_bulk) when a link has room, and all
//! other messages overtake them.
//!
//! [`Outgoing`] is the sender's half and [`Incoming`] the receiver's; hosts and the coordinator use both.

mod contents;
#[cfg(test)]
mod ends;
mod incoming;
mod messages;
mod outgoing;
#[cfg(test)]
mod renewed;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use crate::Bytes;

pub use contents::Contents;
pub use incoming::{Arrival, Incoming, Unsound};
pub use outgoing::Outgoing;

/// A sender's number for a parcel. A sender never uses a number twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ParcelId(pub u64);

/// A message about a parcel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ParcelMessage {
    /// The sender has a parcel for the receiver. Repeated whenever the message in it would be repeated.
    Announce {
        /// The parcel.
        parcel: ParcelId,
        /// What is in it.
        contents: Contents,
        /// The length of the encoded message.
        bytes: u64,
    },
    /// Credit: the receiver asks for these bytes.
    Pull {
        /// The parcel.
        parcel: ParcelId,
        /// The offset of the first byte.
        from: u64,
        /// The offset after the last byte.
        until: u64,
    },
    /// Some of the bytes.
    Chunk {
        /// The parcel.
        parcel: ParcelId,
        /// The offset of the first of them.
        offset: u64,
        /// At most `CHUNK_BYTES_MAX`.
        bytes: Bytes,
    },
    /// The receiver has the whole parcel.
    Received {
        /// The parcel.
        parcel: ParcelId,
    },
    /// The receiver does not want the parcel.
    Refused {
        /// The parcel.
        parcel: ParcelId,
    },
    /// The sender does not have the parcel.
    Withdrawn {
        /// The parcel.
        parcel: ParcelId,
    },
}
