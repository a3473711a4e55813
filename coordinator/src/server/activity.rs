//! The activity of a connection, as a basis for granting it resources.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use tokio::sync::watch;

use crate::peer::Peer;

/// A connection's peer and activity.
#[derive(Debug)]
pub struct Activity {
    /// The peer, as limits count it.
    peer: Peer,
    /// Bytes read and written.
    moved_bytes: AtomicU64,
    /// A request was received, and its answer is being prepared.
    is_answering: AtomicBool,
    /// The connection is to be aborted.
    is_cut: watch::Sender<bool>,
}

impl Activity {
    /// A new connection of this peer.
    pub fn new(peer: Peer) -> Self {
        Self {
            peer,
            moved_bytes: AtomicU64::new(0),
            is_answering: AtomicBool::new(false),
            is_cut: watch::Sender::new(false),
        }
    }

    /// The peer.
    pub fn peer(&self) -> Peer {
        self.peer
    }

    /// Counts `bytes` that were read or written.
    pub fn was_moved(&self, bytes: usize) {
        self.moved_bytes.fetch_add(bytes as u64, Relaxed);
    }

    /// Bytes read and written.
    pub fn moved_bytes(&self) -> u64 {
        self.moved_bytes.load(Relaxed)
    }

    /// Sets whether an answer is being prepared.
    pub fn is_answered(&self, is_answering: bool) {
        self.is_answering.store(is_answering, Relaxed);
    }

    /// Whether an answer is being prepared.
    pub fn is_answering(&self) -> bool {
        self.is_answering.load(Relaxed)
    }

    /// Aborts the connection.
    pub fn cut(&self) {
        self.is_cut.send_replace(true);
    }

    /// Whether the connection is to be aborted.
    #[cfg(test)]
    pub fn is_cut(&self) -> bool {
        *self.is_cut.borrow()
    }

    /// Waits until the connection is to be aborted.
    pub async fn until_cut(&self) {
        // The sender lives in this struct.
        let _ = self.is_cut.subscribe().wait_for(|is_cut| *is_cut).await;
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn activity_is_tracked_until_the_connection_is_aborted() {
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
