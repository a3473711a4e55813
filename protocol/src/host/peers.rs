//! The other hosts that this one is acquainted with.

use std::collections::{BTreeMap, BTreeSet};

use crate::message::HostInfo;
use crate::{HostId, Random, Time};

use super::cut_off::CutOff;
use super::given_up::GivenUp;

/// The hosts that this one is acquainted with, its *peers*, and those that it was or must not become acquainted with.
pub struct Peers {
    /// Where this host is.
    site: String,
    known: BTreeMap<HostId, HostInfo>,
    /// Peers by site, for choosing victims: this host's own, and all others.
    near: Vec<HostId>,
    far: Vec<HostId>,
    /// Peers that are reached by a direct link, says the driver.
    direct: BTreeSet<HostId>,
    /// Hosts whose messages are ignored.
    cut_off: CutOff,
    /// Peers that did not answer a steal request in time and have said nothing since.
    silent: BTreeSet<HostId>,
    /// Peers that were given up a moment ago, and may not know yet.
    given_up: GivenUp,
}

impl Peers {
    /// A host at this site, which knows no others.
    pub fn new(site: String) -> Self {
        Self {
            site,
            known: BTreeMap::new(),
            near: Vec::new(),
            far: Vec::new(),
            direct: BTreeSet::new(),
            cut_off: CutOff::default(),
            silent: BTreeSet::new(),
            given_up: GivenUp::default(),
        }
    }

    // ---- all ----

    /// The number of peers.
    pub fn len(&self) -> usize {
        self.known.len()
    }

    /// Whether a host is a peer.
    pub fn contains(&self, host: HostId) -> bool {
        self.known.contains_key(&host)
    }

    /// What is known of a peer.
    pub fn get(&self, host: HostId) -> Option<&HostInfo> {
        self.known.get(&host)
    }

    /// What is known of all peers.
    pub fn iter(&self) -> impl Iterator<Item = &HostInfo> {
        self.known.values()
    }

    /// All peers.
    pub fn ids(&self) -> impl Iterator<Item = HostId> {
        self.known.keys().copied()
    }

    /// Some of the peers.
    pub fn some(&self, random: &mut Random, most: usize) -> Vec<HostId> {
        let skip = random.below(self.known.len().max(1));
        let most = self.known.len().min(most);
        self.known.keys().cycle().skip(skip).take(most).copied().collect()
    }

    // ---- by site ----

    /// The peers of this host's own site, ordered.
    pub fn near(&self) -> &[HostId] {
        &self.near
    }

    /// The peers of all other sites, ordered.
    pub fn far(&self) -> &[HostId] {
        &self.far
    }

    /// The peers of this host's own site, or if there are none, all others.
    pub fn nearest(&self) -> &[HostId] {
        if self.near.is_empty() { &self.far } else { &self.near }
    }

    /// Whether a host is not a peer of this host's own site.
    pub fn is_far(&self, host: HostId) -> bool {
        self.near.binary_search(&host).is_err()
    }

    /// The number of peers in both lists.
    pub fn listed_len(&self) -> usize {
        self.near.len() + self.far.len()
    }

    // ---- hosts that come and go ----

    /// A host is a peer from now on, or news of it has come; true if it was not a peer. It is listed by site when all
    /// have come: see [`list`](Self::list) and [`list_all`](Self::list_all).
    pub fn add(&mut self, info: HostInfo) -> bool {
        self.known.insert(info.id, info).is_none()
    }

    /// Lists all peers by site, in an order that does not depend on when they came.
    pub fn list_all(&mut self) {
        let is_near = |info: &&HostInfo| info.report.site == self.site;
        self.near = self.known.values().filter(is_near).map(|info| info.id).collect();
        self.far = self.known.values().filter(|info| !is_near(info)).map(|info| info.id).collect();
    }

    /// Lists a host by site, if it is a peer. One more of thousands is not a reason to sort them all.
    pub fn list(&mut self, host: HostId) {
        self.unlist(host);
        let Some(info) = self.known.get(&host) else { return };
        let listed = if info.report.site == self.site { &mut self.near } else { &mut self.far };
        if let Err(place) = listed.binary_search(&host) {
            listed.insert(place, host);
        }
    }

    fn unlist(&mut self, host: HostId) {
        self.silent.remove(&host);
        for listed in [&mut self.near, &mut self.far] {
            if let Ok(place) = listed.binary_search(&host) {
                listed.remove(place);
            }
        }
    }

    /// A host is not a peer any more, though it may still be there.
    pub fn forget(&mut self, host: HostId) {
        self.unlist(host);
        self.known.remove(&host);
    }

    /// A host is given up; whether it was a peer.
    pub fn give_up(&mut self, now: Time, host: HostId) -> bool {
        let was_peer = self.known.remove(&host).is_some();
        if was_peer {
            self.unlist(host);
            self.given_up.note(now, host);
        }
        was_peer
    }

    /// Whether a host ceased to be a peer a moment ago: it may come back, and may not know yet that it was given up.
    pub fn is_given_up(&self, now: Time, host: HostId) -> bool {
        !self.contains(host) && self.given_up.has(now, host)
    }

    /// The number of hosts that were given up a moment ago.
    pub fn given_up_len(&self) -> usize {
        self.given_up.len()
    }

    /// This host has left the grid: it has no peers, and those that join with it next time may be others.
    pub fn clear(&mut self) {
        self.known.clear();
        self.near.clear();
        self.far.clear();
        self.cut_off.clear();
        self.silent.clear();
    }

    // ---- how they answer ----

    /// A direct link to a host works, or none does any more.
    pub fn note_direct(&mut self, host: HostId, is_direct: bool) {
        if is_direct {
            self.direct.insert(host);
        } else {
            self.direct.remove(&host);
        }
    }

    /// Whether a host is reached by a direct link.
    pub fn is_direct(&self, host: HostId) -> bool {
        self.direct.contains(&host)
    }

    /// The peers that are reached through the coordinator only.
    pub fn relayed(&self) -> impl Iterator<Item = HostId> {
        self.known.keys().filter(|host| !self.direct.contains(host)).copied()
    }

    /// A host did not answer in time: if it is a peer, it is silent until it says something.
    pub fn note_silent(&mut self, host: HostId) {
        if self.known.contains_key(&host) {
            self.silent.insert(host);
        }
    }

    /// A host has said something.
    pub fn note_heard(&mut self, host: HostId) {
        self.silent.remove(&host);
    }

    /// Whether a peer is silent.
    pub fn is_silent(&self, host: HostId) -> bool {
        self.silent.contains(&host)
    }

    /// Whether any peer is silent.
    pub fn has_silent(&self) -> bool {
        !self.silent.is_empty()
    }

    // ---- hosts that are cut off ----

    /// A host is cut off; false if it was before. It stays a peer until it is given up.
    pub fn cut_off(&mut self, now: Time, host: HostId) -> bool {
        self.cut_off.note(now, host)
    }

    /// Whether a host is cut off.
    pub fn is_cut_off(&self, host: HostId) -> bool {
        self.cut_off.has(host)
    }

    /// A host is gone: when it comes back, it is not cut off any more.
    pub fn end_cut_off(&mut self, host: HostId) {
        self.cut_off.forget(host);
    }

    /// The number of hosts that are cut off.
    pub fn cut_off_len(&self) -> usize {
        self.cut_off.len()
    }

    /// Leaves behind in a list what should have been forgotten, as a fault would.
    #[cfg(test)]
    pub fn leave_behind(&mut self, host: HostId) {
        self.far.push(host);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::tests::info;
    use super::*;
    use crate::limits::CUT_OFF_HOSTS_MAX;
    use crate::message::HostReport;

    const NOW: Time = Time(3);

    /// A host at this site.
    fn at(number: u64, site: &str) -> HostInfo {
        let info = info(HostId(number));
        let report = HostReport { site: site.to_owned(), ..(*info.report).clone() };
        HostInfo { report: Arc::new(report), ..info }
    }

    /// Odd ones are at this host's site.
    fn peers(numbers: &[u64]) -> Peers {
        let mut peers = Peers::new("here".to_owned());
        for number in numbers {
            assert!(peers.add(at(*number, if number % 2 == 1 { "here" } else { "there" })));
            peers.list(HostId(*number));
        }
        peers
    }

    fn listed(peers: &Peers) -> (Vec<u64>, Vec<u64>) {
        let numbers = |hosts: &[HostId]| hosts.iter().map(|host| host.0).collect::<Vec<_>>();
        (numbers(peers.near()), numbers(peers.far()))
    }

    #[test]
    fn peers_are_listed_by_site_whenever_they_came() {
        let all: Vec<u64> = (1..=9).collect();
        let expected = (vec![1, 3, 5, 7, 9], vec![2, 4, 6, 8]);
        let mut came = peers(&[7, 2, 9, 4, 1, 8, 3, 6, 5]);
        assert_eq!(listed(&came), expected);
        assert_eq!((came.len(), came.listed_len()), (9, 9));
        assert!(came.ids().map(|host| host.0).eq(all.iter().copied()));
        came.list_all();
        assert_eq!(listed(&came), expected);
        assert!(!came.is_far(HostId(7)) && came.is_far(HostId(8)) && came.is_far(HostId(99)));
        // One that has moved.
        assert!(!came.add(at(4, "here")), "it was a peer");
        came.list(HostId(4));
        assert_eq!(listed(&came), (vec![1, 3, 4, 5, 7, 9], vec![2, 6, 8]));
        came.list(HostId(99));
        assert_eq!(came.listed_len(), 9, "that is not a peer");
        assert_eq!(came.nearest().len(), 6);
        assert_eq!(peers(&[2]).nearest(), [HostId(2)]);
    }

    #[test]
    fn a_peer_that_is_gone_is_in_no_list() {
        let mut peers = peers(&[1, 2, 3]);
        peers.note_silent(HostId(1));
        assert!(peers.give_up(NOW, HostId(1)) && !peers.give_up(NOW, HostId(1)));
        assert!(peers.is_given_up(NOW, HostId(1)) && !peers.has_silent());
        peers.forget(HostId(2));
        assert!(!peers.is_given_up(NOW, HostId(2)), "it may be there");
        assert_eq!(listed(&peers), (vec![3], Vec::new()));
        assert_eq!((peers.len(), peers.given_up_len()), (1, 1));
        peers.add(info(HostId(1)));
        assert!(!peers.is_given_up(NOW, HostId(1)), "it is back");
        peers.clear();
        assert_eq!((peers.len(), listed(&peers)), (0, (Vec::new(), Vec::new())));
    }

    #[test]
    fn peers_are_silent_until_they_say_something() {
        let mut peers = peers(&[1, 2]);
        peers.note_silent(HostId(9));
        assert!(!peers.has_silent(), "that is not a peer");
        for host in [1, 2].map(HostId) {
            peers.note_silent(host);
        }
        peers.note_heard(HostId(1));
        assert_eq!([1, 2].map(|host| peers.is_silent(HostId(host))), [false, true]);
        peers.list(HostId(2));
        assert!(!peers.has_silent(), "it has joined again");
    }

    #[test]
    fn peers_without_a_link_of_their_own_are_relayed() {
        let mut peers = peers(&[1, 2, 3]);
        peers.note_direct(HostId(2), true);
        assert!(peers.is_direct(HostId(2)) && !peers.is_direct(HostId(1)));
        assert!(peers.relayed().eq([1, 3].map(HostId)));
        peers.note_direct(HostId(2), false);
        assert_eq!(peers.relayed().count(), 3);
    }

    #[test]
    fn hosts_that_are_cut_off_may_come_back() {
        let mut peers = peers(&[1]);
        assert!(peers.cut_off(NOW, HostId(1)) && !peers.cut_off(NOW, HostId(1)));
        assert!(peers.is_cut_off(HostId(1)) && peers.contains(HostId(1)));
        peers.end_cut_off(HostId(1));
        assert!(!peers.is_cut_off(HostId(1)));
        for number in 0..=CUT_OFF_HOSTS_MAX as u64 {
            peers.cut_off(NOW, HostId(number));
        }
        assert_eq!(peers.cut_off_len(), CUT_OFF_HOSTS_MAX);
        peers.clear();
        assert_eq!(peers.cut_off_len(), 0);
    }

    #[test]
    fn some_peers_are_different_ones() {
        let peers = peers(&[1, 2, 3, 4]);
        for most in 0..6 {
            let some = peers.some(&mut Random::new(most as u64), most);
            let different: BTreeSet<HostId> = some.iter().copied().collect();
            assert_eq!((some.len(), different.len()), (most.min(4), some.len()));
        }
        assert!(Peers::new("here".to_owned()).some(&mut Random::new(1), 3).is_empty());
    }
}
