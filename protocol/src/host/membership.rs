//! The link to the coordinator, and who else is there.

use std::collections::BTreeSet;

use crate::limits::ACQUAINTANCES_MAX;
use crate::message::{Departure, HostInfo, NoteKind, PeerMessage, ToCoordinator, ToHost};
use crate::{GridId, HostId, JobNumber, JobSpec, RunId, RunSpec, Time};

use super::part::{Owner, Part, Stage};
use super::{Command, Event, Host, Transmit};

impl Host {
    /// The link to the coordinator is open.
    pub fn handle_connected(&mut self, _now: Time) {
        self.is_greeting = true;
        self.is_connected = false;
        let roots = (self.runs.iter())
            .flat_map(|(run, part)| {
                (part.held_by_loan.keys())
                    .filter(|(owner, _)| *owner == Owner::Coordinator)
                    .map(|(_, number)| (*run, *number))
            })
            .collect();
        let (report, paused) = (self.config.report.clone(), self.paused.clone());
        self.greeted_as_paused.clone_from(&paused);
        let hello = ToCoordinator::Hello { report, was: self.identity, roots, paused };
        self.transmits.push_back(Transmit::ToCoordinator(hello));
    }

    /// The link to the coordinator broke. Hosts that can reach one another go on.
    pub fn handle_disconnected(&mut self, now: Time) {
        self.is_greeting = false;
        self.is_connected = false;
        self.settle_all(now);
    }

    /// The coordinator said something.
    pub fn handle_from_coordinator(&mut self, now: Time, message: ToHost) {
        match message {
            ToHost::Welcome { host, secret, grid, hosts, complete, runs, epoch } => {
                self.on_welcome(now, (host, secret, grid), hosts, complete, &runs, epoch);
            }
            ToHost::Refused { reason } => self.events.push_back(Event::Refused(reason)),
            // Whatever else comes before the welcome is meant for who this host was.
            _ if !self.is_connected => {}
            ToHost::Hosts { epoch, joined, gone } => self.on_hosts(now, epoch, joined, &gone),
            ToHost::Present { epoch, hosts } => {
                let hosts: BTreeSet<HostId> = hosts.into_iter().collect();
                let gone: Vec<_> = (self.peers.keys())
                    .filter(|peer| !hosts.contains(peer))
                    .map(|peer| (*peer, Departure::Crashed))
                    .collect();
                self.on_hosts(now, epoch, Vec::new(), &gone);
                self.tell_coordinator(ToCoordinator::Recovered { epoch });
            }
            ToHost::StartRun { run, spec } => self.on_start(now, run, spec),
            ToHost::Master { run, host } => {
                if let Some(part) = self.runs.get_mut(&run) {
                    part.master = Some(host);
                }
                self.seek(now, run);
            }
            ToHost::StopRun { run } => self.on_stop(now, run),
            ToHost::SuspendRun { run } => self.on_suspend(now, run),
            ToHost::Assign { run, number, spec } => self.on_assign(now, run, number, spec),
            ToHost::Acknowledged { run, number } => self.settle_owner(run, Owner::Coordinator, number),
            ToHost::Entries { run, entries } => self.on_entries(run, entries),
            ToHost::Found { run, key } => self.on_found(now, run, key),
            // The driver unpacks relayed frames; of an unreachable peer the coordinator will say more.
            ToHost::Relayed { .. } | ToHost::Unreachable { .. } => {}
            ToHost::Ping { ping } => self.tell_coordinator(ToCoordinator::Pong { ping }),
            ToHost::Farewell => self.on_farewell(),
            ToHost::Forget { ask, host } => self.on_forget(ask, host),
        }
    }

    fn on_welcome(
        &mut self,
        now: Time,
        identity: (HostId, u64, GridId),
        hosts: Vec<HostInfo>,
        complete: bool,
        runs: &[RunId],
        epoch: u64,
    ) {
        if !self.is_greeting {
            return;
        }
        self.is_greeting = false;
        self.is_connected = true;
        let was = self.identity.replace(identity);
        if self.paused != self.greeted_as_paused {
            self.tell_coordinator(ToCoordinator::Paused { reason: self.paused.clone() });
        }
        for part in self.runs.values_mut() {
            // What was to be announced is announced again, under the name that the host has now.
            part.outbox.clear();
        }
        let is_reborn = was.is_some_and(|(id, ..)| id != identity.0);
        let is_other_grid = was.is_some_and(|(.., grid)| grid != identity.2);
        let over: Vec<RunId> =
            self.runs.keys().filter(|run| is_other_grid || !runs.contains(run)).copied().collect();
        for run in over {
            self.stop_run(run, true);
        }
        match was {
            None => self.events.push_back(Event::Joined(identity.0)),
            Some(_) if is_reborn => self.events.push_back(Event::Reborn(identity.0)),
            Some(_) => {}
        }
        // What others have given up, or what went while the link was down.
        let there: BTreeSet<HostId> = hosts.iter().map(|info| info.id).collect();
        let lost: Vec<HostId> = (self.peers.keys())
            .filter(|peer| is_reborn || (complete && !there.contains(peer)))
            .copied()
            .collect();
        for peer in lost {
            self.lose_peer(now, peer);
        }
        for info in hosts {
            self.join(info);
        }
        self.sort_peers();
        self.epoch = epoch;
        if !complete {
            let hosts = self.peers.keys().copied().take(ACQUAINTANCES_MAX).collect();
            self.tell_coordinator(ToCoordinator::Knows { hosts });
        }
        self.identify_all();
        self.tell_coordinator(ToCoordinator::Recovered { epoch });
        let runs: Vec<RunId> = self.runs.keys().copied().collect();
        for run in runs {
            self.announce_again(now, run);
            self.meet_again(now, run, is_reborn);
            self.seek(now, run);
        }
        self.say_goodbye_again();
    }

    /// The coordinator may have lost what it was told last.
    fn announce_again(&mut self, now: Time, run: RunId) {
        let Some(part) = self.runs.get(&run) else { return };
        let own: Vec<_> = part.table.iter().cloned().collect();
        let orphans: Vec<JobNumber> =
            part.held.iter().filter(|(_, held)| held.owners.is_empty()).map(|(token, _)| *token).collect();
        let ended: Vec<JobNumber> =
            part.held.iter().filter(|(_, held)| held.finished.is_some()).map(|(token, _)| *token).collect();
        for entry in own {
            if matches!(entry.state, crate::EntryState::Done(_)) {
                self.share(now, run, &entry);
            }
        }
        for token in orphans {
            self.announce_orphan(now, run, token);
        }
        self.flush(now, run);
        for token in ended {
            self.deliver(run, token);
        }
    }

    fn join(&mut self, info: HostInfo) {
        if Some(info.id) == self.id() || self.cut_off.contains(&info.id) {
            return;
        }
        let id = info.id;
        if self.peers.insert(id, info).is_none() {
            self.events.push_back(Event::PeerJoined(id));
        }
    }

    /// Who is near and who is far, in an order that does not depend on when they came.
    pub(super) fn sort_peers(&mut self) {
        let site = &self.config.report.site;
        self.near =
            (self.peers.values()).filter(|info| info.report.site == *site).map(|info| info.id).collect();
        self.far =
            (self.peers.values()).filter(|info| info.report.site != *site).map(|info| info.id).collect();
    }

    pub(super) fn unlist_peer(&mut self, peer: HostId) {
        for listed in [&mut self.near, &mut self.far] {
            if let Ok(place) = listed.binary_search(&peer) {
                listed.remove(place);
            }
        }
    }

    fn on_hosts(&mut self, now: Time, epoch: u64, joined: Vec<HostInfo>, gone: &[(HostId, Departure)]) {
        for info in joined {
            let (id, is_near) = (info.id, info.report.site == self.config.report.site);
            self.join(info);
            // One more of thousands is no reason to sort them all.
            self.unlist_peer(id);
            let listed = if is_near { &mut self.near } else { &mut self.far };
            if let Err(place) = listed.binary_search(&id)
                && self.peers.contains_key(&id)
            {
                listed.insert(place, id);
            }
            self.greet_sharer(now, id);
        }
        for (host, _) in gone {
            self.cut_off.remove(host);
            self.lose_peer(now, *host);
        }
        self.epoch = self.epoch.max(epoch);
        let runs: Vec<RunId> = self.runs.keys().copied().collect();
        if !gone.is_empty() {
            for run in &runs {
                self.flush(now, *run);
            }
            self.tell_coordinator(ToCoordinator::Recovered { epoch });
        }
        for run in runs {
            self.seek(now, run);
        }
    }

    /// Asks this peer for jobs no more, and forgets it unless there is something between the two: the
    /// coordinator would not say any more when it goes.
    fn on_forget(&mut self, ask: u64, host: HostId) {
        self.unlist_peer(host);
        let forgotten = !self.runs.values().any(|part| part.has_to_do_with(host));
        if forgotten {
            self.peers.remove(&host);
        }
        self.tell_coordinator(ToCoordinator::Forgot { ask, host, forgotten });
    }

    fn on_start(&mut self, now: Time, run: RunId, spec: RunSpec) {
        if self.departing.is_some() || self.paused.is_some() {
            return;
        }
        match self.runs.get(&run).map(|part| part.stage) {
            Some(Stage::Loading | Stage::Draining { .. } | Stage::Drained) => {}
            Some(Stage::Ready) => self.tell_coordinator(ToCoordinator::Ready { run }),
            Some(Stage::Unable) => {
                let reason = "it could not take part before".to_owned();
                self.tell_coordinator(ToCoordinator::Unready { run, reason });
            }
            None => {
                let mut part = Part::new(spec.clone(), self.config.table_bytes_max, now);
                part.next_steal = self.numbers_used;
                part.next_number = self.numbers_used;
                part.holding = self.numbers_used;
                self.runs.insert(run, Box::new(part));
                self.commands.push_back(Command::Load { run, spec });
            }
        }
    }

    fn on_assign(&mut self, now: Time, run: RunId, number: JobNumber, mut spec: JobSpec) {
        let Some(part) = self.runs.get_mut(&run) else { return };
        if part.held_by_loan.contains_key(&(Owner::Coordinator, number)) {
            return;
        }
        if let Some(token) = part.held_by_key.get(&spec.key).copied() {
            // It goes on here already, as an orphan.
            part.add_owner(token, Owner::Coordinator, number);
            self.deliver(run, token);
            return;
        }
        if spec.redone {
            spec.lookup_below = part.expect_below(&spec);
            self.tell_lookups(run);
        }
        self.take_in(now, run, Owner::Coordinator, number, spec);
    }

    /// A run is over: what people can still be told of it is told.
    fn on_stop(&mut self, now: Time, run: RunId) {
        if let Some(part) = self.runs.get_mut(&run) {
            // Nobody needs results any more.
            part.outbox.clear();
            part.owner_outbox.clear();
            let unfinished = part.held.values().filter(|held| held.finished.is_none());
            let unfinished: Vec<JobSpec> = unfinished.map(|held| held.spec.clone()).collect();
            for spec in unfinished {
                self.note(run, &spec, NoteKind::Aborted);
            }
            self.report_last(now, run);
        }
        self.stop_run(run, true);
    }

    /// Drops all of a run.
    pub(super) fn stop_run(&mut self, run: RunId, forget: bool) {
        if let Some(part) = self.runs.remove(&run) {
            let used = part.next_steal.max(part.next_number).max(part.holding);
            self.numbers_used = self.numbers_used.max(used);
            self.commands.push_back(Command::Stop { run, forget });
            self.events.push_back(Event::RunEnded(run));
        }
    }

    /// This machine cannot go on with a run: others have its jobs again.
    pub(super) fn become_unable(&mut self, run: RunId, reason: String) {
        let Some(part) = self.runs.get_mut(&run) else { return };
        if part.stage == Stage::Unable {
            return;
        }
        part.stage = Stage::Unable;
        // First, so that the orphans are known when what is above them is redone.
        let Some(part) = self.runs.get_mut(&run) else { return };
        let loans: Vec<(HostId, JobNumber)> =
            part.loans.iter().map(|(number, loan)| (loan.thief, *number)).collect();
        part.loans.clear();
        part.loan_by_number.clear();
        part.unresolved.clear();
        part.drop_requests(|_| true);
        part.idle = 0;
        let parked = std::mem::take(&mut part.parked);
        for parked in parked {
            self.tell_peer(parked.thief, PeerMessage::Nothing { run, steal: parked.steal });
        }
        for (thief, number) in loans {
            self.tell_peer(thief, PeerMessage::Orphaned { run, number });
        }
        self.hand_back(run);
        self.commands.push_back(Command::Stop { run, forget: false });
        self.tell_coordinator(ToCoordinator::Unready { run, reason });
    }
}
