//! Who is there.

use std::collections::{BTreeMap, BTreeSet};

use crate::limits::{PING, RECONNECT_GRACE, SILENCE_MAX, TEXT_BYTES_MAX};
use crate::message::{Departure, HostInfo, HostReport, ToHost};
use crate::{Counts, GridId, HostId, JobNumber, RunId, Time};

use super::{Command, Coordinator, Event, HostView, LinkId, Misbehaviour};

/// Root jobs that a host may come back with.
const ROOTS_PER_HOST_MAX: usize = 1024;
/// No honest count of a run's losses comes near.
const ROOT_NUMBER_MAX: u64 = 1 << 48;

/// A host, from its first hello until it is gone.
pub struct HostState {
    pub report: HostReport,
    pub direct_secret: u64,
    pub link: Option<LinkId>,
    pub since: Time,
    pub heard: Time,
    /// When its link broke.
    pub down_since: Option<Time>,
    /// It has told all that it has of those gone up to this epoch.
    pub recovered: u64,
    pub paused: Option<String>,
    pub ready: BTreeSet<RunId>,
    pub unready: BTreeMap<RunId, String>,
    pub counts: BTreeMap<RunId, Counts>,
}

impl HostState {
    pub fn view(&self, id: HostId) -> HostView {
        let mut counts = Counts::default();
        self.counts.values().for_each(|more| counts.add(more));
        HostView {
            id,
            report: self.report.clone(),
            since: self.since,
            connected: self.link.is_some(),
            paused: self.paused.clone(),
            ready: self.ready.iter().copied().collect(),
            counts,
        }
    }

    fn info(&self, id: HostId) -> HostInfo {
        HostInfo { id, report: self.report.clone(), direct_secret: self.direct_secret }
    }
}

impl Coordinator {
    /// Proves a host's identity after its link broke; kept nowhere, so that a coordinator that was
    /// started again knows it still.
    fn secret_of(&self, host: HostId, purpose: &[u8]) -> u64 {
        let mut hasher = blake3::Hasher::new_keyed(&self.config.secret);
        hasher.update(purpose);
        hasher.update(&host.0.to_le_bytes());
        let mut secret = [0; 8];
        secret.copy_from_slice(&hasher.finalize().as_bytes()[..8]);
        u64::from_le_bytes(secret)
    }

    pub(super) fn on_hello(
        &mut self,
        now: Time,
        link: LinkId,
        report: HostReport,
        was: Option<(HostId, u64, GridId)>,
        roots: &[(RunId, JobNumber)],
        paused: Option<String>,
    ) -> Result<(), Misbehaviour> {
        let texts = [&report.name, &report.site, &report.version];
        let optional = report.direct.iter().chain(&paused);
        let is_number = |(_, number): &(RunId, JobNumber)| number.0 < ROOT_NUMBER_MAX;
        if texts.into_iter().chain(optional).any(|text| text.len() > TEXT_BYTES_MAX)
            || roots.len() > ROOTS_PER_HOST_MAX
            || !roots.iter().all(is_number)
        {
            return Err(Misbehaviour::TooMuch);
        }
        let was = was.filter(|(.., grid)| *grid == self.config.grid);
        if let Some((host, secret, _)) = was
            && secret != self.secret_of(host, b"identity")
        {
            return Err(Misbehaviour::Identity(host));
        }
        let known = was.map(|(host, ..)| host).filter(|host| {
            self.hosts.contains_key(host) || self.waits_until.is_some_and(|until| now < until)
        });
        let host = known.unwrap_or_else(|| self.new_host_id());
        if let Some((was, ..)) = was
            && was != host
        {
            self.events.push_back(Event::HostReborn { was, is: host });
        }
        let is_new = self.enter(now, link, host, report, paused);
        self.commands.push_back(Command::Identified { link, host });
        self.welcome(now, host, is_new);
        for (run, number) in roots {
            self.claim_root(host, *run, *number);
        }
        self.settle(now);
        self.assign_roots(now);
        Ok(())
    }

    fn new_host_id(&mut self) -> HostId {
        loop {
            let id = HostId(self.random.next_u64());
            if !self.hosts.contains_key(&id) {
                return id;
            }
        }
    }

    /// Notes who is at the other end of a link; true if nobody knew it.
    fn enter(
        &mut self,
        now: Time,
        link: LinkId,
        host: HostId,
        report: HostReport,
        paused: Option<String>,
    ) -> bool {
        let direct_secret = self.secret_of(host, b"direct");
        let epoch = self.epoch;
        let before = self.hosts.get_mut(&host);
        let old_link = before.as_ref().and_then(|state| state.link);
        let is_new = match before {
            Some(state) => {
                if let Some(since) = state.down_since.take() {
                    self.down.remove(&(since + RECONNECT_GRACE, host));
                }
                let is_changed = state.report != report || state.paused != paused;
                state.report = report;
                state.link = Some(link);
                state.heard = now;
                state.paused = paused;
                is_changed
            }
            None => {
                let state = HostState {
                    report,
                    direct_secret,
                    link: Some(link),
                    since: now,
                    heard: now,
                    down_since: None,
                    recovered: epoch,
                    paused,
                    ready: BTreeSet::new(),
                    unready: BTreeMap::new(),
                    counts: BTreeMap::new(),
                };
                self.hosts.insert(host, state);
                self.events.push_back(Event::HostJoined(host));
                true
            }
        };
        self.links.insert(link, host);
        if let Some(old_link) = old_link {
            self.links.remove(&old_link);
            self.close(old_link, "the host has come back on another link".to_owned());
        }
        is_new
    }

    fn welcome(&mut self, now: Time, host: HostId, is_new: bool) {
        let secret = self.secret_of(host, b"identity");
        let Some(state) = self.hosts.get(&host) else { return };
        let (info, is_paused) = (state.info(host), state.paused.is_some());
        let hosts = if is_paused { Vec::new() } else { self.working_hosts() };
        let welcome = ToHost::Welcome {
            host,
            secret,
            grid: self.config.grid,
            hosts,
            complete: self.waits_until.is_none(),
            runs: self.runs.keys().copied().collect(),
            epoch: self.epoch,
        };
        self.send(host, welcome);
        if is_paused {
            return;
        }
        if is_new {
            let joined = vec![info];
            self.broadcast(Some(host), &ToHost::Hosts { epoch: self.epoch, joined, gone: Vec::new() });
        }
        self.start_runs_at(now, host);
    }

    fn working_hosts(&self) -> Vec<HostInfo> {
        (self.hosts.iter())
            .filter(|(_, state)| state.paused.is_none())
            .map(|(id, state)| state.info(*id))
            .collect()
    }

    pub(super) fn on_paused(&mut self, now: Time, host: HostId, reason: Option<String>) {
        let Some(state) = self.hosts.get_mut(&host) else { return };
        let was_paused = state.paused.is_some();
        let is_paused = reason.is_some();
        state.paused = reason;
        if was_paused && !is_paused {
            let joined = vec![state.info(host)];
            self.broadcast(Some(host), &ToHost::Hosts { epoch: self.epoch, joined, gone: Vec::new() });
            let hosts = ToHost::Hosts { epoch: self.epoch, joined: self.working_hosts(), gone: Vec::new() };
            self.send(host, hosts);
            self.start_runs_at(now, host);
        }
    }

    /// A host's link is closed.
    pub fn handle_closed(&mut self, now: Time, link: LinkId) {
        self.closing.remove(&link);
        let Some(host) = self.links.remove(&link) else { return };
        if let Some(state) = self.hosts.get_mut(&host)
            && state.link == Some(link)
        {
            state.link = None;
            state.down_since = Some(now);
            self.down.insert((now + RECONNECT_GRACE, host));
        }
    }

    pub(super) fn close(&mut self, link: LinkId, reason: String) {
        if self.closing.insert(link) {
            self.commands.push_back(Command::Close { link, reason });
        }
    }

    pub(super) fn on_leaving(&mut self, now: Time, link: LinkId, host: HostId) {
        self.send(host, ToHost::Farewell);
        self.links.remove(&link);
        self.give_up(now, host, Departure::Left);
        self.close(link, "it has left".to_owned());
    }

    pub(super) fn ping_all(&mut self, now: Time) {
        if now < self.next_ping {
            return;
        }
        self.next_ping = now + PING;
        self.ping += 1;
        let ping = ToHost::Ping { ping: self.ping };
        let links: Vec<LinkId> = self.hosts.values().filter_map(|state| state.link).collect();
        self.transmits.extend(links.into_iter().map(|link| (link, ping.clone())));
    }

    pub(super) fn give_up_silent(&mut self, now: Time) {
        let silent: Vec<HostId> = (self.hosts.iter())
            .filter(|(_, state)| state.link.is_some() && now >= state.heard + SILENCE_MAX)
            .map(|(id, _)| *id)
            .collect();
        for host in silent {
            if let Some(link) = self.hosts.get(&host).and_then(|state| state.link) {
                self.links.remove(&link);
                self.close(link, "nothing came from it for too long".to_owned());
            }
            self.give_up(now, host, Departure::Crashed);
        }
        while let Some((time, host)) = self.down.first().copied()
            && now >= time
        {
            self.give_up(now, host, Departure::Crashed);
        }
    }

    /// A host is gone: all others are told, and what it ran of the coordinator's is given to another.
    fn give_up(&mut self, now: Time, host: HostId, departure: Departure) {
        let Some(state) = self.hosts.remove(&host) else { return };
        if let Some(since) = state.down_since {
            self.down.remove(&(since + RECONNECT_GRACE, host));
        }
        self.events.push_back(Event::HostGone(host, departure));
        if state.paused.is_none() {
            self.epoch += 1;
            let hosts =
                ToHost::Hosts { epoch: self.epoch, joined: Vec::new(), gone: vec![(host, departure)] };
            self.broadcast(Some(host), &hosts);
        }
        self.searches.retain(|search| search.host != host);
        let runs: Vec<RunId> = self.runs.keys().copied().collect();
        for run in runs {
            self.lose_host_of_run(now, run, host, departure);
        }
        self.settle(now);
    }

    /// Hosts from before the restart that have not come back are gone.
    pub(super) fn end_waiting(&mut self, now: Time) {
        self.waits_until = None;
        self.epoch += 1;
        let hosts = self.working_hosts().into_iter().map(|info| info.id).collect();
        self.broadcast(None, &ToHost::Present { epoch: self.epoch, hosts });
        self.settle(now);
        self.assign_roots(now);
    }
}
