//! The inputs and outputs of a host's state machine, except for messages.

use crate::HostId;
use crate::message::{HostReport, PeerMessage, ToCoordinator};

mod command;
mod event;
mod notice;

pub use command::{Command, RunCommand};
pub use event::{Event, Misbehaviour};
pub use notice::Notice;

/// A host's configuration.
#[derive(Debug, Clone)]
pub struct HostConfig {
    /// Its description of itself.
    pub report: HostReport,
    /// The seed of all its randomness.
    pub seed: u64,
    /// The bound on its own part of each run's result table, in bytes.
    pub table_bytes_max: usize,
}

/// An outgoing message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Transmit {
    /// To the coordinator.
    ToCoordinator(ToCoordinator),
    /// To another host, directly or relayed. Nothing is relayed between a hello and its welcome, which may give this host
    /// another id.
    ToPeer(HostId, PeerMessage),
}

/// The receiver of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Receiver {
    /// The coordinator.
    Coordinator,
    /// Another host, reached directly or relayed.
    Peer(HostId),
}
