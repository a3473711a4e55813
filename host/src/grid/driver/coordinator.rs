//! The driver's side of the link to the coordinator.

use std::time::Duration;

use sateen_protocol::codec::{Decoder, Encoder};
use sateen_protocol::host::Host;
use sateen_protocol::limits::SILENCE_MAX;
use sateen_protocol::message::{HostInfo, ToCoordinator, ToHost};
use sateen_protocol::{HostId, Random, Time};
use tracing::{info, warn};

use super::{Driver, Stopped};
use crate::grid::transport::{Closed, Link, LinkNumber, Socket, connect};

/// A host that was stopped for a while (SIGSTOP, a lid) hears what has come in the meantime before it
/// calls the coordinator silent.
const HEARS_AGAIN: Duration = Duration::from_millis(500);

#[derive(Default)]
pub struct CoordinatorSide {
    link: Option<Link>,
    encoder: Encoder,
    decoder: Decoder,
    has_messages: bool,
    /// Since when the link is open.
    since: Option<Time>,
    last_heard: Time,
    silent_since: Option<Time>,
    /// Why it cannot be reached; said once.
    pub unreachable: Option<String>,
    /// What others show to dial this host, and what this host shows to be itself.
    pub own_secret: Option<(HostId, u64)>,
}

impl CoordinatorSide {
    pub fn is_link(&self, link: LinkNumber) -> bool {
        self.link.as_ref().is_some_and(|open| open.number == link)
    }

    pub fn is_open(&self) -> bool {
        self.link.is_some()
    }

    pub fn since(&self) -> Option<Time> {
        self.since
    }

    pub fn take_link(&mut self) -> Option<Link> {
        self.since = None;
        self.link.take()
    }

    /// Adds a message to those that go out next.
    pub fn push(&mut self, message: &ToCoordinator) {
        if self.link.is_none() {
            return;
        }
        match self.encoder.push(message) {
            Ok(()) => self.has_messages = true,
            Err(error) => warn!(%error, "not sent to the coordinator"),
        }
    }

    /// Sends what was added; false when the coordinator does not read.
    pub fn send(&mut self) -> bool {
        if !std::mem::take(&mut self.has_messages) {
            return true;
        }
        let frames = self.encoder.finish();
        self.link.as_ref().is_none_or(|link| link.send(frames))
    }
}

impl Driver {
    pub(super) fn connect(&mut self) {
        let address = self.options.coordinator.clone();
        let was_known = self.machine.id().is_some();
        let random = Random::new(self.random.next_u64());
        tokio::spawn(connect(address, was_known, random, self.net.clone()));
    }

    pub(super) fn on_coordinator_opened(&mut self, socket: Socket) {
        let now = self.clock.now();
        if self.coordinator.unreachable.take().is_some() {
            info!(coordinator = %self.options.coordinator, "the coordinator is reached again");
        }
        let number = self.new_link();
        self.coordinator.link = Some(Link::start(number, socket, self.net.clone()));
        self.coordinator.decoder = Decoder::default();
        self.coordinator.since = Some(now);
        self.coordinator.last_heard = now;
        self.coordinator.silent_since = None;
        self.tell(Host::handle_connected);
    }

    pub(super) fn on_coordinator_unreachable(&mut self, why: String) {
        if self.coordinator.unreachable.is_none() {
            warn!(
                coordinator = %self.options.coordinator,
                why,
                "cannot reach the coordinator; trying on until it answers (another is named with --coordinator)"
            );
        }
        self.coordinator.unreachable = Some(why);
    }

    pub(super) fn on_coordinator_closed(&mut self, closed: &Closed) {
        match closed {
            // As it should be, once all is handed over.
            Closed::Gone(why) if self.leaving.is_some() => info!(why, "the coordinator has ended the link"),
            Closed::Gone(why) | Closed::Broken(why) => warn!(why, "the link to the coordinator broke"),
        }
        self.drop_coordinator();
    }

    /// What was pushed before still goes out.
    pub(super) fn reconnect(&mut self) {
        self.coordinator.send();
        self.drop_coordinator();
        self.forget_all_peers();
    }

    fn drop_coordinator(&mut self) {
        if self.coordinator.take_link().is_none() {
            return;
        }
        self.coordinator.encoder = Encoder::default();
        self.coordinator.has_messages = false;
        // Fragments may have been lost on the way.
        for route in self.peers.values_mut() {
            route.relayed.reset();
        }
        self.answer(Host::handle_disconnected);
        if self.ended.is_none() {
            self.connect();
        }
    }

    pub(super) fn on_coordinator_frame(&mut self, frame: &[u8]) {
        self.coordinator.last_heard = self.clock.now();
        let messages: Vec<ToHost> = match self.coordinator.decoder.decode(frame) {
            Ok(messages) => messages,
            Err(error) => {
                // Another version will not become this one by asking again.
                let why =
                    format!("the coordinator at {} is not understood: {error}", self.options.coordinator);
                if matches!(error, sateen_protocol::codec::FrameError::Version(_)) {
                    self.ended = Some(Stopped::Refused(why));
                } else {
                    warn!("{why}");
                    self.drop_coordinator();
                    self.tell(|_, _| {});
                }
                return;
            }
        };
        for message in messages {
            match message {
                ToHost::Relayed { from, frame } => self.on_relayed(from, &frame),
                message => {
                    let own = self.own_info(&message);
                    let has_hosts = matches!(message, ToHost::Welcome { .. } | ToHost::Hosts { .. });
                    self.tell(|machine, now| machine.handle_from_coordinator(now, message));
                    if let Some(own) = own {
                        self.coordinator.own_secret = Some(own);
                    }
                    if has_hosts {
                        self.look_at_strangers(self.clock.now());
                    }
                }
            }
        }
    }

    /// This host's own secret, where the coordinator tells who is there.
    fn own_info(&self, message: &ToHost) -> Option<(HostId, u64)> {
        let (own, hosts): (HostId, &[HostInfo]) = match message {
            ToHost::Welcome { host, hosts, .. } => (*host, hosts),
            ToHost::Hosts { joined, .. } => (self.machine.id()?, joined),
            _ => return None,
        };
        hosts.iter().find(|info| info.id == own).map(|info| (own, info.direct_secret))
    }

    /// A coordinator pings; one that does not is as good as gone.
    pub(super) fn listen_for_silence(&mut self, now: Time) {
        if self.coordinator.link.is_none() || now.since(self.coordinator.last_heard) < SILENCE_MAX {
            self.coordinator.silent_since = None;
            return;
        }
        let silent_since = *self.coordinator.silent_since.get_or_insert(now);
        if now.since(silent_since) >= HEARS_AGAIN {
            warn!(silent_s = SILENCE_MAX.as_secs(), "nothing has come from the coordinator");
            self.drop_coordinator();
            self.tell(|_, _| {});
        }
    }
}
