//! A host's identity, and links that cannot be forged.
//!
//! - [`Identity`]: a host's ed25519 key, which signs its hello to the coordinator ([`prove`](Identity::prove), [`check`]).
//! - [`session`]: an encrypted session of two hosts, by the Noise protocol with the pattern KK: each knows the other's key
//!   beforehand, from the coordinator.
//! - [`direct`]: the session of a direct link.
//! - [`tunnel`]: the session of what the coordinator relays, where messages may be lost or overtake one another.
//!
//! Nothing here has sockets, files or threads; only nonces and keys are random.
#![forbid(unsafe_code)]

pub mod direct;
mod key;
mod proof;
pub mod session;
pub mod tunnel;

pub use key::{Identity, NoRandomness};
pub use proof::{Forged, check};
