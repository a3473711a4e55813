//! Incomplete frames. Their bytes stay in memory, so they are bounded for each
//! peer and for all together, and a frame must be complete within a time.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use sateen_protocol::Time;
use sateen_protocol::coordinator::LinkId;

use crate::limits::{BEGUN_BYTES_MAX, BEGUN_BYTES_PER_PEER_MAX, FRAME_TIME_MAX, READ_BUFFER_BYTES};
use crate::peer::Peer;

/// Why a link is cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Late {
    /// Its own frame takes too long.
    Slow,
    /// This link has the most bytes of incomplete frames, and there are too many.
    Most(LinkId),
}

impl Late {
    /// The reason, for the log: a host that is cut off reads nothing more.
    pub fn reason(self) -> String {
        match self {
            Self::Slow => format!("a frame of it took more than {} s to come", FRAME_TIME_MAX.as_secs()),
            Self::Most(_) => "it does not end a long frame, and too many such frames wait".to_owned(),
        }
    }
}

#[derive(Debug)]
struct Half {
    peer: Peer,
    bytes: usize,
    since: Time,
}

#[derive(Debug, Default)]
struct Halves {
    of_links: HashMap<LinkId, Half>,
    of_peers: HashMap<Peer, usize>,
    bytes: usize,
}

/// The incomplete frames of all links.
#[derive(Debug, Default)]
pub struct Begun(Mutex<Halves>);

impl Begun {
    /// Whether a frame of which this much has arrived is counted. A read also takes that much of the next frame, and shorter
    /// frames should cost nothing.
    pub fn counts(bytes: usize) -> bool {
        bytes > READ_BUFFER_BYTES
    }

    fn halves(&self) -> MutexGuard<'_, Halves> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A link has read this much of a frame that [`counts`](Self::counts). Returns the link that is cut off for it, if any.
    pub fn note(&self, link: LinkId, peer: Peer, bytes: usize, now: Time) -> Option<Late> {
        let mut halves = self.halves();
        let half = halves.of_links.entry(link).or_insert(Half { peer, bytes: 0, since: now });
        let is_slow = now.since(half.since) > FRAME_TIME_MAX;
        let more = bytes.saturating_sub(half.bytes);
        half.bytes += more;
        halves.bytes += more;
        let of_peer = halves.of_peers.entry(peer).or_default();
        *of_peer += more;
        let is_peers = *of_peer > BEGUN_BYTES_PER_PEER_MAX;
        if is_slow {
            halves.forget(link);
            return Some(Late::Slow);
        }
        if !is_peers && halves.bytes <= BEGUN_BYTES_MAX {
            return None;
        }
        let largest = halves.of_peers.iter().max_by_key(|(_, bytes)| **bytes).map(|(peer, _)| *peer);
        let whose = if is_peers { Some(peer) } else { largest };
        let of_peer = halves.of_links.iter().filter(|(_, half)| Some(half.peer) == whose);
        let most = of_peer.max_by_key(|(_, half)| (half.bytes, std::cmp::Reverse(half.since)));
        let most = most.map(|(link, _)| *link)?;
        halves.forget(most);
        Some(Late::Most(most))
    }

    /// A frame of the link is complete, or the link is closed.
    pub fn forget(&self, link: LinkId) {
        self.halves().forget(link);
    }
}

impl Halves {
    fn forget(&mut self, link: LinkId) {
        let Some(half) = self.of_links.remove(&link) else { return };
        self.bytes = self.bytes.saturating_sub(half.bytes);
        let left = self.of_peers.get_mut(&half.peer).map(|bytes| {
            *bytes = bytes.saturating_sub(half.bytes);
            *bytes
        });
        if left == Some(0) {
            self.of_peers.remove(&half.peer);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const FRAME: usize = 250 << 10;

    fn peer(number: u8) -> Peer {
        Peer::of(std::net::IpAddr::from([10, 0, 0, number]))
    }

    #[test]
    fn one_peer_has_its_share_and_the_largest_goes() {
        let begun = Begun::default();
        assert!(!Begun::counts(READ_BUFFER_BYTES) && Begun::counts(FRAME), "short frames cost nothing");
        let fit = (BEGUN_BYTES_PER_PEER_MAX / FRAME) as u64;
        assert_eq!(begun.note(LinkId(999), peer(2), FRAME, Time(0)), None);
        for link in 1..=fit {
            assert_eq!(begun.note(LinkId(link), peer(1), FRAME, Time(link)), None, "{link}");
        }
        let late = begun.note(LinkId(fit + 1), peer(1), FRAME, Time(fit + 1));
        assert_eq!(late, Some(Late::Most(LinkId(1))), "the oldest of the largest");
        begun.forget(LinkId(999));
        (2..=fit + 1).for_each(|link| begun.forget(LinkId(link)));
        let halves = begun.halves();
        assert_eq!((halves.bytes, halves.of_peers.len(), halves.of_links.len()), (0, 0, 0));
    }

    #[test]
    fn all_peers_together_have_a_share_and_the_largest_peer_pays() {
        let begun = Begun::default();
        assert_eq!(begun.note(LinkId(0), peer(200), FRAME, Time(0)), None, "it has one");
        let mut cut = Vec::new();
        for link in 1..=2 * (BEGUN_BYTES_MAX / FRAME) as u64 {
            cut.extend(begun.note(LinkId(link), peer((link % 50) as u8), FRAME, Time(link)));
        }
        assert!(!cut.is_empty() && !cut.contains(&Late::Most(LinkId(0))), "{cut:?}");
        assert!(begun.halves().bytes <= BEGUN_BYTES_MAX);
    }

    #[test]
    fn a_frame_has_its_time() {
        let begun = Begun::default();
        let grows = |seconds: u64, bytes| {
            begun.note(LinkId(1), peer(1), bytes, Time(0) + Duration::from_secs(seconds))
        };
        assert_eq!(grows(0, 20 << 10), None);
        assert_eq!(grows(FRAME_TIME_MAX.as_secs(), 21 << 10), None);
        assert_eq!(grows(FRAME_TIME_MAX.as_secs() + 1, 22 << 10), Some(Late::Slow));
    }
}
