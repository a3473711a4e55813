//! When a thief asks again, gives a request up, and a victim refuses.

use crate::limits::{HELD_JOBS_MAX, STEAL_SLOW, STEAL_TIMEOUT, STEALS_IN_SITE_MAX, STEALS_UNANSWERED_MAX};
use crate::{HostId, RunId, StealId, Stealing, Time};

use super::super::run::HostRun;
use super::super::stage::Stage;
use super::Host;

impl Host {
    pub(in crate::host) fn next_steal_timeout(
        &self,
        run: RunId,
        host_run: &HostRun,
    ) -> Option<(Time, &'static str)> {
        let thief = &host_run.thief;
        let unanswered =
            thief.requests().filter(|(steal, request)| !self.is_job_arriving(run, *steal, request));
        let request = unanswered.map(|(_, request)| request.since).min();
        let request = request.map(|since| (since + STEAL_TIMEOUT, "a steal request was not answered"));
        let parked = host_run.victim.next_refusal().map(|until| (until, "a thief has waited long enough"));
        let may_seek = thief.idle() > 0
            && host_run.stage == Stage::Ready
            && host_run.held.len() < HELD_JOBS_MAX
            && self.may_work();
        let near = thief.near().count();
        let can_near = may_seek
            && near < thief.idle().min(STEALS_IN_SITE_MAX)
            && match host_run.spec.stealing {
                Stealing::ClusterAware => !self.peers.near().is_empty(),
                Stealing::Random => self.peers.listed_len() > 0,
                Stealing::MasterWorker => thief.master().is_some_and(|master| self.peers.contains(master)),
            };
        // While a victim of this site is still asked by a request to another site, because it has moved since, no
        // further one is due: the same timeout would return again and again.
        let is_one_asked = || thief.wide().any(|request| self.peers.near().contains(&request.victim));
        let near = (can_near && near == 0 && !is_one_asked())
            .then_some((thief.rests_until(false), "a thief has rested"));
        let can_wide = may_seek
            && host_run.spec.stealing == Stealing::ClusterAware
            && thief.wide().next().is_none()
            && !self.peers.far().is_empty();
        let wide = can_wide.then_some((thief.rests_until(true), "a thief has rested between sites"));
        [request, parked, near, wide, self.next_slow_request(may_seek, host_run)]
            .into_iter()
            .flatten()
            .min_by_key(|(time, _)| *time)
    }

    /// When the thief asks another victim because those that were asked have not answered soon.
    fn next_slow_request(&self, may_seek: bool, host_run: &HostRun) -> Option<(Time, &'static str)> {
        let is_asked = |peer: &HostId| host_run.thief.asks(*peer);
        let may_ask = may_seek
            && host_run.spec.stealing == Stealing::ClusterAware
            && host_run.thief.near().count() < STEALS_UNANSWERED_MAX
            && self.peers.near().iter().any(|peer| !self.peers.is_silent(*peer) && !is_asked(peer));
        // The last request counts: once another victim is asked, that request is the last.
        let last = host_run.thief.near().map(|request| request.since).max().filter(|_| may_ask)?;
        Some((
            (last + STEAL_SLOW).max(host_run.thief.rests_until(false)),
            "a steal request was not answered soon",
        ))
    }

    pub(in crate::host) fn time_out_steals(&mut self, now: Time, run: RunId) {
        let Some(host_run) = self.runs.get(&run) else { return };
        let late: Vec<StealId> = (host_run.thief.requests())
            .filter(|(_, request)| now >= request.since + STEAL_TIMEOUT)
            .filter(|(steal, request)| !self.is_job_arriving(run, *steal, request))
            .map(|(steal, _)| steal)
            .collect();
        for steal in late {
            let Some(host_run) = self.runs.get_mut(&run) else { return };
            if let Some(request) = host_run.thief.end(steal) {
                host_run.reporting.own_mut().steals.of(request.scope).unanswered += 1;
                self.peers.note_silent(request.victim);
                self.note_refusal(now, run, &request);
            }
        }
        self.refuse_parked(run, false, now);
    }
}
