//! Proof that rare states are reached: counters by name, summed over seeds.

use std::collections::BTreeMap;

use sateen_protocol::Counts;
use sateen_protocol::coordinator::Account;

use crate::families::Family;

/// States that some seed must reach. Other names may be counted as well.
pub const MUST_HAPPEN: &[&str] = &[
    "a coordinator crashed within a second of a host",
    "a guard asked for the updates of others",
    "a host came back under a new id",
    "a host that was given up came back under its id",
    "a host crashed silently",
    "a host crashed",
    "a host froze",
    "a host left",
    "a job was aborted that was away",
    "a job was asked for before it was redone",
    "a job was lost with its thief",
    "a job was lost, without a crash, and taken back",
    "a late job was returned",
    "a link broke",
    "a message had fragments",
    "a partition healed before any host was given up",
    "a peer message was lost",
    "a redone job was adopted",
    "a redone job was reused",
    "a result came twice",
    "a root was lost",
    "a run was cancelled",
    "a run was suspended",
    "a site crashed",
    "all hosts crashed",
    "an abort stopped a job of another host",
    "an app was loaded after a restart",
    "an orphan was left",
    "something came to a replica",
    "the coordinator crashed",
    "two hosts crashed within a second",
];

/// A run gave way; see `protocol/src/coordinator/places.rs`.
pub const GAVE_WAY: &str = "a run gave its place to another submitter";

/// The counters.
#[derive(Debug, Clone, Default)]
pub struct Sometimes(BTreeMap<String, u64>);

impl Sometimes {
    /// Counts an occurrence.
    pub fn hit(&mut self, name: &str) {
        match self.0.get_mut(name) {
            Some(count) => *count += 1,
            None => {
                self.0.insert(name.to_owned(), 1);
            }
        }
    }

    /// Counts what the final counts of a run say of results of earlier runs.
    pub fn note_earlier(&mut self, counts: &Counts, account: &Account) {
        if counts.earlier == 0 {
            return;
        }
        let is_its_own = account.by_host.is_empty();
        self.hit(if is_its_own {
            "a run had its result from an earlier run"
        } else {
            "a job had the result of an earlier run"
        });
        if counts.jobs.lost > 0 || account.root_losses > 0 {
            self.hit("a host was lost in a run with results of earlier runs");
        }
    }

    /// Adds another seed's counters.
    pub fn add(&mut self, other: &Self) {
        for (name, count) in &other.0 {
            *self.0.entry(name.clone()).or_default() += count;
        }
    }

    /// The number of occurrences.
    pub fn count(&self, name: &str) -> u64 {
        self.0.get(name).copied().unwrap_or(0)
    }

    /// All states that occurred.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().map(|(name, count)| (name.as_str(), *count))
    }

    /// States that seeds with faults of these families should have reached and did not.
    pub fn missing(&self, families: &[Family]) -> Vec<&'static str> {
        let must = families.iter().flat_map(|family| family.shows()).chain(MUST_HAPPEN);
        must.filter(|name| self.count(name) == 0).copied().collect()
    }
}
