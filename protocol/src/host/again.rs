//! How often jobs were run again at this host. Equal jobs in several places of the tree have the same key, and so do
//! the jobs below them: an entry that the first of them finds must be found by the others, too.

use std::collections::{BTreeMap, VecDeque};

use crate::limits::REDOING_MAX;
use crate::{Entry, JobTag};

#[derive(Debug, Default)]
pub struct RunAgain {
    times: BTreeMap<JobTag, u32>,
    /// The jobs, in the order in which they were first run again.
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

    /// Whether an entry belongs to a job that was run again here more than once, or is below such a job: then it may be
    /// found more than once. It is not known whether the job was run again in another place or after another crash.
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
    use crate::message::PeerMessage;
    use crate::root_job;
    use crate::{EntryState, Finished, JobKey, JobSpec, Lineage, Outcome, RuntimeJobId, StealId, Time};

    const NOW: Time = Time(0);

    /// A job with this number that is run again.
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

    /// A host that runs job 1 again and has asked `places` times for job 2, which is below job 1 in as many places. Job
    /// 3, below job 2, has a result.
    fn redoer(places: u64) -> Host {
        let mut host = host();
        let host_run = host.runs.get_mut(&RUN).expect("it takes part");
        let lineage = Lineage(vec![job(1, 1).key.tag(), job(2, 2).key.tag()]);
        let finished = Finished { outcome: Outcome::Done(vec![1].into()), work_ns: 1, span_ns: 1 };
        let state = EntryState::Done(finished);
        assert!(host_run.table.insert(Entry {
            key: job(3, 3).key,
            depth: 3,
            lineage,
            state,
            is_earlier: false
        }));
        host_run.recovery.lookups.expect_below(&host_run.table, &job(1, 1));
        host.tell_lookups(RUN);
        for place in 0..places {
            host.handle_notice(NOW, RUN, Notice::Lookup { number: RuntimeJobId(place), spec: job(2, 2) });
        }
        host
    }

    /// Whether the runtime was notified that no entries are left to be found.
    fn is_all_found(host: &mut Host) -> bool {
        run_commands(host)
            .iter()
            .any(|command| matches!(command, RunCommand::Lookups { jobs } if jobs.is_empty()))
    }

    #[test]
    fn entries_below_a_lent_job_are_also_found_below_an_equal_job() {
        for (places, is_found) in [(1, true), (2, false), (3, false)] {
            let mut host = redoer(places);
            host.handle_from_peer(
                NOW,
                PEER,
                PeerMessage::Steal { run: RUN, steal: StealId(0), holding: 0, ahead: false, more: 0 },
            );
            host.handle_offered(NOW, RUN, Some((RuntimeJobId(9), job(2, 2))));
            let is_entry =
                |sent: &Transmit| matches!(sent, Transmit::ToPeer(PEER, PeerMessage::Entries { .. }));
            assert!(said(&mut host).iter().any(is_entry));
            assert_eq!(is_all_found(&mut host), is_found, "in {places} places");
        }
    }

    #[test]
    fn an_entry_that_one_job_has_found_is_also_found_by_an_equal_job() {
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
    fn only_a_bounded_number_of_jobs_that_were_run_again_is_remembered() {
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
