//! What goes in and out of a host's state machine, but for messages.

use crate::HostId;
use crate::message::{HostReport, PeerMessage, ToCoordinator};

mod command;
mod event;
mod notice;

pub use command::{Command, RunCommand};
pub use event::{Event, Misbehaviour};
pub use notice::Notice;

/// How a host is set up.
#[derive(Debug, Clone)]
pub struct HostConfig {
    /// What it says of itself.
    pub report: HostReport,
    /// All its randomness comes from here.
    pub seed: u64,
    /// The bound on its own part of each run's result table, in bytes.
    pub table_bytes_max: usize,
}

/// A message on its way out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Transmit {
    /// To the coordinator.
    ToCoordinator(ToCoordinator),
    /// To another host, directly or by the relay.
    ToPeer(HostId, PeerMessage),
}

/// To whom a message goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Receiver {
    /// The coordinator.
    Coordinator,
    /// Another host, directly or by the relay.
    Peer(HostId),
}
