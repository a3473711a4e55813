//! Searches that wait for hosts to recover, indexed by what they wait for.
//!
//! None waits for long, so those of departed hosts and finished runs are not removed: their answers are dropped.

use std::collections::{BTreeMap, BTreeSet};

use crate::{HostId, JobKey, RunId, Time};

/// A host waits for the entries of a job and below it.
#[derive(Debug, Clone, Copy)]
pub struct Search {
    pub host: HostId,
    pub run: RunId,
    pub key: JobKey,
    /// The epoch of departures from which all hosts must have recovered.
    pub epoch: u64,
    pub until: Time,
    /// Missing hosts may be about to come back, as the searcher just did.
    pub waits_for_missing: bool,
}

/// All searches, numbered in order of arrival.
#[derive(Default)]
pub struct Searches {
    next: u64,
    all: BTreeMap<u64, Search>,
    by_epoch: BTreeSet<(u64, u64)>,
    /// Those that also wait for missing hosts; they are not in `by_epoch`.
    by_epoch_and_missing: BTreeSet<(u64, u64)>,
    by_time: BTreeSet<(Time, u64)>,
    of_host: BTreeMap<HostId, usize>,
}

impl Searches {
    /// The number of waiting searches.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// The number of a host's waiting searches.
    pub fn len_of(&self, host: HostId) -> usize {
        self.of_host.get(&host).copied().unwrap_or_default()
    }

    /// Adds a search.
    pub fn push(&mut self, search: Search) {
        let number = self.next;
        self.next += 1;
        self.epochs(&search).insert((search.epoch, number));
        self.by_time.insert((search.until, number));
        *self.of_host.entry(search.host).or_default() += 1;
        self.all.insert(number, search);
    }

    /// Takes up to `most` that need not wait: of epochs before `unsettled`, or whose time is up; in order
    /// of arrival.
    pub fn take_ready(
        &mut self,
        now: Time,
        unsettled: u64,
        is_any_missing: bool,
        most: usize,
    ) -> Vec<Search> {
        let before = |epochs: &BTreeSet<(u64, u64)>| -> Vec<u64> {
            epochs.range(..(unsettled, 0)).map(|(_, number)| *number).take(most).collect()
        };
        let mut settled = before(&self.by_epoch);
        if !is_any_missing {
            settled.extend(before(&self.by_epoch_and_missing));
        }
        let timed_out = self.by_time.range(..=(now, u64::MAX)).map(|(_, number)| *number).take(most);
        let ready: BTreeSet<u64> = settled.into_iter().chain(timed_out).collect();
        ready.into_iter().take(most).filter_map(|number| self.remove(number)).collect()
    }

    /// Whether [`take_ready`](Self::take_ready) would take any.
    pub fn is_any_ready(&self, now: Time, unsettled: u64, is_any_missing: bool) -> bool {
        let is_before =
            |epochs: &BTreeSet<(u64, u64)>| epochs.first().is_some_and(|(epoch, _)| *epoch < unsettled);
        is_before(&self.by_epoch)
            || (!is_any_missing && is_before(&self.by_epoch_and_missing))
            || self.by_time.first().is_some_and(|(until, _)| *until <= now)
    }

    /// When the first search has waited long enough.
    pub fn next(&self) -> Option<Time> {
        self.by_time.first().map(|(until, _)| *until)
    }

    fn epochs(&mut self, search: &Search) -> &mut BTreeSet<(u64, u64)> {
        if search.waits_for_missing { &mut self.by_epoch_and_missing } else { &mut self.by_epoch }
    }

    fn remove(&mut self, number: u64) -> Option<Search> {
        let search = self.all.remove(&number)?;
        self.epochs(&search).remove(&(search.epoch, number));
        self.by_time.remove(&(search.until, number));
        if let Some(count) = self.of_host.get_mut(&search.host) {
            *count -= 1;
            if *count == 0 {
                self.of_host.remove(&search.host);
            }
        }
        Some(search)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search(host: u64, run: u64, epoch: u64, until: u64) -> Search {
        let key = JobKey([host as u8; 32]);
        Search {
            host: HostId(host),
            run: RunId(run),
            key,
            epoch,
            until: Time(until),
            waits_for_missing: false,
        }
    }

    fn hosts(searches: &[Search]) -> Vec<u64> {
        searches.iter().map(|search| search.host.0).collect()
    }

    #[test]
    fn settled_and_expired_searches_are_taken_in_order() {
        let mut searches = Searches::default();
        for (host, epoch, until) in [(1, 5, 100), (2, 3, 100), (3, 9, 10), (4, 3, 100)] {
            searches.push(search(host, 1, epoch, until));
        }
        assert!(!searches.is_any_ready(Time(9), 3, false));
        assert_eq!(searches.next(), Some(Time(10)));
        for (now, unsettled) in [(10, 3), (9, 4)] {
            assert!(searches.is_any_ready(Time(now), unsettled, true), "timed out or settled");
        }
        assert_eq!(hosts(&searches.take_ready(Time(10), 4, false, 2)), [2, 3]);
        assert_eq!(hosts(&searches.take_ready(Time(10), 4, false, 2)), [4]);
        let waits = Search { waits_for_missing: true, ..search(5, 1, 1, 100) };
        searches.push(waits);
        assert_eq!(hosts(&searches.take_ready(Time(10), u64::MAX, true, 2)), [1]);
        assert!(!searches.is_any_ready(Time(10), u64::MAX, true));
        assert!(searches.is_any_ready(Time(10), u64::MAX, false));
        assert_eq!(hosts(&searches.take_ready(Time(10), u64::MAX, false, 2)), [5]);
        assert_eq!(searches.len(), 0);
    }

    #[test]
    fn nothing_is_left_of_searches_that_were_taken() {
        let mut searches = Searches::default();
        for number in 0..20 {
            searches.push(search(number % 4, number % 5, number, number));
        }
        assert_eq!((searches.len(), searches.len_of(HostId(1)), searches.len_of(HostId(9))), (20, 5, 0));
        assert_eq!(searches.take_ready(Time(0), u64::MAX, false, 8).len(), 8);
        assert_eq!((searches.len(), searches.len_of(HostId(1))), (12, 3));
        assert_eq!(searches.take_ready(Time(0), u64::MAX, false, 100).len(), 12);
        let left = [
            searches.by_epoch.len(),
            searches.by_time.len(),
            searches.of_host.len(),
            searches.all.len(),
            searches.len_of(HostId(1)),
        ];
        assert_eq!(left, [0; 5]);
    }
}
