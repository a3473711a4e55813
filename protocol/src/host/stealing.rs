//! Choosing victims (TOPLAS 4.1.2); `serving` is the other side.
//!
//! A thief asks one victim after another within its site. Under cluster-aware stealing it also keeps one request to
//! another site under way, whose job is queued when it arrives. After a round of refusals the thief rests, for longer
//! each time.
//!
//! A peer that does not answer in time is *silent* until it sends something. While there are other peers, these are
//! asked instead. And a thief whose request is not answered soon asks another victim, so peers that never answer delay
//! it by moments, not minutes.
//!
//! A thief of short jobs takes several with one message (see `ahead`).

mod timers;

use crate::limits::{HELD_JOBS_MAX, LINEAGE_LENGTH_MAX, OBJECTS_PER_JOB_MAX, STEALS_IN_SITE_MAX};
use crate::message::{NoteKind, PeerMessage};
use crate::{
    Entry, EntryState, HeldId, HostId, JobSpec, LoanId, ROOT_KIND, RunId, Scope, StealId, Stealing, Time,
};

use super::held::{Held, Owner};
use super::stage::Stage;
use super::thief::Request;
use super::{Event, Host, Misbehaviour, Receiver};

impl Host {
    // ---- the thief ----

    /// Asks for jobs, if this host has idle workers and may take jobs.
    pub(super) fn seek(&mut self, now: Time, run: RunId) {
        if !self.may_work() {
            return;
        }
        loop {
            let Some(host_run) = self.runs.get(&run) else { return };
            if host_run.stage != Stage::Ready || host_run.held.len() >= HELD_JOBS_MAX {
                return;
            }
            let is_ahead = host_run.thief.idle() == 0;
            let chosen = if is_ahead { self.choose_ahead(run) } else { self.choose_victim(now, run) };
            let Some((victim, is_wide)) = chosen else { return };
            let scope = self.scope_of(victim);
            let Some(host_run) = self.runs.get_mut(&run) else { return };
            let steal = host_run.numbers.new_steal();
            host_run.reporting.own_mut().steal_requests += 1;
            let more = host_run.thief.ahead.more();
            host_run
                .thief
                .ask(steal, Request { victim, since: now, is_wide, is_ahead, more, scope, arriving: None });
            let holding = host_run.numbers.holding();
            self.tell_peer(victim, PeerMessage::Steal { run, steal, holding, ahead: is_ahead, more });
        }
    }

    pub(super) fn choose_victim(&mut self, now: Time, run: RunId) -> Option<(HostId, bool)> {
        let host_run = self.runs.get(&run)?;
        let thief = &host_run.thief;
        let waiting_near = thief.near_waiting(now);
        let may_near = waiting_near < thief.idle().min(STEALS_IN_SITE_MAX) && now >= thief.rests_until(false);
        let may_wide = thief.wide().next().is_none() && now >= thief.rests_until(true);
        let has_slow = thief.near().count() > waiting_near;
        let is_asked = |peer: &HostId| thief.asks(*peer);
        let known = &self.peers;
        let mut pick = |peers: &[HostId]| {
            let mut likely: Vec<HostId> = Vec::new();
            if has_slow || known.has_silent() {
                likely = peers.iter().filter(|peer| !known.is_silent(**peer)).copied().collect();
            }
            let peers = if likely.is_empty() { peers } else { likely.as_slice() };
            let free: Vec<HostId> = match has_slow {
                true => peers.iter().filter(|peer| !is_asked(peer)).copied().collect(),
                false => Vec::new(),
            };
            let peers = if has_slow { &free } else { peers };
            (!peers.is_empty()).then(|| peers[self.random.below(peers.len())])
        };
        match host_run.spec.stealing {
            Stealing::ClusterAware => {
                if may_near
                    && let Some(victim) = pick(known.near())
                    && !is_asked(&victim)
                {
                    return Some((victim, false));
                }
                if may_wide && let Some(victim) = pick(known.far()) {
                    return Some((victim, true));
                }
                None
            }
            Stealing::Random => {
                let (near, far) = (known.near(), known.far());
                if !may_near || near.len() + far.len() == 0 {
                    return None;
                }
                let index = self.random.below(near.len() + far.len());
                let victim = near.get(index).copied().unwrap_or_else(|| far[index - near.len()]);
                (!is_asked(&victim)).then_some((victim, false))
            }
            Stealing::MasterWorker => {
                let master = host_run.thief.master().filter(|master| known.contains(*master))?;
                (may_near && !is_asked(&master)).then_some((master, false))
            }
        }
    }

    /// Ends a request that was answered; the caller handles the rest of the answer.
    fn end_request(
        &mut self,
        from: HostId,
        run: RunId,
        steal: StealId,
    ) -> Result<Option<Request>, Misbehaviour> {
        let Some(host_run) = self.runs.get_mut(&run) else { return Ok(None) };
        if !host_run.numbers.has_asked(steal) {
            return Err(Misbehaviour::AnswerToNoSteal);
        }
        match host_run.thief.request(steal) {
            Some(request) if request.victim != from => Err(Misbehaviour::AnswerToNoSteal),
            // The answer is late: the request was given up, and the victim will be notified.
            None => Ok(None),
            Some(request) => {
                // A parcel takes longer than a round trip.
                if request.arriving.is_none() {
                    self.repeats.measure(Receiver::Peer(from), self.latest.since(request.since));
                }
                Ok(host_run.thief.end(steal))
            }
        }
    }

    pub(super) fn on_nothing(
        &mut self,
        now: Time,
        from: HostId,
        run: RunId,
        steal: StealId,
    ) -> Result<(), Misbehaviour> {
        if let Some(request) = self.end_request(from, run, steal)? {
            if let Some(host_run) = self.runs.get_mut(&run) {
                host_run.reporting.own_mut().steals.of(request.scope).refused += 1;
            }
            self.note_refusal(now, run, &request);
            self.seek(now, run);
        }
        Ok(())
    }

    pub(super) fn note_refusal(&mut self, now: Time, run: RunId, request: &Request) {
        if request.is_ahead {
            return self.end_asking_ahead(run);
        }
        let round = self.peers.near().len().clamp(1, 8);
        let jitter = self.random.next_u64();
        let Some(host_run) = self.runs.get_mut(&run) else { return };
        host_run.thief.note_refusal(now, request.is_wide, round, jitter);
    }

    /// A victim lends jobs: all of them arrive with one message, or none.
    pub(super) fn on_jobs(
        &mut self,
        now: Time,
        from: HostId,
        run: RunId,
        steal: StealId,
        jobs: Vec<(LoanId, JobSpec)>,
    ) -> Result<(), Misbehaviour> {
        let is_too_much = |(_, spec): &(LoanId, JobSpec)| {
            spec.objects.len() > OBJECTS_PER_JOB_MAX || spec.lineage.0.len() > LINEAGE_LENGTH_MAX
        };
        if jobs.is_empty() || jobs.iter().any(is_too_much) {
            return Err(Misbehaviour::TooMuch);
        }
        let Some(request) = self.end_request(from, run, steal)? else { return Ok(()) };
        if jobs.len() - 1 > request.more as usize {
            return Err(Misbehaviour::TooMuch);
        }
        let Some(host_run) = self.runs.get_mut(&run) else { return Ok(()) };
        if jobs.iter().any(|(_, spec)| host_run.is_other_root(spec)) {
            return Err(Misbehaviour::OtherRoot);
        }
        host_run.thief.end_rest(request.is_wide, now);
        let mut asked = request.clone();
        let mut taken = 0;
        for (number, spec) in jobs {
            if self.take_lent(now, run, (from, number), spec, &asked) {
                taken += 1;
                // The others wait for a worker.
                asked.is_ahead = true;
            }
        }
        let Some(host_run) = self.runs.get_mut(&run) else { return Ok(()) };
        let steals = host_run.reporting.own_mut().steals.of(request.scope);
        if taken == 0 {
            steals.refused += 1;
            host_run.thief.ahead.end();
            return Ok(());
        }
        steals.jobs += 1;
        steals.latencies.count(now.since(request.since));
        host_run.thief.ahead.note_trip(now.since(request.since));
        self.seek(now, run);
        Ok(())
    }

    /// Takes a lent job in that answers the request `asked`, or hands it back. Returns whether it was taken in.
    fn take_lent(
        &mut self,
        now: Time,
        run: RunId,
        (from, number): (HostId, LoanId),
        spec: JobSpec,
        asked: &Request,
    ) -> bool {
        let is_far = self.peers.is_far(from);
        let departing = self.is_leaving();
        let Some(host_run) = self.runs.get_mut(&run) else { return false };
        let owner = Owner::Host(from, number);
        let may_be_held = host_run.held.of_owner(owner).is_none() && host_run.held.has_room_for(from);
        let is_taken = host_run.stage == Stage::Ready
            && !departing
            && host_run.held.len() < HELD_JOBS_MAX
            && may_be_held;
        if !is_taken {
            self.tell_peer(from, PeerMessage::Returned { run, number, begun: false });
            return false;
        }
        host_run.reporting.own_mut().jobs.stolen += 1;
        host_run.reporting.own_mut().jobs.stolen_wide += u64::from(is_far);
        self.open_objects(now, run, from, &spec);
        self.take_in(now, run, owner, spec);
        let Some(host_run) = self.runs.get_mut(&run) else { return true };
        let token = host_run.held.of_owner(owner);
        if let Some(held) = token.and_then(|token| host_run.held.get_mut(token)) {
            held.asked = Some((asked.clone(), now));
        }
        true
    }

    /// A worker has begun a job, `late_ns` nanoseconds ago.
    pub(super) fn on_begun(&mut self, now: Time, run: RunId, token: HeldId, (worker, late_ns): (u32, u64)) {
        let Some(host_run) = self.runs.get_mut(&run) else { return };
        let Some(held) = host_run.held.begin(token) else { return };
        let spec = held.spec().clone();
        let asked = held.asked.take();
        let from = asked.as_ref().map(|(request, _)| request.victim);
        if let Some(victim) = from {
            host_run.thief.ahead.note_begun(victim);
        }
        if let Some((Request { victim, since, is_ahead, .. }, arrived)) = asked {
            let begun = Time(now.0.saturating_sub(late_ns));
            let ns = |until: Time| u64::try_from(until.since(since).as_nanos()).unwrap_or(u64::MAX);
            let (arrived_ns, begun_ns) = (ns(arrived), (!is_ahead).then(|| ns(begun.max(arrived))));
            self.unpolled.event(Event::Stolen { run, victim, arrived_ns, begun_ns });
        }
        let redone = spec.redone && !spec.given_back;
        self.note(run, &spec, NoteKind::Begun { victim: from, redone, worker });
        self.seek(now, run);
    }

    /// Takes in a job of another host or of the coordinator, to run it.
    pub(super) fn take_in(&mut self, now: Time, run: RunId, owner: Owner, spec: JobSpec) {
        let Some(host_run) = self.runs.get_mut(&run) else { return };
        if spec.redone
            && let Some(Entry { state: EntryState::Done(finished), is_earlier, .. }) =
                host_run.table.get(&spec.key)
        {
            let (finished, is_earlier) = (finished.clone(), *is_earlier);
            host_run.reporting.count_reused(&finished, is_earlier);
            self.note(run, &spec, NoteKind::Reused);
            self.hold_and_deliver(run, Held::done(now, spec, owner, finished));
            return;
        }
        let mut is_named = true;
        let mut is_of_this_run = true;
        if spec.redone && spec.lookup_below > spec.depth {
            host_run.recovery.lookups.note_again(spec.key.tag());
            // The victim has sent the entries ahead.
            is_named = host_run.recovery.lookups.expect_below(&host_run.table, &spec) > 0;
            is_of_this_run = !(spec.given_back && host_run.has_only_earlier_below(spec.key.tag()));
            host_run.recovery.lookups.expect_unnamed(&host_run.table, &spec);
            self.tell_lookups(run);
        }
        let Some(host_run) = self.runs.get_mut(&run) else { return };
        let token = host_run.numbers.new_held();
        let held = Held::new(now, spec, owner);
        // A root that is run again was lost, even if nothing below it is known.
        let was_begun = is_of_this_run && (is_named || held.spec().kind == ROOT_KIND);
        let held = if was_begun { held } else { held.never_begun() };
        host_run.reporting.own_mut().held[usize::from(held.was_begun())].begun += 1;
        let has_worker = host_run.thief.take_worker();
        host_run.held.hold(token, held.with_worker(has_worker));
        self.inject(run, token);
    }

    fn scope_of(&self, victim: HostId) -> Scope {
        match (self.peers.is_far(victim), self.peers.is_direct(victim)) {
            (true, _) => Scope::Remote,
            (false, true) => Scope::Site,
            (false, false) => Scope::Relayed,
        }
    }
}
