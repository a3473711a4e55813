//! Which hosts have a replica of one shared object, and which of this host's updates they are known to have.

use std::collections::{BTreeMap, BTreeSet};

use std::time::Duration;

use crate::limits::{
    FORMER_SHARERS_PER_MESSAGE_MAX, SHARED_COMPARED_MAX, SHARED_FORMER_MAX, SHARED_HINTS_MAX,
    SHARERS_PER_MESSAGE_MAX,
};
use crate::shared::{FormerSharer, NamedSharers};
use crate::{HostId, Random, Time};

/// What a host that was given up is known to have of an object, in case it comes back.
#[derive(Debug, Clone, Copy)]
struct Former {
    /// The number of this host's updates that it has.
    own: u64,
    /// The number of all updates that there were when it was given up.
    total: u64,
    /// When that was.
    since: Time,
}

/// Hosts that have a replica of one shared object, had one, or may have one.
#[derive(Debug, Default)]
pub struct Sharers {
    /// Who else has a replica, and how many of this host's updates they are known to have.
    known: BTreeMap<HostId, u64>,
    /// The most updates in all that they have said they have.
    totals: BTreeMap<HostId, u64>,
    /// Hosts that were sent what they lacked, and the number of all updates that they have once it has arrived.
    answered: BTreeMap<HostId, u64>,
    /// The hosts that lent jobs which mention it, the last first.
    hints: Vec<HostId>,
    /// Hosts that had a replica and were given up; some may come back.
    former: BTreeMap<HostId, Former>,
    /// This host came back under another id, and former sharers may have done so as well: none of them knows the
    /// others, so whoever becomes known is asked.
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
        let most = self.former.len().min(FORMER_SHARERS_PER_MESSAGE_MAX);
        let skip = if most < self.former.len() { random.below(self.former.len()) } else { 0 };
        let some = self.former.iter().cycle().skip(skip).take(most);
        let former = some.map(|(host, former)| FormerSharer {
            host: *host,
            total: former.total,
            ago_ms: u64::try_from(now.since(former.since).as_millis()).unwrap_or(u64::MAX),
        });
        NamedSharers { known, former: former.collect() }
    }

    /// Some of those who have a replica.
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
        self.former.remove(&host);
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
        self.former.values_mut().for_each(|former| former.own = 0);
    }

    /// A host is sent what it lacks of this number of updates in all.
    pub fn note_answer(&mut self, to: HostId, total: u64) {
        self.answered.insert(to, total);
    }

    /// A host has this number of updates in all; true if it has received its last answer with that.
    pub fn end_answer(&mut self, to: HostId, has: u64) -> bool {
        let has_received = self.answered.get(&to).is_some_and(|total| has >= *total);
        if has_received {
            self.answered.remove(&to);
        }
        has_received
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

    // ---- hosts that were given up ----

    /// A host was given up that had this number of this host's updates, when there were `total` of all hosts.
    pub fn note_former(&mut self, now: Time, host: HostId, own: u64, total: u64) {
        if self.former.len() < SHARERS_PER_MESSAGE_MAX {
            self.former.insert(host, Former { own, total, since: now });
        }
    }

    /// Another host says that a host was given up that had a replica. What that one has of this host's updates is unknown.
    pub fn hear_of_former(&mut self, now: Time, heard: FormerSharer) {
        let FormerSharer { host, total, ago_ms } = heard;
        let ago = Duration::from_millis(ago_ms);
        if ago < SHARED_FORMER_MAX && self.former.len() < SHARERS_PER_MESSAGE_MAX {
            self.former.entry(host).or_insert(Former { own: 0, total, since: now - ago });
        }
    }

    /// A host has no replica if it comes back.
    pub fn forget_former(&mut self, host: HostId) {
        self.former.remove(&host);
    }

    /// Nothing is kept any longer for hosts that have not come back for long.
    pub fn expire_former(&mut self, now: Time) {
        self.former.retain(|_, former| now < former.since + SHARED_FORMER_MAX);
    }

    /// The number of hosts that had a replica and were given up.
    pub fn former_len(&self) -> usize {
        self.former.len()
    }

    /// Whether a host that was given up lacks any of this host's `own` updates, or any of the `total` updates of all hosts.
    pub fn owes_former(&self, own: u64, total: u64) -> bool {
        self.former.values().any(|former| former.own < own || former.total < total)
    }

    // ---- hosts that may have a replica ----

    /// Whether a host that has become known, or is back, may have a replica that this one should be compared with.
    pub fn may_include(&self, host: HostId) -> bool {
        let is_sought =
            self.asks_newcomers && !self.former.is_empty() && self.known.len() < SHARED_COMPARED_MAX;
        is_sought || self.strangers.contains(&host) || self.former.contains_key(&host)
    }

    /// This host has found the grid again, perhaps under another id. Returns the hosts that are to be asked for
    /// replicas. Strangers are forgotten: the coordinator may not have heard that they are to become acquaintances.
    pub fn seek_again(&mut self, is_reborn: bool) -> Vec<HostId> {
        self.asks_newcomers |= is_reborn;
        let strangers = std::mem::take(&mut self.strangers);
        self.former.keys().copied().chain(strangers).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn hosts_that_were_given_up_are_owed_updates_for_a_while() {
        for (own, total, is_owed) in [(2, 3, false), (1, 3, true), (2, 2, true), (0, 0, true)] {
            let mut sharers = Sharers::default();
            sharers.note_former(NOW, ONE, own, total);
            assert_eq!(sharers.owes_former(2, 3), is_owed, "{own} of 2, {total} of 3");
            sharers.begin_log();
            assert!(sharers.owes_former(1, 0), "it has nothing of another log");
            let until = NOW + SHARED_FORMER_MAX;
            sharers.expire_former(Time(until.0 - 1));
            assert_eq!(sharers.former_len(), 1);
            sharers.expire_former(until);
            assert_eq!((sharers.former_len(), sharers.owes_former(9, 9)), (0, false));
        }
        let mut sharers = Sharers::default();
        for host in 0..2 * SHARERS_PER_MESSAGE_MAX as u64 {
            sharers.note_former(NOW, HostId(host), 0, 0);
        }
        assert_eq!(sharers.former_len(), SHARERS_PER_MESSAGE_MAX);
        sharers.serve(HostId(0));
        sharers.meet(HostId(1));
        sharers.forget_former(HostId(2));
        assert_eq!(sharers.former_len(), SHARERS_PER_MESSAGE_MAX - 3);
    }

    #[test]
    fn hosts_that_were_given_up_elsewhere_are_owed_updates_for_the_same_time() {
        let ago = Duration::from_millis(5_000);
        let heard = FormerSharer { host: ONE, total: 3, ago_ms: 5_000 };
        let given_up = Time(0);
        let now = given_up + ago;
        let mut sharers = Sharers::default();
        sharers.hear_of_former(now, heard);
        sharers.hear_of_former(now, FormerSharer { total: 9, ago_ms: 0, ..heard });
        let is_owed = |own, total| sharers.owes_former(own, total);
        assert!(!is_owed(0, 3) && is_owed(0, 4), "what was heard first counts");
        assert!(is_owed(1, 3), "what it has of this host's updates is unknown");
        let named = sharers.named(now + ago, &mut Random::new(1));
        assert_eq!(
            named,
            NamedSharers { known: Vec::new(), former: vec![FormerSharer { ago_ms: 10_000, ..heard }] }
        );
        sharers.expire_former(given_up + SHARED_FORMER_MAX);
        assert_eq!(sharers.former_len(), 0);
        let most = u64::try_from(SHARED_FORMER_MAX.as_millis()).expect("some minutes");
        for (ago_ms, count) in [(u64::MAX, 0), (most, 0), (most - 1, 1)] {
            sharers.hear_of_former(given_up + SHARED_FORMER_MAX, FormerSharer { ago_ms, ..heard });
            assert_eq!(sharers.former_len(), count, "{ago_ms}");
        }
    }

    #[test]
    fn few_hosts_that_were_given_up_are_named_at_a_time() {
        let mut sharers = Sharers::default();
        for host in 0..2 * SHARERS_PER_MESSAGE_MAX as u64 {
            sharers.hear_of_former(NOW, FormerSharer { host: HostId(host), total: 1, ago_ms: 0 });
        }
        assert_eq!(sharers.former_len(), SHARERS_PER_MESSAGE_MAX);
        let mut all = BTreeSet::new();
        for seed in 0..100 {
            let named = sharers.named(NOW, &mut Random::new(seed)).former;
            let different: BTreeSet<HostId> = named.iter().map(|former| former.host).collect();
            assert_eq!((named.len(), different.len()), (FORMER_SHARERS_PER_MESSAGE_MAX, named.len()));
            all.extend(different);
        }
        assert_eq!(all.len(), SHARERS_PER_MESSAGE_MAX, "all of them after a while");
    }

    #[test]
    fn hosts_that_may_have_a_replica_are_asked_when_they_become_known() {
        let mut sharers = Sharers::default();
        assert!(sharers.meet_stranger(ONE));
        assert!(!sharers.meet_stranger(ONE), "once is enough");
        sharers.note_former(NOW, OTHER, 0, 0);
        assert_eq!([1, 2, 3].map(|host| sharers.may_include(HostId(host))), [true, true, false]);
        assert_eq!(sharers.seek_again(false), [OTHER, ONE]);
        assert_eq!(sharers.seek_again(true), [OTHER], "strangers are forgotten");
        assert!(sharers.may_include(HostId(3)), "former sharers may have other names");
        sharers.forget_former(OTHER);
        assert!(!sharers.may_include(HostId(3)));
        for host in 0..SHARED_COMPARED_MAX as u64 {
            sharers.meet(HostId(100 + host));
        }
        assert!(!sharers.meet_stranger(ONE), "enough others have a replica");
    }
}
