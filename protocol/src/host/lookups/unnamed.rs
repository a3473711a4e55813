//! Entries that may be below a job that is run again although they do not name it. A job that was called in place before,
//! and not exposed, is in no lineage: the entries below it name only jobs above it. Other entries may name it all the
//! same, if it was exposed in another place of the tree, or when it was run again before.

use std::collections::BTreeSet;

use super::Lookups;
use crate::limits::{FORWARDED_ENTRIES_MAX, UNNAMED_ENTRIES_MAX};
use crate::{Entry, JobKey, JobSpec, JobTag, Table};

impl Lookups {
    /// A job is run again: as [`Self::expect_below`], but returns [`Self::bound`].
    pub fn bound_of(&mut self, table: &Table, spec: &JobSpec) -> u32 {
        self.expect_below(table, spec);
        self.bound(table, spec)
    }

    /// The depth down to which entries may be found below a job that is run again. If some that do not name it may be below
    /// it, that is at least the job's own bound.
    pub fn bound(&self, table: &Table, spec: &JobSpec) -> u32 {
        let named = table.depth_below(spec.key.tag());
        let is_unnamed = named < spec.lookup_below && self.unnamed_and_sought(table, spec).next().is_some();
        if is_unnamed { spec.lookup_below } else { named }
    }

    /// A job is run again: notes the entries that do not name it and may be below it; the job's victim has sent some.
    pub fn expect_unnamed(&mut self, table: &Table, spec: &JobSpec) {
        let deeper = |above: &JobTag| unnamed(table, *above, spec).take(UNNAMED_ENTRIES_MAX + 1).count();
        // The nearest job above has the fewest entries.
        let above = spec.lineage.0.iter().rev().map(|above| (deeper(above), *above));
        let nearest = above.filter(|(count, _)| *count > 0).min_by_key(|(count, _)| *count);
        if let Some((_, above)) = nearest {
            self.expect(table, above, after_depth(spec.depth));
        }
    }

    /// The places of entries that may be below a job that is run again and do not name it, the nearest first.
    pub fn unnamed_below(&self, table: &Table, spec: &JobSpec) -> BTreeSet<(u32, JobKey)> {
        let places: BTreeSet<(u32, JobKey)> = self.unnamed_and_sought(table, spec).collect();
        places.into_iter().take(UNNAMED_ENTRIES_MAX).collect()
    }

    fn unnamed_and_sought(&self, table: &Table, spec: &JobSpec) -> impl Iterator<Item = (u32, JobKey)> {
        let redone = spec.lineage.0.iter().filter(|above| self.redoes(above));
        let places = redone.flat_map(|above| unnamed(table, *above, spec).map(|(place, _)| place));
        places.filter(|(_, key)| self.sought.contains_key(key))
    }
}

/// The entries below `above` that are deeper than a job and do not name it, each with its place.
fn unnamed<'a>(
    table: &'a Table,
    above: JobTag,
    spec: &JobSpec,
) -> impl Iterator<Item = ((u32, JobKey), &'a Entry)> {
    let job = spec.key.tag();
    let deeper = table.below_after(above, after_depth(spec.depth)).take(FORWARDED_ENTRIES_MAX);
    deeper.filter(move |(_, entry)| !entry.lineage.0.contains(&job))
}

/// The place after all entries of this depth.
fn after_depth(depth: u32) -> Option<(u32, JobKey)> {
    Some((depth, JobKey([0xff; 32])))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::bonds::{entry, job};
    use crate::host::corners::run_commands;
    use crate::host::held::Owner;
    use crate::host::tests::{PEER, RUN, host, said};
    use crate::host::{Host, Notice, RunCommand, Transmit};
    use crate::message::PeerMessage;
    use crate::{Entry, EntryState, Finished, Lineage, LoanId, Outcome, RuntimeJobId, StealId, Time};

    const NOW: Time = Time(0);

    /// Job 1 was lost. Its child, job 2, was called in place and never exposed; job 3 below it was recorded.
    fn unexposed() -> (JobSpec, Entry) {
        let lineage = Lineage(vec![job(1).key.tag()]);
        let child = JobSpec { depth: 2, redone: true, lookup_below: 9, lineage: lineage.clone(), ..job(2) };
        let finished = Finished { outcome: Outcome::Done(vec![1].into()), work_ns: 1, span_ns: 1 };
        (child, Entry { depth: 3, lineage, ..entry(3, 3, EntryState::Done(finished)) })
    }

    #[test]
    fn a_thief_gets_the_entries_below_a_job_that_none_of_them_names() {
        let (child, entry) = unexposed();
        let mut victim = host();
        let host_run = victim.runs.get_mut(&RUN).expect("it takes part");
        host_run.table.insert(entry.clone());
        host_run.recovery.lookups.expect_below(&host_run.table, &job(1));
        victim.handle_from_peer(
            NOW,
            PEER,
            PeerMessage::Steal { run: RUN, steal: StealId(0), holding: 0, ahead: false, more: 0 },
        );
        victim.handle_offered(NOW, RUN, Some((RuntimeJobId(9), child)));
        assert_eq!(victim.runs[&RUN].recovery.lookups.sought_len(), 1, "it may be below another job");
        let (mut entries, mut spec) = (Vec::new(), None);
        for sent in said(&mut victim) {
            match sent {
                Transmit::ToPeer(PEER, PeerMessage::Entries { entries: sent, .. }) => entries = sent,
                Transmit::ToPeer(PEER, PeerMessage::Job { spec: sent, .. }) => spec = Some(sent),
                _ => {}
            }
        }
        let spec = spec.expect("it is lent");
        assert_eq!((&entries, spec.lookup_below), (&vec![entry.clone()], 3));

        let mut thief = host();
        thief.handle_from_peer(NOW, PEER, PeerMessage::Entries { run: RUN, entries });
        thief.take_in(NOW, RUN, Owner::Host(PEER, LoanId(1)), spec);
        let tag = entry.key.tag();
        let is_told =
            |command: &RunCommand| matches!(command, RunCommand::Lookups { jobs } if jobs.contains(&tag));
        assert!(run_commands(&mut thief).iter().any(is_told));
    }

    /// The job has an equal one in another place, which was exposed: an entry below that one names it.
    #[test]
    fn a_thief_also_gets_the_entries_that_do_not_name_a_job_if_others_do() {
        let (child, entry) = unexposed();
        let named = Entry { key: job(4).key, lineage: entry.lineage.child(&child.key), ..entry.clone() };
        let mut victim = host();
        let host_run = victim.runs.get_mut(&RUN).expect("it takes part");
        let deeper = Entry { depth: 5, ..entry.clone() };
        for entry in [&named, &deeper] {
            host_run.table.insert(entry.clone());
        }
        host_run.recovery.lookups.expect_below(&host_run.table, &job(1));
        let mut child = child;
        victim.forward_entries(RUN, PEER, &mut child);
        let sent = said(&mut victim);
        let [Transmit::ToPeer(PEER, PeerMessage::Entries { entries, .. })] = &sent[..] else {
            panic!("{sent:?}")
        };
        assert_eq!((entries, child.lookup_below), (&vec![named, deeper.clone()], 5));

        let mut thief = host();
        thief.handle_from_peer(NOW, PEER, PeerMessage::Entries { run: RUN, entries: entries.clone() });
        thief.take_in(NOW, RUN, Owner::Host(PEER, LoanId(1)), child);
        let tag = deeper.key.tag();
        let is_told =
            |command: &RunCommand| matches!(command, RunCommand::Lookups { jobs } if jobs.contains(&tag));
        assert!(run_commands(&mut thief).iter().any(is_told));
    }

    #[test]
    fn a_bound_reaches_entries_that_are_deeper_than_those_that_name_the_job() {
        let (child, entry) = unexposed();
        let (mut lookups, mut table) = (Lookups::default(), Table::new(1 << 20));
        table.insert(Entry { key: job(4).key, lineage: entry.lineage.child(&child.key), ..entry.clone() });
        lookups.expect_below(&table, &job(1));
        assert_eq!(lookups.bound(&table, &child), 3);
        table.insert(Entry { depth: 5, ..entry });
        lookups.expect_below(&table, &job(1));
        assert_eq!(lookups.bound(&table, &child), 9);
        assert_eq!(lookups.bound(&table, &JobSpec { lookup_below: 2, ..child }), 3);
    }

    /// What it computes repeats nothing, as far as is known.
    #[test]
    fn a_job_that_no_entry_names_does_not_count_as_begun_before() {
        let (child, entry) = unexposed();
        for is_named in [false, true] {
            let mut thief = host();
            let lineage = if is_named { entry.lineage.child(&child.key) } else { entry.lineage.clone() };
            let entries = vec![Entry { lineage, ..entry.clone() }];
            thief.handle_from_peer(NOW, PEER, PeerMessage::Entries { run: RUN, entries });
            thief.take_in(NOW, RUN, Owner::Host(PEER, LoanId(1)), JobSpec { kind: 0, ..child.clone() });
            let counts = |thief: &Host| thief.counts(RUN).expect("it takes part").held;
            assert_eq!(counts(&thief).map(|held| held.begun > 0), [!is_named, is_named]);
            let (mut is_injected, mut is_told) = (None, false);
            for command in run_commands(&mut thief) {
                match command {
                    RunCommand::Inject { held, was_begun, .. } => is_injected = Some((held, was_begun)),
                    RunCommand::Lookups { jobs } => is_told |= jobs.contains(&entry.key.tag()),
                    _ => {}
                }
            }
            let (held, was_begun) = is_injected.expect("it is run here");
            assert!(is_told && was_begun == is_named, "{is_named}");
            let finished = Finished { outcome: Outcome::Done(vec![1].into()), work_ns: 1, span_ns: 1 };
            thief.handle_notice(NOW, RUN, Notice::Finished { held, finished });
            assert_eq!(counts(&thief).map(|held| held.done > 0), [!is_named, is_named]);
        }
    }

    #[test]
    fn a_job_that_no_host_takes_keeps_its_bound_if_no_entry_names_it() {
        let (child, entry) = unexposed();
        let (mut lookups, mut table) = (Lookups::default(), Table::new(1 << 20));
        assert_eq!(lookups.bound_of(&table, &child), 0);
        table.insert(entry.clone());
        lookups.expect_below(&table, &job(1));
        assert_eq!(lookups.bound_of(&table, &child), 9);
        table.remove(&entry.key);
        table.insert(Entry { lineage: Lineage(vec![child.key.tag()]), ..entry });
        assert_eq!(lookups.bound_of(&table, &child), 3);
    }

    #[test]
    fn entries_above_a_job_or_found_already_are_not_sent_with_it() {
        let (child, entry) = unexposed();
        let (mut lookups, mut table) = (Lookups::default(), Table::new(1 << 20));
        table.insert(entry.clone());
        lookups.expect_below(&table, &job(1));
        assert_eq!(lookups.unnamed_below(&table, &child).len(), 1);
        assert!(lookups.unnamed_below(&table, &JobSpec { depth: 3, ..child.clone() }).is_empty());
        lookups.found(&table, &entry.key);
        assert!(lookups.unnamed_below(&table, &child).is_empty());
    }
}
