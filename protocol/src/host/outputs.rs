//! A host's outputs: messages, commands, events and the next timeout.

use crate::limits::{MESSAGE_PART_BYTES, PARCEL_BYTES_MIN};
use crate::message::{PeerMessage, ToCoordinator};
use crate::parcel::Contents;
use crate::{HostId, Time};

use super::stage::Stage;
use super::{Command, Event, Host, Receiver, Transmit};

impl Host {
    /// The next message to be sent. Messages to one receiver are to be sent in this order.
    pub fn poll_transmit(&mut self) -> Option<Transmit> {
        self.unpolled.poll_transmit()
    }

    /// The next command to the runtime or the driver.
    pub fn poll_command(&mut self) -> Option<Command> {
        self.unpolled.poll_command()
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.unpolled.poll_event()
    }

    /// When `handle_timeout` is to be called at the latest, and the reason.
    pub fn poll_timeout(&self) -> Option<(Time, &'static str)> {
        let runs = self.runs.iter().flat_map(|(run, host_run)| {
            [
                self.next_steal_timeout(*run, host_run),
                self.next_reconcile(host_run),
                self.next_recovery_timeout(*run, &host_run.recovery),
                self.next_tidying(host_run),
                Self::next_flush(host_run),
                self.next_report(&host_run.reporting),
                self.next_sharing(*run, &host_run.shared),
                match host_run.stage {
                    Stage::Draining { until } => Some((until, "guests have had their time to come to rest")),
                    _ => None,
                },
            ]
        });
        runs.chain([self.next_departure_timeout(), self.next_parcel_timeout()])
            .flatten()
            .min_by_key(|(time, _)| *time)
    }

    pub(super) fn tell_coordinator(&mut self, message: ToCoordinator) {
        if !self.is_connected() {
            return;
        }
        if !self.sends_to_coordinator_as_parcel(&message) {
            self.unpolled.transmit(Transmit::ToCoordinator(message));
        }
    }

    pub(super) fn tell_peer(&mut self, peer: HostId, message: PeerMessage) {
        if !self.sends_to_peer_as_parcel(peer, &message) {
            self.unpolled.transmit(Transmit::ToPeer(peer, message));
        }
    }

    /// Sends a message as a parcel if it is too large for a frame. Returns whether it did.
    fn sends_to_coordinator_as_parcel(&mut self, message: &ToCoordinator) -> bool {
        let contents = Contents::of_coordinator(message).filter(|(_, bytes)| *bytes > PARCEL_BYTES_MIN);
        if let Some((contents, _)) = contents {
            self.send_parcel(Receiver::Coordinator, contents, message);
        }
        contents.is_some()
    }

    /// Sends a message as a parcel if it is too large for a frame, or more than the peer may be sent at once. Returns
    /// whether it did.
    fn sends_to_peer_as_parcel(&mut self, peer: HostId, message: &PeerMessage) -> bool {
        let Some((contents, bytes)) = Contents::of_peer(message) else { return false };
        let is_parcel = bytes > PARCEL_BYTES_MIN || !self.courtesy.allows(self.latest, peer, contents, bytes);
        if is_parcel {
            self.send_parcel(Receiver::Peer(peer), contents, message);
        }
        is_parcel
    }
}

/// Splits a list into parts of about `MESSAGE_PART_BYTES` each, at least one. `bytes` returns an item's length.
pub fn in_parts<T>(items: Vec<T>, bytes: impl Fn(&T) -> usize) -> Vec<Vec<T>> {
    let (mut parts, mut part, mut length) = (Vec::new(), Vec::new(), 0);
    for item in items {
        let more = bytes(&item);
        if length + more > MESSAGE_PART_BYTES && !part.is_empty() {
            parts.push(std::mem::take(&mut part));
            length = 0;
        }
        length += more;
        part.push(item);
    }
    if parts.is_empty() || !part.is_empty() {
        parts.push(part);
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_split_into_parts_that_fit_and_nothing_is_lost() {
        let third = MESSAGE_PART_BYTES / 3;
        for count in [0, 1, 3, 4, 7] {
            let parts = in_parts((0..count).collect(), |_: &usize| third);
            let lengths: Vec<usize> = parts.iter().map(Vec::len).collect();
            assert_eq!(parts.concat(), (0..count).collect::<Vec<_>>());
            assert_eq!(lengths.len(), count.div_ceil(3).max(1), "{lengths:?}");
            assert!(lengths.iter().all(|length| *length <= 3), "{lengths:?}");
        }
        // An item that is too large for any part is a part of its own.
        let parts = in_parts(vec![1, 2 * MESSAGE_PART_BYTES, 1], |bytes| *bytes);
        assert_eq!(parts.iter().map(Vec::len).collect::<Vec<_>>(), [1, 1, 1]);
    }
}
