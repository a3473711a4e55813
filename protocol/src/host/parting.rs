//! How hosts part, and whether jobs are lost by that.

use crate::message::{Departure, NoteKind};
use crate::{JobSpec, RunId, RuntimeJobId};

use super::{Event, Host};

/// How this host and a peer have parted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parting {
    /// The peer is gone.
    Departed(Departure),
    /// The peer is there, and has given this host up: it still runs what this host lent it, as orphans, unless it has found
    /// no use for them.
    GaveUp,
}

impl Parting {
    /// The peer left in order.
    pub const LEFT: Self = Self::Departed(Departure::Left);
}

impl Host {
    /// A job of this host is lost with its thief.
    pub(super) fn count_lost(&mut self, run: RunId, spec: &JobSpec) {
        if let Some(host_run) = self.runs.get_mut(&run) {
            host_run.reporting.own_mut().jobs.lost += 1;
            self.unpolled.event(Event::Lost(run, spec.key));
            self.note(run, spec, NoteKind::Lost);
        }
    }

    /// A job is redone whose thief is there: it is lost after all.
    pub(super) fn lose_if_doubted(&mut self, run: RunId, number: RuntimeJobId, spec: &JobSpec) {
        if self.runs.get_mut(&run).is_some_and(|run| run.recovery.end_doubt(number)) {
            self.count_lost(run, spec);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::limits::FIND_TIMEOUT;
    use crate::message::{JobNote, PeerMessage, ToHost};
    use crate::{Entry, EntryState, Finished, Outcome, StealId, Time, root_job};

    use super::super::corners::run_commands;
    use super::super::tests::{ME, PEER, RUN, hello, host, info, said, spec, welcome};
    use super::super::{RunCommand, Transmit};
    use super::*;

    /// What became of the lent job.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    enum Fate {
        Reused,
        Redone,
        Adopted,
    }

    /// A host that was given up comes back. It has lent a job, and its thief is there or not.
    fn back(is_there: bool) -> (Host, JobSpec) {
        let (mut host, now) = (host(), Time::default());
        let lent = JobSpec { depth: 1, ..root_job(&spec()) };
        let asks = PeerMessage::Steal { run: RUN, steal: StealId(0), holding: 0, ahead: false, more: 0 };
        host.handle_from_peer(now, PEER, asks);
        host.handle_offered(now, RUN, Some((RuntimeJobId(7), lent.clone())));
        host.handle_disconnected(now);
        hello(&mut host);
        let ToHost::Welcome { secret, grid, hosts, complete, runs, epoch, .. } = welcome(ME, 5) else {
            panic!("it is a welcome")
        };
        let hosts = if is_there { hosts } else { vec![info(ME)] };
        let again = ToHost::Welcome { host: ME, incarnation: 1, secret, grid, hosts, complete, runs, epoch };
        host.handle_from_coordinator(now, again);
        (host, lent)
    }

    fn lost(host: &Host) -> u64 {
        host.counts(RUN).expect("the run").jobs.lost
    }

    /// A host whose process was stopped counted all its loans as lost with thieves that crashed, although these continued with
    /// them.
    #[test]
    fn a_job_is_not_lost_if_its_thief_is_connected_unless_it_is_redone() {
        for fate in [Fate::Reused, Fate::Redone, Fate::Adopted] {
            let (mut host, lent) = back(true);
            let now = Time::default();
            assert_eq!(lost(&host), 0, "{fate:?}");
            let finished = Finished { outcome: Outcome::Done(vec![0].into()), work_ns: 1, span_ns: 1 };
            let state = match fate {
                Fate::Reused => Some(EntryState::Done(finished)),
                Fate::Redone => None,
                Fate::Adopted => Some(EntryState::Running(PEER)),
            };
            let entries: Vec<Entry> = (state.into_iter())
                .map(|state| Entry {
                    key: lent.key,
                    depth: 1,
                    lineage: lent.lineage.clone(),
                    state,
                    is_earlier: false,
                })
                .collect();
            host.handle_from_coordinator(now, ToHost::Entries { run: RUN, entries });
            host.handle_from_coordinator(now, ToHost::Found { run: RUN, key: lent.key });
            if fate != Fate::Reused {
                let number = said(&mut host).into_iter().find_map(|transmit| match transmit {
                    Transmit::ToPeer(PEER, PeerMessage::Adopt { number, .. }) => Some(number),
                    _ => None,
                });
                let number = number.expect("its thief is asked first");
                let answer = match fate {
                    Fate::Adopted => PeerMessage::Adopted { run: RUN, number, holding: 1 },
                    _ => PeerMessage::NotHeld { run: RUN, number },
                };
                host.handle_from_peer(now, PEER, answer);
            }
            let is_redone =
                run_commands(&mut host).iter().any(|command| matches!(command, RunCommand::Requeue { .. }));
            assert_eq!(is_redone, fate == Fate::Redone);
            assert_eq!(lost(&host), u64::from(is_redone), "{fate:?}");
            // Once.
            host.handle_timeout(now + FIND_TIMEOUT);
            assert!(host.runs[&RUN].recovery.unresolved_len() == 0 && lost(&host) == u64::from(is_redone));
        }
    }

    #[test]
    fn a_job_is_lost_at_once_if_its_thief_is_gone_when_this_host_is_back() {
        let (mut host, lent) = back(false);
        assert_eq!(lost(&host), 1);
        let is_lost = |note: &JobNote| note.job == lent.key.tag() && note.what == NoteKind::Lost;
        assert!(
            host.runs
                .get_mut(&RUN)
                .expect("the run")
                .reporting
                .take_notes(Time::default())
                .iter()
                .any(is_lost)
        );
    }
}
