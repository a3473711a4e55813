//! Decides when messages that were not answered are sent again.
//!
//! A message may be lost, or it may wait in the queue of a slow link, where a copy of it makes the queue longer. So a
//! host measures the round trips to each peer and to the coordinator. A message is repeated after a wait that follows
//! from these and doubles each time; see [`RoundTrip`]. The wait for small messages, whose copies do little harm, stays
//! short: a bad link may lose many in a row, and a host that slept for a while would otherwise be taken for one that
//! always answers late.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::limits::{
    PARCEL_BYTES_MIN, RECONCILE, REPEAT_MAX, REPEAT_SMALL_BYTES, REPEAT_SMALL_MAX, REPEATS_MAX,
};
use crate::round_trip::RoundTrip;
use crate::shared::ObjectId;
use crate::{AssignmentId, LoanId, RunId, Time};

use super::peers::Peers;
use super::{Host, Receiver};

/// A message that may be sent more than once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Repeated {
    /// The verdict that ends a run.
    Verdict(RunId),
    /// A held job's result, by the owner's number.
    Result(RunId, LoanId),
    /// A root's result, by the coordinator's number.
    RootFinished(RunId, AssignmentId),
    /// The request to the host that runs an orphan to accept this host as its owner, by this host's number.
    Adopt(RunId, LoanId),
    /// The question which of this host's loans the receiver holds.
    Lending(RunId),
    /// The list of the receiver's jobs that this host holds. Never answered.
    Holding(RunId),
    /// The versions that this host has. Answered only by hosts that have other updates.
    Versions(RunId, ObjectId),
    /// A question for updates.
    Question(RunId, ObjectId),
    /// Updates, or a replica, that the receiver lacked.
    Updates(RunId, ObjectId),
    /// Large updates of this host, sent as it made them.
    Shipped(RunId, ObjectId),
}

impl Repeated {
    fn run(self) -> RunId {
        match self {
            Self::Verdict(run)
            | Self::Result(run, _)
            | Self::RootFinished(run, _)
            | Self::Adopt(run, _)
            | Self::Lending(run)
            | Self::Holding(run)
            | Self::Versions(run, _)
            | Self::Question(run, _)
            | Self::Updates(run, _)
            | Self::Shipped(run, _) => run,
        }
    }

    /// Whether the message is always answered. If it is not, a missing answer means nothing.
    fn is_answered(self) -> bool {
        !matches!(self, Self::Holding(_) | Self::Versions(..))
    }
}

/// A message that was sent and not answered.
#[derive(Debug)]
struct Sent {
    at: Time,
    /// Whether its answer will show how long a round trip takes.
    is_timed: bool,
    /// Whether it may have been lost with a link.
    is_lost: bool,
    /// Whether copies of it would fill queues.
    is_large: bool,
}

/// The messages that this host has sent and may send again.
#[derive(Debug, Default)]
pub struct Repeats {
    trips: BTreeMap<Receiver, RoundTrip>,
    sent: BTreeMap<(Receiver, Repeated), Sent>,
}

impl Repeats {
    /// Time after which a message of this many bytes that `to` has not answered is sent again, at least `least`.
    pub fn wait(&self, to: Receiver, least: Duration, bytes: usize) -> Duration {
        let most = most(bytes > REPEAT_SMALL_BYTES);
        self.trips.get(&to).copied().unwrap_or_default().wait(RECONCILE.max(least), least, most)
    }

    /// Whether a message is to be sent: it was never sent, or its answer is overdue. An answer is overdue after the
    /// wait that follows from the round trips, but not before `least`.
    pub fn is_due(&self, now: Time, to: Receiver, what: Repeated, least: Duration) -> bool {
        let Some(sent) = self.sent.get(&(to, what)).filter(|sent| !sent.is_lost) else { return true };
        let trip = self.trips.get(&to).copied().unwrap_or_default();
        // A message that is never answered is never measured, either.
        let unmeasured = if what.is_answered() { RECONCILE.max(least) } else { least };
        now >= sent.at + trip.wait(unmeasured, least, most(sent.is_large))
    }

    /// Whether a message is to be sent. If so, notes that it is.
    pub fn take(&mut self, now: Time, to: Receiver, what: Repeated, least: Duration) -> bool {
        let is_due = self.is_due(now, to, what, least);
        if is_due {
            self.note(now, to, what);
        }
        is_due
    }

    /// Notes that a message is sent, for the first time or again.
    pub fn note(&mut self, now: Time, to: Receiver, what: Repeated) {
        let before = self.sent.get(&(to, what)).map(|sent| sent.is_lost);
        if before == Some(false) && what.is_answered() {
            self.note_repeat(now, to);
        }
        if before.is_none() && self.sent.len() >= REPEATS_MAX {
            // Any one will do: at worst it is sent once too often.
            self.sent.pop_first();
        }
        let is_timed = before.is_none();
        self.sent.insert((to, what), Sent { at: now, is_timed, is_lost: false, is_large: false });
    }

    /// Notes that a message that is not listed here was sent again.
    pub fn note_repeat(&mut self, now: Time, to: Receiver) {
        let wait = self.wait(to, RECONCILE, usize::MAX);
        self.trips.entry(to).or_default().double(now, wait);
    }

    /// Notes the size of a message that was just noted; without this call, it counts as small. For a parcel, only the
    /// announcement is repeated, and the answer to that takes longer than a round trip.
    pub fn note_size(&mut self, to: Receiver, what: Repeated, bytes: usize) {
        if let Some(sent) = self.sent.get_mut(&(to, what)) {
            let is_parcel = bytes > PARCEL_BYTES_MIN;
            sent.is_timed &= !is_parcel;
            sent.is_large |= bytes > REPEAT_SMALL_BYTES && !is_parcel;
        }
    }

    /// Some of what was sent together has arrived: the wait for the rest begins anew.
    pub fn restart(&mut self, now: Time, to: Receiver, what: Repeated) {
        if let Some(sent) = self.sent.get_mut(&(to, what)) {
            (sent.at, sent.is_timed) = (now, false);
        }
    }

    /// The answer to a message has come.
    pub fn answered(&mut self, now: Time, to: Receiver, what: Repeated) {
        if let Some(sent) = self.sent.remove(&(to, what))
            && sent.is_timed
        {
            self.measure(to, now.since(sent.at));
        }
    }

    /// A message that was sent once was answered after this time.
    pub fn measure(&mut self, to: Receiver, took: Duration) {
        self.trips.entry(to).or_default().measure(took);
    }

    /// A message is no longer to be sent, or the next one is to count as a different one.
    pub fn forget(&mut self, to: Receiver, what: Repeated) {
        self.sent.remove(&(to, what));
    }

    /// The link to a receiver was replaced: messages on the old one may be lost, and its round trips say nothing about
    /// the new one.
    pub fn on_new_link(&mut self, to: Receiver) {
        self.trips.remove(&to);
        for ((_, _), sent) in self.sent.range_mut((to, FIRST)..).take_while(|((other, _), _)| *other == to) {
            (sent.is_timed, sent.is_lost) = (false, true);
        }
    }

    /// Messages to a receiver take another route, and none are known to be lost: its round trips must be measured anew.
    pub fn measure_anew(&mut self, to: Receiver) {
        self.trips.remove(&to);
    }

    /// A receiver is gone.
    pub fn forget_receiver(&mut self, to: Receiver) {
        self.trips.remove(&to);
        while let Some((first, _)) =
            self.sent.range((to, FIRST)..).next().filter(|((other, _), _)| *other == to)
        {
            let first = *first;
            self.sent.remove(&first);
        }
    }

    /// A run is over: forgets its messages, and the round trips of receivers that are not known and to which no message
    /// is listed. Such hosts had asked for something after they were gone.
    pub fn forget_run(&mut self, run: RunId, is_known: impl Fn(Receiver) -> bool) {
        self.sent.retain(|(_, what), _| what.run() != run);
        self.forget_strangers(is_known);
    }

    /// Forgets such round trips while a run lasts, if there are many.
    pub fn forget_many_strangers(&mut self, known: usize, is_known: impl Fn(Receiver) -> bool) {
        if self.trips.len() > 2 * known + STRANGERS_MAX {
            self.forget_strangers(is_known);
        }
    }

    fn forget_strangers(&mut self, is_known: impl Fn(Receiver) -> bool) {
        let sent = &self.sent;
        let is_sent =
            |to: Receiver| sent.range((to, FIRST)..).next().is_some_and(|((other, _), _)| *other == to);
        self.trips.retain(|to, _| is_known(*to) || is_sent(*to));
    }

    /// The number of messages or of receivers, whichever is larger.
    pub fn len(&self) -> usize {
        self.sent.len().max(self.trips.len())
    }
}

/// Maximum receivers whose round trips are kept beyond twice the number of peers.
const STRANGERS_MAX: usize = 64;

/// The longest wait.
fn most(is_large: bool) -> Duration {
    if is_large { REPEAT_MAX } else { REPEAT_SMALL_MAX }
}

/// Whether a receiver is the coordinator or a peer.
pub fn is_known(peers: &Peers) -> impl Fn(Receiver) -> bool {
    |receiver| match receiver {
        Receiver::Coordinator => true,
        Receiver::Peer(peer) => peers.contains(peer),
    }
}

/// The first of all messages in order.
const FIRST: Repeated = Repeated::Verdict(RunId(0));

impl Host {
    /// The link to the coordinator was replaced, and with it the route to all peers that are relayed.
    pub(super) fn expect_loss(&mut self) {
        self.repeats.on_new_link(Receiver::Coordinator);
        for peer in self.peers.relayed() {
            self.repeats.on_new_link(Receiver::Peer(peer));
            self.runs.values_mut().for_each(|run| run.loans.doubt(peer));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HostId;

    const PEER: Receiver = Receiver::Peer(HostId(1));
    const OTHER: Receiver = Receiver::Peer(HostId(2));
    const RUN: RunId = RunId(1);
    const SECOND: Duration = Duration::from_secs(1);

    fn result(number: u64) -> Repeated {
        Repeated::Result(RUN, LoanId(number))
    }

    /// The times at which a message that is never answered is sent, if that is tried each second until `until_s`.
    fn times(repeats: &mut Repeats, what: Repeated, until_s: u64) -> Vec<u64> {
        times_of(repeats, what, REPEAT_SMALL_BYTES + 1, until_s)
    }

    fn times_of(repeats: &mut Repeats, what: Repeated, bytes: usize, until_s: u64) -> Vec<u64> {
        let may = |second: &u64| {
            let may = repeats.take(Time(0) + SECOND * *second as u32, PEER, what, SECOND);
            repeats.note_size(PEER, what, bytes);
            may
        };
        (0..until_s).filter(may).collect()
    }

    /// The time after which a large message is sent again.
    fn wait(repeats: &Repeats, to: Receiver) -> Duration {
        repeats.wait(to, SECOND, usize::MAX)
    }

    #[test]
    fn an_unanswered_message_is_sent_less_and_less_often() {
        let mut repeats = Repeats::default();
        assert_eq!(times(&mut repeats, result(1), 100), [0, 1, 3, 7, 15, 31, 63]);
        // The peer may be slow for any message; others are not.
        assert_eq!(wait(&repeats, PEER), REPEAT_MAX);
        assert_eq!(wait(&repeats, OTHER), SECOND);
    }

    #[test]
    fn small_messages_are_sent_more_often_however_long_answers_took() {
        let mut repeats = Repeats::default();
        assert_eq!(times_of(&mut repeats, result(1), REPEAT_SMALL_BYTES, 10), [0, 1, 3, 5, 7, 9]);
        // The announcement of a parcel.
        assert_eq!(times_of(&mut repeats, result(2), PARCEL_BYTES_MIN + 1, 6), [0, 2, 4]);
        repeats.measure(PEER, 4 * SECOND);
        assert_eq!(repeats.wait(PEER, SECOND, 0), REPEAT_SMALL_MAX);
        assert_eq!(wait(&repeats, PEER), 12 * SECOND);
    }

    #[test]
    fn only_messages_that_were_sent_once_are_measured() {
        let mut repeats = Repeats::default();
        times(&mut repeats, result(1), 8);
        repeats.answered(Time(0) + 9 * SECOND, PEER, result(1));
        assert_eq!(wait(&repeats, PEER), 8 * SECOND, "whichever was answered");
        let now = Time(0) + 10 * SECOND;
        repeats.note(now, PEER, result(2));
        repeats.answered(now + SECOND / 100, PEER, result(2));
        assert_eq!(wait(&repeats, PEER), SECOND);
        repeats.note(now, PEER, result(3));
        repeats.note_size(PEER, result(3), PARCEL_BYTES_MIN + 1);
        repeats.answered(now + 90 * SECOND, PEER, result(3));
        assert_eq!(wait(&repeats, PEER), SECOND);
        assert_eq!(times(&mut repeats, result(3), 2), [0, 1], "it is as if it had never been sent");
    }

    #[test]
    fn all_messages_but_parcels_are_measured() {
        for (bytes, waits_s) in [(PARCEL_BYTES_MIN, 6), (PARCEL_BYTES_MIN + 1, 1)] {
            let mut repeats = Repeats::default();
            repeats.note(Time(0), PEER, result(1));
            repeats.note_size(PEER, result(1), bytes);
            repeats.answered(Time(0) + 2 * SECOND, PEER, result(1));
            assert_eq!(wait(&repeats, PEER), waits_s * SECOND, "{bytes} bytes");
        }
    }

    #[test]
    fn many_messages_at_once_double_the_wait_once() {
        let mut repeats = Repeats::default();
        for second in [0, 1] {
            (0..40).for_each(|number| repeats.note(Time(0) + second * SECOND, PEER, result(number)));
        }
        assert_eq!(wait(&repeats, PEER), 2 * SECOND);
    }

    #[test]
    fn messages_that_are_never_answered_do_not_slow_the_others_down() {
        let mut repeats = Repeats::default();
        assert_eq!(times(&mut repeats, Repeated::Holding(RUN), 5), [0, 1, 2, 3, 4]);
        assert_eq!(wait(&repeats, PEER), SECOND);
    }

    #[test]
    fn all_messages_are_sent_again_at_once_over_a_new_link() {
        let mut repeats = Repeats::default();
        times(&mut repeats, result(1), 8);
        repeats.note(Time(0) + 8 * SECOND, OTHER, result(1));
        repeats.on_new_link(PEER);
        let now = Time(0) + 9 * SECOND;
        assert!(repeats.take(now, PEER, result(1), SECOND) && !repeats.take(now, PEER, result(1), SECOND));
        assert_eq!(wait(&repeats, PEER), SECOND, "nothing is known of it");
        assert!(!repeats.is_due(now, OTHER, result(1), 2 * SECOND));
        // The answer may belong to the first copy.
        repeats.answered(now + 30 * SECOND, PEER, result(1));
        assert_eq!(wait(&repeats, PEER), SECOND);
    }

    /// A host that is gone may ask for something, and answer.
    #[test]
    fn the_round_trips_of_hosts_that_are_gone_are_forgotten() {
        let mut repeats = Repeats::default();
        let strangers = 2 * STRANGERS_MAX as u64;
        let stranger = |number: u64| Receiver::Peer(HostId(100 + number));
        for number in 0..strangers {
            repeats.note(Time(0), stranger(number), result(1));
            repeats.answered(Time(1), stranger(number), result(1));
        }
        repeats.measure(PEER, SECOND);
        repeats.note(Time(0), stranger(0), Repeated::Lending(RunId(2)));
        assert_eq!(repeats.len() as u64, strangers + 1);
        repeats.forget_many_strangers(STRANGERS_MAX, |receiver| receiver == PEER);
        assert_eq!(repeats.len() as u64, strangers + 1, "not worth the time");
        repeats.forget_many_strangers(1, |receiver| receiver == PEER);
        assert_eq!(repeats.len(), 2, "the peer, and the host that has not answered");
        repeats.forget_run(RunId(2), |receiver| receiver == PEER);
        assert_eq!((repeats.len(), wait(&repeats, PEER)), (1, 3 * SECOND));
    }

    #[test]
    fn runs_and_receivers_that_are_gone_leave_nothing_behind() {
        let mut repeats = Repeats::default();
        times(&mut repeats, result(1), 8);
        repeats.note(Time(0), OTHER, Repeated::Lending(RUN));
        repeats.forget_receiver(PEER);
        assert_eq!(repeats.len(), 1);
        repeats.forget_run(RUN, |_| true);
        assert_eq!(repeats.len(), 0);
        (0..2 * REPEATS_MAX as u64).for_each(|number| repeats.note(Time(0), PEER, result(number)));
        assert_eq!(repeats.len(), REPEATS_MAX);
    }
}
