//! Parcels: messages that are too large for one piece.
//!
//! A result of 64 MiB in one message keeps a link busy for a minute: pings wait behind it, and if the link
//! breaks, all of it is sent again. So the sender encodes such a message once, keeps it, and *announces* it.
//! The receiver *pulls* it: it grants credit for a stretch of bytes, gets them in chunks, and grants more as
//! they come. What is lost is asked for again from where the bytes end, on whatever route there is by then.
//! The whole message is then handled as if it had come in one piece.
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
//! To announce the same contents again while they are under way costs no bytes, so whatever repeats messages
//! until they are acknowledged may repeat announcements. Chunks are *bulk*: a driver takes them one at a time
//! with [`Host::poll_bulk`](crate::host::Host::poll_bulk) when a link has room, and all other messages
//! overtake them.
//!
//! [`Outgoing`] and [`Incoming`] are the two halves; both machines use them.

mod contents;
#[cfg(test)]
mod ends;
mod incoming;
mod outgoing;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use crate::Bytes;

pub use contents::Contents;
pub use incoming::{Arrival, Incoming, Unsound};
pub use outgoing::Outgoing;

/// A sender's number for a parcel; never used twice by one sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ParcelId(pub u64);

/// What is said about a parcel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ParcelMessage {
    /// The sender has a parcel for the receiver. Repeated as the message in it would be.
    Announce {
        /// Which.
        parcel: ParcelId,
        /// What is in it.
        contents: Contents,
        /// The length of the encoded message.
        bytes: u64,
    },
    /// Credit: the sender is to send these bytes.
    Pull {
        /// Which.
        parcel: ParcelId,
        /// The first.
        from: u64,
        /// The one after the last.
        until: u64,
    },
    /// Some of the bytes.
    Chunk {
        /// Of which.
        parcel: ParcelId,
        /// Where they belong.
        offset: u64,
        /// At most `CHUNK_BYTES_MAX`.
        bytes: Bytes,
    },
    /// The receiver has all of it.
    Received {
        /// Which.
        parcel: ParcelId,
    },
    /// The receiver does not want it.
    Refused {
        /// Which.
        parcel: ParcelId,
    },
    /// The sender does not have it (any more).
    Withdrawn {
        /// Which.
        parcel: ParcelId,
    },
}
