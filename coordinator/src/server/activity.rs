//! What a connection does, for those who grant it something.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use tokio::sync::watch;

use crate::peer::Peer;

/// Whose a connection is, and what it does.
#[derive(Debug)]
pub struct Activity {
    /// The other end's address, as far as it counts for limits.
    peer: Peer,
    /// What was read and written.
    moved_bytes: AtomicU64,
    /// It has sent a request, and the answer is being found.
    is_answering: AtomicBool,
    /// It is to be broken off.
    is_cut: watch::Sender<bool>,
}

impl Activity {
    /// Of a new connection of this peer.
    pub fn new(peer: Peer) -> Self {
        Self {
            peer,
            moved_bytes: AtomicU64::new(0),
            is_answering: AtomicBool::new(false),
            is_cut: watch::Sender::new(false),
        }
    }

    /// Whose it is.
    pub fn peer(&self) -> Peer {
        self.peer
    }

    /// Counts `bytes` that were read or written.
    pub fn was_moved(&self, bytes: usize) {
        self.moved_bytes.fetch_add(bytes as u64, Relaxed);
    }

    /// What was read and written.
    pub fn moved_bytes(&self) -> u64 {
        self.moved_bytes.load(Relaxed)
    }

    /// Whether the answer to a request of it is being found from now on.
    pub fn is_answered(&self, is_answering: bool) {
        self.is_answering.store(is_answering, Relaxed);
    }

    /// Whether it is.
    pub fn is_answering(&self) -> bool {
        self.is_answering.load(Relaxed)
    }

    /// Breaks the connection off.
    pub fn cut(&self) {
        self.is_cut.send_replace(true);
    }

    /// Whether it is to be broken off.
    #[cfg(test)]
    pub fn is_cut(&self) -> bool {
        *self.is_cut.borrow()
    }

    /// Waits until it is to be broken off.
    pub async fn until_cut(&self) {
        // The sender lives in here.
        let _ = self.is_cut.subscribe().wait_for(|is_cut| *is_cut).await;
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn what_a_connection_does_is_known_until_it_is_broken_off() {
        let peer = Peer::of([192, 0, 2, 7].into());
        let activity = Activity::new(peer);
        let known = |activity: &Activity| {
            let is_over = activity.until_cut().now_or_never().is_some();
            assert_eq!(is_over, activity.is_cut());
            (activity.peer(), activity.moved_bytes(), activity.is_answering(), is_over)
        };
        assert_eq!(known(&activity), (peer, 0, false, false));
        activity.was_moved(3);
        activity.was_moved(4);
        activity.is_answered(true);
        assert_eq!(known(&activity), (peer, 7, true, false));
        activity.is_answered(false);
        activity.cut();
        assert_eq!(known(&activity), (peer, 7, false, true));
    }
}
