//! Hosts' names and addresses, which of them are connected, and since when. Also used to compute figures
//! outside the driver.

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use sateen_protocol::HostId;

use crate::host_name::HostName;
use crate::limits::HOST_NAMES_MAX;
use crate::store::chronicle::SavedHost;

/// The names of hosts.
#[derive(Debug, Clone, Default)]
pub struct Names(Arc<RwLock<Known>>);

#[derive(Debug, Default)]
struct Known {
    /// Ordered: growing a hash map would copy all of a hundred thousand entries at once.
    of: BTreeMap<HostId, Entry>,
    /// Hosts that have gone, in that order; some have come back.
    gone: VecDeque<HostId>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Presence {
    There,
    /// From before a restart, and may still come back.
    Awaited,
    Gone,
}

#[derive(Debug)]
struct Entry {
    name: Arc<HostName>,
    /// The address of its last link, if that was since the coordinator's start.
    address: Option<IpAddr>,
    presence: Presence,
    /// When it joined, in milliseconds since 1970; 0 if that is not known.
    since_ms: u64,
    /// When its last link was closed, since it has none.
    away_since_ms: Option<u64>,
}

impl Names {
    /// Restores the names of hosts from before a restart; some of them were connected and may come back.
    pub fn restore(
        names: impl IntoIterator<Item = (HostId, String, String)>,
        hosts: impl IntoIterator<Item = (HostId, SavedHost)>,
    ) -> Self {
        let name = |(host, name, site)| (host, Arc::new(HostName { name, site }), 0, Presence::Gone);
        let names = names.into_iter().map(name);
        let hosts = hosts.into_iter();
        let hosts = hosts.map(|(host, saved)| (host, saved.name, saved.since_ms, Presence::Awaited));
        let mut known = Known::default();
        for (host, name, since_ms, presence) in names.chain(hosts) {
            let entry = Entry { name, address: None, presence, since_ms, away_since_ms: None };
            if known.of.insert(host, entry).is_none() {
                known.gone.push_back(host);
            }
        }
        Self(Arc::new(RwLock::new(known)))
    }

    fn read(&self) -> RwLockReadGuard<'_, Known> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Known> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// A host has joined, with this address and name. If it was connected before, it keeps its time of joining.
    pub fn came(&self, host: HostId, name: HostName, address: Option<IpAddr>, now_ms: u64) {
        let mut known = self.write();
        let before = known.of.get(&host).map(|entry| entry.since_ms).filter(|since_ms| *since_ms > 0);
        let since_ms = before.unwrap_or(now_ms);
        let name = Arc::new(name);
        known
            .of
            .insert(host, Entry { name, address, presence: Presence::There, since_ms, away_since_ms: None });
    }

    /// The link of a host was closed, which may have another.
    pub fn lost_link(&self, host: HostId, now_ms: u64) {
        if let Some(entry) = self.write().of.get_mut(&host) {
            entry.away_since_ms = Some(now_ms);
        }
    }

    /// When a host that has no link lost it, in milliseconds since 1970.
    pub fn away_since_ms(&self, host: HostId) -> Option<u64> {
        self.read().of.get(&host)?.away_since_ms
    }

    /// A host that had gone is back.
    pub fn returned(&self, host: HostId) {
        if let Some(entry) = self.write().of.get_mut(&host) {
            entry.presence = Presence::There;
        }
    }

    /// A host has gone. Its name is kept until too many others have gone.
    pub fn went(&self, host: HostId) {
        let mut known = self.write();
        let Some(entry) = known.of.get_mut(&host) else { return };
        entry.presence = Presence::Gone;
        known.gone.push_back(host);
        while known.gone.len() > HOST_NAMES_MAX
            && let Some(first) = known.gone.pop_front()
        {
            if known.of.get(&first).is_some_and(|entry| entry.presence == Presence::Gone) {
                known.of.remove(&first);
            }
        }
    }

    /// A host's name for itself.
    pub fn of(&self, host: HostId) -> Option<Arc<HostName>> {
        self.read().of.get(&host).map(|entry| Arc::clone(&entry.name))
    }

    /// A connected host, in the form that is saved.
    pub fn saved(&self, host: HostId) -> Option<SavedHost> {
        let known = self.read();
        let entry = known.of.get(&host).filter(|entry| entry.presence == Presence::There)?;
        Some(SavedHost { name: Arc::clone(&entry.name), since_ms: entry.since_ms })
    }

    /// The last address of a host.
    pub fn address_of(&self, host: HostId) -> Option<IpAddr> {
        self.read().of.get(&host).and_then(|entry| entry.address)
    }

    /// Whether a host is in the grid: it has not left, and was not given up.
    pub fn is_there(&self, host: HostId) -> bool {
        self.read().of.get(&host).is_some_and(|entry| entry.presence != Presence::Gone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_gone_hosts_are_bounded_and_connected_hosts_keep_theirs() {
        let names = Names::restore([(HostId(1), "old".to_owned(), "here".to_owned())], []);
        assert!(names.of(HostId(1)).is_some_and(|name| name.name == "old") && !names.is_there(HostId(1)));
        let name = |name: &str| HostName { name: name.to_owned(), ..HostName::default() };
        names.came(HostId(2), name("two"), Some(IpAddr::from([192, 0, 2, 7])), 1);
        names.went(HostId(2));
        names.returned(HostId(2));
        for host in 3..HOST_NAMES_MAX as u64 + 10 {
            names.came(HostId(host), name("short"), None, 1);
            names.went(HostId(host));
        }
        assert!(names.is_there(HostId(2)) && names.of(HostId(2)).is_some());
        assert_eq!(names.address_of(HostId(2)), Some(IpAddr::from([192, 0, 2, 7])));
        assert_eq!(names.of(HostId(1)), None);
        assert_eq!(names.read().of.len(), HOST_NAMES_MAX + 1);
    }

    #[test]
    fn a_hosts_time_of_joining_survives_restarts() {
        let name = || HostName { name: "two".to_owned(), site: "here".to_owned() };
        let names = Names::default();
        names.came(HostId(2), name(), None, 17);
        names.came(HostId(2), name(), None, 20);
        let saved = names.saved(HostId(2)).expect("it is there");
        assert_eq!(saved.since_ms, 17);
        let known = [(HostId(2), "two".to_owned(), "here".to_owned())];
        let again = Names::restore(known, [(HostId(2), saved.clone())]);
        assert_eq!((again.saved(HostId(2)), again.read().gone.len()), (None, 1), "it has not come back");
        assert!(again.is_there(HostId(2)), "nor was it given up");
        again.went(HostId(2));
        assert!(!again.is_there(HostId(2)));
        again.came(HostId(2), name(), None, 99);
        again.came(HostId(3), name(), None, 99);
        assert_eq!(again.saved(HostId(2)), Some(saved));
        assert_eq!(again.saved(HostId(3)).map(|saved| saved.since_ms), Some(99));
    }
}
