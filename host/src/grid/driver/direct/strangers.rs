//! Hosts that dial this one, until they have proven their identity.

use std::time::Duration;

use sateen_identity::session::Session;
use sateen_protocol::Time;
use sateen_protocol::message::direct::Greeting;
use tracing::debug;

use super::Driver;
use super::links::LINKS_MAX;
use crate::grid::transport::{DirectListen, Stranger};

/// A host may dial before the coordinator has announced it.
const STRANGER_MAX: Duration = Duration::from_secs(3);
const STRANGERS_MAX: usize = 64;
/// Maximum waiting strangers from one address.
const STRANGERS_PER_ADDRESS_MAX: usize = 32;

/// Maximum proofs that are checked in a second: each takes about 0.3 ms of this thread.
const PROOFS_PER_SECOND_MAX: u32 = 200;

enum Verdict {
    /// The host has proven its identity.
    Peer(Box<(Session, Greeting)>),
    NotYetKnown,
    Wrong,
}

/// Counts proofs.
#[derive(Default)]
pub struct Proofs {
    since: Time,
    count: u32,
}

impl Proofs {
    /// Whether one more may be checked.
    fn allows(&mut self, now: Time) -> bool {
        if now.since(self.since) >= Duration::from_secs(1) {
            *self = Self { since: now, count: 0 };
        }
        self.count += 1;
        self.count <= PROOFS_PER_SECOND_MAX
    }
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
            Verdict::Peer(proven) => {
                let peer = stranger.hello.caller.from;
                let (session, greeting) = *proven;
                self.add_link(peer, stranger.let_in(session, &greeting));
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

    fn verdict(&mut self, stranger: &Stranger) -> Verdict {
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
            Some(info) => {
                let key = info.report.key;
                if !self.direct.proofs.allows(self.clock.now()) {
                    return Verdict::Wrong;
                }
                let (identity, challenge) = (&self.direct.identity, &stranger.challenge);
                let proven = sateen_identity::direct::greet(identity, &key, challenge, &stranger.hello);
                proven.map_or(Verdict::Wrong, |proven| Verdict::Peer(Box::new(proven)))
            }
        }
    }
}
