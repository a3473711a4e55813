//! What the driver knows about hosts besides the machine's state.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use sateen_protocol::coordinator::LinkId;
use sateen_protocol::{HostId, Time};

use super::names::Names;
use super::rate::Pings;
use super::request::HostSeen;
use super::returns::Resting;
use super::served::{Served, Told};
use super::silence::Reports;
use super::speed::{Pace, Speeds, compare};
use super::unheard::Unheard;
use crate::figures::{HostFigures, JobCounts};
use crate::host_name::HostName;
use crate::locked;
use crate::store::chronicle::SavedHost;

/// Maximum rows that others handle under a lock that the driver may wait for.
const ROWS_UNDER_LOCK_MAX: usize = 256;

/// Facts about hosts that are also used to compute figures outside the driver.
#[derive(Debug, Clone, Default)]
pub struct Profiles {
    names: Names,
    speeds: Arc<Mutex<Speeds>>,
    served: Arc<Mutex<Served>>,
}

impl Profiles {
    /// The names of hosts, and which of them are connected.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// Updates hosts' speeds from their paces in each run. Takes time in a large grid.
    pub fn learn(&self, paces: impl Iterator<Item = Vec<Pace>>) {
        for part in compare(paces).chunks(ROWS_UNDER_LOCK_MAX) {
            locked(&self.speeds).learn(part, |host| self.names.is_there(host));
        }
    }

    /// A run is over: adds what each host did for it, and what its tree says about them.
    pub fn add_run(&self, by_host: &[HostFigures], told: &HashMap<HostId, Told>) {
        for part in by_host.chunks(ROWS_UNDER_LOCK_MAX) {
            locked(&self.served).add(part, told);
        }
    }

    /// Adds these facts, and those from trees, to the machine's view of some hosts.
    pub fn complete(&self, hosts: &mut [HostSeen], told: &HashMap<HostId, Told>) {
        let (speeds, served) = (locked(&self.speeds), locked(&self.served));
        for host in hosts {
            let id = host.view.id;
            host.since_ms = self.names.saved(id).map(|saved| saved.since_ms);
            host.service = served.of(id);
            let Told { lent, redone } = told.get(&id).copied().unwrap_or_default();
            host.service.jobs.add(&JobCounts { of_hosts: host.view.counts.jobs, redone });
            host.service.lent = host.service.lent.saturating_add(lent);
            host.speed = speeds.of(id);
        }
    }
}

/// The driver's state about hosts.
#[derive(Debug, Default)]
pub struct Hosts {
    profiles: Profiles,
    /// Links on which a hello came.
    links: BTreeMap<LinkId, Greeted>,
    /// Hosts from before a restart that have not come back.
    awaited: BTreeSet<HostId>,
    pings: Pings,
    /// Hosts that paused, or that were given up before a restart.
    pub(super) resting: Resting,
    /// When hosts last reported what they counted.
    pub(super) reports: Reports,
    /// Hosts that have not said yet what they do.
    pub(super) unheard: Unheard,
}

/// A link on which a hello came.
#[derive(Debug)]
struct Greeted {
    /// The name in the hello, until the machine identifies the host.
    name: Option<HostName>,
    workers: u32,
    /// The host, once it is identified.
    host: Option<HostId>,
}

impl Hosts {
    /// State after a restart: names, hosts that were connected and may come back, and hosts that runs miss.
    pub fn restore(
        names: Vec<(HostId, String, String)>,
        hosts: Vec<(HostId, SavedHost)>,
        resting: BTreeSet<HostId>,
    ) -> Self {
        let awaited = hosts.iter().map(|(host, _)| *host).collect();
        let profiles = Profiles { names: Names::restore(names, hosts), ..Profiles::default() };
        Self { profiles, awaited, resting: Resting::restore(resting), ..Self::default() }
    }

    /// The part that is shared outside the driver.
    pub fn profiles(&self) -> &Profiles {
        &self.profiles
    }

    /// A hello came on a link.
    pub fn greeted(&mut self, link: LinkId, name: HostName, workers: u32) {
        let host = self.links.get(&link).and_then(|greeted| greeted.host);
        self.links.insert(link, Greeted { name: Some(name), workers, host });
    }

    /// Counts came on a link.
    pub fn counted(&mut self, link: LinkId, now: Time) {
        if let Some(host) = self.links.get(&link).and_then(|greeted| greeted.host) {
            self.reports.reported(host, now);
        }
    }

    /// The workers of a link's host.
    pub fn workers_of(&self, link: LinkId) -> u32 {
        self.links.get(&link).map_or(0, |greeted| greeted.workers)
    }

    /// The link is closed.
    pub fn closed(&mut self, link: LinkId, now_ms: u64) {
        if let Some(host) = self.links.remove(&link).and_then(|greeted| greeted.host) {
            self.profiles.names.lost_link(host, now_ms);
        }
        self.pings.closed(link);
    }

    /// The machine identified the host of a link, which comes from this address. Returns whether its hello was heard: then the
    pub fn identified(&mut self, link: LinkId, host: HostId, address: Option<IpAddr>, now_ms: u64) -> bool {
        let Some(greeted) = self.links.get_mut(&link) else { return false };
        let Some(name) = greeted.name.take() else { return false };
        greeted.host = Some(host);
        self.profiles.names.came(host, name, address, now_ms);
        self.awaited.remove(&host);
        true
    }

    /// A host that had gone is back.
    pub fn returned(&self, host: HostId) {
        self.profiles.names.returned(host);
        locked(&self.profiles.served).returned(host);
    }

    /// A host has gone.
    pub fn went(&mut self, host: HostId) {
        self.reports.went(host);
        // Nothing more is added about a host that is gone.
        self.profiles.names.went(host);
        locked(&self.profiles.speeds).forget(host);
        locked(&self.profiles.served).went(host);
    }

    /// Whether hosts from before a restart may still come back.
    pub fn awaits_any(&self) -> bool {
        !self.awaited.is_empty()
    }

    /// Whether a host from before a restart may still come back.
    pub fn awaits(&self, host: HostId) -> bool {
        self.awaited.contains(&host)
    }

    /// Hosts from before a restart that may still come back.
    pub fn awaited(&self) -> &BTreeSet<HostId> {
        &self.awaited
    }

    /// A host that has not come back; it is no longer waited for.
    pub fn give_up_awaited(&mut self) -> Option<HostId> {
        self.awaited.pop_first()
    }

    /// A host, in the form that is saved.
    pub fn saved(&self, host: HostId) -> Option<SavedHost> {
        self.profiles.names.saved(host)
    }

    /// A host's name for itself; empty if it is not known.
    pub fn name_of(&self, host: HostId) -> Arc<HostName> {
        self.profiles.names.of(host).unwrap_or_default()
    }

    /// A host in log messages.
    pub fn named(&self, host: HostId) -> String {
        match self.profiles.names.of(host) {
            Some(known) => format!("{host} ({} at {})", known.name, known.site),
            None => host.to_string(),
        }
    }

    /// The present or last address of a host.
    pub fn address_of(&self, host: HostId) -> String {
        shown_address(self.profiles.names.address_of(host))
    }

    /// A ping was sent.
    pub fn pinged(&mut self, link: LinkId, ping: u64) {
        self.pings.sent(link, ping);
    }

    /// Its answer came.
    pub fn answered(&mut self, link: LinkId, ping: u64) {
        self.pings.answered(link, ping);
    }

    /// The round trip of a link's last ping.
    pub fn rtt(&self, link: LinkId) -> Option<Duration> {
        self.pings.rtt(link)
    }
}

/// An address in a log line.
pub fn shown_address(address: Option<IpAddr>) -> String {
    address.map_or_else(|| "unknown".to_owned(), |address| address.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(name: &str) -> HostName {
        HostName { name: name.to_owned(), site: "here".to_owned() }
    }

    #[test]
    fn a_host_has_joined_once_its_hello_has_arrived_and_the_machine_knows_it() {
        let saved = SavedHost { name: Arc::new(name("old")), since_ms: 3 };
        let mut hosts =
            Hosts::restore(Vec::new(), vec![(HostId(1), saved.clone()), (HostId(2), saved)], BTreeSet::new());
        let (one, two, three) = (HostId(1), HostId(2), HostId(3));
        assert!(!hosts.identified(LinkId(7), one, None, 9), "nothing was heard");
        hosts.greeted(LinkId(7), name("one"), 4);
        hosts.greeted(LinkId(8), name("lost"), 5);
        assert_eq!([LinkId(7), LinkId(8)].map(|link| hosts.workers_of(link)), [4, 5]);
        hosts.closed(LinkId(8), 9);
        assert_eq!(hosts.workers_of(LinkId(8)), 0);
        assert!(!hosts.identified(LinkId(8), three, None, 9), "its link is closed");
        assert!(hosts.identified(LinkId(7), one, Some([192, 0, 2, 7].into()), 9));
        assert!(!hosts.identified(LinkId(7), one, None, 9), "once");
        let shown = |hosts: &Hosts, host| (hosts.named(host), hosts.address_of(host));
        assert_eq!([one, two].map(|host| hosts.awaits(host)), [false, true]);
        assert_eq!(shown(&hosts, one), (format!("{one} (one at here)"), "192.0.2.7".to_owned()));
        assert_eq!(shown(&hosts, three), (three.to_string(), "unknown".to_owned()));
        assert_eq!(
            (hosts.give_up_awaited(), hosts.give_up_awaited()),
            (Some(two), None),
            "the other came back"
        );
        assert_eq!(hosts.profiles.names.away_since_ms(one), None);
        hosts.closed(LinkId(7), 11);
        assert_eq!(hosts.profiles.names.away_since_ms(one), Some(11));
        hosts.went(one);
        assert_eq!((hosts.saved(one), hosts.name_of(one).name.as_str()), (None, "one"));
        hosts.returned(one);
        assert_eq!(hosts.saved(one).map(|saved| saved.since_ms), Some(3));
    }
}
