//! The driver's side of the link to the coordinator.

use std::time::Duration;

use sateen_protocol::codec::{Decoder, Encoder, PROTOCOL_VERSION, encode};
use sateen_protocol::host::Host;
use sateen_protocol::identity::Challenge;
use sateen_protocol::limits::SILENCE_MAX;
use sateen_protocol::message::{ToCoordinator, ToHost};
use sateen_protocol::{PublicKey, Random, Time};
use tracing::{info, warn};

use super::Driver;
use super::breaks::Breaks;
use crate::grid::identity::HostKey;
use crate::grid::transport::{Closed, IS_IT_ONE, Link, LinkNumber, Socket, connect};

/// The first pause after a refusal; twice as long after each further one.
const REFUSED_REST_MIN: Duration = Duration::from_secs(1);
const REFUSED_REST_MAX: Duration = Duration::from_secs(60);
/// If a host was connected for this long, its next refusal is the first in a row again.
const WELCOME_MIN: Duration = Duration::from_secs(60);

/// A host that was stopped for a while (SIGSTOP, a closed lid) reads what has arrived in the meantime before it
/// calls the coordinator silent.
const HEARS_AGAIN: Duration = Duration::from_millis(500);

/// A coordinator sends its challenge first. If none has come after this time, it may be of an older release, which waits for
/// the host's first frame; any first frame makes it say which release it is.
const CHALLENGE_MAX: Duration = Duration::from_secs(3);

/// What proves this host's hello.
pub struct Proving {
    pub key: HostKey,
    /// Of this process.
    instance: u64,
    /// Of the link that is open.
    challenge: Option<Challenge>,
    /// The coordinator sent none and was asked why.
    is_asked: bool,
}

impl Proving {
    pub fn new(key: HostKey, instance: u64) -> Self {
        Self { key, instance, challenge: None, is_asked: false }
    }
}

pub struct CoordinatorSide {
    proving: Proving,
    /// Draws how long to wait before the next attempt.
    random: Random,
    link: Option<Link>,
    encoder: Encoder,
    decoder: Decoder,
    has_messages: bool,
    /// The time at which the link was opened.
    since: Option<Time>,
    /// The same of the first of the links that this host has replaced by itself.
    connected_since: Option<Time>,
    last_heard: Time,
    /// Bytes received by then.
    heard_bytes: u64,
    silent_since: Option<Time>,
    /// Why it cannot be reached; logged once.
    pub unreachable: Option<String>,
    /// Why it refuses this host; until it accepts it.
    pub refused: Option<String>,
    /// Refusals in a row.
    refusals: u32,
    breaks: Breaks,
}

impl CoordinatorSide {
    /// Not yet connected.
    pub fn new(random: Random, proving: Proving) -> Self {
        Self {
            proving,
            random,
            link: None,
            encoder: Encoder::default(),
            decoder: Decoder::default(),
            has_messages: false,
            since: None,
            connected_since: None,
            last_heard: Time::default(),
            heard_bytes: 0,
            silent_since: None,
            unreachable: None,
            refused: None,
            refusals: 0,
            breaks: Breaks::default(),
        }
    }

    /// This host's key.
    pub fn key(&self) -> PublicKey {
        self.proving.key.identity.public()
    }

    pub fn is_link(&self, link: LinkNumber) -> bool {
        self.link.as_ref().is_some_and(|open| open.number == link)
    }

    pub fn is_open(&self) -> bool {
        self.link.is_some()
    }

    /// Since when this host is connected, for people: it replaces its link for a pause, and is connected all the while.
    pub fn connected_since(&self) -> Option<Time> {
        self.link.as_ref().and(self.connected_since)
    }

    pub fn since(&self) -> Option<Time> {
        self.since
    }

    pub fn take_link(&mut self) -> Option<Link> {
        self.since = None;
        self.connected_since = None;
        self.link.take()
    }

    /// Adds a message to those that are sent next.
    pub fn push(&mut self, message: &ToCoordinator) {
        if self.link.is_none() {
            return;
        }
        match self.encoder.push(message) {
            Ok(()) => {
                self.has_messages = true;
                // The first frame of a link is short: the coordinator does not read a long one from a stranger.
                if matches!(message, ToCoordinator::Hello { .. }) {
                    self.prove(message);
                    self.send();
                }
            }
            Err(error) => warn!(%error, "not sent to the coordinator"),
        }
    }

    /// Adds the proof of a hello.
    fn prove(&mut self, hello: &ToCoordinator) {
        let Proving { key, instance, challenge: Some(challenge), .. } = &self.proving else { return };
        let proof = key.identity.prove(challenge, hello, *instance, key.rotations.clone());
        if let Err(error) = self.encoder.push(&ToCoordinator::Proof(proof)) {
            warn!(%error, "not sent to the coordinator");
        }
    }

    /// Whether a chunk of a parcel may be sent.
    pub fn has_room(&self) -> bool {
        self.link.as_ref().is_some_and(Link::has_room)
    }

    /// Sends a message that all others overtake.
    pub fn send_bulk(&self, message: &ToCoordinator) {
        let Some(link) = &self.link else { return };
        match encode(message) {
            Ok(frames) => frames.into_iter().for_each(|frame| link.send_bulk(frame)),
            Err(error) => warn!(%error, "not sent to the coordinator"),
        }
    }

    /// Whether there are messages to send.
    pub fn has_messages(&self) -> bool {
        self.has_messages
    }

    /// Sends the added messages; returns false if the coordinator does not read.
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
        self.connect_after(Duration::ZERO);
    }

    fn connect_after(&mut self, rest: Duration) {
        let to = (self.options.coordinator.clone(), self.options.credentials.clone());
        let was_known = self.machine.id().is_some();
        let random = Random::new(self.coordinator.random.next_u64());
        tokio::spawn(connect(to, rest, was_known, random, self.sockets.events()));
    }

    pub(super) fn on_coordinator_opened(&mut self, socket: Socket) {
        let now = self.clock.now();
        self.coordinator.link = Some(self.sockets.open(socket));
        self.coordinator.decoder = Decoder::default();
        self.coordinator.since = Some(now);
        self.coordinator.connected_since.get_or_insert(now);
        self.coordinator.last_heard = now;
        self.coordinator.heard_bytes = 0;
        self.coordinator.silent_since = None;
        let proving = &mut self.coordinator.proving;
        (proving.challenge, proving.is_asked) = (None, false);
    }

    /// The coordinator has begun to speak: now this host can identify itself.
    fn on_challenge(&mut self, challenge: Challenge) {
        // Before that, it could be any websocket.
        if self.coordinator.unreachable.take().is_some() {
            info!(coordinator = %self.options.coordinator, "the coordinator is reached again");
        }
        if self.coordinator.proving.challenge.replace(challenge).is_none() {
            self.tell(Host::handle_connected);
        }
    }

    pub(super) fn on_coordinator_unreachable(&mut self, why: String) {
        if self.coordinator.unreachable.is_none() {
            warn!(
                coordinator = %self.options.coordinator,
                why,
                "cannot reach the coordinator; trying again until it answers (--coordinator names another)"
            );
        }
        self.coordinator.unreachable = Some(why);
        self.coordinator.connected_since = None;
    }

    /// The coordinator refuses this host's token, or that it has none. It is asked again from time to time.
    pub(super) fn on_refused_at_the_door(&mut self, why: String) {
        self.warn_of_refusal(&why);
        self.coordinator.unreachable = None;
        self.coordinator.connected_since = None;
        self.coordinator.refused = Some(why);
    }

    fn warn_of_refusal(&self, why: &str) {
        if self.coordinator.refused.as_deref() != Some(why) {
            warn!(
                coordinator = %self.options.coordinator,
                why,
                "the coordinator refuses this host; trying again from time to time"
            );
        }
    }

    pub(super) fn on_coordinator_closed(&mut self, closed: &Closed) {
        match closed {
            // This is expected, once everything is handed over.
            Closed::Gone(why) if self.users.is_leaving() => info!(why, "the coordinator has ended the link"),
            Closed::Gone(why) | Closed::Broken(why) if self.coordinator.proving.challenge.is_none() => {
                self.on_other_websocket(why);
            }
            Closed::Gone(why) | Closed::Broken(why) => warn!(why, "the link to the coordinator broke"),
        }
        self.drop_coordinator();
    }

    /// Something has opened a websocket, and has not begun to speak as coordinators do.
    fn on_other_websocket(&mut self, why: &str) {
        self.on_coordinator_unreachable(format!(
            "it opened a websocket and did not speak as a coordinator does ({why}); {IS_IT_ONE}"
        ));
    }

    /// Messages that were added before are still sent.
    pub(super) fn reconnect(&mut self) {
        self.coordinator.send();
        let connected_since = self.coordinator.connected_since;
        self.drop_coordinator();
        self.coordinator.connected_since = connected_since;
        self.forget_all_peers();
    }

    /// The coordinator refuses this host, or they do not understand each other. That may change: the host waits
    /// and tries again, at growing intervals.
    pub(super) fn on_refused(&mut self, why: String) {
        let lasted = self.coordinator.since.map_or(Duration::ZERO, |since| self.clock.now().since(since));
        if lasted >= WELCOME_MIN {
            self.coordinator.refusals = 0;
        }
        let rest =
            REFUSED_REST_MIN.saturating_mul(1 << self.coordinator.refusals.min(16)).min(REFUSED_REST_MAX);
        self.coordinator.refusals = self.coordinator.refusals.saturating_add(1);
        self.warn_of_refusal(&why);
        self.coordinator.refused = Some(why);
        self.drop_coordinator_for(rest);
        self.tell(|_, _| {});
    }

    fn drop_coordinator(&mut self) {
        let rest = self.rest_after_break();
        self.drop_coordinator_for(rest);
    }

    /// A link that breaks once is opened again at once. If each link breaks soon, the intervals grow.
    fn rest_after_break(&mut self) -> Duration {
        let lasted = self.coordinator.since.map_or(Duration::ZERO, |since| self.clock.now().since(since));
        self.coordinator.breaks.rest(lasted)
    }

    fn drop_coordinator_for(&mut self, rest: Duration) {
        if self.coordinator.take_link().is_none() {
            return;
        }
        self.coordinator.encoder = Encoder::default();
        self.coordinator.has_messages = false;
        self.answer(Host::handle_disconnected);
        if self.ended.is_none() {
            self.connect_after(rest);
        }
    }

    pub(super) fn on_coordinator_frame(&mut self, frame: &[u8]) {
        self.coordinator.last_heard = self.clock.now();
        let messages: Vec<ToHost> = match self.coordinator.decoder.decode(frame) {
            Ok(messages) => messages,
            Err(error) => {
                // Either side may be updated while this host waits.
                let advice = error.advice("sateen-host", env!("CARGO_PKG_VERSION"), "sateen-coordinator");
                self.on_refused(advice.unwrap_or_else(|| format!("it is not understood: {error}")));
                return;
            }
        };
        for message in messages {
            match message {
                ToHost::Relayed { from, frame } | ToHost::RelayedBulk { from, frame } => {
                    self.on_relayed(from, &frame);
                }
                ToHost::Challenge(challenge) => self.on_challenge(challenge),
                message => {
                    if matches!(message, ToHost::Welcome { .. }) && self.coordinator.refused.take().is_some()
                    {
                        info!(coordinator = %self.options.coordinator, "the coordinator takes this host again");
                    }
                    if let ToHost::Welcome { host, .. } = &message {
                        // It may give this host another id, under which nothing from before is to be relayed.
                        self.send_all();
                        self.direct.is_known_as(self.machine.id(), *host);
                    }
                    self.losses.note(&message);
                    let has_hosts = matches!(message, ToHost::Welcome { .. } | ToHost::Hosts { .. });
                    self.tell(|machine, now| machine.handle_from_coordinator(now, message));
                    if has_hosts {
                        self.look_at_strangers(self.clock.now());
                    }
                }
            }
        }
    }

    /// A coordinator of an older release sends nothing before it is spoken to.
    fn ask_for_challenge(&mut self, now: Time) {
        let waits = self.coordinator.since.map_or(Duration::ZERO, |since| now.since(since));
        let Some(link) = self.coordinator.link.as_ref().filter(|_| waits >= CHALLENGE_MAX) else { return };
        let proving = &mut self.coordinator.proving;
        if proving.challenge.is_none() && !std::mem::replace(&mut proving.is_asked, true) {
            // The beginning of a hello, and no more.
            link.send(vec![vec![PROTOCOL_VERSION, 0, 0, 0]]);
        }
    }

    /// A coordinator sends pings; if nothing arrives from it, it counts as gone. A long frame over a slow link
    /// arrives byte by byte, and pings follow it.
    pub(super) fn listen_for_silence(&mut self, now: Time) {
        let heard_bytes = self.coordinator.link.as_ref().map_or(0, Link::heard_bytes);
        if heard_bytes != self.coordinator.heard_bytes {
            (self.coordinator.heard_bytes, self.coordinator.last_heard) = (heard_bytes, now);
        }
        self.ask_for_challenge(now);
        if self.coordinator.link.is_none() || now.since(self.coordinator.last_heard) < SILENCE_MAX {
            self.coordinator.silent_since = None;
            return;
        }
        let silent_since = *self.coordinator.silent_since.get_or_insert(now);
        if now.since(silent_since) >= HEARS_AGAIN {
            warn!(silent_s = SILENCE_MAX.as_secs(), "nothing has come from the coordinator");
            if self.coordinator.proving.challenge.is_none() {
                self.on_other_websocket("it says nothing");
            }
            self.drop_coordinator();
            self.tell(|_, _| {});
        }
    }
}
