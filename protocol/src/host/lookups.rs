//! Entries that jobs that are run again here may find below them.

mod unnamed;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Bound::{Excluded, Unbounded};

use crate::limits::{EXPECTED_AT_ONCE_MAX, REDOING_MAX, SOUGHT_CHECKED_AT_ONCE_MAX};
use crate::{JobKey, JobSpec, JobTag, Table};

use super::again::RunAgain;

/// The entries in the table that jobs of one run that are run again here may find.
#[derive(Debug, Default)]
pub struct Lookups {
    /// Lost jobs that are run again here, each with the number of times that any job had been by then.
    redoing: BTreeMap<JobTag, u64>,
    /// How many times a job was run again.
    times: u64,
    /// The same jobs, in the order in which they were lost.
    order: VecDeque<JobTag>,
    /// Those of them below which more entries are to be checked, each with the place of the last entry that was.
    expecting: VecDeque<(JobTag, Option<(u32, JobKey)>)>,
    /// How often each job was run again here.
    run_again: RunAgain,
    /// Entries that a descendant of these jobs may still find, each with the first time that a job was run again which
    /// found it in the table.
    sought: BTreeMap<JobKey, u64>,
    /// Where [`Self::check`] continues: after this one of these entries.
    checked: Option<JobKey>,
    /// The entries of which the runtime was not notified, and whether it was notified of any.
    untold: BTreeSet<JobTag>,
    is_told: bool,
}

impl Lookups {
    /// Whether a job was lost and is run again here.
    pub fn redoes(&self, job: &JobTag) -> bool {
        self.redoing.contains_key(job)
    }

    /// A job is run again here.
    pub fn note_again(&mut self, job: JobTag) {
        self.run_again.note(job);
    }

    /// A job is run again: notes the entries that may be found below it, and returns the depth of the deepest.
    pub fn expect_below(&mut self, table: &Table, spec: &JobSpec) -> u32 {
        self.expect(table, spec.key.tag(), None);
        table.depth_below(spec.key.tag())
    }

    fn expect(&mut self, table: &Table, job: JobTag, after: Option<(u32, JobKey)>) {
        self.times += 1;
        if self.redoing.insert(job, self.times).is_none() {
            self.order.push_back(job);
        }
        if self.order.len() > REDOING_MAX
            && let Some(first) = self.order.pop_front()
        {
            self.redoing.remove(&first);
        }
        self.expecting.retain(|(expected, _)| *expected != job);
        self.expecting.push_back((job, after));
        self.expect_more(table);
    }

    /// Checks some more of the entries below jobs that are run again, the nearest first.
    pub fn expect_more(&mut self, table: &Table) {
        let mut room = EXPECTED_AT_ONCE_MAX;
        while room > 0
            && let Some((tag, after)) = self.expecting.pop_front()
        {
            let below: Vec<_> = table.below_after(tag, after).take(room).map(|(place, _)| place).collect();
            room -= below.len();
            let since = self.redoing.get(&tag).copied().unwrap_or(self.times);
            below.iter().for_each(|(_, key)| self.seek_since(since, table, *key));
            if room == 0 {
                self.expecting.push_front((tag, below.last().copied()));
            }
        }
    }

    /// Whether there are more entries to check.
    pub fn expects_more(&self) -> bool {
        !self.expecting.is_empty()
    }

    /// Whether a job's entry was in the table when the job, or one above it, was run again here: the host that had that one
    /// had come as far as this job. Equal jobs have one entry, and one of them may have made it since.
    pub fn finds_again(&self, job: &JobSpec) -> bool {
        let above = job.lineage.0.iter().copied().chain([job.key.tag()]);
        let last = above.filter_map(|above| self.redoing.get(&above)).max();
        self.sought.get(&job.key).is_some_and(|since| last.is_some_and(|last| since <= last))
    }

    /// Whether entries below a job may still be found.
    pub fn seeks_below(&self, table: &Table, job: JobTag) -> bool {
        !self.sought.is_empty()
            && (table.below(job).take(SOUGHT_CHECKED_AT_ONCE_MAX))
                .any(|entry| self.sought.contains_key(&entry.key))
    }

    /// A job has found this entry, which is not to be looked up any more unless an equal job may find it, too.
    pub fn found(&mut self, table: &Table, key: &JobKey) {
        if !table.get(key).is_some_and(|entry| self.run_again.finds_again(entry)) {
            self.forget(key);
        }
    }

    /// This entry is not to be looked up any more.
    pub fn forget(&mut self, key: &JobKey) {
        self.sought.remove(key);
    }

    /// A descendant of a job that is run again here may find this entry, which has come since then.
    pub fn seek(&mut self, table: &Table, key: JobKey) {
        self.seek_since(self.times + 1, table, key);
    }

    fn seek_since(&mut self, since: u64, table: &Table, key: JobKey) {
        if self.sought.contains_key(&key) {
            return;
        }
        self.sought.insert(key, since);
        if let Some(entry) = table.get(&key) {
            self.untold.insert(key.tag());
            self.untold.extend(&entry.lineage.0);
        }
    }

    /// Checks up to `most` entries that may still be found, and forgets those that are no longer in the table. The next
    /// call continues with others.
    pub fn check(&mut self, table: &Table, most: usize) {
        let range = (self.checked.map_or(Unbounded, Excluded), Unbounded);
        let keys: Vec<JobKey> = self.sought.range(range).take(most).map(|(key, _)| *key).collect();
        self.checked = keys.last().filter(|_| keys.len() == most).copied();
        for key in keys.iter().filter(|key| table.get(key).is_none()) {
            self.sought.remove(key);
        }
    }

    /// The jobs that may be found and of which the runtime was not notified; empty if it was notified of some and none
    /// are left.
    pub fn take_news(&mut self) -> Option<Vec<JobTag>> {
        let jobs = std::mem::take(&mut self.untold);
        let is_any = !self.sought.is_empty() || self.expects_more();
        let was_any = std::mem::replace(&mut self.is_told, is_any);
        if is_any { (!jobs.is_empty()).then(|| jobs.into_iter().collect()) } else { was_any.then(Vec::new) }
    }

    /// How many entries may be found.
    pub fn sought_len(&self) -> usize {
        self.sought.len()
    }

    /// How many jobs are run again.
    pub fn redoing_len(&self) -> usize {
        self.order.len().max(self.redoing.len()).max(self.run_again.len()) + self.expecting.len()
    }

    /// Makes lookups with these sought entries, lost jobs, and jobs below which entries are to be checked.
    #[cfg(test)]
    pub fn of(sought: &[JobKey], lost: &[JobTag], expecting: &[JobTag]) -> Self {
        Self {
            redoing: lost.iter().take(1).map(|job| (*job, 1)).collect(),
            order: lost.iter().copied().collect(),
            expecting: expecting.iter().map(|job| (*job, None)).collect(),
            sought: sought.iter().map(|key| (*key, 1)).collect(),
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::bonds::{entry, job};
    use super::super::corners::run_commands;
    use super::super::tests::{RUN, host};
    use super::super::{Notice, RunCommand};
    use super::*;
    use crate::{Entry, EntryState, Finished, HostId, Lineage, Outcome, RuntimeJobId, Time};

    const NOW: Time = Time(0);

    /// A table with entries of these numbers below job 99.
    fn table(numbers: &[u8]) -> Table {
        let mut table = Table::new(1 << 20);
        for number in numbers {
            assert!(table.insert(entry(*number, 1, EntryState::Running(HostId(20)))));
        }
        table
    }

    #[test]
    fn the_runtime_is_notified_of_entries_that_may_be_found_until_there_are_none() {
        let (mut lookups, table) = (Lookups::default(), table(&[1, 2]));
        assert_eq!(lookups.take_news(), None);
        assert_eq!(lookups.expect_below(&table, &job(99)), 1);
        assert!(lookups.redoes(&job(99).key.tag()) && !lookups.expects_more());
        let mut all = [1, 2, 99].map(|number| job(number).key.tag());
        all.sort_unstable();
        assert_eq!(lookups.take_news(), Some(all.to_vec()));
        lookups.found(&table, &job(1).key);
        assert_eq!((lookups.take_news(), lookups.sought_len()), (None, 1));
        lookups.found(&table, &job(2).key);
        assert_eq!((lookups.take_news(), lookups.take_news()), (Some(Vec::new()), None));
    }

    /// Equal jobs have one entry: what the first of them has computed since says nothing of a host that is gone.
    #[test]
    fn only_entries_that_were_there_when_a_job_was_run_again_are_found_again() {
        let (mut lookups, mut table) = (Lookups::default(), table(&[1]));
        let below = |number: u8, above: &[u8]| {
            let lineage = Lineage(above.iter().map(|above| job(*above).key.tag()).collect());
            JobSpec { lineage, ..job(number) }
        };
        lookups.expect_below(&table, &job(99));
        assert!(table.insert(entry(2, 1, EntryState::Running(HostId(20)))));
        lookups.seek(&table, job(2).key);
        let found = |lookups: &Lookups, number: u8, above: &[u8]| lookups.finds_again(&below(number, above));
        assert!(found(&lookups, 1, &[99]) && !found(&lookups, 2, &[99]) && !found(&lookups, 3, &[99]));
        assert!(!found(&lookups, 1, &[98]), "it is below no job that is run again");
        // It is lost once more, and now both are there.
        lookups.expect_below(&table, &job(99));
        assert!(found(&lookups, 1, &[99]) && found(&lookups, 2, &[99]));
        lookups.found(&table, &job(1).key);
        assert!(!found(&lookups, 1, &[99]), "an equal job has found it");
    }

    /// The runtime is notified whether a job that it looks up had been begun before the one above it was run again.
    #[test]
    fn a_result_that_an_equal_job_has_made_since_is_not_found_again() {
        for is_earlier in [true, false] {
            let mut host = host();
            let lineage = Lineage(vec![job(1).key.tag()]);
            let finished = Finished { outcome: Outcome::Done(vec![1].into()), work_ns: 1, span_ns: 1 };
            let state = EntryState::Done(finished.clone());
            let host_run = host.runs.get_mut(&RUN).expect("it takes part");
            if is_earlier {
                host_run.table.insert(Entry { lineage: lineage.clone(), ..entry(2, 2, state) });
            }
            host_run.recovery.lookups.expect_below(&host_run.table, &job(1));
            let (key, depth) = (job(2).key, 2);
            let recorded =
                Notice::Recorded { key, depth, lineage: lineage.clone(), finished: finished.clone() };
            if !is_earlier {
                host.handle_notice(NOW, RUN, recorded);
            }
            let (number, spec) = (RuntimeJobId(7), JobSpec { depth, redone: true, lineage, ..job(2) });
            host.handle_notice(NOW, RUN, Notice::Lookup { number, spec });
            let complete = RunCommand::Complete { number, finished, is_found_again: is_earlier };
            assert!(run_commands(&mut host).contains(&complete), "{is_earlier}");
        }
    }

    /// Two equal jobs ran side by side, and one of them was lost. The other continues, and the results that it records drop
    /// the entries below them, which the lost job was to find when it is run again.
    #[test]
    fn a_result_of_an_equal_job_is_found_instead_of_the_entries_that_it_drops() {
        let mut host = host();
        let lineage = |above: &[u8]| Lineage(above.iter().map(|above| job(*above).key.tag()).collect());
        let host_run = host.runs.get_mut(&RUN).expect("it takes part");
        let below = Entry { lineage: lineage(&[1, 2]), ..entry(3, 3, EntryState::Running(HostId(20))) };
        assert!(host_run.table.insert(below));
        host_run.recovery.lookups.expect_below(&host_run.table, &job(1));
        host.tell_lookups(RUN);
        run_commands(&mut host);
        let finished = Finished { outcome: Outcome::Done(vec![1].into()), work_ns: 1, span_ns: 1 };
        let recorded = |number: u8, depth: u32, above: &[u8]| Notice::Recorded {
            key: job(number).key,
            depth,
            lineage: lineage(above),
            finished: finished.clone(),
        };
        host.handle_notice(NOW, RUN, recorded(4, 2, &[1]));
        assert_eq!(run_commands(&mut host), [], "nothing below it was to be found");
        host.handle_notice(NOW, RUN, recorded(2, 2, &[1]));
        let mut jobs = [1, 2].map(|number| job(number).key.tag()).to_vec();
        jobs.sort_unstable();
        assert_eq!(run_commands(&mut host), [RunCommand::Lookups { jobs }]);
        host.flush(NOW, RUN);
        assert_eq!(run_commands(&mut host), [], "one is left");
        let spec = JobSpec { depth: 2, redone: true, lineage: lineage(&[1]), ..job(2) };
        let number = RuntimeJobId(7);
        host.handle_notice(NOW, RUN, Notice::Lookup { number, spec });
        let complete = RunCommand::Complete { number, finished: finished.clone(), is_found_again: false };
        assert_eq!(run_commands(&mut host), [complete, RunCommand::Lookups { jobs: Vec::new() }]);
    }

    #[test]
    fn entries_that_are_no_longer_in_the_table_are_forgotten_bit_by_bit() {
        let mut lookups = Lookups::of(&[1, 2, 3].map(|number| job(number).key), &[], &[]);
        let table = table(&[2]);
        lookups.check(&table, 2);
        assert_eq!(lookups.sought_len(), 2);
        lookups.check(&table, 2);
        assert_eq!(lookups.sought_len(), 1);
    }

    #[test]
    fn only_a_bounded_number_of_jobs_that_were_run_again_is_remembered() {
        let (mut lookups, table) = (Lookups::default(), table(&[]));
        for number in 0..2 * REDOING_MAX as u64 {
            let mut spec = job(1);
            spec.key.0[..8].copy_from_slice(&number.to_le_bytes());
            lookups.expect_below(&table, &spec);
        }
        assert_eq!((lookups.redoing.len(), lookups.order.len()), (REDOING_MAX, REDOING_MAX));
        assert!(lookups.expecting.is_empty(), "there is nothing below them");
        assert!(lookups.redoing_len() <= REDOING_MAX);
    }
}
