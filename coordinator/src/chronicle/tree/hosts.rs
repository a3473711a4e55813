//! The hosts of a tree. Nodes refer to them by their places here.

use std::collections::HashMap;

use sateen_protocol::HostId;

use super::node::NOWHERE;
use crate::limits::TREE_HOSTS_MAX;

/// A host of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeHost {
    /// Its id.
    pub id: HostId,
    /// Its name.
    pub name: String,
    /// Its site.
    pub site: String,
    /// Jobs that other hosts got from it and began.
    pub lent: u64,
    /// Jobs that it began again after they had been lost, and was the last to begin.
    pub redone: u64,
    /// It crashed, or was not heard of since a restart: jobs that ran there are lost.
    has_lost: bool,
    /// An earlier host of the tree has the same name.
    is_namesake: bool,
}

impl TreeHost {
    /// A name that no other host of the tree has: with its id, unless it is the first of its name.
    pub fn label(&self) -> String {
        match self.name.as_str() {
            "" => self.id.to_string(),
            name if self.is_namesake => format!("{name} {}", self.id),
            name => name.to_owned(),
        }
    }
}

/// All hosts of a tree.
#[derive(Debug, Default)]
pub struct Hosts {
    all: Vec<TreeHost>,
    places: HashMap<HostId, u32>,
    /// The last host of each name.
    newest: HashMap<String, u32>,
    /// Jobs that others got from hosts which have no place yet: a thief may be heard before its victim.
    lent_before: HashMap<HostId, u64>,
}

impl Hosts {
    /// In order of their places.
    pub fn all(&self) -> &[TreeHost] {
        &self.all
    }

    /// The host at a place.
    pub fn get(&self, place: u32) -> Option<&TreeHost> {
        self.all.get(place as usize)
    }

    fn get_mut(&mut self, place: u32) -> Option<&mut TreeHost> {
        self.all.get_mut(place as usize)
    }

    /// The place of a known host.
    pub fn place(&self, id: HostId) -> Option<u32> {
        self.places.get(&id).copied()
    }

    /// The place of a host, which is added if it was not known; `NOWHERE` if there is no room.
    pub fn add(&mut self, id: HostId, name: &str, site: &str) -> u32 {
        if let Some(place) = self.place(id) {
            self.set_lost(place, false);
            return place;
        }
        if self.all.len() >= TREE_HOSTS_MAX {
            return NOWHERE;
        }
        let place = self.all.len() as u32;
        let (name, site) = (name.to_owned(), site.to_owned());
        let lent = self.lent_before.remove(&id).unwrap_or_default();
        let is_namesake = self.newest.insert(name.clone(), place).is_some();
        self.all.push(TreeHost { id, name, site, lent, redone: 0, has_lost: false, is_namesake });
        self.places.insert(id, place);
        place
    }

    /// A host in sentences: with its id if it is not the first of its name, and said to be an earlier process if it is not
    /// the last.
    pub fn named(&self, id: HostId, name: &str, site: &str) -> String {
        let newest = self.newest.get(name).copied();
        let (is_namesake, is_earlier) = match self.place(id) {
            Some(place) => (
                self.get(place).is_some_and(|host| host.is_namesake),
                newest.is_some_and(|newest| newest > place),
            ),
            None => (newest.is_some(), false),
        };
        if name.is_empty() {
            return format!("host {id}");
        }
        let id = if is_namesake { format!(", {id}") } else { String::new() };
        let earlier = if is_earlier { ", an earlier process of that name" } else { "" };
        format!("host {name} ({site}{id}{earlier})")
    }

    /// Another host got a job from this one.
    pub fn lends(&mut self, id: HostId) {
        if let Some(host) = self.place(id).and_then(|place| self.get_mut(place)) {
            host.lent = host.lent.saturating_add(1);
        } else if self.lent_before.len() < TREE_HOSTS_MAX || self.lent_before.contains_key(&id) {
            let lent = self.lent_before.entry(id).or_default();
            *lent = lent.saturating_add(1);
        }
    }

    /// How many jobs others got from each host, if any.
    pub fn lent(&self) -> Vec<(HostId, u64)> {
        let mut before: Vec<(HostId, u64)> = self.lent_before.iter().map(|(id, lent)| (*id, *lent)).collect();
        before.sort_unstable_by_key(|(id, _)| *id);
        let known = self.all.iter().map(|host| (host.id, host.lent));
        known.filter(|(_, lent)| *lent > 0).chain(before).collect()
    }

    /// Hosts of which others got jobs before a restart. None of them has a place yet.
    pub fn restore_lent(&mut self, lent: &[(HostId, u64)]) {
        self.lent_before = lent.iter().copied().take(TREE_HOSTS_MAX).collect();
    }

    /// The host begins a lost job again, for the first time.
    pub fn redoes(&mut self, place: u32) {
        if let Some(host) = self.get_mut(place) {
            host.redone = host.redone.saturating_add(1);
        }
    }

    /// Another host begins a job that one had begun again.
    pub fn redone_moves(&mut self, was: u32, is: u32) {
        if was == NOWHERE {
            return self.redoes(is);
        }
        let Some(host) = self.get_mut(was).filter(|host| was != is && host.redone > 0) else { return };
        host.redone -= 1;
        self.redoes(is);
    }

    /// Moves the counts of one host to another.
    pub fn rename(&mut self, was: u32, is: u32) {
        let Some(host) = self.get_mut(was).filter(|_| was != is) else { return };
        let (lent, redone) = (std::mem::take(&mut host.lent), std::mem::take(&mut host.redone));
        if let Some(host) = self.get_mut(is) {
            host.lent = host.lent.saturating_add(lent);
            host.redone = host.redone.saturating_add(redone);
        }
    }

    /// Whether jobs that ran there are lost.
    pub fn has_lost(&self, place: u32) -> bool {
        self.get(place).is_some_and(|host| host.has_lost)
    }

    /// Sets whether jobs that ran there are lost.
    pub fn set_lost(&mut self, place: u32, has_lost: bool) {
        if let Some(host) = self.get_mut(place) {
            host.has_lost = has_lost;
        }
    }

    /// The same for all hosts.
    pub fn set_all_lost(&mut self, has_lost: bool) {
        self.all.iter_mut().for_each(|host| host.has_lost = has_lost);
    }

    /// The places of hosts whose jobs are lost.
    pub fn lost(&self) -> impl Iterator<Item = u32> {
        (0_u32..).zip(&self.all).filter(|(_, host)| host.has_lost).map(|(place, _)| place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_move_with_a_process_and_a_host_that_reports_has_lost_nothing() {
        let mut hosts = Hosts::default();
        let [one, two] = [1, 2].map(|id| hosts.add(HostId(id), "name", "site"));
        assert_eq!((one, two, hosts.add(HostId(1), "other", "site")), (0, 1, 0));
        hosts.lends(HostId(1));
        hosts.lends(HostId(9));
        hosts.redoes(one);
        hosts.redoes(NOWHERE);
        hosts.rename(one, one);
        let counted =
            |hosts: &Hosts| hosts.all().iter().map(|host| (host.lent, host.redone)).collect::<Vec<_>>();
        assert_eq!(counted(&hosts), [(1, 1), (0, 0)]);
        hosts.redoes(two);
        hosts.rename(one, two);
        assert_eq!(counted(&hosts), [(0, 0), (1, 2)]);
        hosts.set_all_lost(true);
        hosts.add(HostId(2), "name", "site");
        assert_eq!(hosts.lost().collect::<Vec<_>>(), [one]);
        assert_eq!([one, two, NOWHERE].map(|place| hosts.has_lost(place)), [true, false, false]);
        assert_eq!((hosts.place(HostId(2)), hosts.place(HostId(3))), (Some(two), None));
    }

    /// A steal was missing if the thief's report came before the victim's first one.
    #[test]
    fn jobs_of_a_host_that_reports_later_than_its_thief_are_counted() {
        let mut hosts = Hosts::default();
        hosts.lends(HostId(1));
        hosts.lends(HostId(1));
        hosts.add(HostId(1), "name", "site");
        hosts.lends(HostId(1));
        assert_eq!(hosts.all()[0].lent, 3);
        (0..=TREE_HOSTS_MAX as u64).for_each(|id| hosts.lends(HostId(100 + id)));
        assert_eq!(hosts.lent_before.len(), TREE_HOSTS_MAX);
    }

    #[test]
    fn the_number_of_hosts_is_bounded() {
        let mut hosts = Hosts::default();
        for id in 0..TREE_HOSTS_MAX as u64 {
            assert_eq!(u64::from(hosts.add(HostId(id), "", "")), id);
        }
        assert_eq!(hosts.add(HostId(u64::MAX), "", ""), NOWHERE);
        assert_eq!(hosts.all().len(), TREE_HOSTS_MAX);
    }
}
