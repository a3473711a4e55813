//! Asking for the next job while workers still run short ones, so that they do not wait for a round trip after each.
//!
//! A thief asks ahead while the jobs that it steals take less time than [`AHEAD_TRIPS`] round trips, and only the victim of
//! the last one that a worker began, which probably has more like it. There is no timer. A refusal ends it, as does a job
//! that is handed back before it begins, and the next stolen job that begins starts it again. A victim refuses while jobs
//! of others wait for its own workers, so that no job is handed round among busy hosts.
//!
//! Jobs and requests cannot go back and forth without any work: only a running job exposes jobs, so a job that waits is
//! never lent on; a request and the job that it brings count until a worker begins the job or it is gone; and a refusal
//! ends asking until a job begins. Nor can they do so at one moment: each request takes a message each way, and no timer
//! repeats one.
//!
//! A request ahead is of the same kind as an idle worker's would be: only under cluster-aware stealing is one to another
//! site *wide*. The timers of idle workers look for requests of that kind; if they overlooked the only peer's, they would
//! be due again and again at one moment, as that peer is not asked twice.

use std::time::Duration;

use crate::limits::{
    AHEAD_PER_WORKER_MAX, AHEAD_TRIPS, JOBS_PER_STEAL_MAX, NEWS_KEPT_MAX, STEALS_IN_SITE_MAX,
    WORK_PER_STEAL_MAX,
};
use crate::{HostId, RunId, Stealing};

use super::Host;

/// A mean moves towards each new value by one part in this many.
const MEMORY: u32 = 8;

/// What a thief knows of the jobs that it steals in one run.
#[derive(Debug, Default)]
pub struct Ahead {
    /// Whom to ask.
    victim: Option<HostId>,
    /// The time from a request to its job.
    trip: Option<Duration>,
    /// The work of a job.
    work: Option<Duration>,
}

impl Ahead {
    /// A job has come, this long after the request.
    pub fn note_trip(&mut self, trip: Duration) {
        self.trip = Some(mean(self.trip, trip));
    }

    /// A worker has begun a job of this victim.
    pub fn note_begun(&mut self, victim: HostId) {
        self.victim = Some(victim);
    }

    /// A job of another host was finished here.
    pub fn note_work(&mut self, work: Duration) {
        self.work = Some(mean(self.work, work));
    }

    /// The victim had no job, or is gone, or this host could not run its job.
    pub fn end(&mut self) {
        self.victim = None;
    }

    /// The time from a request to its job and the work of a job, if jobs are so short that this host asks ahead.
    fn short(&self) -> Option<(Duration, Duration)> {
        let (trip, work) = (self.trip?, self.work?);
        (work < trip * AHEAD_TRIPS).then_some((trip, work))
    }

    /// Whom to ask, and how many jobs are to wait here for each worker, if that is more than none: as many as last until
    /// this host knows that one has begun, and has got others.
    fn wanted(&self) -> Option<(HostId, usize)> {
        let (victim, (trip, work)) = (self.victim?, self.short()?);
        let late = if work < NEWS_KEPT_MAX { NEWS_KEPT_MAX } else { Duration::ZERO };
        Some((victim, jobs_in(trip + late, work).clamp(1, AHEAD_PER_WORKER_MAX)))
    }

    /// Maximum jobs beyond the first that this host takes with one answer. The messages and threads that are woken for a
    /// steal take a few parts in ten of a millisecond of both processors, so jobs that hardly take longer come together.
    pub fn more(&self) -> u32 {
        let Some((trip, work)) = self.short() else { return 0 };
        let together = (trip * AHEAD_TRIPS).min(trip.max(WORK_PER_STEAL_MAX));
        let jobs = jobs_in(together, work).clamp(1, JOBS_PER_STEAL_MAX);
        u32::try_from(jobs - 1).unwrap_or(0)
    }
}

/// The number of jobs of this much work that last for this time.
fn jobs_in(time: Duration, work: Duration) -> usize {
    usize::try_from(time.as_nanos().div_ceil(work.as_nanos().max(1))).unwrap_or(usize::MAX)
}

fn mean(before: Option<Duration>, now: Duration) -> Duration {
    before.map_or(now, |before| (before * (MEMORY - 1) + now) / MEMORY)
}

impl Host {
    /// Whom to ask for a job although no worker is idle, and whether that host is of another site.
    pub(super) fn choose_ahead(&self, run: RunId) -> Option<(HostId, bool)> {
        let host_run = self.runs.get(&run)?;
        let (victim, per_worker) = host_run.thief.ahead.wanted()?;
        let jobs = per_worker.saturating_mul(self.config.report.threads as usize);
        let coming: usize = host_run.thief.requests().map(|(_, request)| 1 + request.more as usize).sum();
        let coming = coming + host_run.held.waiting();
        let stealing = host_run.spec.stealing;
        let is_wide = stealing == Stealing::ClusterAware && self.peers.is_far(victim);
        let is_former_master = stealing == Stealing::MasterWorker && host_run.thief.master() != Some(victim);
        let may_ask = match is_wide {
            true => host_run.thief.wide().next().is_none(),
            false => host_run.thief.near().count() < STEALS_IN_SITE_MAX,
        };
        let is_there = self.peers.contains(victim) && !self.peers.is_silent(victim);
        (is_there && !is_former_master && may_ask && coming < jobs).then_some((victim, is_wide))
    }

    /// A victim that was asked ahead has no job or does not answer, or this host cannot run its job.
    pub(super) fn end_asking_ahead(&mut self, run: RunId) {
        if let Some(host_run) = self.runs.get_mut(&run) {
            host_run.thief.ahead.end();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::bonds::job;
    use super::super::tests::{ME, PEER, RUN, host, info, said};
    use super::*;
    use crate::host::{Notice, Transmit};
    use crate::limits::STEAL_TIMEOUT;
    use crate::message::{PeerMessage, ToHost};
    use crate::{Finished, HeldId, LoanId, Outcome, StealId, Time};

    const MS: Duration = Duration::from_millis(1);

    fn asked(host: &mut Host) -> Vec<(StealId, bool)> {
        let asked = said(host).into_iter().filter_map(|sent| match sent {
            Transmit::ToPeer(PEER, PeerMessage::Steal { steal, ahead, .. }) => Some((steal, ahead)),
            _ => None,
        });
        asked.collect()
    }

    fn newest(host: &Host) -> HeldId {
        host.runs[&RUN].held.tokens().last().expect("it holds a job")
    }

    /// A thief with one worker, which has run `jobs` jobs of the peer that took `work` each; the time and its requests.
    fn after(jobs: u64, work: Duration) -> (Host, Time, Vec<(StealId, bool)>) {
        run(host(), jobs, work)
    }

    fn run(mut host: Host, jobs: u64, work: Duration) -> (Host, Time, Vec<(StealId, bool)>) {
        let mut now = Time(0);
        host.handle_notice(now, RUN, Notice::Idle(1));
        let mut open = asked(&mut host);
        for number in 0..jobs {
            let (steal, _) = open.remove(0);
            now = now + MS;
            let spec = job(number as u8);
            host.handle_from_peer(
                now,
                PEER,
                PeerMessage::Job { run: RUN, steal, number: LoanId(number), spec },
            );
            let held = newest(&host);
            host.handle_notice(now, RUN, Notice::Begun { held, worker: 0, late_ns: 0 });
            open.extend(asked(&mut host));
            now = now + work;
            let work_ns = work.as_nanos() as u64;
            let finished = Finished { outcome: Outcome::Done(Vec::new().into()), work_ns, span_ns: work_ns };
            host.handle_notice(now, RUN, Notice::Finished { held, finished });
            if open.is_empty() {
                host.handle_notice(now, RUN, Notice::Idle(1));
            }
            open.extend(asked(&mut host));
        }
        (host, now, open)
    }

    #[test]
    fn a_thief_of_short_jobs_asks_before_it_is_idle() {
        for (work, is_ahead) in [(MS * 4, true), (MS * AHEAD_TRIPS * 2, false)] {
            let (_, _, open) = after(6, work);
            assert_eq!(open.iter().map(|(_, ahead)| *ahead).collect::<Vec<_>>(), [is_ahead], "{work:?}");
        }
        // As many as last until the next, in as few requests as possible.
        let (host, _, open) = after(12, MS / 8);
        assert_eq!(open.len(), 1);
        let request = host.runs[&RUN].thief.request(open[0].0).expect("it is under way");
        assert_eq!(request.more as usize, JOBS_PER_STEAL_MAX - 1);
    }

    #[test]
    fn a_refusal_ends_it_until_an_idle_worker_gets_a_job() {
        let (mut host, now, open) = after(6, MS * 4);
        host.handle_from_peer(now, PEER, PeerMessage::Nothing { run: RUN, steal: open[0].0 });
        assert_eq!(asked(&mut host), []);
        host.handle_notice(now, RUN, Notice::Idle(1));
        let again = asked(&mut host);
        assert!(matches!(*again, [(_, false)]), "no rest is due: {again:?}");
    }

    #[test]
    fn a_host_with_waiting_jobs_of_others_lends_none_to_busy_thieves() {
        let mut host = host();
        host.handle_notice(Time(0), RUN, Notice::Idle(1));
        let (steal, _) = asked(&mut host)[0];
        let (number, spec) = (LoanId(1), job(1));
        host.handle_from_peer(Time(0), PEER, PeerMessage::Job { run: RUN, steal, number, spec });
        let ask = |host: &mut Host, steal, ahead| {
            let steal = StealId(steal);
            host.handle_from_peer(
                Time(0),
                PEER,
                PeerMessage::Steal { run: RUN, steal, holding: 0, ahead, more: 0 },
            );
            said(host).contains(&Transmit::ToPeer(PEER, PeerMessage::Nothing { run: RUN, steal }))
        };
        assert!(ask(&mut host, 0, true) && !ask(&mut host, 1, false));
        let held = newest(&host);
        host.handle_notice(Time(0), RUN, Notice::Begun { held, worker: 0, late_ns: 0 });
        assert!(!ask(&mut host, 2, true));
    }

    #[test]
    fn while_the_only_peer_is_asked_ahead_no_timer_is_due_again_and_again() {
        for stealing in [Stealing::ClusterAware, Stealing::Random, Stealing::MasterWorker] {
            for is_far in [false, true] {
                let mut host = host();
                if is_far {
                    let mut moved = info(PEER);
                    Arc::make_mut(&mut moved.report).site = "elsewhere".to_owned();
                    let hosts = ToHost::Hosts { epoch: 0, joined: vec![moved], gone: Vec::new() };
                    host.handle_from_coordinator(Time(0), hosts);
                }
                assert_eq!(host.peers.is_far(PEER), is_far);
                let host_run = host.runs.get_mut(&RUN).expect("it takes part");
                host_run.spec.stealing = stealing;
                host_run.thief.note_master(PEER);
                let (mut host, mut now, open) = run(host, 6, MS * 4);
                assert!(matches!(*open, [(_, true)]), "{stealing:?}, {is_far}: {open:?}");
                host.handle_notice(now, RUN, Notice::Idle(1));
                let end = now + STEAL_TIMEOUT * 2;
                while let Some((at, why)) = host.poll_timeout().filter(|(at, _)| *at < end) {
                    now = at.max(now);
                    host.handle_timeout(now);
                    let is_due_again = host.poll_timeout().is_some_and(|(next, _)| next <= now);
                    assert!(!is_due_again, "{stealing:?}, {is_far}: {why}");
                }
            }
        }
    }

    #[test]
    fn a_former_master_is_not_asked_ahead() {
        let mut host = host();
        let host_run = host.runs.get_mut(&RUN).expect("it takes part");
        host_run.spec.stealing = Stealing::MasterWorker;
        host_run.thief.note_master(PEER);
        let (mut host, _, open) = run(host, 6, MS * 4);
        assert_eq!(open.len(), 1);
        let host_run = host.runs.get_mut(&RUN).expect("it takes part");
        host_run.thief.end(open[0].0);
        assert_eq!(host.choose_ahead(RUN), Some((PEER, false)));
        host.runs.get_mut(&RUN).expect("it takes part").thief.note_master(ME);
        assert_eq!(host.choose_ahead(RUN), None);
    }

    #[test]
    fn a_job_that_is_handed_back_ends_it_until_a_stolen_job_begins() {
        let (mut host, now, open) = after(6, MS * 4);
        let lent = |number: u64, steal| PeerMessage::Job {
            run: RUN,
            steal,
            number: LoanId(number),
            spec: job(number as u8),
        };
        host.handle_from_peer(now + MS, PEER, lent(6, open[0].0));
        let waits = newest(&host);
        assert_eq!(asked(&mut host), [], "as many wait as are wanted");
        host.handle_notice(now + MS, RUN, Notice::HandedBack { held: waits });
        host.handle_timeout(now + MS);
        assert_eq!(asked(&mut host), []);
        host.handle_notice(now + MS, RUN, Notice::Idle(1));
        let again = asked(&mut host);
        assert!(matches!(*again, [(_, false)]), "{again:?}");
        host.handle_from_peer(now + MS * 2, PEER, lent(7, again[0].0));
        assert_eq!(asked(&mut host), [], "it has not begun");
        let held = newest(&host);
        host.handle_notice(now + MS * 2, RUN, Notice::Begun { held, worker: 0, late_ns: 0 });
        assert!(matches!(*asked(&mut host), [(_, true)]));
    }
}
