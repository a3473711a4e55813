//! Sockets: the link to the coordinator, and direct links between the hosts of a site.
//!
//! This code does not decode messages of the protocol, and waits for the driver only while its inbox is full.
//! Tasks on the driver's own thread read and write, and send it [`NetEvent`]s.

mod coordinator;
mod direct;
mod link;
mod listen;
mod stream;
mod traffic;
mod wire;

pub use coordinator::{IS_IT_ONE, connect};
pub use direct::{Dialled, Stranger, accept_all, dial};
pub use link::{Closed, Link, LinkNumber, Seal, Socket};
pub use listen::{DirectListen, ListenError, Listener, Way};
pub use traffic::{Flow, Traffic};

use sateen_protocol::HostId;
use tokio_tungstenite::tungstenite::Bytes;

/// An event of a socket for the driver.
pub enum NetEvent {
    /// The coordinator was reached.
    CoordinatorOpened(Socket),
    /// It could not be reached; another attempt follows.
    CoordinatorUnreachable(String),
    /// It refuses this host's token, or that it has none; another attempt follows.
    CoordinatorRefused(String),
    /// A frame arrived.
    Frame(LinkNumber, Bytes),
    /// A link has room for chunks of parcels again.
    Room,
    /// A link has ended.
    Closed(LinkNumber, Closed),
    /// A host has dialled this one.
    Hello(Stranger),
    /// This host dialled a peer and was accepted.
    Dialled(HostId, Box<Dialled>),
    /// It was not accepted.
    DialFailed(HostId, String),
}
