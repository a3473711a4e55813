//! Sockets: the link to the coordinator, and direct links between the hosts of a site.
//!
//! Nothing here understands a message of the protocol, and nothing here waits for the driver for longer
//! than a full inbox takes. Tasks of the driver's own thread read and write; they tell it by [`NetEvent`].

mod coordinator;
mod direct;
mod link;
mod listen;
mod stream;

pub use coordinator::connect;
pub use direct::{Stranger, accept_all, dial};
pub use link::{Closed, Link, LinkNumber, Socket};
pub use listen::{DirectListen, ListenError, Listener, Way};

use sateen_protocol::HostId;
use tokio_tungstenite::tungstenite::Bytes;

/// What sockets tell the driver.
pub enum NetEvent {
    /// The coordinator was reached.
    CoordinatorOpened(Socket),
    /// It could not be reached; another attempt follows.
    CoordinatorUnreachable(String),
    /// A frame came.
    Frame(LinkNumber, Bytes),
    /// A link has room for chunks of parcels again.
    Room,
    /// A link has ended.
    Closed(LinkNumber, Closed),
    /// A host has dialled this one.
    Hello(Stranger),
    /// This host dialled a peer and was let in.
    Dialled(HostId, Socket),
    /// It was not.
    DialFailed(HostId, String),
}
