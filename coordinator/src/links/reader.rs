//! Reads a host's frames: those for other hosts go straight to these hosts' links, all others to the
//! driver.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use axum::extract::ws::{Message, WebSocket};
use futures_util::StreamExt;
use futures_util::stream::SplitStream;
use sateen_protocol::HostId;
use sateen_protocol::codec::{Decoder, FrameError, may_be_hello};
use sateen_protocol::coordinator::Misbehaviour;
use sateen_protocol::identity::Challenge;
use sateen_protocol::message::{ToCoordinator, ToHost};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::timeout;

use super::link::{Link, Phase};
use super::{Doors, FromLink, Links, direct};
use crate::clock::unix_ms;
use crate::enrolment::Arrival;
use crate::limits::{
    FRAMES_WAITING_PER_LINK_MAX, HELLO_FRAME_BYTES_MAX, HELLO_TIMEOUT, INBOX_BYTES_MAX,
    MESSAGES_PER_SECOND_MAX,
};
use crate::release::VERSION;

/// Why a link is read no more.
pub enum End {
    /// It was closed, by either side.
    Closed(String),
    /// Its host broke the rules.
    Misbehaved(String),
    /// Its host has proven its identity, and may not take part.
    Refused(String),
}

pub struct Reader<'a> {
    link: &'a Arc<Link>,
    links: &'a Links,
    driver: &'a mpsc::UnboundedSender<FromLink>,
    doors: &'a mut Doors,
    decoder: Decoder,
    /// Keeps the driver's queue short, and treats links fairly.
    waiting: Arc<Semaphore>,
    pace: Pace,
    challenge: Challenge,
    said_hello: bool,
    /// The last fragment of a message has not arrived.
    holds_fragments: bool,
    /// The link that was relayed to last: steals and their answers alternate.
    receiver: Option<(HostId, Arc<Link>)>,
}

impl<'a> Reader<'a> {
    pub fn new(
        link: &'a Arc<Link>,
        links: &'a Links,
        driver: &'a mpsc::UnboundedSender<FromLink>,
        doors: &'a mut Doors,
        challenge: Challenge,
    ) -> Self {
        Self {
            link,
            links,
            driver,
            doors,
            decoder: Decoder::default(),
            waiting: Arc::new(Semaphore::new(FRAMES_WAITING_PER_LINK_MAX)),
            pace: Pace { began: Instant::now(), messages: 0 },
            challenge,
            said_hello: false,
            holds_fragments: false,
            receiver: None,
        }
    }

    pub async fn read(&mut self, socket: &mut SplitStream<WebSocket>) -> End {
        let hello_until = tokio::time::Instant::now() + HELLO_TIMEOUT;
        let link = Arc::clone(self.link);
        let closing = link.reached(Phase::Closing);
        tokio::pin!(closing);
        loop {
            let next = async {
                // Once it has said hello, a frame over a slow link may take longer.
                if self.said_hello {
                    Some(socket.next().await)
                } else {
                    tokio::time::timeout_at(hello_until, socket.next()).await.ok()
                }
            };
            let message = tokio::select! {
                message = next => message,
                () = &mut closing => return End::Closed(self.link.reason()),
            };
            let frame = match message {
                None => return End::Misbehaved("it did not say hello in time".to_owned()),
                Some(None) => return End::Closed("its link broke".to_owned()),
                Some(Some(Err(error))) => return broken(&error),
                Some(Some(Ok(Message::Binary(frame)))) => frame,
                Some(Some(Ok(Message::Text(_)))) => {
                    return End::Misbehaved("it sent text, but only binary frames are accepted".to_owned());
                }
                Some(Some(Ok(Message::Close(_)))) => return End::Closed("it closed its link".to_owned()),
                Some(Some(Ok(Message::Ping(_) | Message::Pong(_)))) => {
                    if !self.pace.allows(1) {
                        return flood();
                    }
                    continue;
                }
            };
            if let Err(end) = self.frame(&frame).await {
                return end;
            }
        }
    }

    async fn frame(&mut self, frame: &[u8]) -> Result<(), End> {
        self.link.has_whole_frame();
        self.links.counters.frames_in.fetch_add(1, Relaxed);
        self.links.counters.bytes_in.fetch_add(frame.len() as u64, Relaxed);
        if !self.said_hello && frame.len() > HELLO_FRAME_BYTES_MAX {
            return Err(End::Misbehaved(format!(
                "its first frame has {} bytes, and a hello has at most {HELLO_FRAME_BYTES_MAX}",
                frame.len()
            )));
        }
        // A byte may be a message of hundreds: room is for memory, at first for the maximum.
        let mut room = self.room(self.decoder.memory_max::<ToCoordinator>(frame.len())).await?;
        let mut messages: Vec<ToCoordinator> =
            self.decoder.decode(frame).map_err(|error| self.undecodable(frame, &error))?;
        let superfluous = room.num_permits().saturating_sub(self.decoder.decoded_bytes());
        drop(room.split(superfluous));
        let mut room = Some(room);
        if messages.is_empty() || self.holds_fragments {
            let bytes = self.decoder.waiting_bytes();
            self.holds_fragments = bytes > 0;
            self.link.holds_fragments(bytes);
        }
        if !self.said_hello {
            self.check_hello(&messages)?;
            messages.remove(1);
            self.said_hello = true;
            self.doors.said_hello();
        }
        let mut for_driver = Vec::new();
        for message in messages {
            match message {
                ToCoordinator::Relay { to, frame } => {
                    // A host that was connected before knows its peers, and may send to them right after its hello.
                    if !for_driver.is_empty() {
                        self.pass_on(std::mem::take(&mut for_driver), room.take()).await?;
                    }
                    self.relay(to, |from| ToHost::Relayed { from, frame }).await?;
                }
                ToCoordinator::RelayBulk { to, frame } => {
                    self.relay(to, |from| ToHost::RelayedBulk { from, frame }).await?;
                }
                mut message => {
                    direct::check(&mut message, self.link.address);
                    for_driver.push(message);
                }
            }
        }
        if for_driver.is_empty() { Ok(()) } else { self.pass_on(for_driver, room.take()).await }
    }

    /// Checks that the first two messages are a hello and its proof, and whether its host may take part.
    fn check_hello(&self, messages: &[ToCoordinator]) -> Result<(), End> {
        let hello = match messages.first() {
            Some(hello @ ToCoordinator::Hello { .. }) => hello,
            _ => return Err(End::Misbehaved("it did not say hello first".to_owned())),
        };
        let Some(ToCoordinator::Proof(proof)) = messages.get(1) else {
            return Err(End::Misbehaved("it did not prove its hello".to_owned()));
        };
        let key = sateen_identity::check(&self.challenge, hello, proof)
            .map_err(|forged| End::Misbehaved(forged.to_string()))?;
        if hello.has_long_text() {
            return Err(End::Misbehaved(Misbehaviour::TooMuch.to_string()));
        }
        let plain = hello.clone().in_plain_text();
        let ToCoordinator::Hello { report, .. } = &plain else { return Ok(()) };
        let arrival = Arrival {
            key,
            rotations: &proof.rotations,
            instance: proof.instance,
            name: &report.name,
            version: &report.version,
            address: self.link.address,
            link: self.link.id,
            token: self.doors.access.of_join_key(),
            now_ms: unix_ms(),
        };
        // Set first: a link that is admitted is always released when it is closed.
        let _ = self.link.key.set(key);
        self.links.enrolment.admit(&arrival).map_err(|refusal| {
            let (address, name) = (arrival.address, arrival.name);
            tracing::warn!(%address, name, %key, "a host is refused: {refusal}");
            End::Refused(refusal.to_string())
        })
    }

    /// Only a host can be of another version; other clients may send any bytes.
    fn undecodable(&self, frame: &[u8], error: &FrameError) -> End {
        if !self.said_hello && !may_be_hello(frame) {
            return End::Misbehaved("it is not a Sateen host: its first message is not a hello".to_owned());
        }
        let advice = error.advice("sateen-coordinator", VERSION, "sateen-host");
        End::Misbehaved(advice.unwrap_or_else(|| error.to_string()))
    }

    /// Takes room for messages of this size in memory from what may wait for the state machine.
    async fn room(&self, bytes: usize) -> Result<OwnedSemaphorePermit, End> {
        let bytes = u32::try_from(bytes.min(INBOX_BYTES_MAX)).unwrap_or(u32::MAX);
        let room = Arc::clone(&self.links.inbox).acquire_many_owned(bytes);
        tokio::select! {
            room = room => room.map_err(|_| End::Closed("the coordinator is shutting down".to_owned())),
            () = self.link.reached(Phase::Closing) => Err(End::Closed(self.link.reason())),
        }
    }

    async fn pass_on(
        &mut self,
        messages: Vec<ToCoordinator>,
        room: Option<OwnedSemaphorePermit>,
    ) -> Result<(), End> {
        let count = u32::try_from(messages.len()).unwrap_or(u32::MAX);
        if !self.pace.allows(count) {
            return Err(flood());
        }
        self.links.counters.messages_in.fetch_add(u64::from(count), Relaxed);
        let waiting = Arc::clone(&self.waiting).acquire_owned();
        let permit = tokio::select! {
            permit = waiting => permit,
            () = self.link.reached(Phase::Closing) => return Err(End::Closed(self.link.reason())),
        };
        let permit = (permit.map_err(|_| stopped())?, room);
        self.driver.send(FromLink::Messages { link: self.link.id, messages, permit }).map_err(|_| stopped())
    }

    async fn relay(&mut self, to: HostId, relayed: impl FnOnce(HostId) -> ToHost) -> Result<(), End> {
        let from = match self.link.host() {
            Some(host) => host,
            None if self.said_hello => tokio::select! {
                host = timeout(HELLO_TIMEOUT, self.link.identified()) => {
                    host.map_err(|_| End::Closed("its hello was not answered in time".to_owned()))?
                }
                () = self.link.reached(Phase::Closing) => return Err(End::Closed(self.link.reason())),
            },
            None => return Err(End::Misbehaved("it did not say hello".to_owned())),
        };
        let Some(receiver) = self.receiver(to) else {
            self.links.counters.unreachable.fetch_add(1, Relaxed);
            let _ = self.link.send(None, ToHost::Unreachable { host: to });
            return Ok(());
        };
        self.links.counters.relayed_frames.fetch_add(1, Relaxed);
        let message = relayed(from);
        if let ToHost::Relayed { frame, .. } | ToHost::RelayedBulk { frame, .. } = &message {
            self.links.counters.relayed_bytes.fetch_add(frame.len() as u64, Relaxed);
        }
        receiver
            .send(Some(self.link.id), message)
            .map_err(|_| End::Misbehaved(format!("it sends more to {to} than may be under way")))
    }

    fn receiver(&mut self, to: HostId) -> Option<Arc<Link>> {
        let is_current =
            self.receiver.as_ref().is_some_and(|(host, link)| *host == to && link.phase() == Phase::Open);
        if !is_current {
            self.receiver = self.links.of_host(to).map(|link| (to, link));
        }
        self.receiver.as_ref().map(|(_, link)| Arc::clone(link))
    }
}

fn broken(error: &axum::Error) -> End {
    let text = error.to_string();
    // What the websocket library refuses: a message that is too long, a reserved bit, invalid text.
    let is_io =
        text.contains("IO error") || text.contains("Connection") || text.contains("closing handshake");
    if is_io { End::Closed("its link broke".to_owned()) } else { End::Misbehaved(text) }
}

fn stopped() -> End {
    End::Closed("the coordinator is shutting down".to_owned())
}

fn flood() -> End {
    End::Misbehaved(format!("it floods: more than {MESSAGES_PER_SECOND_MAX} messages a second"))
}

/// Counts messages per second.
struct Pace {
    began: Instant,
    messages: u32,
}

impl Pace {
    fn allows(&mut self, messages: u32) -> bool {
        if self.began.elapsed().as_secs() >= 1 {
            *self = Self { began: Instant::now(), messages: 0 };
        }
        self.messages = self.messages.saturating_add(messages);
        self.messages <= MESSAGES_PER_SECOND_MAX
    }
}
