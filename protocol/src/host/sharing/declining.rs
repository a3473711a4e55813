//! Declines parcels whose contents have come another way.

use crate::host::{Host, Receiver};
use crate::parcel::{Contents, ParcelMessage};
use crate::shared::{ObjectId, Versions};
use crate::{HostId, RunId, Time};

impl Host {
    /// Another host says that it has these updates, and they are all here: the parcels that it announced before it said so
    /// are not needed. The message may have been overtaken by announcements of later updates: those stay.
    ///
    /// A replica does not show which updates it has. `is_latest` says whether the host has never said that it has more: if
    /// it has, a replica may be in transit because of these, and stays, too.
    pub(super) fn decline_object(
        &mut self,
        now: Time,
        from: HostId,
        (run, object): (RunId, ObjectId),
        (theirs, is_latest): (&Versions, bool),
    ) {
        let is_here = |contents: &Contents| match *contents {
            Contents::Updates { writer, first, .. } => theirs.of(writer) > first,
            _ => is_latest,
        };
        let is_declined = |contents: &Contents| contents.object() == Some((run, object)) && is_here(contents);
        for parcel in self.transfers.incoming.refuse_all(now, from, is_declined) {
            self.tell_of_parcel(Receiver::Peer(from), ParcelMessage::Received { parcel });
        }
        self.send_pulls();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::tests::{PEER, RUN, host, said};
    use crate::host::{Notice, Transmit};
    use crate::message::PeerMessage;
    use crate::parcel::ParcelId;
    use crate::shared::{Replica, Writer};

    const NOW: Time = Time(0);
    const OBJECT: ObjectId = ObjectId([7; 16]);
    const WRITER: Writer = Writer { host: HostId(31), incarnation: 0 };
    const PARCEL: ParcelId = ParcelId(1);

    /// A host that has no updates of the object.
    fn sharer() -> Host {
        let mut host = host();
        host.handle_notice(NOW, RUN, Notice::Shared { object: OBJECT, place: 1, initial: vec![0].into() });
        host
    }

    /// The peer announces a parcel.
    fn announced(host: &mut Host, contents: Contents) {
        let announce = ParcelMessage::Announce { parcel: PARCEL, contents, bytes: 100_000 };
        host.handle_from_peer(NOW, PEER, PeerMessage::Parcel(announce));
    }

    /// The first `count` updates come in messages.
    fn updated(host: &mut Host, count: u8) {
        let updates = (0..count).map(|byte| vec![byte].into()).collect();
        let message = PeerMessage::Updates { run: RUN, object: OBJECT, writer: WRITER, first: 0, updates };
        host.handle_from_peer(NOW, PEER, message);
    }

    /// The peer says that it has `count` updates. Returns whether its parcel is declined.
    fn declines(host: &mut Host, count: u8) -> bool {
        let mut theirs = Replica::new(vec![0].into());
        (0..count).for_each(|byte| {
            theirs.receive(WRITER, byte.into(), &[vec![byte].into()]);
        });
        let message = PeerMessage::Versions {
            run: RUN,
            object: OBJECT,
            versions: theirs.versions().clone(),
            digest: theirs.digest(),
            sharers: Default::default(),
            is_question: false,
        };
        said(host);
        host.handle_from_peer(NOW, PEER, message);
        let declined = PeerMessage::Parcel(ParcelMessage::Received { parcel: PARCEL });
        said(host).contains(&Transmit::ToPeer(PEER, declined))
    }

    #[test]
    fn a_message_that_comes_late_declines_no_updates_that_were_announced_since() {
        let mut host = sharer();
        updated(&mut host, 3);
        announced(&mut host, Contents::Updates { run: RUN, object: OBJECT, writer: WRITER, first: 3 });
        assert!(!declines(&mut host, 2) && !declines(&mut host, 3));
        updated(&mut host, 4);
        assert!(declines(&mut host, 4));
    }

    #[test]
    fn a_message_that_comes_late_declines_no_replica_with_later_updates() {
        let mut host = sharer();
        updated(&mut host, 3);
        assert!(!declines(&mut host, 5), "there is none");
        announced(&mut host, Contents::Replica { run: RUN, object: OBJECT });
        assert!(!declines(&mut host, 2) && !declines(&mut host, 3));
        updated(&mut host, 5);
        assert!(!declines(&mut host, 2) && declines(&mut host, 5));
    }
}
