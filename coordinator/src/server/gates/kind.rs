//! The kinds of limited resources.

use std::time::Duration;

use crate::limits::{
    BODIES_MAX, BODIES_PER_PEER_MAX, CONNECTIONS_MAX, CONNECTIONS_PER_PEER_MAX, FEEDS_MAX,
    FEEDS_PER_PEER_MAX, HELD_AT_LEAST, LINKS_MAX, LINKS_PER_PEER_MAX, LINKS_UNKNOWN_MAX,
    LINKS_UNKNOWN_PER_PEER_MAX, PAGE_KIB_MAX, PAGE_KIB_PER_PEER_MAX, REQUESTS_MAX, REQUESTS_PER_PEER_MAX,
    RESPONSE_KIB_MAX, RESPONSE_KIB_PER_PEER_MAX, TRACES_MAX, TRACES_PER_PEER_MAX, TRANSFERS_MAX,
    TRANSFERS_PER_PEER_MAX, WAIT_AT_LEAST, WAITS_MAX, WAITS_PER_PEER_MAX, WATCHERS_MAX,
    WATCHERS_PER_PEER_MAX,
};

/// A kind of limited resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Connections that are not websockets.
    Connection,
    /// Requests that are being handled.
    Request,
    /// Requests that wait for a run's end.
    Wait,
    /// Bodies of requests that are held in memory.
    Body,
    /// Blobs that are transferred, in either direction.
    Transfer,
    /// Traces that are being sent, each with memory in proportion to its jobs.
    Trace,
    /// KiB of answers that are being sent.
    ResponseKib,
    /// Websockets of hosts that have not said hello.
    UnknownLink,
    /// Websockets of hosts.
    Link,
    /// Websockets of pages.
    Watcher,
    /// KiB of long messages that are being sent to pages.
    PageKib,
    /// Topics that pages watch, each counted for the peer that asked first.
    Feed,
}

impl Kind {
    /// The limits of all together, and of one peer.
    pub const fn max(self) -> (usize, usize) {
        match self {
            Self::Connection => (CONNECTIONS_MAX, CONNECTIONS_PER_PEER_MAX),
            Self::Request => (REQUESTS_MAX, REQUESTS_PER_PEER_MAX),
            Self::Wait => (WAITS_MAX, WAITS_PER_PEER_MAX),
            Self::Body => (BODIES_MAX, BODIES_PER_PEER_MAX),
            Self::Transfer => (TRANSFERS_MAX, TRANSFERS_PER_PEER_MAX),
            Self::Trace => (TRACES_MAX, TRACES_PER_PEER_MAX),
            Self::ResponseKib => (RESPONSE_KIB_MAX, RESPONSE_KIB_PER_PEER_MAX),
            Self::UnknownLink => (LINKS_UNKNOWN_MAX, LINKS_UNKNOWN_PER_PEER_MAX),
            Self::Link => (LINKS_MAX, LINKS_PER_PEER_MAX),
            Self::PageKib => (PAGE_KIB_MAX, PAGE_KIB_PER_PEER_MAX),
            Self::Feed => (FEEDS_MAX, FEEDS_PER_PEER_MAX),
            Self::Watcher => (WATCHERS_MAX, WATCHERS_PER_PEER_MAX),
        }
    }

    /// Minimum time for which a connection has one of it.
    pub const fn held_at_least(self) -> Duration {
        match self {
            Self::Wait => WAIT_AT_LEAST,
            _ => HELD_AT_LEAST,
        }
    }

    /// Whether a connection that loses one can be answered at once, and stays open.
    pub const fn is_answered_when_lost(self) -> bool {
        matches!(self, Self::Wait)
    }
}
