//! What hosts call themselves, from where they come, and which of them are there. Known to what works out figures behind
//! the driver's back, too.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use sateen_protocol::HostId;

use crate::limits::HOST_NAMES_MAX;

/// What a host calls itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostName {
    /// Its name.
    pub name: String,
    /// Its site.
    pub site: String,
}

/// The names of hosts.
#[derive(Debug, Clone, Default)]
pub struct Names(Arc<RwLock<Known>>);

#[derive(Debug, Default)]
struct Known {
    of: HashMap<HostId, Entry>,
    /// Hosts that went, the first to go first; some have come back.
    gone: VecDeque<HostId>,
}

#[derive(Debug)]
struct Entry {
    name: Arc<HostName>,
    /// Of its last link, if that was since the coordinator's start.
    address: Option<IpAddr>,
    is_there: bool,
}

impl Names {
    /// Those of hosts from before a restart.
    pub fn restore(names: impl IntoIterator<Item = (HostId, String, String)>) -> Self {
        let mut known = Known::default();
        for (host, name, site) in names {
            let name = Arc::new(HostName { name, site });
            known.of.insert(host, Entry { name, address: None, is_there: false });
            known.gone.push_back(host);
        }
        Self(Arc::new(RwLock::new(known)))
    }

    fn read(&self) -> RwLockReadGuard<'_, Known> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Known> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// A host is there, comes from this address, and calls itself so.
    pub fn came(&self, host: HostId, name: HostName, address: Option<IpAddr>) {
        self.write().of.insert(host, Entry { name: Arc::new(name), address, is_there: true });
    }

    /// A host that had gone is there again.
    pub fn returned(&self, host: HostId) {
        if let Some(entry) = self.write().of.get_mut(&host) {
            entry.is_there = true;
        }
    }

    /// A host has gone. Its name is known until too many others have gone.
    pub fn went(&self, host: HostId) {
        let mut known = self.write();
        let Some(entry) = known.of.get_mut(&host) else { return };
        entry.is_there = false;
        known.gone.push_back(host);
        while known.gone.len() > HOST_NAMES_MAX
            && let Some(first) = known.gone.pop_front()
        {
            if known.of.get(&first).is_some_and(|entry| !entry.is_there) {
                known.of.remove(&first);
            }
        }
    }

    /// What a host calls itself.
    pub fn of(&self, host: HostId) -> Option<Arc<HostName>> {
        self.read().of.get(&host).map(|entry| Arc::clone(&entry.name))
    }

    /// From where a host came last.
    pub fn address_of(&self, host: HostId) -> Option<IpAddr> {
        self.read().of.get(&host).and_then(|entry| entry.address)
    }

    /// Whether a host is there.
    pub fn is_there(&self, host: HostId) -> bool {
        self.read().of.get(&host).is_some_and(|entry| entry.is_there)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_gone_are_bounded_and_those_who_are_there_keep_theirs() {
        let names = Names::restore([(HostId(1), "old".to_owned(), "here".to_owned())]);
        assert!(names.of(HostId(1)).is_some_and(|name| name.name == "old") && !names.is_there(HostId(1)));
        let name = |name: &str| HostName { name: name.to_owned(), ..HostName::default() };
        names.came(HostId(2), name("two"), Some(IpAddr::from([192, 0, 2, 7])));
        names.went(HostId(2));
        names.returned(HostId(2));
        for host in 3..HOST_NAMES_MAX as u64 + 10 {
            names.came(HostId(host), name("short"), None);
            names.went(HostId(host));
        }
        assert!(names.is_there(HostId(2)) && names.of(HostId(2)).is_some());
        assert_eq!(names.address_of(HostId(2)), Some(IpAddr::from([192, 0, 2, 7])));
        assert_eq!(names.of(HostId(1)), None);
        assert_eq!(names.read().of.len(), HOST_NAMES_MAX + 1);
    }
}
