//! Which hosts have loaded a run's app, and which cannot.

use std::collections::BTreeMap;

use crate::HostId;
use crate::limits::{REASONS_KEPT_WHOLE_MAX, shortened};

/// What hosts have reported since a run was last given to them. Without paused hosts and those that are
/// gone.
#[derive(Default)]
pub struct Readiness {
    /// In no order, so that one can be drawn at random.
    hosts: Vec<HostId>,
    places: BTreeMap<HostId, usize>,
    /// Hosts that cannot, with the reason.
    unready: BTreeMap<HostId, String>,
}

impl Readiness {
    /// Hosts that have loaded it.
    pub fn ready(&self) -> &[HostId] {
        &self.hosts
    }

    pub fn is_ready(&self, host: HostId) -> bool {
        self.places.contains_key(&host)
    }

    pub fn is_unready(&self, host: HostId) -> bool {
        self.unready.contains_key(&host)
    }

    /// The number of hosts that have reported.
    pub fn len(&self) -> usize {
        self.hosts.len() + self.unready.len()
    }

    /// Hosts that cannot load it, with the reason.
    pub fn unready(&self) -> &BTreeMap<HostId, String> {
        &self.unready
    }

    /// A host has loaded it.
    pub fn set_ready(&mut self, host: HostId) {
        self.unready.remove(&host);
        if !self.places.contains_key(&host) {
            self.places.insert(host, self.hosts.len());
            self.hosts.push(host);
        }
    }

    /// A host cannot take part.
    pub fn set_unready(&mut self, host: HostId, reason: String) {
        self.set_not_ready(host);
        let is_kept_whole = self.unready.len() < REASONS_KEPT_WHOLE_MAX;
        self.unready.insert(host, if is_kept_whole { reason } else { shortened(&reason) });
    }

    /// A host has dropped it.
    pub fn set_not_ready(&mut self, host: HostId) {
        let Some(place) = self.places.remove(&host) else { return };
        self.hosts.swap_remove(place);
        if let Some(moved) = self.hosts.get(place) {
            self.places.insert(*moved, place);
        }
    }

    /// A host is paused or gone.
    pub fn forget_host(&mut self, host: HostId) {
        self.set_not_ready(host);
        self.unready.remove(&host);
    }

    /// Hosts that are unable remain so.
    pub fn take_ready(&mut self) -> Self {
        Self {
            hosts: std::mem::take(&mut self.hosts),
            places: std::mem::take(&mut self.places),
            ..Self::default()
        }
    }

    /// Frees up to `most` of each kind; returns whether any are left.
    pub fn shrink(&mut self, most: usize) -> bool {
        for _ in 0..most {
            self.hosts.pop();
            self.places.pop_first();
            self.unready.pop_first();
        }
        !(self.hosts.is_empty() && self.places.is_empty() && self.unready.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_either_ready_or_unable() {
        let mut readiness = Readiness::default();
        (0..5).for_each(|host| readiness.set_ready(HostId(host)));
        readiness.set_unready(HostId(1), "why".to_owned());
        readiness.set_ready(HostId(0));
        readiness.forget_host(HostId(4));
        let mut ready = readiness.ready().to_vec();
        ready.sort_unstable();
        assert_eq!(ready, [HostId(0), HostId(2), HostId(3)]);
        assert!(readiness.is_unready(HostId(1)) && !readiness.is_ready(HostId(1)));
        for (place, host) in readiness.hosts.iter().enumerate() {
            assert_eq!(readiness.places[host], place);
        }
        let before = readiness.take_ready();
        assert_eq!((before.ready().len(), readiness.ready().len(), readiness.unready().len()), (3, 0, 1));
    }
}
