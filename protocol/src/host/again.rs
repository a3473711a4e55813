//! How often jobs are run again here. Equal jobs that stand in several places have one key, and so has what is known of
//! them and below them: what the first of them finds, the others are to find, too.

use std::collections::{BTreeMap, VecDeque};

use crate::limits::REDOING_MAX;
use crate::{Entry, JobTag};

#[derive(Debug, Default)]
pub struct RunAgain {
    times: BTreeMap<JobTag, u32>,
    /// The first first.
    order: VecDeque<JobTag>,
}

impl RunAgain {
    /// A job is run again here.
    pub fn note(&mut self, job: JobTag) {
        let times = self.times.entry(job).or_default();
        *times = times.saturating_add(1);
        if *times == 1 {
            self.order.push_back(job);
        }
        if self.order.len() > REDOING_MAX
            && let Some(first) = self.order.pop_front()
        {
            self.times.remove(&first);
        }
    }

    /// Whether an entry is of a job that was run again here more than once, or below one: it may be found more than once.
    /// Whether that was in another place or after another crash is not known.
    pub fn finds_again(&self, entry: &Entry) -> bool {
        let above = entry.lineage.0.iter().copied().chain([entry.key.tag()]);
        above.into_iter().any(|job| self.times.get(&job).is_some_and(|times| *times > 1))
    }

    /// How many jobs are remembered.
    pub fn len(&self) -> usize {
        self.order.len().max(self.times.len())
    }
}

#[cfg(test)]
mod tests {
    use super::super::corners::run_commands;
    use super::super::tests::{PEER, RUN, host, said};
    use super::super::{Host, Notice, RunCommand, Transmit};
    use super::*;
    use crate::coordinator::root_job;
    use crate::message::PeerMessage;
    use crate::{EntryState, Finished, JobKey, JobSpec, Lineage, Outcome, RuntimeJobId, StealId, Time};

    const NOW: Time = Time(0);

    /// The job of this number, run again.
    fn job(number: u8, depth: u32) -> JobSpec {
        JobSpec {
            key: JobKey([number; 32]),
            depth,
            kind: 0,
            redone: true,
            lookup_below: 9,
            ..root_job(&super::super::tests::spec())
        }
    }

    /// A host that runs job 1 again, and has asked so many times for job 2, which stands below it in as many places. Of
    /// job 3, below job 2, there is a result.
    fn redoer(places: u64) -> Host {
        let mut host = host();
        let part = host.runs.get_mut(&RUN).expect("it takes part");
        let lineage = Lineage(vec![job(1, 1).key.tag(), job(2, 2).key.tag()]);
        let finished = Finished { outcome: Outcome::Done(vec![1].into()), work_ns: 1, span_ns: 1 };
        let state = EntryState::Done(finished);
        assert!(part.table.insert(Entry { key: job(3, 3).key, depth: 3, lineage, state }));
        part.recovery.lookups.expect_below(&part.table, &job(1, 1));
        host.tell_lookups(RUN);
        for place in 0..places {
            host.handle_notice(NOW, RUN, Notice::Lookup { number: RuntimeJobId(place), spec: job(2, 2) });
        }
        host
    }

    /// Whether the runtime was told that nothing is to be found any more.
    fn is_all_found(host: &mut Host) -> bool {
        run_commands(host)
            .iter()
            .any(|command| matches!(command, RunCommand::Lookups { jobs } if jobs.is_empty()))
    }

    #[test]
    fn what_is_below_a_job_that_was_lent_is_found_below_an_equal_one_as_well() {
        for (places, is_found) in [(1, true), (2, false), (3, false)] {
            let mut host = redoer(places);
            host.handle_from_peer(NOW, PEER, PeerMessage::Steal { run: RUN, steal: StealId(0), holding: 0 });
            host.handle_offered(NOW, RUN, Some((RuntimeJobId(9), job(2, 2))));
            let is_entry =
                |sent: &Transmit| matches!(sent, Transmit::ToPeer(PEER, PeerMessage::Entries { .. }));
            assert!(said(&mut host).iter().any(is_entry));
            assert_eq!(is_all_found(&mut host), is_found, "in {places} places");
        }
    }

    #[test]
    fn what_one_job_has_found_an_equal_one_finds_as_well() {
        for (places, is_found) in [(1, true), (2, false)] {
            let mut host = redoer(places);
            for number in 10..10 + places {
                let number = RuntimeJobId(number);
                host.handle_notice(NOW, RUN, Notice::Lookup { number, spec: job(3, 3) });
                assert_eq!(is_all_found(&mut host), is_found, "in {places} places");
            }
            assert_eq!(host.counts(RUN).expect("it takes part").jobs.reused, places);
        }
    }

    #[test]
    fn jobs_that_were_run_again_are_forgotten_in_the_end() {
        let mut again = RunAgain::default();
        for number in 0..2 * REDOING_MAX as u64 {
            (0..2).for_each(|_| again.note(JobTag(number)));
        }
        assert_eq!(
            (again.times.len(), again.order.len(), again.len()),
            (REDOING_MAX, REDOING_MAX, REDOING_MAX)
        );
    }
}
