//! Which messages become parcels, and their contents.

use super::Contents;
use crate::message::{PeerMessage, ToCoordinator};

/// Bytes of an update's encoded length and origin.
const PER_UPDATE_BYTES: usize = 16;

impl Contents {
    /// The contents of a parcel with this message to a host, and about how many bytes the message has; `None` for
    /// messages that are always small.
    pub fn of_peer(message: &PeerMessage) -> Option<(Self, usize)> {
        Some(match message {
            PeerMessage::Job { run, steal, number, spec } => {
                (Self::Job { run: *run, steal: *steal, number: *number }, spec.parameters.len())
            }
            PeerMessage::Result { run, number, finished } => {
                (Self::Result { run: *run, number: *number }, finished.outcome.bytes().len())
            }
            PeerMessage::Have { run, key, finished } => {
                let bytes = finished.as_ref().map_or(0, |finished| finished.outcome.bytes().len());
                (Self::Have { run: *run, key: *key }, bytes)
            }
            PeerMessage::Updates { run, object, writer, first, updates } => {
                let contents = Self::Updates { run: *run, object: *object, writer: *writer, first: *first };
                (contents, updates.iter().map(|update| update.len() + PER_UPDATE_BYTES).sum())
            }
            PeerMessage::Replica { run, object, snapshot, .. } => {
                let updates = snapshot.updates.iter().map(|update| update.bytes.len() + PER_UPDATE_BYTES);
                (Self::Replica { run: *run, object: *object }, snapshot.base.len() + updates.sum::<usize>())
            }
            _ => return None,
        })
    }

    /// The same for a message to the coordinator.
    pub fn of_coordinator(message: &ToCoordinator) -> Option<(Self, usize)> {
        match message {
            ToCoordinator::RootFinished { run, number, finished } => {
                Some((Self::RootFinished { run: *run, number: *number }, finished.outcome.bytes().len()))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::tests::spec;
    use crate::root_job;
    use crate::shared::{ObjectId, Replica, Writer};
    use crate::{AssignmentId, Finished, HostId, JobKey, LoanId, Outcome, RunId, StealId};

    const RUN: RunId = RunId(1);
    const OBJECT: ObjectId = ObjectId([3; 16]);

    #[test]
    fn the_size_of_a_message_is_about_that_of_its_long_fields() {
        let number = LoanId(2);
        let finished = Finished { outcome: Outcome::Done(vec![0; 100].into()), work_ns: 1, span_ns: 1 };
        let mut spec = root_job(&spec());
        (spec.key, spec.parameters) = (JobKey([9; 32]), vec![0; 70].into());
        let (steal, key, writer) = (StealId(3), spec.key, Writer { host: HostId(4), incarnation: 5 });
        let updates = vec![vec![0; 10].into(), vec![0; 20].into()];
        let mut replica = Replica::new(vec![0; 50].into());
        replica.receive(writer, 0, &updates);
        let (snapshot, sharers) = (replica.snapshot(), Default::default());
        let done = Some(finished.clone());
        let cases = [
            (
                PeerMessage::Job { run: RUN, steal, number, spec },
                Contents::Job { run: RUN, steal, number },
                70,
            ),
            (
                PeerMessage::Result { run: RUN, number, finished: finished.clone() },
                Contents::Result { run: RUN, number },
                100,
            ),
            (PeerMessage::Have { run: RUN, key, finished: done }, Contents::Have { run: RUN, key }, 100),
            (PeerMessage::Have { run: RUN, key, finished: None }, Contents::Have { run: RUN, key }, 0),
            (
                PeerMessage::Updates { run: RUN, object: OBJECT, writer, first: 6, updates },
                Contents::Updates { run: RUN, object: OBJECT, writer, first: 6 },
                30 + 2 * PER_UPDATE_BYTES,
            ),
            (
                PeerMessage::Replica { run: RUN, object: OBJECT, snapshot, sharers },
                Contents::Replica { run: RUN, object: OBJECT },
                50 + 30 + 2 * PER_UPDATE_BYTES,
            ),
        ];
        for (message, contents, bytes) in cases {
            assert_eq!(Contents::of_peer(&message), Some((contents, bytes)));
            let is_of_object = matches!(contents, Contents::Updates { .. } | Contents::Replica { .. });
            assert_eq!(contents.object(), is_of_object.then_some((RUN, OBJECT)));
            assert_eq!(contents.run(), RUN);
        }
        assert_eq!(Contents::of_peer(&PeerMessage::Received { run: RUN, number }), None);
        let number = AssignmentId(2);
        let root = Contents::RootFinished { run: RUN, number };
        let message = ToCoordinator::RootFinished { run: RUN, number, finished };
        assert_eq!(Contents::of_coordinator(&message), Some((root, 100)));
        assert_eq!(Contents::of_coordinator(&ToCoordinator::Leaving), None);
    }
}
