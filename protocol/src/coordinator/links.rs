//! Open links, and those that are about to be closed.

use std::collections::{BTreeMap, BTreeSet};

use crate::HostId;

use super::LinkId;

/// The links of the coordinator.
#[derive(Default)]
pub struct Links {
    /// Open links, and the hosts that have said hello on them.
    hosts: BTreeMap<LinkId, HostId>,
    /// Links that are about to be closed; their messages are ignored.
    closing: BTreeSet<LinkId>,
}

impl Links {
    /// The number of links on which a hello was received.
    pub fn len(&self) -> usize {
        self.hosts.len()
    }

    /// The number of links that are about to be closed.
    pub fn closing_len(&self) -> usize {
        self.closing.len()
    }

    /// The host that has said hello on a link.
    pub fn host(&self, link: LinkId) -> Option<HostId> {
        self.hosts.get(&link).copied()
    }

    /// Whether a link is about to be closed.
    pub fn is_closing(&self, link: LinkId) -> bool {
        self.closing.contains(&link)
    }

    /// A host has said hello on a link.
    pub fn identify(&mut self, link: LinkId, host: HostId) {
        self.hosts.insert(link, host);
    }

    /// A link is no longer its host's.
    pub fn forget(&mut self, link: LinkId) {
        self.hosts.remove(&link);
    }

    /// A link is to be closed; returns whether that is news.
    pub fn close(&mut self, link: LinkId) -> bool {
        self.closing.insert(link)
    }

    /// A link is closed; returns the host whose link it was.
    pub fn remove(&mut self, link: LinkId) -> Option<HostId> {
        self.closing.remove(&link);
        self.hosts.remove(&link)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_closed_once_and_then_forgotten() {
        let (link, other) = (LinkId(1), LinkId(2));
        let mut links = Links::default();
        links.identify(link, HostId(7));
        links.identify(other, HostId(8));
        assert_eq!((links.host(link), links.is_closing(link), links.len()), (Some(HostId(7)), false, 2));
        assert_eq!([links.close(link), links.close(link), links.is_closing(link)], [true, false, true]);
        links.forget(link);
        assert_eq!((links.host(link), links.len(), links.closing_len()), (None, 1, 1));
        assert_eq!([links.remove(link), links.remove(other)], [None, Some(HostId(8))]);
        assert_eq!((links.len(), links.closing_len()), (0, 0));
    }
}
