//! Other hosts, as the driver reaches them: over direct links of its own, or through the coordinator's relay.

mod links;
mod peers;
mod probe;
mod relay;
mod routes;
mod strangers;

use std::collections::{BTreeMap, BTreeSet};

use sateen_identity::Identity;
use sateen_identity::tunnel::Tunnels;
use sateen_protocol::{HostId, Time};

use super::Driver;
use crate::grid::transport::{LinkNumber, Stranger, Way};
use routes::Route;
use strangers::Proofs;

/// The driver's side of the links to other hosts.
pub struct Direct {
    /// The address at which other hosts reach this one, as it is reported to them.
    reported: Option<String>,
    /// How this host reaches the addresses of others.
    way: Way,
    peers: BTreeMap<HostId, Route>,
    /// The peers of the links.
    peer_links: BTreeMap<LinkNumber, HostId>,
    watched: Watched,
    /// Links dialled by hosts that the coordinator has not announced yet.
    strangers: Vec<(Stranger, Time)>,
    /// Peers to which messages must be sent.
    written: Vec<HostId>,
    identity: Identity,
    /// Sessions for what is relayed.
    tunnels: Tunnels,
    proofs: Proofs,
}

/// Links that are checked, and what must be done because of them.
#[derive(Default)]
struct Watched {
    links: BTreeSet<LinkNumber>,
    next: Time,
    /// Peers to which messages may have been lost and must be repeated.
    repeats: BTreeSet<HostId>,
    /// Whether some were added just now.
    is_due: bool,
}

impl Watched {
    /// When they are next checked.
    fn next(&self) -> Time {
        match self.is_due {
            true => Time::default(),
            false if self.links.is_empty() => Time::NEVER,
            false => self.next,
        }
    }
}

impl Direct {
    /// Without a peer.
    pub fn new(reported: Option<String>, way: Way, identity: Identity) -> Self {
        Self {
            reported,
            way,
            peers: BTreeMap::new(),
            peer_links: BTreeMap::new(),
            watched: Watched::default(),
            strangers: Vec::new(),
            written: Vec::new(),
            tunnels: Tunnels::new(identity.clone()),
            identity,
            proofs: Proofs::default(),
        }
    }

    /// The address at which other hosts reach this one, as it is reported to them.
    pub fn reported(&self) -> Option<&str> {
        self.reported.as_deref()
    }

    /// Whether messages to a peer take a direct link that works.
    pub fn is_direct(&self, peer: HostId) -> bool {
        self.peers.get(&peer).is_some_and(Route::is_direct)
    }

    /// The coordinator knows this host under an id: sessions belong to the id that they were made under.
    pub fn is_known_as(&mut self, was: Option<HostId>, is: HostId) {
        if was != Some(is) {
            self.tunnels.forget_all();
        }
    }

    /// When links are next checked.
    pub fn next_look(&self) -> Time {
        self.watched.next()
    }

    /// Whether hosts wait to be let in, or messages to be repeated.
    pub fn is_waiting(&self) -> bool {
        !self.strangers.is_empty() || !self.watched.repeats.is_empty()
    }
}
