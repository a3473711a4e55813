//! Messages that are too large for one frame: see [`parcel`](crate::parcel).

use serde::Serialize;

use crate::frugal;
use crate::limits::{PARCEL_BYTES_MAX, RECONCILE};
use crate::message::{PeerMessage, ToCoordinator};
use crate::parcel::{Arrival, Contents, ParcelId, ParcelMessage};
use crate::{HostId, LoanId, RunId, StealId, Time};

use super::held::Owner;
use super::lent::{Loan, LoanState};
use super::lost::Unresolved;
use super::stage::Stage;
use super::thief::Request;
use super::{Host, Misbehaviour, Receiver, Repeated, Transmit};

/// The decision about an announced parcel.
enum Verdict {
    Wanted,
    /// The host has its contents already.
    Here,
    /// It is not wanted; the message, if any, says more to its sender.
    Unwanted(Option<PeerMessage>),
}

impl Host {
    /// The next chunk of a parcel, for a receiver to which the driver's link `has_room`. All messages from
    /// [`poll_transmit`](Self::poll_transmit) are to overtake it.
    pub fn poll_bulk(&mut self, mut has_room: impl FnMut(Receiver) -> bool) -> Option<Transmit> {
        let is_connected = self.is_connected();
        let (to, chunk) = self
            .transfers
            .outgoing
            .poll_chunk(self.latest, |to| (is_connected || to != Receiver::Coordinator) && has_room(to))?;
        Some(match to {
            Receiver::Coordinator => Transmit::ToCoordinator(ToCoordinator::Parcel(chunk)),
            Receiver::Peer(peer) => Transmit::ToPeer(peer, PeerMessage::Parcel(chunk)),
        })
    }

    /// The number of parcels that this host keeps until they have reached their receivers, and their bytes.
    pub fn parcels(&self) -> (usize, usize) {
        self.transfers.outgoing.size()
    }

    // ---- out ----

    /// Announces a message as a parcel. The message is encoded unless it is under way already, and either does not age
    /// or is being pulled.
    pub(super) fn send_parcel(&mut self, to: Receiver, contents: Contents, message: &impl Serialize) {
        let renews = contents.ages() && self.transfers.outgoing.is_renewable(to, contents);
        let again = if renews { None } else { self.transfers.outgoing.announce_again(to, contents) };
        let announcement = again.or_else(|| {
            // Encoding into memory fails only for types that cannot be encoded, and no message has one.
            let bytes = postcard::to_allocvec(message).ok()?;
            if bytes.len() > PARCEL_BYTES_MAX {
                self.end_with_too_large(contents, bytes.len());
                return None;
            }
            if renews {
                self.transfers.outgoing.renew(self.latest, to, contents, bytes)
            } else {
                self.transfers.outgoing.add(self.latest, to, contents, bytes)
            }
        });
        if let Some(announcement) = announcement {
            self.tell_of_parcel(to, announcement);
        }
    }

    /// Ends the run, as a message can never be sent and its receiver would wait for ever.
    fn end_with_too_large(&mut self, contents: Contents, bytes: usize) {
        let what = match contents {
            Contents::Job { .. } => "a job's parameters",
            Contents::Result { .. } | Contents::RootFinished { .. } | Contents::Have { .. } => {
                "a job's result"
            }
            Contents::Updates { .. } => "an update of a shared object",
            Contents::Replica { .. } => "the replica of a shared object",
        };
        let (mib, mib_max) = (bytes.div_ceil(1 << 20), PARCEL_BYTES_MAX >> 20);
        let reason = format!(
            "{what} takes {mib} MiB, and hosts send one another at most {mib_max} MiB in one piece; divide it into \
             smaller ones"
        );
        let run = contents.run();
        self.judge(self.latest, run, ToCoordinator::Limit { run, reason });
    }

    pub(super) fn tell_of_parcel(&mut self, to: Receiver, message: ParcelMessage) {
        self.unpolled.transmit(match to {
            Receiver::Coordinator => Transmit::ToCoordinator(ToCoordinator::Parcel(message)),
            Receiver::Peer(peer) => Transmit::ToPeer(peer, PeerMessage::Parcel(message)),
        });
    }

    /// To whom a result for an owner goes, as which parcel, and as what it is repeated.
    fn parcel_of_result(run: RunId, owner: Owner) -> Option<(Receiver, Contents, Repeated)> {
        Some(match owner {
            Owner::Host(host, number) => {
                (Receiver::Peer(host), Contents::Result { run, number }, Repeated::Result(run, number))
            }
            Owner::Coordinator(number) => {
                let contents = Contents::RootFinished { run, number };
                (Receiver::Coordinator, contents, Repeated::RootFinished(run, number))
            }
            Owner::Here(_) => return None,
        })
    }

    /// Whether a result is in transit as a parcel. If so, announces the parcel again.
    pub(super) fn is_result_under_way(&mut self, run: RunId, owner: Owner) -> bool {
        let Some((to, contents, _)) = Self::parcel_of_result(run, owner) else { return false };
        let Some(announcement) = self.transfers.outgoing.announce_again(to, contents) else { return false };
        self.tell_of_parcel(to, announcement);
        true
    }

    /// Whether a result is to be sent to an owner now. If so, notes that it was.
    pub(super) fn is_result_due(&mut self, run: RunId, owner: Owner) -> bool {
        let Some((to, _, what)) = Self::parcel_of_result(run, owner) else { return true };
        if to == Receiver::Coordinator && !self.is_connected() {
            return false;
        }
        self.repeats.take(self.latest, to, what, RECONCILE)
    }

    pub(super) fn note_size_of_result(&mut self, run: RunId, owner: Owner, bytes: usize) {
        if let Some((to, _, what)) = Self::parcel_of_result(run, owner) {
            self.repeats.note_size(to, what, bytes);
        }
    }

    /// A result is no longer to be sent.
    pub(super) fn forget_result(&mut self, run: RunId, owner: Owner) {
        if let Some((to, _, what)) = Self::parcel_of_result(run, owner) {
            self.repeats.forget(to, what);
        }
    }

    /// An owner has a result, or does not want it.
    pub(super) fn end_result(&mut self, run: RunId, owner: Owner) {
        self.forget_result(run, owner);
        if let Some((to, contents, _)) = Self::parcel_of_result(run, owner) {
            self.transfers.outgoing.end_contents(to, contents);
        }
    }

    /// A loan has ended: parcels with its job or its result are dropped.
    pub(super) fn end_loan_parcels(&mut self, run: RunId, number: LoanId, loan: &Loan) {
        self.repeats.forget(Receiver::Peer(loan.thief()), Repeated::Adopt(run, number));
        if let LoanState::Given(steal) = loan.state {
            let to = Receiver::Peer(loan.thief());
            if let Some(parcel) =
                self.transfers.outgoing.end_contents(to, Contents::Job { run, steal, number })
            {
                self.tell_of_parcel(to, ParcelMessage::Withdrawn { parcel });
            }
        }
        if let Some(parcel) =
            self.transfers.incoming.refuse(self.latest, loan.thief(), Contents::Result { run, number })
        {
            self.tell_of_parcel(Receiver::Peer(loan.thief()), ParcelMessage::Refused { parcel });
        }
    }

    /// A message from the coordinator about a parcel: it pulls a root's result, or has it.
    pub(super) fn on_parcel_of_coordinator(&mut self, now: Time, message: &ParcelMessage) {
        self.on_answer(now, Receiver::Coordinator, message);
    }

    fn on_answer(&mut self, now: Time, from: Receiver, message: &ParcelMessage) {
        match *message {
            ParcelMessage::Pull { parcel, from: first, until } => {
                if let Some(answer) = self.transfers.outgoing.on_pull(now, from, parcel, (first, until)) {
                    self.tell_of_parcel(from, answer);
                }
            }
            ParcelMessage::Received { parcel } | ParcelMessage::Refused { parcel } => {
                self.transfers.outgoing.end(from, parcel);
                self.go_on_departing(now);
            }
            // The coordinator sends no parcels.
            ParcelMessage::Announce { .. }
            | ParcelMessage::Chunk { .. }
            | ParcelMessage::Withdrawn { .. } => {}
        }
    }

    // ---- in ----

    pub(super) fn on_parcel(
        &mut self,
        now: Time,
        from: HostId,
        message: ParcelMessage,
    ) -> Result<(), Misbehaviour> {
        match message {
            ParcelMessage::Announce { parcel, contents, bytes } => {
                self.on_announce(now, from, parcel, contents, bytes)?;
            }
            ParcelMessage::Chunk { parcel, offset, bytes } => {
                let arrival = self.transfers.incoming.on_chunk(now, from, parcel, offset, &bytes);
                match arrival.map_err(|_| Misbehaviour::Parcel)? {
                    Arrival::Part | Arrival::Ignored => {}
                    Arrival::Unknown => {
                        self.tell_of_parcel(Receiver::Peer(from), ParcelMessage::Refused { parcel });
                    }
                    Arrival::Whole(contents, bytes) => self.unpack(now, from, contents, &bytes)?,
                }
            }
            ParcelMessage::Withdrawn { parcel } => {
                if let Some(Contents::Job { run, steal, .. }) =
                    self.transfers.incoming.on_withdrawn(now, from, parcel)
                {
                    self.on_nothing(now, from, run, steal)?;
                }
            }
            answer => self.on_answer(now, Receiver::Peer(from), &answer),
        }
        self.send_pulls();
        Ok(())
    }

    fn on_announce(
        &mut self,
        now: Time,
        from: HostId,
        parcel: ParcelId,
        contents: Contents,
        bytes: u64,
    ) -> Result<(), Misbehaviour> {
        let verdict = if self.transfers.incoming.knows(from, parcel) {
            Verdict::Wanted
        } else {
            self.judge_parcel(now, from, contents, bytes)?
        };
        match verdict {
            Verdict::Wanted => {
                let announced = self.transfers.incoming.announce(now, from, parcel, contents, bytes);
                announced.map_err(|_| Misbehaviour::Parcel)?;
            }
            Verdict::Here => self.tell_of_parcel(Receiver::Peer(from), ParcelMessage::Received { parcel }),
            Verdict::Unwanted(answer) => {
                if let Some(answer) = answer {
                    self.tell_peer(from, answer);
                }
                self.tell_of_parcel(Receiver::Peer(from), ParcelMessage::Refused { parcel });
            }
        }
        Ok(())
    }

    /// Decides whether a parcel is wanted. Contents that would be misbehaviour in a message are so in a parcel.
    fn judge_parcel(
        &mut self,
        now: Time,
        from: HostId,
        contents: Contents,
        bytes: u64,
    ) -> Result<Verdict, Misbehaviour> {
        let is_acquainted = self.peers.contains(from);
        let Some(host_run) = self.runs.get_mut(&contents.run()).filter(|_| is_acquainted) else {
            return Ok(Verdict::Unwanted(match contents {
                Contents::Result { run, number } => Some(PeerMessage::Received { run, number }),
                _ => None,
            }));
        };
        let is_wanted = match contents {
            Contents::Job { steal, number, .. } => {
                if !host_run.numbers.has_asked(steal) {
                    return Err(Misbehaviour::AnswerToNoSteal);
                }
                match host_run.thief.request_mut(steal) {
                    Some(request) if request.victim != from => return Err(Misbehaviour::AnswerToNoSteal),
                    Some(request) => {
                        request.arriving = Some(number);
                        true
                    }
                    None if host_run.held.of_owner(Owner::Host(from, number)).is_some() => {
                        return Ok(Verdict::Here);
                    }
                    None => false,
                }
            }
            Contents::Result { run, number } => {
                if !host_run.numbers.has_given(number) {
                    return Err(Misbehaviour::ResultOfNoJob);
                }
                match host_run.loans.get_mut(number) {
                    Some(loan) if loan.thief() != from => return Err(Misbehaviour::ResultOfNoJob),
                    Some(loan) => {
                        (loan.heard, loan.is_heard) = (now, true);
                        true
                    }
                    None => return Ok(Verdict::Unwanted(Some(PeerMessage::Received { run, number }))),
                }
            }
            Contents::Have { key, .. } => host_run.recovery.wanted_of(Some(from), key).next().is_some(),
            Contents::Updates { run, object, .. } if !host_run.shared.contains(object) => {
                return Ok(Verdict::Unwanted(Some(PeerMessage::NotShared { run, object })));
            }
            Contents::Updates { .. } => true,
            Contents::Replica { object, .. } => {
                let is_known = host_run.shared.contains(object);
                !matches!(host_run.stage, Stage::Loading | Stage::Unable)
                    && (is_known || host_run.shared.has_room_for(bytes))
            }
            Contents::RootFinished { .. } => return Err(Misbehaviour::Parcel),
        };
        Ok(if is_wanted { Verdict::Wanted } else { Verdict::Unwanted(None) })
    }

    /// Handles the message in a parcel that has arrived.
    fn unpack(
        &mut self,
        now: Time,
        from: HostId,
        contents: Contents,
        bytes: &[u8],
    ) -> Result<(), Misbehaviour> {
        let message: PeerMessage = frugal::from_bytes(bytes).map_err(|_| Misbehaviour::Parcel)?;
        let is_announced = Contents::of_peer(&message).is_some_and(|(is, _)| is == contents);
        if !is_announced {
            return Err(Misbehaviour::Parcel);
        }
        self.peer_message(now, from, message)
    }

    /// Whether the job that answers a request is in transit to this host.
    pub(super) fn is_job_arriving(&self, run: RunId, steal: StealId, request: &Request) -> bool {
        request.arriving.is_some_and(|number| {
            self.transfers.incoming.has(request.victim, Contents::Job { run, steal, number })
        })
    }

    /// Whether the result that this host asked for is in transit to this host.
    pub(super) fn is_result_arriving(&self, run: RunId, unresolved: &Unresolved) -> bool {
        let key = unresolved.spec.key;
        unresolved
            .wanted_from
            .is_some_and(|from| self.transfers.incoming.has(from, Contents::Have { run, key }))
    }

    // ---- both ways ----

    pub(super) fn send_pulls(&mut self) {
        while let Some((to, message)) = self.transfers.incoming.poll_message() {
            self.tell_of_parcel(Receiver::Peer(to), message);
        }
    }

    pub(super) fn next_parcel_timeout(&self) -> Option<(Time, &'static str)> {
        self.transfers.next_timeout()
    }

    pub(super) fn time_out_parcels(&mut self, now: Time) {
        self.transfers.handle_timeout(now);
        self.send_pulls();
    }

    /// Whether a parcel is in transit from or to a peer.
    pub(super) fn has_parcels_with(&self, peer: HostId) -> bool {
        self.transfers.has_peer(peer)
    }

    pub(super) fn forget_parcels_of_peer(&mut self, now: Time, peer: HostId) {
        self.transfers.forget_peer(now, peer);
        self.send_pulls();
    }

    pub(super) fn forget_parcels_of_run(&mut self, run: RunId) {
        self.transfers.forget_run(self.latest, run);
        self.send_pulls();
    }
}
