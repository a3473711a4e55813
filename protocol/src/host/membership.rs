//! The link to the coordinator, and the other hosts of the grid.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::limits::{ACQUAINTANCES_MAX, FORGOTTEN_AT_ONCE_MAX};
use crate::message::{Departure, HostInfo, NoteKind, RootClaim, ToCoordinator, ToHost};
use crate::{AssignmentId, GridId, HeldId, HostId, JobSpec, RunId, RunSpec, Time};

use super::held::Owner;
use super::parting::Parting;
use super::repeats::is_known;
use super::run::HostRun;
use super::stage::Stage;
use super::standing::Welcomed;
use super::{Command, Event, Host, Receiver, Repeated, Transmit};

impl Host {
    /// The link to the coordinator is open.
    pub fn handle_connected(&mut self, now: Time) {
        self.latest = now;
        let roots = (self.runs.iter())
            .flat_map(|(run, host_run)| {
                let roots = host_run.held.proven_roots();
                roots.map(|(number, proof)| RootClaim { run: *run, number, proof })
            })
            .collect::<Vec<RootClaim>>();
        let hello = self.standing.greet(self.config.report.clone(), roots);
        self.unpolled.transmit(Transmit::ToCoordinator(hello));
    }

    /// The link to the coordinator broke. Hosts that can reach one another continue.
    pub fn handle_disconnected(&mut self, now: Time) {
        self.latest = now;
        self.standing.disconnect();
        self.settle_all(now);
    }

    /// A message from the coordinator has arrived.
    pub fn handle_from_coordinator(&mut self, now: Time, message: ToHost) {
        self.latest = now;
        self.room_to_forget = FORGOTTEN_AT_ONCE_MAX;
        match message {
            ToHost::Welcome { host, incarnation, secret, grid, hosts, complete, runs, epoch } => {
                let identity = ((host, secret, grid), incarnation);
                self.on_welcome(now, identity, hosts, complete, &runs, epoch);
            }
            ToHost::Refused { reason } => {
                self.standing.note_refusal();
                self.unpolled.event(Event::Refused(reason));
            }
            // All other messages before the welcome are meant for this host's former identity.
            _ if !self.is_connected() => {}
            ToHost::Hosts { epoch, joined, gone } => self.on_hosts(now, epoch, joined, &gone),
            ToHost::Present { epoch, hosts } => {
                let hosts: BTreeSet<HostId> = hosts.into_iter().collect();
                let gone: Vec<_> = (self.peers.ids())
                    .filter(|peer| !hosts.contains(peer))
                    .map(|peer| (peer, Departure::Crashed))
                    .collect();
                self.on_hosts(now, epoch, Vec::new(), &gone);
                self.tell_coordinator(ToCoordinator::Recovered { epoch });
            }
            ToHost::StartRun { run, spec } => self.on_start(now, run, Arc::unwrap_or_clone(spec)),
            ToHost::Master { run, host } => {
                if let Some(host_run) = self.runs.get_mut(&run) {
                    host_run.thief.note_master(host);
                }
                self.seek(now, run);
            }
            ToHost::StopRun { run } => self.on_stop(now, run),
            ToHost::SuspendRun { run } => self.on_suspend(now, run),
            ToHost::Assign { run, number, proof, spec } => {
                if let Some(host_run) = self.runs.get_mut(&run) {
                    host_run.held.note_root(number, proof);
                }
                self.on_assign(now, run, number, spec);
            }
            ToHost::Acknowledged { run, number } => {
                self.repeats.answered(now, Receiver::Coordinator, Repeated::RootFinished(run, number));
                self.settle_owner(run, Owner::Coordinator(number));
            }
            ToHost::Entries { run, entries } => self.on_entries(run, Receiver::Coordinator, entries),
            ToHost::Found { run, key } => self.on_found(now, run, key),
            // The driver unpacks relayed frames. If an unreachable peer is gone, the coordinator says so in another
            // message.
            ToHost::Relayed { .. }
            | ToHost::RelayedBulk { .. }
            | ToHost::Unreachable { .. }
            | ToHost::Challenge(_) => {}
            ToHost::Parcel(message) => self.on_parcel_of_coordinator(now, &message),
            ToHost::Ping { ping } => self.tell_coordinator(ToCoordinator::Pong { ping }),
            ToHost::Farewell => self.on_farewell(),
            ToHost::Forget { ask, host } => self.on_forget(ask, host),
            ToHost::Withdraw { run, number } => self.on_withdraw(run, number),
        }
    }

    fn on_welcome(
        &mut self,
        now: Time,
        (identity, incarnation): ((HostId, u64, GridId), u32),
        hosts: Vec<HostInfo>,
        complete: bool,
        runs: &[RunId],
        epoch: u64,
    ) {
        let Some(welcomed) = self.standing.welcome(identity, incarnation) else { return };
        let Welcomed { event, is_given_up, is_other_grid, is_disowned } = welcomed;
        self.expect_loss();
        if let Some(message) = self.standing.pause_since_hello() {
            self.tell_coordinator(message);
        }
        if let Some(reason) = self.standing.holds().map(str::to_owned) {
            self.tell_coordinator(ToCoordinator::Holds { reason: Some(reason) });
        }
        for host_run in self.runs.values_mut() {
            // Everything is announced again below, under the id that the host has now.
            host_run.outbox.clear();
            host_run.recovery.note_announced(None);
        }
        self.disclaim_roots();
        let over: Vec<RunId> =
            self.runs.keys().filter(|run| is_other_grid || !runs.contains(run)).copied().collect();
        for run in over {
            self.stop_run(run, true);
        }
        if is_other_grid || is_disowned {
            self.ended.forget(|_| true);
        }
        self.tell_last_again(now);
        if is_disowned {
            self.runs.values_mut().for_each(|run| run.reporting.count_as_another());
            self.disown_roots(now);
        }
        if let Some(event) = event {
            self.unpolled.event(event);
        }
        // The peers that have given this host up, or that departed while the link was down.
        let there: BTreeSet<HostId> = hosts.iter().map(|info| info.id).collect();
        let lost: Vec<(HostId, Parting)> = (self.peers.ids())
            .filter_map(|peer| match complete && !there.contains(&peer) {
                true => Some((peer, Parting::Departed(Departure::Crashed))),
                false => is_given_up.then_some((peer, Parting::GaveUp)),
            })
            .collect();
        self.lose_peers(now, &lost);
        for info in hosts {
            self.join(now, info);
        }
        self.peers.list_all();
        if !complete {
            let hosts = self.peers.ids().take(ACQUAINTANCES_MAX).collect();
            self.tell_coordinator(ToCoordinator::Knows { hosts });
        }
        self.tell_coordinator(ToCoordinator::Recovered { epoch });
        let runs: Vec<RunId> = self.runs.keys().copied().collect();
        for run in runs {
            self.announce_again(now, run);
            self.meet_again(now, run, is_given_up);
            self.seek(now, run);
        }
        self.say_goodbye_again();
    }

    /// The coordinator assumes that this host has the root jobs that its hello claimed. A run that was suspended and
    /// dropped after the hello could not be reported then, so it is reported now.
    fn disclaim_roots(&mut self) {
        for run in self.standing.take_claimed() {
            if !self.runs.contains_key(&run) {
                self.tell_coordinator(ToCoordinator::Suspended { run });
            }
        }
    }

    /// The coordinator has not recognised this host as the one to which it assigned root jobs: they become orphans.
    fn disown_roots(&mut self, now: Time) {
        let roots: Vec<(RunId, AssignmentId, HeldId)> = (self.runs.iter())
            .flat_map(|(run, host_run)| host_run.held.roots().map(|(number, token)| (*run, number, token)))
            .collect();
        for (run, number, token) in roots {
            self.orphan(now, run, Owner::Coordinator(number), token);
        }
    }

    /// Announces a run's state again, as the coordinator may not have received the last messages.
    fn announce_again(&mut self, now: Time, run: RunId) {
        let Some(host_run) = self.runs.get_mut(&run) else { return };
        host_run.reporting.tell_again();
        host_run.recovery.announce_all();
        let orphans: Vec<HeldId> =
            host_run.held.iter().filter(|(_, held)| held.is_orphan()).map(|(token, _)| token).collect();
        let ended: Vec<HeldId> = host_run
            .held
            .iter()
            .filter(|(_, held)| held.finished().is_some())
            .map(|(token, _)| token)
            .collect();
        for token in orphans {
            self.announce_orphan(now, run, token);
        }
        self.announce_more(now, run);
        self.report_units_again(run);
        for token in ended {
            self.deliver(run, token);
        }
    }

    fn join(&mut self, now: Time, info: HostInfo) {
        if Some(info.id) == self.id() || self.peers.is_cut_off(info.id) {
            return;
        }
        let id = info.id;
        if self.peers.get(id).is_some_and(|known| known.incarnation != info.incarnation) {
            // The peer was given up and came back while this host's link was down.
            self.lose_peer(now, id);
        }
        for host_run in self.runs.values_mut() {
            host_run.recovery.stop_forgetting(id);
        }
        if self.peers.add(info) {
            self.unpolled.event(Event::PeerJoined(id));
        }
    }

    fn on_hosts(&mut self, now: Time, epoch: u64, joined: Vec<HostInfo>, gone: &[(HostId, Departure)]) {
        for info in joined {
            let id = info.id;
            self.join(now, info);
            self.peers.list(id);
            self.greet_sharer(now, id);
        }
        let parted: Vec<(HostId, Parting)> =
            gone.iter().map(|(host, departure)| (*host, Parting::Departed(*departure))).collect();
        self.lose_peers(now, &parted);
        for (host, departure) in gone {
            self.peers.end_cut_off(*host);
            if *departure == Departure::Left {
                self.expect_no_more(*host);
            }
        }
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

    /// Forgets this peer unless loans, requests or parcels connect the two, because the coordinator will no longer
    /// report its departure. If it is not forgotten, it is asked for jobs as before, since it also keeps asking this
    /// host.
    fn on_forget(&mut self, ask: u64, host: HostId) {
        let forgotten =
            !self.runs.values().any(|run| run.has_to_do_with(host)) && !self.has_parcels_with(host);
        if forgotten {
            self.peers.forget(host);
            self.repeats.forget_receiver(Receiver::Peer(host));
            self.forget_sharer(host);
        }
        self.tell_coordinator(ToCoordinator::Forgot { ask, host, forgotten });
    }

    pub(super) fn on_start(&mut self, now: Time, run: RunId, spec: RunSpec) {
        if self.is_leaving() || self.paused().is_some() {
            return;
        }
        match self.runs.get(&run).map(|run| run.stage) {
            Some(Stage::Draining { .. } | Stage::Drained) => {
                // The host learned late that the run was suspended: it has been resumed by now.
                if let Some(suspending) = self.runs.get_mut(&run).and_then(|run| run.suspending.as_mut()) {
                    suspending.starts_again = true;
                }
            }
            Some(Stage::Loading) => {}
            Some(Stage::Ready) => {
                self.tell_coordinator(ToCoordinator::Ready { run });
                self.repeat_verdict(run);
            }
            Some(Stage::Unable) => {
                let unable = self.runs.get(&run).and_then(|run| run.unable.clone());
                let reason = unable.unwrap_or_else(|| "it could not take part before".to_owned());
                self.tell_coordinator(ToCoordinator::Unready { run, reason });
            }
            None => {
                let mut host_run = HostRun::new(spec.clone(), self.config.table_bytes_max, now);
                host_run.numbers = self.last_numbers.begin_run();
                self.ended.forget(|ended| ended == run);
                host_run.reporting.begin(self.last_numbers.new_series());
                self.runs.insert(run, Box::new(host_run));
                self.unpolled.command(Command::Load { run, spec });
            }
        }
    }

    fn on_assign(&mut self, now: Time, run: RunId, number: AssignmentId, mut spec: JobSpec) {
        // If the host has no part of the run or cannot run it, the coordinator has been notified or is about to be.
        let Some(host_run) = self.runs.get_mut(&run).filter(|run| run.stage != Stage::Unable) else { return };
        let owner = Owner::Coordinator(number);
        if host_run.held.of_owner(owner).is_some() {
            return;
        }
        if let Some(token) = host_run.held.of_key(&spec.key) {
            // The job is running here already, as an orphan.
            host_run.held.add_owner(token, owner);
            self.deliver(run, token);
            return;
        }
        if spec.redone {
            spec.lookup_below =
                spec.lookup_below.max(host_run.recovery.lookups.expect_below(&host_run.table, &spec));
            self.tell_lookups(run);
        }
        self.take_in(now, run, owner, spec);
    }

    /// A run is over. Its last counts and notes are sent before it is dropped.
    fn on_stop(&mut self, now: Time, run: RunId) {
        let Some(host_run) = self.runs.get_mut(&run) else { return self.stop_again(run) };
        // Results are no longer needed, but by later runs.
        host_run.outbox.clear_for_owners();
        if host_run.spec.reuse {
            self.flush(now, run);
        }
        let Some(host_run) = self.runs.get_mut(&run) else { return };
        host_run.outbox.clear();
        let unfinished = host_run.held.values().filter(|held| held.finished().is_none());
        let unfinished: Vec<(JobSpec, bool)> =
            unfinished.map(|held| (held.spec().clone(), held.was_begun())).collect();
        for (spec, was_begun) in unfinished {
            self.note_ended(run, (&spec, was_begun), NoteKind::Aborted);
        }
        self.report_last(now, run);
        self.stop_run(run, true);
    }

    /// Drops this host's part of a run.
    pub(super) fn stop_run(&mut self, run: RunId, forget: bool) {
        if let Some(host_run) = self.runs.remove(&run) {
            self.keep_last(run, &host_run, forget);
            self.last_numbers.end_run(host_run.numbers);
            self.forget_parcels_of_run(run);
            self.repeats.forget_run(run, is_known(&self.peers));
            self.unpolled.command(Command::Stop { run, forget });
            self.unpolled.event(Event::RunEnded(run));
        }
    }
}
