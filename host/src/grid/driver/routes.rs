//! One peer: how it is reached and what waits for it.

use sateen_protocol::Time;
use sateen_protocol::codec::{Decoder, Encoder};

use super::lossy::LossyDecoder;
use crate::grid::transport::Link;

/// A direct link and what is being read from it.
pub struct DirectLink {
    pub link: Link,
    pub decoder: Decoder,
}

/// Whether a direct link is being made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Dial {
    /// Not yet tried, or worth another attempt.
    #[default]
    Idle,
    /// On its way.
    Dialling,
    /// It failed.
    NotBefore(Time),
}

/// How a peer is reached. Both may have dialled at once: then there are two links, the first is written
/// to and both are read.
#[derive(Default)]
pub struct Route {
    pub links: Vec<DirectLink>,
    pub relayed: LossyDecoder,
    pub encoder: Encoder,
    pub has_messages: bool,
    pub dial: Dial,
    /// Since when nothing can be sent to it.
    pub unreachable_since: Option<Time>,
    /// Its direct link broke while the coordinator was away: if dialling fails, it is lost.
    pub is_last_dial: bool,
}
