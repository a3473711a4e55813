//! Connected hosts.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use smallvec::SmallVec;

use crate::limits::{ENTRIES_FREED_AT_ONCE_MAX, RUNS_ACTIVE_MAX, SILENCE_MAX};
use crate::message::{Departure, HostReport, RootClaim, ToHost};
use crate::pace::Pace;
use crate::{Counts, GridId, HostId, PublicKey, RunId, Time};

use super::answers::{BURST, PIECE};
use super::comings::Comings;
use super::news::Mailbox;
use super::participation::Given;
use super::slices::Slice;
use super::{Command, Coordinator, Event, HostView, LONG_GONE, LinkId, Misbehaviour};

/// Maximum root jobs that a host may come back with.
const ROOTS_PER_HOST_MAX: usize = 1024;
/// Far above any honest count of a run's losses.
const ROOT_NUMBER_MAX: u64 = 1 << 48;

/// A host, from its first hello until it is gone.
pub struct HostState {
    pub report: Arc<HostReport>,
    pub comings: Comings,
    pub link: Option<LinkId>,
    pub since: Time,
    pub heard: Time,
    /// When it is next checked for silence.
    pub checked_at: Time,
    /// When its link broke.
    pub down_since: Option<Time>,
    /// It was there before the coordinator was started again, and was asked which hosts it knows. Until it answers: those
    /// that were said to be gone since then. `None` if it is not asked, or does not answer.
    pub gone_since_asked: Option<BTreeSet<HostId>>,
    pub mailbox: Mailbox,
    pub paces: Paces,
    /// Runs that it was given, until a while after their ends.
    pub given: BTreeMap<RunId, Given>,
    pub paused: Option<String>,
    pub pausing: Pausing,
    pub counts: BTreeMap<RunId, Counts>,
}

/// What else is known of a host's pauses.
#[derive(Default)]
pub struct Pausing {
    /// It has worked again too often, and does so then.
    pub unpauses_at: Option<Time>,
    /// The host is pausing: it gives back its jobs, leaves, and is expected back.
    pub rests: bool,
    /// Why its guests stand still for a moment.
    pub holds: Option<String>,
}

/// What a host does, or gets, a few times at once and then at a distance.
pub struct Paces {
    /// Entries that it was sent in answers are spread out until then. A new host earns its first burst by being there, so
    /// that one that comes again and again gets no more than one that stays.
    pub answers_paid: Time,
    pub accusations: Pace,
    pub introductions: Pace,
    pub unpauses: Pace,
}

impl Paces {
    fn from(now: Time) -> Self {
        Self {
            answers_paid: now,
            accusations: Pace::default(),
            introductions: Pace::default(),
            unpauses: Pace::default(),
        }
    }

    /// When it may be sent more in answers to its searches.
    pub fn answers_from(&self) -> Time {
        Time(self.answers_paid.0.saturating_sub(BURST.as_nanos() as u64))
    }
}

impl HostState {
    pub fn view(
        &self,
        id: HostId,
        ready: SmallVec<[RunId; RUNS_ACTIVE_MAX]>,
        busy_with_checks: u32,
        is_over: impl Fn(&RunId) -> bool,
    ) -> HostView {
        let mut counts = Counts { busy: busy_with_checks, ..Counts::default() };
        for (run, more) in &self.counts {
            counts.add(&Counts { busy: if is_over(run) { 0 } else { more.busy }, ..*more });
        }
        // A worker computes for one run at a time, but counts of different runs are reported at different times.
        counts.busy = counts.busy.min(self.report.threads);
        if self.paused.is_some() {
            // It has given its jobs back, and reports nothing more about them.
            counts.busy = 0;
        }
        HostView {
            id,
            report: Arc::clone(&self.report),
            since: self.since,
            connected: self.link.is_some(),
            paused: self.paused.clone(),
            holds: self.pausing.holds.clone(),
            ready,
            counts,
        }
    }
}

impl Coordinator {
    /// Proves after its link broke that this id was given to the host with this key. Derived instead of stored, so that a
    /// restarted coordinator still accepts it.
    pub(super) fn secret_of(&self, host: HostId, key: &PublicKey) -> u64 {
        let mut hasher = blake3::Hasher::new_keyed(&self.config.secret);
        hasher.update(b"identity");
        hasher.update(&host.0.to_le_bytes());
        hasher.update(&key.0);
        let mut secret = [0; 8];
        secret.copy_from_slice(&hasher.finalize().as_bytes()[..8]);
        u64::from_le_bytes(secret)
    }

    pub(super) fn on_hello(
        &mut self,
        now: Time,
        link: LinkId,
        report: HostReport,
        was: Option<((HostId, u64, GridId), u32)>,
        roots: &[RootClaim],
        paused: Option<String>,
    ) -> Result<(), Misbehaviour> {
        let is_number = |claim: &RootClaim| claim.number.0 < ROOT_NUMBER_MAX;
        if roots.len() > ROOTS_PER_HOST_MAX || !roots.iter().all(is_number) {
            return Err(Misbehaviour::TooMuch);
        }
        let was = was.filter(|((.., grid), _)| *grid == self.config.grid);
        let incarnation = was.map_or(0, |(_, incarnation)| incarnation);
        let was = was.map(|(was, _)| was);
        if let Some((host, secret, _)) = was
            && secret != self.secret_of(host, &report.key)
        {
            let known = self.hosts.get(&host).map(|state| state.report.key);
            return Err(match known.filter(|known| secret == self.secret_of(host, known)) {
                Some(known) => Misbehaviour::KeyChanged { host, known, new: report.key },
                None => Misbehaviour::Identity(host),
            });
        }
        // Those of another grid are useless here.
        let roots = if was.is_some() { roots } else { &[] };
        self.check_claims(roots)?;
        let may_be_known =
            |host: &HostId| self.hosts.contains_key(host) || self.missing.may_return(now, *host);
        let known = was.map(|(host, ..)| host).filter(may_be_known);
        let host = known.unwrap_or_else(|| self.new_host_id());
        if let Some((was, ..)) = was
            && was != host
        {
            self.outputs.event(Event::HostReborn { was, is: host });
        }
        // It no longer waits for searches from before its link broke.
        self.lookups.answers().forget_host(host);
        let was_missing = self.missing.contains(host);
        let is_known = self.hosts.contains_key(&host) || was_missing;
        let is_new = self.enter(now, link, host, incarnation, report, paused);
        if !is_known && let Some(state) = self.hosts.get_mut(&host) {
            state.comings.set_elsewhere(was.is_some());
            if known.is_none() {
                // It could say hello again and again, each time as another host.
                state.paces.answers_paid = now + BURST + PIECE;
            }
        }
        self.note_pause(host);
        if let Some((was, ..)) = was.filter(|(was, ..)| *was != host) {
            self.rename_counts(was, host);
        }
        self.outputs.command(Command::Identified { link, host });
        self.take_unclaimed_roots(now, host, roots);
        self.welcome(now, host, is_new, was.is_some());
        self.pull_again(now, host);
        for claim in roots {
            self.claim_root(now, host, claim, was_missing);
        }
        self.settle(now);
        self.assign_roots(now);
        Ok(())
    }

    fn new_host_id(&mut self) -> HostId {
        loop {
            let id = HostId(self.random.next_u64());
            if id != LONG_GONE && !self.hosts.contains_key(&id) && !self.missing.contains(id) {
                return id;
            }
        }
    }

    /// Notes which host is at the other end of a link; true if the host is new, or has changed.
    fn enter(
        &mut self,
        now: Time,
        link: LinkId,
        host: HostId,
        incarnation: u32,
        report: HostReport,
        paused: Option<String>,
    ) -> bool {
        self.find_missing(now, host);
        self.stop_unpausing(host);
        let before = self.hosts.get_mut(&host);
        let old_link = before.as_ref().and_then(|state| state.link);
        let is_new = match before {
            Some(state) => {
                if let Some(since) = state.down_since.take() {
                    self.silence.mend_link(since, host);
                }
                let is_changed =
                    *state.report != report || state.paused != paused || state.comings.take_untold();
                state.report = Arc::new(report);
                state.link = Some(link);
                state.heard = now;
                state.paused = paused;
                // It says again what holds.
                (state.pausing.rests, state.pausing.holds) = (false, None);
                is_changed
            }
            None => {
                let state = HostState {
                    report: Arc::new(report),
                    comings: Comings::first(incarnation),
                    link: Some(link),
                    since: now,
                    heard: now,
                    checked_at: now + SILENCE_MAX,
                    down_since: None,
                    gone_since_asked: None,
                    mailbox: Mailbox::from(now),
                    paces: Paces::from(now),
                    given: BTreeMap::new(),
                    paused,
                    pausing: Pausing::default(),
                    counts: BTreeMap::new(),
                };
                self.silence.check(state.checked_at, host);
                self.hosts.insert(host, state);
                self.outputs.event(Event::HostJoined(host));
                true
            }
        };
        self.links.identify(link, host);
        if let Some(old_link) = old_link {
            self.links.forget(old_link);
            self.close(old_link, "the host has come back on another link".to_owned());
        }
        is_new
    }

    /// Notes whether a host takes part, is paused, or is gone.
    pub(super) fn note_pause(&mut self, host: HostId) {
        let works = self.hosts.get(&host).is_some_and(|state| state.paused.is_none());
        self.working.set(host, works);
        if !works {
            for run in self.runs.active_ids() {
                self.forget_readiness(run, host);
            }
        }
    }

    fn welcome(&mut self, now: Time, host: HostId, is_new: bool, was_elsewhere: bool) {
        let complete = !self.missing.is_awaiting();
        if let Some(state) = self.hosts.get_mut(&host) {
            self.newsroom.drop(host, &mut state.mailbox);
        }
        for forgetful in self.circles.stop_partings(host) {
            self.tell_joined(now, forgetful, host);
        }
        let Some(state) = self.hosts.get_mut(&host) else { return };
        let is_paused = state.paused.is_some();
        state.gone_since_asked = (!complete).then(BTreeSet::new);
        let incarnation = state.comings.incarnation();
        let key = state.report.key;
        if is_paused {
            self.close_mailbox(host);
            self.circles.step_aside(host);
        } else if is_new {
            self.show_round(now, host);
        }
        let welcome = ToHost::Welcome {
            host,
            incarnation,
            secret: self.secret_of(host, &key),
            grid: self.config.grid,
            hosts: if is_paused { Vec::new() } else { self.circle_of(host) },
            complete,
            runs: self.runs.keys().copied().chain(self.checks_at(host)).collect(),
            epoch: self.newsroom.epoch(),
        };
        self.send(host, welcome);
        if !is_paused {
            self.tell_news(now);
            self.start_runs_at(now, host, was_elsewhere);
            if is_new {
                self.wake_turns(now);
            }
        }
    }

    /// A host's link is closed.
    pub fn handle_closed(&mut self, now: Time, link: LinkId) {
        let Some(host) = self.links.remove(link) else { return };
        if let Some(state) = self.hosts.get_mut(&host)
            && state.link == Some(link)
        {
            state.link = None;
            self.lookups.answers().forget_host(host);
            state.down_since = Some(now);
            self.silence.break_link(now, host);
        }
    }

    pub(super) fn close(&mut self, link: LinkId, reason: String) {
        if self.links.close(link) {
            self.outputs.command(Command::Close { link, reason });
        }
    }

    pub(super) fn on_leaving(&mut self, now: Time, link: LinkId, host: HostId) {
        self.send(host, ToHost::Farewell);
        self.links.forget(link);
        self.give_up(now, host, Departure::Left);
        self.close(link, "it has left".to_owned());
    }

    pub(super) fn ping_all(&mut self, now: Time) {
        let Some(ping) = self.chores.begin_ping(now) else { return };
        self.renew_circles(now);
        let message = ToHost::Ping { ping };
        self.in_slices(now, Slice::Broadcast { after: None, is_for_paused: true, message });
    }

    /// A host is gone: its acquaintances are notified, and the root jobs that it had are assigned to others.
    pub(super) fn give_up(&mut self, now: Time, host: HostId, departure: Departure) {
        self.close_mailbox(host);
        self.stop_unpausing(host);
        let Some(mut state) = self.hosts.remove(&host) else { return };
        self.note_pause(host);
        self.lookups.answers().forget_host(host);
        self.silence.forget(state.checked_at, host);
        if let Some(since) = state.down_since.take() {
            self.silence.mend_link(since, host);
        }
        // A host that crashes before it has left is not pausing.
        state.pausing.rests &= departure == Departure::Left;
        let event =
            if state.pausing.rests { Event::HostPaused(host) } else { Event::HostGone(host, departure) };
        self.outputs.event(event);
        self.forget_parcels_of(now, host);
        let knew: VecDeque<HostId> = self.circles.withdraw(host).collect();
        if state.paused.is_none() || !knew.is_empty() {
            self.newsroom.begin_epoch();
        }
        self.tell_all_gone(now, host, departure, knew);
        self.tell_news(now);
        let mut room = ENTRIES_FREED_AT_ONCE_MAX;
        for run in self.runs.urgent_ids() {
            self.lose_host_of_run(now, run, (host, departure), &mut room);
        }
        self.lose_host_of_over(now, host, departure);
        self.lose_checker(now, host);
        self.in_slices(now, Slice::Lose { after: None, host, departure });
        match departure {
            Departure::Left if !state.pausing.rests => self.forget_host(now, host),
            _ => self.miss(now, host, state),
        }
        self.settle(now);
    }
}
