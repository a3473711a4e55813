//! Hosts that dial this one, until they have proven their identity.

use std::time::Duration;

use sateen_protocol::Time;
use tracing::debug;

use super::Driver;
use super::links::LINKS_MAX;
use crate::grid::transport::{DirectListen, Stranger};

/// A host may dial before the coordinator has announced it.
const STRANGER_MAX: Duration = Duration::from_secs(3);
const STRANGERS_MAX: usize = 64;
/// Maximum waiting strangers from one address.
const STRANGERS_PER_ADDRESS_MAX: usize = 32;

enum Verdict {
    /// The host has proven its identity with this secret.
    Peer(u64),
    NotYetKnown,
    Wrong,
}

impl Driver {
    pub fn on_stranger(&mut self, stranger: Stranger) {
        self.judge(stranger, self.clock.now());
    }

    pub fn look_at_strangers(&mut self, now: Time) {
        for (stranger, since) in std::mem::take(&mut self.direct.strangers) {
            if now.since(since) < STRANGER_MAX {
                self.judge(stranger, since);
            }
        }
    }

    fn judge(&mut self, stranger: Stranger, since: Time) {
        match self.verdict(&stranger) {
            Verdict::Peer(secret) => {
                let peer = stranger.hello.caller.from;
                let (socket, greeting) = stranger.let_in(secret);
                self.add_link(peer, socket, Some(greeting));
            }
            Verdict::NotYetKnown if self.has_room_for(&stranger) => {
                self.direct.strangers.push((stranger, since));
            }
            Verdict::NotYetKnown => {}
            Verdict::Wrong => {
                debug!(peer = %stranger.hello.caller.from, "a host that dialled is not let in: it is not the peer it says it is, or there is no room");
            }
        }
    }

    fn has_room_for(&self, stranger: &Stranger) -> bool {
        let from_there = self.direct.strangers.iter().filter(|(other, _)| other.address == stranger.address);
        self.direct.strangers.len() < STRANGERS_MAX && from_there.count() < STRANGERS_PER_ADDRESS_MAX
    }

    fn verdict(&self, stranger: &Stranger) -> Verdict {
        let (Some(own), Some(grid)) = (self.machine.id(), self.machine.grid()) else {
            return Verdict::NotYetKnown;
        };
        let caller = stranger.hello.caller;
        if caller.grid != grid || caller.to != own || caller.from == own {
            return Verdict::Wrong;
        }
        match self.machine.peer(caller.from) {
            None => Verdict::NotYetKnown,
            Some(_)
                if self.direct.peer_links.len() >= LINKS_MAX || self.options.direct == DirectListen::Off =>
            {
                Verdict::Wrong
            }
            Some(info) if stranger.hello.is_proven(info.direct_secret, &stranger.challenge) => {
                Verdict::Peer(info.direct_secret)
            }
            Some(_) => Verdict::Wrong,
        }
    }
}
