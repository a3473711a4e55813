//! What the machine tells: into logs, counters and chronicles.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use sateen_api::EventKind;
use sateen_protocol::HostId;
use sateen_protocol::coordinator::{Event, LinkId};
use sateen_protocol::limits::shortened;
use sateen_protocol::message::Departure;

use super::Driver;
use crate::chronicle::{Going, Source};
use crate::locked;

/// Hosts that have not come back and are given up in one event.
const AWAITED_AT_ONCE_MAX: usize = 64;

impl Driver {
    pub(super) fn who(&self, link: LinkId) -> String {
        let host = self.links.get(link).and_then(|link| link.host());
        host.map_or("unknown".to_owned(), |host| self.named(host))
    }

    fn named(&self, host: HostId) -> String {
        match self.names.of(host) {
            Some(known) => format!("{host} ({} at {})", known.name, known.site),
            None => host.to_string(),
        }
    }

    /// Has it saved whether a host is there.
    pub(super) fn save_presence(&mut self, host: HostId) {
        self.saver.add_host(host, self.names.saved(host));
    }

    /// Hosts from before a restart that have had their time to come back are lost, like others that are given up.
    pub(super) fn give_up_awaited(&mut self) {
        if self.machine.waits_for_hosts() {
            return;
        }
        for _ in 0..AWAITED_AT_ONCE_MAX {
            let Some(host) = self.awaited.pop_first() else { break };
            // It had joined before; that it was there is what is counted here.
            self.links.counters.hosts_joined.fetch_add(1, Relaxed);
            self.links.counters.hosts_crashed.fetch_add(1, Relaxed);
            tracing::warn!(host = %self.named(host), "host did not come back after the coordinator's restart");
            self.host_gone(host, Going::Crashed);
        }
    }

    /// From where it comes, or came last.
    fn address(&self, host: HostId) -> String {
        self.names.address_of(host).map_or_else(|| "unknown".to_owned(), |address| address.to_string())
    }

    /// All runs that it had to do with are told.
    fn host_gone(&mut self, host: HostId, how: Going) {
        let name = self.name_of(host);
        for run in self.machine.run_ids() {
            let source = Source { id: host, name: &name.name, site: &name.site };
            self.chronicles.host_gone(run, source, how);
        }
        if how != Going::Paused {
            self.names.went(host);
            self.save_presence(host);
            locked(&self.speeds).forget(host);
            locked(&self.served).forget(host);
        }
    }

    /// What a host's process did under another id is told with what it does.
    fn host_reborn(&mut self, was: HostId, is: HostId) {
        let name = self.name_of(is);
        for run in self.machine.run_ids().chain(self.settling.keys().copied()) {
            let source = Source { id: is, name: &name.name, site: &name.site };
            self.record(run, |chronicle| chronicle.host_reborn(was, source));
        }
    }

    pub(super) fn event(&mut self, event: Event) {
        let links = Arc::clone(&self.links);
        let counters = &links.counters;
        match event {
            Event::HostJoined(host) => {
                counters.hosts_joined.fetch_add(1, Relaxed);
                tracing::info!(host = %self.named(host), address = self.address(host), "host joined");
            }
            Event::HostGone(host, Departure::Left) => {
                counters.hosts_left.fetch_add(1, Relaxed);
                tracing::info!(host = %self.named(host), address = self.address(host), "host left");
                self.host_gone(host, Going::Left);
            }
            Event::HostGone(host, Departure::Crashed) => {
                counters.hosts_crashed.fetch_add(1, Relaxed);
                tracing::warn!(host = %self.named(host), address = self.address(host), "host given up");
                self.host_gone(host, Going::Crashed);
            }
            Event::HostPaused(host) => {
                tracing::info!(host = %self.named(host), "host paused and gave back what it had");
                self.host_gone(host, Going::Paused);
            }
            Event::HostReturned(host) => {
                counters.hosts_joined.fetch_add(1, Relaxed);
                self.names.returned(host);
                self.save_presence(host);
                tracing::info!(host = %self.named(host), address = self.address(host), "a host that was given up came back in time");
            }
            Event::HostReborn { was, is } => {
                self.host_reborn(was, is);
                let address = self.address(is);
                tracing::info!(%was, host = %self.named(is), address, "a host that was given up came back");
            }
            Event::Unready(run, host, reason) => {
                let named = self.named(host);
                tracing::warn!(run = run.0, host = %named, reason = shortened(&reason), "host cannot take part in run");
                let text = format!("host {named} cannot take part: {reason}");
                self.record(run, |chronicle| chronicle.add_event(EventKind::Unable, Some(host), text));
            }
            Event::RootAssigned(run, host) => {
                let named = self.named(host);
                tracing::info!(run = run.0, host = %named, "root job given to host");
                let text = format!("host {named} has the root job");
                self.record(run, |chronicle| chronicle.add_event(EventKind::Started, Some(host), text));
            }
            Event::RootLost(run, host) => {
                counters.root_losses.fetch_add(1, Relaxed);
                let named = self.named(host);
                tracing::warn!(run = run.0, host = %named, "root job lost with its host");
                let text = format!("the root job was lost with host {named}");
                self.record(run, |chronicle| chronicle.add_event(EventKind::RootLost, Some(host), text));
                self.save_at_once(run, host);
            }
            Event::RootGivenBack(run, host) => self.save_at_once(run, host),
            Event::RunChanged(run, state) => {
                self.record(run, |chronicle| chronicle.state(state));
                tracing::debug!(run = run.0, state = state.word(), "run changed");
            }
            Event::Log(run, host, lines) => self.record(run, |chronicle| chronicle.log(host, lines)),
            Event::Notes(run, host, notes) => {
                let name = self.name_of(host);
                let source = Source { id: host, name: &name.name, site: &name.site };
                self.record(run, |chronicle| {
                    let before = chronicle.redone();
                    chronicle.note(source, &notes);
                    counters.jobs_redone.fetch_add(chronicle.redone() - before, Relaxed);
                });
            }
            Event::Activity { run, host, series, workers } => {
                let name = self.name_of(host);
                let source = Source { id: host, name: &name.name, site: &name.site };
                self.record(run, |chronicle| chronicle.activity(source, series, &workers));
            }
            Event::Misbehaved { by, host, reason } => {
                counters.misbehaviours.fetch_add(1, Relaxed);
                // A host that accuses others may be the one that lies, and at length.
                let reason = shortened(&reason);
                tracing::warn!(by = %self.named(by), host = %self.named(host), reason, "a host reports misbehaviour");
            }
        }
    }
}
