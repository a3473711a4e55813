//! Events of the machine, and messages that bypass it: into logs, counters and chronicles.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use sateen_protocol::coordinator::{Event, LinkId};
use sateen_protocol::limits::shortened;
use sateen_protocol::message::{Departure, ToCoordinator};
use sateen_protocol::{HostId, RunId, RunState};

use super::Driver;
use crate::chronicle::{Chronicle, EventKind, Going, Source};
use crate::host_name::HostName;
use crate::locked;

/// Maximum hosts that have not come back and are given up in one event.
const AWAITED_AT_ONCE_MAX: usize = 64;

impl Driver {
    pub(super) fn who(&self, link: LinkId) -> String {
        let host = self.links.get(link).and_then(|link| link.host());
        host.map_or("unknown".to_owned(), |host| self.hosts.named(host))
    }

    /// Records what the machine does not pass on, and adds what it needs and hosts leave out.
    pub(super) fn look_at(&mut self, link: LinkId, message: &mut ToCoordinator) {
        self.rounds.may_wait_anew |= !is_frequent(message);
        match message {
            ToCoordinator::Hello { report, .. } => {
                let (name, site) = (report.name.clone(), report.site.clone());
                self.hosts.greeted(link, HostName { name, site }, report.threads);
            }
            ToCoordinator::Counts { run, counts, notes_dropped, .. } => {
                self.hosts.counted(link, self.clock.now());
                if counts.workers == 0 {
                    // The machine knows a run's workers from counts alone, and a host also counts before its runtime has any.
                    counts.workers = self.hosts.workers_of(link);
                }
                let host = self.links.get(link).and_then(|link| link.host());
                if let Some(host) = host {
                    let run = self.machine.checked_run(*run).unwrap_or(*run);
                    self.hosts.unheard.reported(host, run, counts.busy, self.clock.now());
                }
                if *notes_dropped > 0 {
                    self.record(*run, |chronicle| chronicle.left_out(*notes_dropped));
                }
            }
            ToCoordinator::Ready { run } => {
                let host = self.links.get(link).and_then(|link| link.host());
                if let Some(host) = host {
                    let run = self.machine.checked_run(*run).unwrap_or(*run);
                    self.hosts.unheard.begins(host, run, self.clock.now());
                }
            }
            ToCoordinator::Pong { ping } => self.hosts.answered(link, *ping),
            _ => {}
        }
    }

    /// Writes into a run's chronicle, if the run exists: hosts may send anything.
    pub(super) fn record(&self, run: RunId, write: impl FnOnce(&mut Chronicle)) {
        if let Some(chronicle) = self.chronicles.get(run) {
            write(&mut locked(&chronicle));
        }
    }

    /// Hosts from before a restart whose time to come back is over are lost, like others that are given up.
    pub(super) fn give_up_awaited(&mut self) {
        if self.machine.waits_for_hosts() {
            return;
        }
        let were_awaited = self.hosts.awaits_any();
        for _ in 0..AWAITED_AT_ONCE_MAX {
            let Some(host) = self.hosts.give_up_awaited() else { break };
            // It had joined before; the metric counts that it was connected here.
            self.links.counters.hosts_joined.fetch_add(1, Relaxed);
            self.links.counters.hosts_crashed.fetch_add(1, Relaxed);
            tracing::warn!(host = %self.hosts.named(host), "host did not come back after the coordinator's restart");
            self.host_gone(host, Going::NotBack);
        }
        if were_awaited && !self.hosts.awaits_any() {
            for run in self.machine.run_ids() {
                self.record(run, Chronicle::nobody_is_back);
            }
        }
    }

    /// Notifies all runs that the host had to do with.
    fn host_gone(&mut self, host: HostId, how: Going) {
        self.rounds.standstills.gone(host);
        self.hosts.unheard.gone(host);
        let name = self.hosts.name_of(host);
        for run in self.machine.run_ids() {
            let source = Source { id: host, name: &name.name, site: &name.site };
            self.chronicles.host_gone(run, source, how);
        }
        if how == Going::Paused {
            self.hosts.resting.begins(host);
        } else {
            self.hosts.resting.ends(host);
            self.hosts.went(host);
            self.save_presence(host);
        }
    }

    /// Records what a host's process did under another id together with what it does now.
    fn host_reborn(&mut self, was: HostId, is: HostId) {
        let name = self.hosts.name_of(is);
        for run in self.machine.run_ids().chain(self.over.settling_ids()) {
            let source = Source { id: is, name: &name.name, site: &name.site };
            self.record(run, |chronicle| chronicle.host_reborn(was, source));
        }
    }

    pub(super) fn event(&mut self, event: Event) {
        let links = Arc::clone(&self.links);
        let counters = &links.counters;
        self.rounds.may_wait_anew |=
            !matches!(event, Event::Log(..) | Event::Notes(..) | Event::Activity { .. });
        match event {
            Event::HostJoined(host) => {
                counters.hosts_joined.fetch_add(1, Relaxed);
                tracing::info!(host = %self.hosts.named(host), address = self.hosts.address_of(host), "host joined");
            }
            Event::HostGone(host, Departure::Left) => {
                counters.hosts_left.fetch_add(1, Relaxed);
                tracing::info!(host = %self.hosts.named(host), address = self.hosts.address_of(host), "host left");
                self.host_gone(host, Going::Left);
            }
            Event::HostGone(host, Departure::Crashed) => {
                counters.hosts_crashed.fetch_add(1, Relaxed);
                tracing::warn!(host = %self.hosts.named(host), address = self.hosts.address_of(host), "host given up");
                self.host_gone(host, Going::Crashed);
            }
            Event::HostPaused(host) => {
                tracing::info!(host = %self.hosts.named(host), "host paused and gave back its jobs");
                self.host_gone(host, Going::Paused);
            }
            Event::HostReturned(host) => {
                counters.hosts_joined.fetch_add(1, Relaxed);
                self.hosts.returned(host);
                self.save_presence(host);
                self.is_back(host);
                tracing::info!(host = %self.hosts.named(host), address = self.hosts.address_of(host), "a host that was given up came back in time");
            }
            Event::HostReborn { was, is } => {
                self.host_reborn(was, is);
                let address = self.hosts.address_of(is);
                tracing::info!(%was, host = %self.hosts.named(is), address, "a host that was given up came back");
            }
            Event::Unready(run, host, reason) => {
                let named = self.hosts.named(host);
                tracing::warn!(run = run.0, host = %named, reason = shortened(&reason), "host cannot take part in run");
                let name = self.hosts.name_of(host);
                let source = Source { id: host, name: &name.name, site: &name.site };
                self.record(run, |chronicle| {
                    let text = format!("{} cannot take part: {reason}", chronicle.named(source));
                    chronicle.add_event(EventKind::Unable, Some(host), text);
                });
            }
            Event::RootAssigned(run, host) => {
                self.look_for_return(host);
                self.hosts.unheard.begins(host, run, self.clock.now());
                let named = self.hosts.named(host);
                tracing::info!(run = run.0, host = %named, "root job given to host");
                let name = self.hosts.name_of(host);
                let source = Source { id: host, name: &name.name, site: &name.site };
                self.record(run, |chronicle| chronicle.root_given(source));
            }
            Event::RootKept { run, host, dropped_by } => {
                self.look_for_return(host);
                self.hosts.unheard.begins(host, run, self.clock.now());
                let (named, other) = (self.hosts.named(host), self.hosts.named(dropped_by));
                tracing::info!(run = run.0, host = %named, dropped_by = %other, "host is back and keeps the root job");
                let (name, other) = (self.hosts.name_of(host), self.hosts.name_of(dropped_by));
                let source = Source { id: host, name: &name.name, site: &name.site };
                let other = Source { id: dropped_by, name: &other.name, site: &other.site };
                self.record(run, |chronicle| chronicle.root_kept(source, other));
            }
            Event::RootLost(run, host) => {
                // After a restart, its host is given up at the same moment, and that comes first.
                self.give_up_awaited();
                counters.root_losses.fetch_add(1, Relaxed);
                let named = self.hosts.named(host);
                tracing::warn!(run = run.0, host = %named, "root job lost with its host");
                let name = self.hosts.name_of(host);
                let source = Source { id: host, name: &name.name, site: &name.site };
                self.record(run, |chronicle| {
                    let text = format!("the root job was lost with {}", chronicle.named(source));
                    chronicle.add_event(EventKind::RootLost, Some(host), text);
                });
                self.save_at_once(run, host);
            }
            Event::RootGivenBack(run, host) => self.save_at_once(run, host),
            Event::RunChanged(run, state) => {
                if state == RunState::Suspended {
                    self.rounds.places.rests(run);
                }
                if state != RunState::Running {
                    self.rounds.standstills.forget(run);
                }
                self.record(run, |chronicle| chronicle.state(state));
                tracing::debug!(run = run.0, state = state.word(), "run changed");
            }
            Event::GaveWay(run) => {
                tracing::info!(run = run.0, "run gave its place to a submitter that had none");
                self.record(run, Chronicle::gives_way);
            }
            Event::Log(run, host, lines) => self.record(run, |chronicle| chronicle.log(host, lines)),
            Event::Notes(run, host, notes) => {
                let name = self.hosts.name_of(host);
                let source = Source { id: host, name: &name.name, site: &name.site };
                self.record(run, |chronicle| {
                    let before = chronicle.redone();
                    chronicle.note(source, &notes);
                    counters.jobs_redone.fetch_add(chronicle.redone() - before, Relaxed);
                });
            }
            Event::Activity { run, host, series, workers } => {
                if self.rounds.standstills.reported(run, host) {
                    self.record(run, |chronicle| chronicle.answers(host));
                }
                let name = self.hosts.name_of(host);
                let source = Source { id: host, name: &name.name, site: &name.site };
                self.record(run, |chronicle| chronicle.activity(source, series, &workers));
            }
            Event::Misbehaved { by, host, reason } => {
                counters.misbehaviours.fetch_add(1, Relaxed);
                // A host that accuses others may itself be lying, and repeatedly.
                let reason = shortened(&reason);
                tracing::warn!(by = %self.hosts.named(by), host = %self.hosts.named(host), reason, "a host reports misbehaviour");
            }
        }
    }
}

/// Messages that hosts send all the time, and that are not a reason for which a run begins to wait.
fn is_frequent(message: &ToCoordinator) -> bool {
    matches!(
        message,
        ToCoordinator::Counts { .. }
            | ToCoordinator::Entries { .. }
            | ToCoordinator::Recovered { .. }
            | ToCoordinator::Find { .. }
            | ToCoordinator::Log { .. }
            | ToCoordinator::Relay { .. }
            | ToCoordinator::Pong { .. }
    )
}
