//! What the driver gives its sockets: a number for each link, and the way back for what they say.

use tokio::sync::mpsc;

use crate::grid::transport::{Dialled, Link, LinkNumber, NetEvent, Seal, Socket};

/// Maximum frames that wait for the driver; the senders of more wait at their sockets.
const NET_EVENTS_MAX: usize = 1024;

/// Starts the driver's links.
pub struct Sockets {
    events: mpsc::Sender<NetEvent>,
    /// The number of the link that was started last.
    last: u64,
}

impl Sockets {
    /// With the end at which the driver hears what sockets say.
    pub fn new() -> (Self, mpsc::Receiver<NetEvent>) {
        let (events, receiver) = mpsc::channel(NET_EVENTS_MAX);
        (Self { events, last: 0 }, receiver)
    }

    /// Where sockets that are being opened report.
    pub fn events(&self) -> mpsc::Sender<NetEvent> {
        self.events.clone()
    }

    /// Makes a link to the coordinator. No number is given twice.
    pub fn open(&mut self, socket: Socket) -> Link {
        self.start(socket, None)
    }

    /// The same to a peer.
    pub fn open_sealed(&mut self, dialled: Dialled) -> Link {
        self.start(dialled.socket, Some(dialled.seal))
    }

    fn start(&mut self, socket: Socket, seal: Option<Seal>) -> Link {
        self.last += 1;
        Link::start(LinkNumber(self.last), socket, seal, self.events())
    }
}
