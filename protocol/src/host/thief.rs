//! A thief's requests, and when it asks again.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::limits::{STEAL_REST_MAX, STEAL_REST_MIN, STEAL_REST_WIDE_MAX, STEAL_SLOW, STEALS_UNANSWERED_MAX};
use crate::{HostId, LoanId, Scope, StealId, Steals, Time};

use super::ahead::Ahead;

/// A steal request under way.
#[derive(Debug, Clone)]
pub struct Request {
    pub victim: HostId,
    pub since: Time,
    /// Whether it is the one asynchronous request to another site.
    pub is_wide: bool,
    /// Whether no worker was idle.
    pub is_ahead: bool,
    /// Maximum further jobs with the same answer.
    pub more: u32,
    pub scope: Scope,
    /// The loan's number, if the job is coming as a parcel.
    pub arriving: Option<LoanId>,
}

/// A thief's rest between requests.
#[derive(Debug)]
struct Rest {
    until: Time,
    length: Duration,
    /// Refusals since the last rest.
    refusals: usize,
}

impl Default for Rest {
    fn default() -> Self {
        Self { until: Time::default(), length: STEAL_REST_MIN, refusals: 0 }
    }
}

/// A host's requests to others in one run.
#[derive(Debug, Default)]
pub struct Thief {
    requests: BTreeMap<StealId, Request>,
    rest: Rest,
    rest_wide: Rest,
    master: Option<HostId>,
    idle: usize,
    /// What it asks for before a worker is idle.
    pub ahead: Ahead,
}

impl Thief {
    /// The number of workers without work.
    pub fn idle(&self) -> usize {
        self.idle
    }

    /// Sets the number of workers without work, as the runtime reports it.
    pub fn note_idle(&mut self, idle: usize) {
        self.idle = idle;
    }

    /// A worker will take the job that has come: until the runtime reports that, no further job is requested for that
    /// worker.
    pub fn take_worker(&mut self) -> bool {
        let is_idle = self.idle > 0;
        self.idle = self.idle.saturating_sub(1);
        is_idle
    }

    /// The job that a worker was to take is gone. `threads` is the number of all workers.
    pub fn free_worker(&mut self, threads: usize) {
        self.idle = (self.idle + 1).min(threads);
    }

    /// The only victim under master-worker stealing.
    pub fn master(&self) -> Option<HostId> {
        self.master
    }

    /// Sets that host.
    pub fn note_master(&mut self, master: HostId) {
        self.master = Some(master);
    }

    /// A host is gone; if it was the master, there is none.
    pub fn lose_master(&mut self, host: HostId) {
        self.master = self.master.filter(|master| *master != host);
    }

    /// Adds a request.
    pub fn ask(&mut self, steal: StealId, request: Request) {
        self.requests.insert(steal, request);
    }

    /// A request under way.
    pub fn request(&self, steal: StealId) -> Option<&Request> {
        self.requests.get(&steal)
    }

    /// A request under way, to record that its job is arriving.
    pub fn request_mut(&mut self, steal: StealId) -> Option<&mut Request> {
        self.requests.get_mut(&steal)
    }

    /// Removes a request that was answered or given up.
    pub fn end(&mut self, steal: StealId) -> Option<Request> {
        self.requests.remove(&steal)
    }

    /// All requests under way.
    pub fn requests(&self) -> impl Iterator<Item = (StealId, &Request)> {
        self.requests.iter().map(|(steal, request)| (*steal, request))
    }

    /// The requests to victims of this host's site.
    pub fn near(&self) -> impl Iterator<Item = &Request> {
        self.requests.values().filter(|request| !request.is_wide)
    }

    /// The requests to another site: at most one.
    pub fn wide(&self) -> impl Iterator<Item = &Request> {
        self.requests.values().filter(|request| request.is_wide)
    }

    /// Whether a request to this victim is under way.
    pub fn asks(&self, victim: HostId) -> bool {
        self.requests.values().any(|request| request.victim == victim)
    }

    /// The number of requests to victims of this host's site that count against the maximum. Requests that are not
    /// answered soon do not count, as long as there are few of them.
    pub fn near_waiting(&self, now: Time) -> usize {
        match self.near().count() {
            count @ STEALS_UNANSWERED_MAX.. => count,
            _ => self.near().filter(|request| now < request.since + STEAL_SLOW).count(),
        }
    }

    /// Gives up the requests that satisfy `is_dropped`, and counts them as unanswered.
    pub fn drop_requests(&mut self, steals: &mut Steals, is_dropped: impl Fn(&Request) -> bool) {
        self.requests.retain(|_, request| {
            let stays = !is_dropped(request);
            if !stays {
                steals.of(request.scope).unanswered += 1;
            }
            stays
        });
    }

    /// When victims of this host's site, or with `is_wide` of other sites, may be asked again.
    pub fn rests_until(&self, is_wide: bool) -> Time {
        if is_wide { self.rest_wide.until } else { self.rest.until }
    }

    /// Sets that time.
    pub fn rest_until(&mut self, is_wide: bool, until: Time) {
        self.rest_of(is_wide).until = until;
    }

    /// A victim had a job: there may be more.
    pub fn end_rest(&mut self, is_wide: bool, now: Time) {
        *self.rest_of(is_wide) = Rest { until: now, ..Rest::default() };
    }

    /// A victim had no job. After a round of refusals the thief rests, for longer each time. `jitter` shortens a rest
    /// by up to half, so that thieves do not ask at the same moments.
    pub fn note_refusal(&mut self, now: Time, is_wide: bool, round: usize, jitter: u64) {
        let (round, max) = if is_wide { (1, STEAL_REST_WIDE_MAX) } else { (round, STEAL_REST_MAX) };
        let rest = self.rest_of(is_wide);
        rest.refusals += 1;
        if rest.refusals < round {
            return;
        }
        rest.refusals = 0;
        let half = rest.length / 2;
        rest.until = now + half + half.mul_f64((jitter >> 11) as f64 / (1_u64 << 53) as f64);
        rest.length = (rest.length * 2).min(max);
    }

    fn rest_of(&mut self, is_wide: bool) -> &mut Rest {
        if is_wide { &mut self.rest_wide } else { &mut self.rest }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Time = Time(0);
    const VICTIM: HostId = HostId(20);
    const OTHER: HostId = HostId(21);

    fn request(victim: HostId, since: Time, is_wide: bool) -> Request {
        Request { victim, since, is_wide, is_ahead: false, more: 0, scope: Scope::Site, arriving: None }
    }

    #[test]
    fn requests_that_are_not_answered_soon_do_not_count_while_there_are_few() {
        let mut thief = Thief::default();
        for steal in 0..STEALS_UNANSWERED_MAX as u64 {
            assert_eq!(thief.near_waiting(NOW) as u64, steal);
            assert_eq!(thief.near_waiting(NOW + STEAL_SLOW), 0);
            thief.ask(StealId(steal), request(VICTIM, NOW, false));
            thief.ask(StealId(100 + steal), request(VICTIM, NOW, true));
        }
        assert_eq!(thief.near_waiting(NOW + STEAL_SLOW), STEALS_UNANSWERED_MAX);
        assert_eq!(thief.near().count(), STEALS_UNANSWERED_MAX);
        assert!(thief.wide().count() == STEALS_UNANSWERED_MAX && thief.wide().all(|request| request.is_wide));
    }

    #[test]
    fn requests_that_are_given_up_are_counted() {
        let mut thief = Thief::default();
        for (steal, victim) in [(0, VICTIM), (1, OTHER), (2, VICTIM)] {
            thief.ask(StealId(steal), request(victim, NOW, false));
        }
        assert!(thief.asks(VICTIM) && thief.request(StealId(2)).is_some());
        let mut steals = Steals::default();
        thief.drop_requests(&mut steals, |request| request.victim == VICTIM);
        assert_eq!(steals.of(Scope::Site).unanswered, 2);
        assert_eq!(thief.requests().map(|(steal, _)| steal).collect::<Vec<_>>(), [StealId(1)]);
        assert!(!thief.asks(VICTIM) && thief.end(StealId(1)).is_some() && thief.end(StealId(1)).is_none());
    }

    #[test]
    fn a_job_ends_the_rest_between_requests_of_its_kind_only() {
        for is_wide in [false, true] {
            let mut thief = Thief::default();
            for kind in [false, true] {
                (0..3).for_each(|_| thief.note_refusal(NOW, kind, 1, u64::MAX));
            }
            let rested = [false, true].map(|kind| thief.rests_until(kind));
            assert!(rested.iter().all(|until| *until > NOW + STEAL_REST_MIN));
            thief.end_rest(is_wide, NOW);
            assert_eq!((thief.rests_until(is_wide), thief.rests_until(!is_wide)), (NOW, rested[0]));
            thief.note_refusal(NOW, is_wide, 1, 0);
            assert_eq!(thief.rests_until(is_wide), NOW + STEAL_REST_MIN / 2, "it is short again");
        }
    }

    #[test]
    fn the_number_of_idle_workers_stays_between_zero_and_all() {
        let mut thief = Thief::default();
        assert!(!thief.take_worker());
        assert_eq!(thief.idle(), 0);
        (0..3).for_each(|_| thief.free_worker(2));
        assert_eq!(thief.idle(), 2);
        thief.note_idle(1);
        assert!(thief.take_worker());
        assert_eq!(thief.idle(), 0);
    }

    #[test]
    fn a_master_is_known_until_it_is_gone() {
        let mut thief = Thief::default();
        thief.note_master(VICTIM);
        thief.lose_master(OTHER);
        assert_eq!(thief.master(), Some(VICTIM));
        thief.lose_master(VICTIM);
        assert_eq!(thief.master(), None);
    }
}
