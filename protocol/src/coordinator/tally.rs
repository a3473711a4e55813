//! Hosts' counts of a run.
//!
//! A host's process continues its counts when it gets another id, so its row moves with it: the same work is never counted
//! under two ids. It begins another *series* when it begins the run anew, for example after a suspension; the
//! counts before are kept. The number of rows of departed hosts is bounded: those of the first to go are
//! added up under [`LONG_GONE`].

#[cfg(test)]
mod tests;

mod forecast;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};

use crate::limits::{GONE_HOSTS_FOLDED_AT_ONCE_MAX, GONE_HOSTS_LISTED_MAX, GONE_HOSTS_REMEMBERED_MAX};
use crate::{Counts, HostId, WideCounts};
use forecast::Forecast;

/// The row of all hosts without a row of their own; no host has this id.
pub const LONG_GONE: HostId = HostId(0);

/// The state of a host that went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whereabouts {
    /// It is back.
    There,
    /// It may come back under its id.
    Missing,
    /// It will not.
    Gone,
}

/// How a host's row came about.
struct Counted {
    /// The counts of earlier series.
    before: Counts,
    /// The last counts.
    last: Counts,
    /// Their series; unknown after a restart of the coordinator.
    series: Option<u64>,
    /// This series is in the sum of departed hosts, up to a moment ago: it is not added again.
    is_folded: bool,
    /// The host has computed something that is in that sum.
    has_folded_work: bool,
}

impl Counted {
    /// Restores a row with the last counts, without further details.
    fn of(before: Counts, last: Counts) -> Self {
        Self { before, last, series: None, is_folded: false, has_folded_work: false }
    }
}

/// The counts of one run.
#[derive(Default)]
pub struct Tally {
    rows: BTreeMap<HostId, Counts>,
    counted: BTreeMap<HostId, Counted>,
    /// Departed hosts with a row, in order of departure; some may be back.
    gone: VecDeque<HostId>,
    /// The same.
    listed: BTreeSet<HostId>,
    /// Of these, those without a row of their own, should they come back as others; and whether they have computed
    /// anything.
    folded: BTreeMap<HostId, bool>,
    /// Of all rows.
    sum: WideCounts,
    /// Hosts with a row that have counted nothing since they went, or since a restart.
    away: BTreeSet<HostId>,
    /// Of the others.
    workers: u64,
    /// Hosts with a row that have computed anything, and their workers.
    at_work: AtWork,
    /// Hosts without a row of their own that have.
    long_gone: u64,
    /// Hosts whose rows have changed since they were taken to be saved.
    changed: BTreeSet<HostId>,
    /// The work that is ahead.
    pub forecast: Forecast,
}

/// Hosts that have computed anything, each host process once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AtWork {
    /// The number of hosts.
    pub hosts: u64,
    /// The workers of those that have a row.
    pub workers: u64,
}

impl AtWork {
    /// Of these rows.
    pub fn of(rows: impl IntoIterator<Item = (HostId, Counts)>) -> Self {
        let mut of_rows = Self::default();
        for (_, counts) in
            rows.into_iter().filter(|(host, counts)| *host != LONG_GONE && counts.has_computed())
        {
            of_rows.add(&counts);
        }
        of_rows
    }

    fn add(&mut self, counts: &Counts) {
        self.hosts += 1;
        self.workers += u64::from(counts.workers);
    }

    fn take(&mut self, counts: &Counts) {
        self.hosts -= 1;
        self.workers -= u64::from(counts.workers);
    }
}

/// A host's counts in the form that is saved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// The sum of all its series.
    pub sum: Counts,
    /// If it has begun to count anew: the counts before, and those since.
    pub anew: Option<(Counts, Counts)>,
}

impl Tally {
    /// As it was saved: the sums, of hosts that began anew what they counted before and what since, and how many hosts
    /// without a row have computed anything.
    pub fn restore(
        sums: Vec<(HostId, Counts)>,
        counted: Vec<(HostId, Counts, Counts)>,
        long_gone: u64,
    ) -> Self {
        // Connected hosts will report again.
        let at_rest = |(host, counts)| (host, Counts { busy: 0, ..counts });
        let counted = counted.into_iter().map(|(host, before, last)| (host, Counted::of(before, last)));
        let mut tally = Self { counted: counted.collect(), long_gone, ..Self::default() };
        for (host, counts) in sums.into_iter().map(at_rest) {
            tally.away.insert(host);
            tally.set_row(host, counts);
        }
        // They come from where they are saved.
        tally.changed.clear();
        tally
    }

    /// The number of hosts that have a row, or something that belongs to one.
    pub fn size(&self) -> usize {
        self.rows.len().max(self.counted.len()).max(self.away.len()).max(self.gone.len())
    }

    /// The length of all that [`shrink`](Self::shrink) frees.
    pub fn lists_len(&self) -> usize {
        let of_gone = self.folded.len() + self.listed.len() + self.gone.len();
        self.rows.len()
            + self.counted.len()
            + self.away.len()
            + self.changed.len()
            + self.forecast.len()
            + of_gone
    }

    /// The counts of the hosts from `first` on in the order of their ids, of all their series.
    pub fn rows_from(&self, first: HostId) -> impl Iterator<Item = (HostId, Counts)> {
        self.rows.range(first..).map(|(host, counts)| (*host, *counts))
    }

    /// Hosts that have begun to count anew: what they counted before, and what since. Of the others, what they
    /// counted is the sum.
    #[cfg(test)]
    pub fn begun_anew(&self) -> impl Iterator<Item = (HostId, Counts, Counts)> {
        let anew = self.counted.iter().filter(|(_, counted)| counted.before != Counts::default());
        anew.map(|(host, counted)| (*host, counted.before, counted.last))
    }

    /// What a host's row says, if it has one.
    pub fn row(&self, host: HostId) -> Option<Counts> {
        self.rows.get(&host).copied()
    }

    /// Whether a host has a row.
    pub fn has_row(&self, host: HostId) -> bool {
        self.rows.contains_key(&host)
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Hosts that have computed anything, each once: those that are gone, and those without a row, as well.
    pub fn at_work(&self) -> AtWork {
        AtWork { hosts: self.at_work.hosts + self.long_gone, ..self.at_work }
    }

    /// Of these, hosts without a row.
    pub fn long_gone(&self) -> u64 {
        self.long_gone
    }

    /// Whether the host of this row has computed anything.
    fn has_worked(&self, host: HostId, row: &Counts) -> bool {
        let has_folded_work = || self.counted.get(&host).is_some_and(|counted| counted.has_folded_work);
        host != LONG_GONE && (row.has_computed() || has_folded_work())
    }

    /// Whether there are rows that have changed since they were taken.
    pub fn has_changed(&self) -> bool {
        !self.changed.is_empty()
    }

    /// At most `most` of the rows that have changed since they were taken last, the one after `after` first; `None` for
    /// rows that were removed.
    pub fn take_changed(&mut self, after: Option<HostId>, most: usize) -> Vec<(HostId, Option<Row>)> {
        let from = after.map_or(HostId(0), |host| HostId(host.0.saturating_add(1)));
        let hosts: Vec<HostId> =
            self.changed.range(from..).chain(self.changed.range(..from)).take(most).copied().collect();
        let row = |host: HostId| {
            self.changed.remove(&host);
            let row = self.rows.get(&host).map(|sum| {
                let counted = self.counted.get(&host).filter(|counted| counted.before != Counts::default());
                Row { sum: *sum, anew: counted.map(|counted| (counted.before, counted.last)) }
            });
            (host, row)
        };
        hosts.into_iter().map(row).collect()
    }

    /// All rows, at the end of counting.
    pub fn take_rows(&mut self) -> BTreeMap<HostId, Counts> {
        std::mem::take(&mut self.rows)
    }

    /// The sum over all hosts, including those that are gone.
    pub fn sum(&self) -> Counts {
        self.sum.to_counts()
    }

    /// Workers of the hosts that are still connected.
    pub fn workers(&self) -> u32 {
        u32::try_from(self.workers).unwrap_or(u32::MAX)
    }

    fn set_row(&mut self, host: HostId, counts: Counts) {
        let known = self.rows.insert(host, counts);
        if let Some(before) = known.filter(|before| self.has_worked(host, before)) {
            self.at_work.take(&before);
        }
        if self.has_worked(host, &counts) {
            self.at_work.add(&counts);
        }
        let before = known.unwrap_or_default();
        self.sum.replace(&before, &counts);
        self.changed.insert(host);
        if !self.away.contains(&host) {
            self.workers += u64::from(counts.workers);
            self.workers -= u64::from(before.workers);
        }
    }

    fn remove_row(&mut self, host: HostId) -> Option<Counts> {
        let row = self.rows.remove(&host)?;
        if self.has_worked(host, &row) {
            self.at_work.take(&row);
        }
        self.sum.replace(&row, &Counts::default());
        self.changed.insert(host);
        if !self.away.remove(&host) {
            self.workers -= u64::from(row.workers);
        }
        Some(row)
    }

    /// Frees up to `most` rows; whether some are left.
    pub fn shrink(&mut self, most: usize) -> bool {
        for _ in 0..most {
            self.counted.pop_first();
            self.away.pop_first();
            self.folded.pop_first();
            self.listed.pop_first();
            self.gone.pop_front();
            self.rows.pop_first();
            self.changed.pop_first();
        }
        let is_expected = self.forecast.shrink(most);
        let are_all_empty =
            !is_expected && self.rows.is_empty() && self.counted.is_empty() && self.changed.is_empty();
        !(are_all_empty && self.away.is_empty() && self.folded.is_empty() && self.listed.is_empty())
    }

    /// A host reports its counts in a series. Returns the sum of all its series.
    pub fn count(&mut self, host: HostId, series: u64, counts: Counts) -> Counts {
        let mut row = self.rows.get(&host).copied().unwrap_or_default();
        if self.away.remove(&host) {
            self.workers += u64::from(row.workers);
        }
        let counted = self.counted.entry(host).or_insert_with(|| Counted::of(Counts::default(), row));
        let is_anew = match counted.series {
            Some(known) => known != series,
            None => !counted.is_folded && counts.began_anew_after(&counted.last),
        };
        if is_anew && !std::mem::take(&mut counted.is_folded) {
            counted.before.add(&Counts { busy: 0, workers: 0, ..counted.last });
        }
        counted.series = Some(series);
        counted.last = match counted.is_folded {
            true => Counts { busy: counts.busy, workers: counts.workers, ..Counts::default() },
            false => counts,
        };
        row = counted.before;
        row.add(&counted.last);
        self.set_row(host, row);
        row
    }

    /// A host has given the root job back, which it had begun. Of all other jobs their owners count that; of the root, the
    /// host that had it is said to.
    pub fn count_root_given_back(&mut self, host: HostId) {
        let Some(mut row) = self.rows.get(&host).copied() else { return };
        let counted = self.counted.entry(host).or_insert_with(|| Counted::of(Counts::default(), row));
        for counts in [&mut counted.before, &mut row] {
            counts.jobs.given_back = counts.jobs.given_back.saturating_add(1);
        }
        self.set_row(host, row);
    }

    /// A host's process has another id. Returns its counts so far.
    pub fn rename(&mut self, was: HostId, is: HostId) -> Option<Counts> {
        if self.rows.contains_key(&is) || was == is {
            return None;
        }
        self.forecast.forget(was);
        let row = self.remove_row(was);
        if let Some(row) = row {
            let counted = self.counted.remove(&was).unwrap_or_else(|| Counted::of(Counts::default(), row));
            self.counted.insert(is, counted);
            self.set_row(is, row);
        } else if let Some(has_worked) = self.folded.remove(&was) {
            // It is counted with its own row again.
            self.long_gone -= u64::from(has_worked);
            let nothing = Counts::default();
            let counted =
                Counted { is_folded: true, has_folded_work: has_worked, ..Counted::of(nothing, nothing) };
            self.counted.insert(is, counted);
            self.set_row(is, nothing);
        }
        row
    }

    /// A host is gone: it computes nothing. Its state decides what becomes of its row.
    pub fn leave(&mut self, host: HostId, whereabouts: impl Fn(HostId) -> Whereabouts) {
        self.forecast.forget(host);
        let Some(row) = self.rows.get(&host).copied() else { return };
        self.set_row(host, Counts { busy: 0, ..row });
        if self.away.insert(host) {
            self.workers -= u64::from(row.workers);
        }
        if self.listed.insert(host) {
            self.gone.push_back(host);
        }
        for _ in 0..GONE_HOSTS_FOLDED_AT_ONCE_MAX {
            if self.gone.len() <= GONE_HOSTS_LISTED_MAX {
                break;
            }
            let Some(first) = self.gone.pop_front() else { break };
            match whereabouts(first) {
                // It is listed again when it goes.
                Whereabouts::There => drop(self.listed.remove(&first)),
                // It keeps its row, and is looked at again.
                Whereabouts::Missing => self.gone.push_back(first),
                Whereabouts::Gone => {
                    self.listed.remove(&first);
                    self.fold(first);
                }
            }
        }
    }

    fn fold(&mut self, host: HostId) {
        let Some(row) = self.rows.get(&host) else { return };
        let has_worked = self.has_worked(host, row);
        let Some(row) = self.remove_row(host) else { return };
        self.counted.remove(&host);
        self.long_gone += u64::from(has_worked);
        // Its workers are those of nobody.
        let mut long_gone = self.rows.get(&LONG_GONE).copied().unwrap_or_default();
        long_gone.add(&Counts { busy: 0, workers: 0, shared_bytes: 0, ..row });
        self.set_row(LONG_GONE, long_gone);
        if self.folded.len() < GONE_HOSTS_REMEMBERED_MAX {
            self.folded.insert(host, has_worked);
        }
    }
}
