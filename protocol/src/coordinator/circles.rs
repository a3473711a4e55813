//! Which hosts know which.
//!
//! In a small grid every host knows all others. In a large one a host has a *circle*: all hosts of
//! its site, or some of them if the site is large, some hosts elsewhere, drawn at random and renewed now and
//! then, and the hosts that it has dealt with. Acquaintance is mutual, and hosts lend jobs only to
//! acquaintances, so a departure is announced only to the circle of the departed host.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound::{Excluded, Unbounded};
use std::sync::Arc;
use std::time::Duration;

use crate::limits::Circle;
use crate::{HostId, Random};

/// Up to this number of hosts, those in other sites are found by looking at all.
const SEARCHED_MAX: usize = 1024;

/// Where a host is in the pool from which acquaintances are drawn.
struct Place {
    site: Arc<str>,
    in_site: usize,
    in_all: usize,
}

/// The acquaintances of a host, and how many of them are in its site.
#[derive(Default)]
struct Known {
    others: BTreeMap<HostId, bool>,
    near: usize,
}

impl Known {
    fn insert(&mut self, other: HostId, is_near: bool) -> bool {
        let before = self.others.insert(other, is_near);
        self.near += usize::from(is_near);
        self.near -= usize::from(before == Some(true));
        before.is_none()
    }

    fn remove(&mut self, other: HostId) {
        self.near -= usize::from(self.others.remove(&other) == Some(true));
    }
}

/// Two hosts that were asked to forget one another.
struct Parting {
    ask: u64,
    /// The one that has already done so.
    forgotten_by: Option<HostId>,
}

/// What to do when a host has answered that it forgot another, or did not.
#[derive(Debug, PartialEq, Eq)]
pub enum Parted {
    /// Nothing: the other has not answered, or both have forgotten.
    Nothing,
    /// This host has forgotten another that it should know after all.
    Remind(HostId, HostId),
}

/// The circles of all hosts.
pub struct Circles {
    bounds: Circle,
    random: Random,
    /// The acquaintances of each host; mutual.
    known: BTreeMap<HostId, Known>,
    all: Vec<HostId>,
    sites: BTreeMap<Arc<str>, Vec<HostId>>,
    places: BTreeMap<HostId, Place>,
    partings: BTreeMap<(HostId, HostId), Parting>,
    asks: u64,
    /// The host whose circle is renewed next.
    turn: usize,
    /// The number of renewals that are due; fractions carry over.
    due: f64,
}

impl Circles {
    /// No hosts yet.
    pub fn new(bounds: Circle, seed: u64) -> Self {
        Self {
            bounds,
            random: Random::new(seed),
            known: BTreeMap::new(),
            all: Vec::new(),
            sites: BTreeMap::new(),
            places: BTreeMap::new(),
            partings: BTreeMap::new(),
            asks: 0,
            turn: 0,
            due: 0.0,
        }
    }

    /// The number of pairs that were asked to forget one another and have not answered.
    pub fn parting(&self) -> usize {
        self.partings.len()
    }

    /// The hosts that a host knows, as far as the coordinator has notified it.
    pub fn of(&self, host: HostId) -> impl Iterator<Item = HostId> {
        self.known.get(&host).into_iter().flat_map(|known| known.others.keys()).copied()
    }

    /// The acquaintances of a host, from the one after `after` on.
    pub fn of_after(&self, host: HostId, after: Option<HostId>) -> impl Iterator<Item = HostId> {
        let range = (after.map_or(Unbounded, Excluded), Unbounded);
        self.known.get(&host).into_iter().flat_map(move |known| known.others.range(range)).map(|(id, _)| *id)
    }

    /// The number of hosts that a host knows.
    pub fn len_of(&self, host: HostId) -> usize {
        self.known.get(&host).map_or(0, |known| known.others.len())
    }

    /// Up to `most` hosts with acquaintances, from the one after `after` on.
    pub fn after(&self, host: Option<HostId>, most: usize) -> Vec<HostId> {
        let range = (host.map_or(Unbounded, Excluded), Unbounded);
        self.known.range(range).take(most).map(|(host, _)| *host).collect()
    }

    /// A host of this site takes part: others may be introduced to it.
    pub fn enter(&mut self, host: HostId, site: &str) {
        if self.places.get(&host).is_some_and(|place| *place.site == *site) {
            return;
        }
        self.step_aside(host);
        let site = self.sites.get_key_value(site).map_or_else(|| Arc::from(site), |(site, _)| site.clone());
        let members = self.sites.entry(site.clone()).or_default();
        self.places.insert(host, Place { site, in_site: members.len(), in_all: self.all.len() });
        members.push(host);
        self.all.push(host);
    }

    /// A host is not introduced to any more hosts.
    pub fn step_aside(&mut self, host: HostId) {
        let Some(place) = self.places.remove(&host) else { return };
        if let Some(members) = self.sites.get_mut(&place.site) {
            members.swap_remove(place.in_site);
            let moved = members.get(place.in_site).copied();
            if let Some(moved) = moved.and_then(|moved| self.places.get_mut(&moved)) {
                moved.in_site = place.in_site;
            }
            if members.is_empty() {
                self.sites.remove(&place.site);
            }
        }
        self.all.swap_remove(place.in_all);
        let moved = self.all.get(place.in_all).copied();
        if let Some(moved) = moved.and_then(|moved| self.places.get_mut(&moved)) {
            moved.in_all = place.in_all;
        }
    }

    /// A host is gone; returns its acquaintances.
    pub fn leave(&mut self, host: HostId) -> BTreeSet<HostId> {
        let knew: BTreeSet<HostId> = self.withdraw(host).collect();
        for other in &knew {
            self.part(*other, host);
        }
        knew
    }

    /// A host is gone and no longer knows any other. The returned hosts still know it until they [`part`](Self::part)
    /// from it.
    pub fn withdraw(&mut self, host: HostId) -> impl Iterator<Item = HostId> + use<> {
        self.step_aside(host);
        self.stop_partings(host);
        self.known.remove(&host).unwrap_or_default().others.into_keys()
    }

    /// Makes two hosts acquainted; false if they already were.
    pub fn connect(&mut self, one: HostId, other: HostId) -> bool {
        let was_parting = self.partings.remove(&pair(one, other)).is_some();
        let is_near = self.is_same_site(one, other);
        self.known.entry(other).or_default().insert(one, is_near);
        self.known.entry(one).or_default().insert(other, is_near) || was_parting
    }

    /// Strangers to whom a new host should be introduced.
    pub fn draw(&mut self, host: HostId) -> Vec<HostId> {
        let (bounds, half) = (self.bounds, |drawn: usize| drawn.div_ceil(2));
        // Hosts that join later draw as many again.
        self.strangers(host, half(bounds.near_drawn), half(bounds.far_drawn))
    }

    /// The hosts whose circles are to be renewed now, if the next call is after `period`.
    pub fn turns(&mut self, period: Duration) -> Vec<HostId> {
        let share = period.as_secs_f64() / self.bounds.renewed_every.as_secs_f64().max(period.as_secs_f64());
        self.due += self.all.len() as f64 * share;
        let count = self.due as usize;
        self.due -= count as f64;
        let first = self.turn;
        self.turn = if first >= self.all.len() { 0 } else { first + count };
        self.all.iter().skip(first).take(count).copied().collect()
    }

    /// Strangers to whom a host should be introduced: those that are missing, or one
    /// more. And an acquaintance that it may forget in exchange.
    pub fn renew(&mut self, host: HostId) -> (Vec<HostId>, Vec<HostId>) {
        let Some((near_others, far_others)) = self.others(host) else { return Default::default() };
        let bounds = self.bounds;
        let Some(known) = self.known.get(&host) else {
            return (self.draw(host), Vec::new());
        };
        let (near, far) = (known.near, known.others.len() - known.near);
        if near + far >= near_others + far_others {
            return Default::default();
        }
        let wanted = |known: usize, drawn: usize| drawn.saturating_sub(known).max(1);
        let mut go = Vec::new();
        for (is_near, count, others, all, drawn) in [
            (true, near, near_others, bounds.near_all, bounds.near_drawn),
            (false, far, far_others, bounds.far_all, bounds.far_drawn),
        ] {
            if others > all && count > drawn {
                let mut such = known.others.iter().filter(|(_, near)| **near == is_near);
                go.extend(such.nth(self.random.below(count)).map(|(other, _)| *other));
            }
        }
        let come = self.strangers(host, wanted(near, bounds.near_drawn), wanted(far, bounds.far_drawn));
        (come, go)
    }

    /// Two hosts are to be asked to forget one another: returns the number of the request, or `None` if they are being
    /// asked already.
    pub fn ask_to_part(&mut self, one: HostId, other: HostId) -> Option<u64> {
        let std::collections::btree_map::Entry::Vacant(place) = self.partings.entry(pair(one, other)) else {
            return None;
        };
        self.asks += 1;
        place.insert(Parting { ask: self.asks, forgotten_by: None });
        Some(self.asks)
    }

    /// A host reports whether it has forgotten another.
    pub fn on_forgot(&mut self, host: HostId, ask: u64, other: HostId, forgotten: bool) -> Parted {
        if !self.known.get(&host).is_some_and(|known| known.others.contains_key(&other)) {
            return Parted::Nothing;
        }
        let parting = self.partings.get_mut(&pair(host, other)).filter(|parting| parting.ask == ask);
        match parting {
            // Meanwhile they have dealt with one another.
            None if forgotten => Parted::Remind(host, other),
            None => Parted::Nothing,
            Some(parting) => match parting.forgotten_by {
                None if forgotten => {
                    parting.forgotten_by = Some(host);
                    Parted::Nothing
                }
                Some(first) if first != host => {
                    self.partings.remove(&pair(host, other));
                    if !forgotten {
                        return Parted::Remind(other, host);
                    }
                    self.part(host, other);
                    self.part(other, host);
                    Parted::Nothing
                }
                Some(_) => Parted::Nothing,
                None => {
                    self.partings.remove(&pair(host, other));
                    Parted::Nothing
                }
            },
        }
    }

    /// A host is sent its acquaintances again, and still knows those that were asked to forget it.
    /// Returns those that have done so already, and must be reminded.
    pub fn stop_partings(&mut self, host: HostId) -> Vec<HostId> {
        // Only acquaintances are asked to forget one another.
        let others = self.known.get(&host).into_iter().flat_map(|known| known.others.keys());
        let stopped = others.filter_map(|other| self.partings.remove(&pair(host, *other)));
        stopped.filter_map(|parting| parting.forgotten_by.filter(|by| *by != host)).collect()
    }

    /// The number of other hosts in a host's site, and elsewhere.
    fn others(&self, host: HostId) -> Option<(usize, usize)> {
        let site = self.sites.get(&self.places.get(&host)?.site)?;
        Some((site.len() - 1, self.all.len() - site.len()))
    }

    fn is_same_site(&self, one: HostId, other: HostId) -> bool {
        match (self.places.get(&one), self.places.get(&other)) {
            (Some(one), Some(other)) => Arc::ptr_eq(&one.site, &other.site),
            _ => false,
        }
    }

    /// Strangers near and far: as many as requested, or all where all should be acquainted.
    fn strangers(&mut self, host: HostId, near: usize, far: usize) -> Vec<HostId> {
        let Some((near_others, far_others)) = self.others(host) else { return Vec::new() };
        let Some(site) = self.places.get(&host).and_then(|place| self.sites.get(&place.site)) else {
            return Vec::new();
        };
        let known = self.known.get(&host);
        let is_stranger =
            |other: HostId| other != host && known.is_none_or(|known| !known.others.contains_key(&other));
        let near = if near_others <= self.bounds.near_all { usize::MAX } else { near };
        let far = if far_others <= self.bounds.far_all { usize::MAX } else { far };
        let is_far = |other| is_stranger(other) && !self.is_same_site(host, other);
        // Moved out, since the closures borrow the rest.
        let mut random = self.random.clone();
        let mut drawn = pick(site, near, &mut random, is_stranger);
        if far == usize::MAX && site.len() > SEARCHED_MAX.max(far_others) {
            // Few of many hosts are elsewhere: avoid looking at all of them.
            let elsewhere = self.sites.values().filter(|members| !std::ptr::eq(*members, site)).flatten();
            drawn.extend(elsewhere.copied().filter(|other| is_stranger(*other)));
        } else {
            drawn.extend(pick(&self.all, far, &mut random, is_far));
        }
        self.random = random;
        drawn
    }

    /// A host no longer knows another; the other may still know it.
    pub fn part(&mut self, host: HostId, other: HostId) {
        if let Some(known) = self.known.get_mut(&host) {
            known.remove(other);
            if known.others.is_empty() {
                self.known.remove(&host);
            }
        }
    }
}

fn pair(one: HostId, other: HostId) -> (HostId, HostId) {
    (one.min(other), one.max(other))
}

/// Up to `most` hosts of a pool that match. A large pool is not searched to the end.
fn pick(pool: &[HostId], wanted: usize, random: &mut Random, suits: impl Fn(HostId) -> bool) -> Vec<HostId> {
    if wanted == 0 || pool.is_empty() {
        return Vec::new();
    }
    if pool.len() <= wanted.saturating_mul(4) {
        let (before, after) = pool.split_at(random.below(pool.len()));
        return after.iter().chain(before).copied().filter(|host| suits(*host)).take(wanted).collect();
    }
    let mut picked = Vec::with_capacity(wanted);
    for _ in 0..8 * wanted + 32 {
        let host = pool[random.below(pool.len())];
        if suits(host) && !picked.contains(&host) {
            picked.push(host);
            if picked.len() == wanted {
                break;
            }
        }
    }
    picked
}

#[cfg(test)]
mod tests;
