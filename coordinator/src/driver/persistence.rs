//! What the machine wants saved, sent and closed, in this order. What follows from a change is held back until that is
//! saved; `saver` has the details.

use std::sync::atomic::Ordering::Relaxed;

use sateen_protocol::HostId;
use sateen_protocol::coordinator::{Command, LinkId};
use sateen_protocol::message::ToHost;

use super::Driver;
use super::hosts::shown_address;
use super::saver::{Change, Written};
use crate::clock::unix_ms;

impl Driver {
    /// Does all that the machine wants. Changes are saved first, as what follows from them is held back until
    /// then; next messages are sent, and links closed last.
    pub(super) fn drain(&mut self) {
        let transmits: Vec<(LinkId, ToHost)> = std::iter::from_fn(|| self.machine.poll_transmit()).collect();
        let mut closes = Vec::new();
        while let Some(command) = self.machine.poll_command() {
            match command {
                Command::Identified { link, host } => self.identified(link, host),
                Command::Close { link, reason } => closes.push((link, reason)),
                Command::SaveState { run, state } => {
                    self.saver.save(Change::State(run, state));
                }
                Command::SaveEnd { run, end } => self.end(run, end),
                Command::SaveCounts { run, counts, account } => self.settle(run, *counts, *account),
                Command::SaveEntries { run, entries, superfluous } => {
                    self.saver.add_entries(run, entries, superfluous);
                    if self.machine.run(run).is_none() {
                        // The next run may be about to look for them.
                        self.saver.flush_kept();
                    }
                }
            }
        }
        for (link, message) in transmits {
            if let ToHost::Ping { ping } = &message {
                self.hosts.pinged(link, *ping);
            }
            if let ToHost::Refused { reason } = &message {
                self.links.counters.misbehaviours.fetch_add(1, Relaxed);
                let address = shown_address(self.links.get(link).map(|link| link.address));
                tracing::warn!(link = link.0, host = %self.who(link), address, reason, "a host broke the protocol");
            }
            if let Some((link, message)) = self.saver.hold(link, message) {
                self.send(link, message);
            }
        }
        for (link, reason) in closes {
            if let Some(link) = self.links.get(link) {
                link.close(&reason);
            }
        }
        while let Some(event) = self.machine.poll_event() {
            self.event(event);
        }
    }

    fn identified(&mut self, link: LinkId, host: HostId) {
        self.links.identify(link, host);
        let address = self.links.get(link).map(|link| link.address);
        let was_awaited = self.hosts.awaits(host);
        if self.hosts.identified(link, host, address, unix_ms()) {
            if was_awaited {
                self.hosts.unheard.returned(host, self.clock.now());
            }
            self.save_presence(host);
        }
    }

    fn send(&self, link: LinkId, message: ToHost) {
        if let Some(link) = self.links.get(link) {
            // Only relayed messages have a sender that can be at fault.
            let _ = link.send(None, message);
        }
    }

    /// Changes were saved: the messages that follow from them are sent.
    pub(super) fn written(&mut self, written: Written) {
        for change in self.saver.note(written) {
            for (link, message) in self.saver.release(change.run()) {
                self.send(link, message);
            }
            match change {
                Change::State(..) => continue,
                Change::End { .. } => {}
                Change::Figures { run, .. } => self.over.saved(run),
            }
            self.ends.send_modify(|ends| *ends += 1);
        }
    }

    /// Periodically saves the standings of runs, and what is new in their chronicles.
    pub(super) fn save_standings(&mut self) {
        self.begin_round();
        self.next_part();
        self.saver.save_standings();
    }

    /// Saves whether a host is connected.
    pub(super) fn save_presence(&mut self, host: HostId) {
        self.saver.add_host(host, self.hosts.saved(host));
    }
}
