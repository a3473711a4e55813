//! Serving thieves.
//!
//! A victim whose workers compute but which has no exposed job *parks* the request for a moment: the demand makes a
//! guest expose a job within microseconds, which is better than a refusal and another request.

use crate::limits::{JOBS_BYTES_MAX, JOBS_PER_STEAL_MAX, PARK, PARK_WIDE};
use crate::message::PeerMessage;
use crate::{HostId, JobSpec, LoanId, RunId, RuntimeJobId, StealId, Time};

use super::lent::{Loan, LoanState};
use super::stage::Stage;
use super::victim::Parked;
use super::{Host, RunCommand};

impl Host {
    pub(super) fn on_steal(
        &mut self,
        now: Time,
        thief: HostId,
        run: RunId,
        (steal, holding): (StealId, u64),
        (ahead, more): (bool, u32),
    ) {
        let is_far = self.peers.is_far(thief);
        let knows_thief = !is_far || self.peers.contains(thief);
        let threads = self.config.report.threads as usize;
        let nothing = PeerMessage::Nothing { run, steal };
        let Some(host_run) = self.runs.get_mut(&run) else {
            return self.tell_peer(thief, nothing);
        };
        // Jobs of others that wait here are for thieves with idle workers.
        let is_for_others = ahead && host_run.held.waiting() > 0;
        if !matches!(host_run.stage, Stage::Ready | Stage::Draining { .. }) || !knows_thief || is_for_others {
            return self.tell_peer(thief, nothing);
        }
        if host_run.victim.has(thief, steal) || host_run.loans.is_lent(thief, steal) {
            return;
        }
        // A host that computes nothing will expose nothing: only a job that is in its queue right now can be given.
        let patience = if host_run.thief.idle() >= threads {
            std::time::Duration::ZERO
        } else if is_far {
            PARK_WIDE
        } else {
            PARK
        };
        let more = more.min(JOBS_PER_STEAL_MAX as u32 - 1);
        let parked = Parked { thief, steal, holding, more, until: now + patience };
        if let Some(steal) = host_run.victim.park(parked) {
            self.tell_peer(thief, PeerMessage::Nothing { run, steal });
        } else {
            self.ask_runtime(run);
        }
    }

    /// Asks the runtime for jobs, if there is a request for which it was not asked yet.
    fn ask_runtime(&mut self, run: RunId) {
        if self.runs.get_mut(&run).is_some_and(|host_run| host_run.victim.ask()) {
            self.order_offer(run);
        }
    }

    fn order_offer(&mut self, run: RunId) {
        let more = self.runs.get(&run).map_or(0, |host_run| host_run.victim.more());
        self.unpolled.command(RunCommand::Offer { more }.of(run));
    }

    pub(super) fn on_offered(&mut self, now: Time, run: RunId, jobs: Vec<(RuntimeJobId, JobSpec)>) {
        let Some(host_run) = self.runs.get_mut(&run) else { return };
        let is_more = host_run.victim.note_answer(!jobs.is_empty());
        if jobs.is_empty() {
            if is_more {
                self.order_offer(run);
            } else {
                self.refuse_parked(run, false, now);
            }
            return;
        }
        let parked = host_run.victim.next();
        let lent = parked.as_ref().map_or(0, |parked| sent_together(&jobs, parked.more));
        let mut jobs = jobs.into_iter();
        let lent: Vec<_> = jobs.by_ref().take(lent).collect();
        // For a thief that takes fewer, or has given its request up.
        jobs.for_each(|(number, spec)| self.requeue(run, number, &spec));
        let Some(parked) = parked else { return };
        self.lend(now, run, &parked, lent);
        let Some(host_run) = self.runs.get_mut(&run) else { return };
        if host_run.victim.is_empty() {
            self.tell_wanted(run);
        } else {
            self.ask_runtime(run);
        }
    }

    /// Answers a request with these jobs.
    fn lend(&mut self, now: Time, run: RunId, parked: &Parked, jobs: Vec<(RuntimeJobId, JobSpec)>) {
        let (thief, steal) = (parked.thief, parked.steal);
        let mut sent = Vec::with_capacity(jobs.len());
        for (number, mut spec) in jobs {
            self.forward_entries(run, thief, &mut spec);
            let Some(host_run) = self.runs.get_mut(&run) else { return };
            let loan = host_run.numbers.new_loan();
            sent.push((loan, spec.clone()));
            let state = LoanState::Given(steal);
            host_run.loans.lend(loan, Loan::new(now, number, spec, thief, state, parked.holding));
        }
        if let Some(answer) = answer(run, steal, sent) {
            self.tell_peer(thief, answer);
        }
    }

    /// Refuses the thieves that have waited long enough, or all if `all` is set.
    pub(super) fn refuse_parked(&mut self, run: RunId, all: bool, now: Time) {
        let Some(host_run) = self.runs.get_mut(&run) else { return };
        for (thief, steal) in host_run.victim.refuse(all, now) {
            self.tell_peer(thief, PeerMessage::Nothing { run, steal });
        }
        self.tell_wanted(run);
    }

    /// Notifies the runtime how many thieves wait, if that has changed.
    pub(super) fn tell_wanted(&mut self, run: RunId) {
        let Some(host_run) = self.runs.get_mut(&run) else { return };
        if let Some(thieves) = host_run.victim.take_news() {
            self.unpolled.command(RunCommand::Want { thieves }.of(run));
        }
    }
}

/// The number of these jobs that are sent with one message, to a thief that takes at most this number beyond the first.
fn sent_together(jobs: &[(RuntimeJobId, JobSpec)], more: u32) -> usize {
    let mut bytes = 0;
    let fitting = jobs.iter().take_while(|(_, spec)| {
        bytes += spec.parameters.len();
        bytes <= JOBS_BYTES_MAX
    });
    fitting.count().clamp(1, 1 + more as usize)
}

/// The message that answers a request with these jobs, if there are any.
pub fn answer(run: RunId, steal: StealId, mut jobs: Vec<(LoanId, JobSpec)>) -> Option<PeerMessage> {
    match jobs.len() {
        0 | 1 => jobs.pop().map(|(number, spec)| PeerMessage::Job { run, steal, number, spec }),
        _ => Some(PeerMessage::Jobs { run, steal, jobs }),
    }
}
