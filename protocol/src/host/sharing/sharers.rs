//! Which hosts have a replica of one shared object, and which of this host's updates they are known to have.

use std::collections::{BTreeMap, BTreeSet};

use super::former::FormerSharers;
use crate::limits::{SHARED_COMPARED_MAX, SHARED_HINTS_MAX, SHARERS_PER_MESSAGE_MAX};
use crate::shared::{NamedSharers, Versions};
use crate::{HostId, Random, Time};

/// This host's updates in transit to another.
#[derive(Debug, Clone, Copy)]
struct Shipped {
    /// The number of this host's updates that have arrived.
    arrived: u64,
    /// The number once all have arrived.
    all: u64,
}

/// Hosts that have a replica of one shared object, had one, or may have one.
#[derive(Debug, Default)]
pub struct Sharers {
    /// Which other hosts have a replica, and how many of this host's updates they are known to have.
    known: BTreeMap<HostId, u64>,
    /// The most updates in all that they have said they have.
    totals: BTreeMap<HostId, u64>,
    /// Hosts that were sent what they lacked, and the number of all updates that they have once it has arrived.
    answered: BTreeMap<HostId, u64>,
    /// Hosts that were sent a replica, and the updates in it.
    replicas: BTreeMap<HostId, Versions>,
    /// Hosts that were sent large updates of this host as it made them, and have not said that all have arrived.
    shipped: BTreeMap<HostId, Shipped>,
    /// Hosts that were sent a replica and have not said what they have since. What they are sent before it has arrived is
    /// lost.
    served: BTreeSet<HostId>,
    /// The hosts that lent jobs which mention it, the last first.
    hints: Vec<HostId>,
    /// Hosts that had a replica and were given up; some may come back.
    pub former: FormerSharers,
    /// This host came back under another id, and former sharers may have done so as well: none of them knows the
    /// others, so each host that becomes known is asked.
    asks_newcomers: bool,
    /// Hosts that have a replica and are none of this host's acquaintances, which they are to become.
    strangers: BTreeSet<HostId>,
}

impl Sharers {
    // ---- hosts with a replica ----

    /// Whether no other host is known to have a replica.
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// Whether that host is known to have a replica.
    pub fn contains(&self, host: HostId) -> bool {
        self.known.contains_key(&host)
    }

    /// All hosts that are known to have a replica.
    pub fn hosts(&self) -> impl Iterator<Item = HostId> {
        self.known.keys().copied()
    }

    /// Whether that host is one of the few that this one compares its replica with.
    pub fn needs(&self, host: HostId) -> bool {
        self.known.len() <= SHARED_COMPARED_MAX && self.known.contains_key(&host)
    }

    /// The hosts that a message names.
    pub fn named(&self, now: Time, random: &mut Random) -> NamedSharers {
        let known = self.some(random, SHARERS_PER_MESSAGE_MAX);
        NamedSharers { known, former: self.former.named(now, random) }
    }

    /// Some of those that have a replica.
    pub fn some(&self, random: &mut Random, most: usize) -> Vec<HostId> {
        let skip = random.below(self.known.len().max(1));
        self.known.keys().cycle().skip(skip).take(most.min(self.known.len())).copied().collect()
    }

    /// An acquaintance has a replica; true if that is news.
    pub fn meet(&mut self, host: HostId) -> bool {
        self.strangers.remove(&host);
        let is_new = !self.known.contains_key(&host);
        self.serve(host);
        is_new
    }

    /// A replica is sent to an acquaintance.
    pub fn serve(&mut self, host: HostId) {
        self.former.forget(host);
        self.known.entry(host).or_default();
    }

    /// A host that is not an acquaintance has a replica; true if it is to become one.
    pub fn meet_stranger(&mut self, host: HostId) -> bool {
        self.known.len() < SHARED_COMPARED_MAX
            && self.strangers.len() < SHARERS_PER_MESSAGE_MAX
            && self.strangers.insert(host)
    }

    /// That host has no replica any more, or none that this one will hear of. Returns how many of this host's
    /// updates it was known to have, if it had one.
    pub fn drop(&mut self, host: HostId) -> Option<u64> {
        self.answered.remove(&host);
        self.replicas.remove(&host);
        self.shipped.remove(&host);
        self.served.remove(&host);
        self.totals.remove(&host);
        self.known.remove(&host)
    }

    // ---- what they have ----

    /// A host with a replica has this number of this host's updates.
    pub fn note_has(&mut self, host: HostId, own: u64) {
        self.known.entry(host).and_modify(|has| *has = own);
    }

    /// A host says that it has this number of updates in all. Returns false if it has said before that it has more: that
    /// message has overtaken this one.
    pub fn note_total(&mut self, host: HostId, total: u64) -> bool {
        if !self.known.contains_key(&host) {
            return true;
        }
        let most = self.totals.entry(host).or_default();
        *most = total.max(*most);
        total == *most
    }

    /// The number of this host's updates that all others with a replica have; `None` if there are no others.
    pub fn stable(&self) -> Option<u64> {
        self.known.values().copied().min()
    }

    /// Hosts that are not known to have this number of this host's updates, and the number that each is known to have.
    pub fn lagging(&self, count: u64) -> impl Iterator<Item = (HostId, u64)> {
        self.known.iter().map(|(host, has)| (*host, *has)).filter(move |(_, has)| *has < count)
    }

    /// This host's updates are in another log from now on: what others had was of the log before.
    pub fn begin_log(&mut self) {
        self.known.values_mut().for_each(|has| *has = 0);
        self.shipped.clear();
        self.former.begin_log();
    }

    /// A host is sent what it lacks of this number of updates in all.
    pub fn note_answer(&mut self, to: HostId, total: u64) {
        self.answered.insert(to, total);
    }

    /// A host is sent a replica with these updates. If it `is_as_before`, the parcel with the last one continues instead.
    pub fn note_replica(&mut self, to: HostId, has: &Versions, is_as_before: bool) {
        if !is_as_before || !self.replicas.contains_key(&to) {
            self.replicas.insert(to, has.clone());
        }
    }

    /// A host has these updates. Returns true if they include those of the replica that it was sent last.
    pub fn end_replica(&mut self, to: HostId, has: &Versions) -> bool {
        let has_all = self.replicas.get(&to).is_some_and(|replica| has.covers(replica));
        if has_all {
            self.replicas.remove(&to);
            self.answered.remove(&to);
        }
        has_all
    }

    /// A host has this number of updates in all; true if it has received its last answer with that.
    pub fn end_answer(&mut self, to: HostId, has: u64) -> bool {
        let has_received = self.answered.get(&to).is_some_and(|total| has >= *total);
        if has_received {
            self.answered.remove(&to);
        }
        has_received
    }

    /// A host is sent a replica, and has nothing to which to add updates before it has arrived.
    pub fn note_served(&mut self, to: HostId) {
        self.shipped.remove(&to);
        self.served.insert(to);
    }

    /// A host is sent large updates as this host, which has made this number, makes them. Returns whether they arrive, as far
    /// as is known, and none were in transit.
    pub fn note_shipped(&mut self, to: HostId, all: u64) -> bool {
        if self.served.contains(&to) {
            return false;
        }
        let arrived = self.known.get(&to).copied().unwrap_or_default();
        let is_first = !self.shipped.contains_key(&to);
        self.shipped.entry(to).or_insert(Shipped { arrived, all }).all = all;
        is_first
    }

    /// A host has this number of this host's updates. If others are in transit to it, returns the number that it has once
    /// they have arrived, and whether some have arrived since it last said so.
    pub fn on_their_way(&mut self, to: HostId, has: u64) -> Option<(u64, bool)> {
        self.served.remove(&to);
        let shipped = self.shipped.get_mut(&to)?;
        if has >= shipped.all {
            self.shipped.remove(&to);
            return None;
        }
        let has_more = has > shipped.arrived;
        shipped.arrived = has.max(shipped.arrived);
        Some((shipped.all, has_more))
    }

    // ---- hosts that lent jobs ----

    /// A host lent a job that mentions the object.
    pub fn hint(&mut self, host: HostId) {
        self.hints.retain(|known| *known != host);
        self.hints.insert(0, host);
        self.hints.truncate(SHARED_HINTS_MAX);
    }

    /// Hosts that lent jobs that mention the object, the last first.
    pub fn hints(&self) -> impl Iterator<Item = HostId> {
        self.hints.iter().copied()
    }

    /// A host is gone, and with it the jobs that it lent.
    pub fn drop_hint(&mut self, host: HostId) {
        self.hints.retain(|hint| *hint != host);
    }

    // ---- hosts that may have a replica ----

    /// Whether a host that has become known, or is back, may have a replica that this one should be compared with.
    pub fn may_include(&self, host: HostId) -> bool {
        let is_sought =
            self.asks_newcomers && !self.former.is_empty() && self.known.len() < SHARED_COMPARED_MAX;
        is_sought || self.strangers.contains(&host) || self.former.contains(host)
    }

    /// This host has found the grid again, perhaps under another id. Returns the hosts that are to be asked for
    /// replicas. Strangers are forgotten: the coordinator may not have heard that they are to become acquaintances.
    pub fn seek_again(&mut self, is_reborn: bool) -> Vec<HostId> {
        self.asks_newcomers |= is_reborn;
        let strangers = std::mem::take(&mut self.strangers);
        self.former.hosts().chain(strangers).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared::Writer;

    const NOW: Time = Time(5);
    const ONE: HostId = HostId(1);
    const OTHER: HostId = HostId(2);

    fn sharers(known: &[(HostId, u64)]) -> Sharers {
        let mut sharers = Sharers::default();
        for (host, own) in known {
            assert!(sharers.meet(*host));
            sharers.note_has(*host, *own);
        }
        sharers
    }

    #[test]
    fn few_hosts_are_compared_with_and_hinted_at() {
        let mut sharers = Sharers::default();
        for count in 1..=SHARED_COMPARED_MAX as u64 + 1 {
            sharers.meet(HostId(count));
            assert_eq!(sharers.needs(HostId(1)), count <= SHARED_COMPARED_MAX as u64, "of {count}");
            assert!(!sharers.needs(HostId(99)));
            for most in [0, 1, 5, 100] {
                let some = sharers.some(&mut Random::new(count), most);
                let different: BTreeSet<HostId> = some.iter().copied().collect();
                assert_eq!((some.len(), different.len()), (most.min(count as usize), some.len()));
            }
        }
        for host in 1..=2 * SHARED_HINTS_MAX as u64 {
            sharers.hint(HostId(host));
            sharers.hint(HostId(1));
            let hints: Vec<HostId> = sharers.hints().collect();
            assert!(hints[0] == HostId(1) && hints.len() == SHARED_HINTS_MAX.min(host as usize));
        }
        sharers.drop_hint(HostId(1));
        assert_eq!(sharers.hints().count(), SHARED_HINTS_MAX - 1);
    }

    #[test]
    fn what_all_others_have_is_stable_until_another_log_begins() {
        let mut sharers = sharers(&[(ONE, 3), (OTHER, 1)]);
        sharers.note_has(HostId(9), 0);
        assert_eq!((sharers.stable(), sharers.hosts().count()), (Some(1), 2), "only two are known");
        assert_eq!(sharers.lagging(3).collect::<Vec<_>>(), [(OTHER, 1)]);
        assert!(!sharers.meet(ONE), "it was known");
        assert_eq!(sharers.stable(), Some(1));
        assert_eq!((sharers.drop(OTHER), sharers.drop(OTHER), sharers.stable()), (Some(1), None, Some(3)));
        sharers.begin_log();
        assert_eq!((sharers.stable(), sharers.lagging(1).count()), (Some(0), 1));
        sharers.drop(ONE);
        assert_eq!((sharers.stable(), sharers.is_empty()), (None, true));
    }

    #[test]
    fn what_a_host_has_said_is_old_once_it_has_said_more() {
        let mut sharers = sharers(&[(ONE, 0)]);
        for (total, is_latest) in [(3, true), (3, true), (2, false), (4, true), (3, false)] {
            assert_eq!(sharers.note_total(ONE, total), is_latest, "{total}");
        }
        assert!(sharers.note_total(OTHER, 3) && sharers.note_total(OTHER, 1), "it has no replica");
        sharers.drop(ONE);
        sharers.meet(ONE);
        assert!(sharers.note_total(ONE, 1), "it has begun anew");
        assert_eq!(sharers.totals.len(), 1);
    }

    #[test]
    fn an_answer_ends_when_all_of_it_has_arrived() {
        let mut sharers = sharers(&[(ONE, 0)]);
        assert!(!sharers.end_answer(ONE, 7), "nothing was sent");
        sharers.note_answer(ONE, 7);
        assert!(!sharers.end_answer(ONE, 6));
        assert!(sharers.end_answer(ONE, 8));
        assert!(!sharers.end_answer(ONE, 8), "it has ended");
        sharers.note_answer(ONE, 7);
        sharers.drop(ONE);
        assert!(!sharers.end_answer(ONE, 8), "it has no replica any more");
    }

    #[test]
    fn a_replica_has_arrived_once_its_host_has_all_updates_in_it() {
        let versions = |counts: [u64; 2]| -> Versions {
            let writers = [ONE, OTHER].map(|host| Writer { host, incarnation: 0 });
            writers.into_iter().zip(counts).collect()
        };
        let mut sharers = sharers(&[(ONE, 0)]);
        sharers.note_replica(ONE, &versions([3, 2]), true);
        sharers.note_replica(ONE, &versions([4, 4]), true);
        assert!(!sharers.end_replica(ONE, &versions([9, 1])), "it has others");
        assert!(sharers.end_replica(ONE, &versions([3, 2])), "the parcel is as it was");
        for counts in [[3, 2], [4, 4]] {
            sharers.note_replica(ONE, &versions(counts), false);
        }
        assert!(!sharers.end_replica(ONE, &versions([3, 2])));
        sharers.drop(ONE);
        assert!(!sharers.end_replica(ONE, &versions([4, 4])), "it has no replica any more");
    }

    #[test]
    fn updates_are_on_their_way_until_all_have_arrived() {
        let mut sharers = sharers(&[(ONE, 3)]);
        assert_eq!(sharers.on_their_way(ONE, 3), None, "none were sent");
        assert!(sharers.note_shipped(ONE, 4) && !sharers.note_shipped(ONE, 6));
        for (has, has_more) in [(3, false), (5, true), (5, false), (4, false)] {
            assert_eq!(sharers.on_their_way(ONE, has), Some((6, has_more)), "{has}");
        }
        assert_eq!(sharers.on_their_way(ONE, 6), None);
        assert_eq!(sharers.on_their_way(ONE, 5), None, "it said that before");
        assert!(sharers.note_shipped(ONE, 7));
        sharers.begin_log();
        assert_eq!(sharers.on_their_way(ONE, 0), None, "they are in another log");
        assert!(sharers.note_shipped(ONE, 1));
        sharers.drop(ONE);
        assert_eq!(sharers.on_their_way(ONE, 0), None, "it has no replica any more");
    }

    #[test]
    fn hosts_with_a_replica_are_no_longer_waited_for() {
        let mut sharers = Sharers::default();
        for host in [ONE, OTHER, HostId(3)] {
            sharers.former.note(NOW, host, 0, 0);
        }
        sharers.serve(ONE);
        sharers.meet(OTHER);
        assert_eq!(sharers.former.hosts().collect::<Vec<_>>(), [HostId(3)]);
        let named = sharers.named(NOW, &mut Random::new(1));
        assert_eq!((named.known.len(), named.former[0].host, named.former.len()), (2, HostId(3), 1));
        sharers.former.note(NOW, HostId(4), 2, 2);
        sharers.begin_log();
        assert!(sharers.former.are_owed(1, 0), "they have nothing of another log");
    }

    #[test]
    fn hosts_that_may_have_a_replica_are_asked_when_they_become_known() {
        let mut sharers = Sharers::default();
        assert!(sharers.meet_stranger(ONE));
        assert!(!sharers.meet_stranger(ONE), "once is enough");
        sharers.former.note(NOW, OTHER, 0, 0);
        assert_eq!([1, 2, 3].map(|host| sharers.may_include(HostId(host))), [true, true, false]);
        assert_eq!(sharers.seek_again(false), [OTHER, ONE]);
        assert_eq!(sharers.seek_again(true), [OTHER], "strangers are forgotten");
        assert!(sharers.may_include(HostId(3)), "former sharers may have other names");
        sharers.former.forget(OTHER);
        assert!(!sharers.may_include(HostId(3)));
        for host in 0..SHARED_COMPARED_MAX as u64 {
            sharers.meet(HostId(100 + host));
        }
        assert!(!sharers.meet_stranger(ONE), "enough others have a replica");
    }
}
