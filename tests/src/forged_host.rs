//! A host as the coordinator sees it: a websocket with a peer that knows the protocol, computes nothing and
//! sends any messages that a test wants.

use std::collections::{HashMap, VecDeque};
use std::io::{ErrorKind, Write};
use std::net::TcpStream;
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::Instant;

use sateen_identity::Identity as Key;
use sateen_protocol::codec::{Decoder, Encoder};
use sateen_protocol::identity::{Challenge, Rotation};
use sateen_protocol::limits::NOTES_WAITING_MAX;
use sateen_protocol::message::{HostReport, JobNote, RootClaim, ToCoordinator, ToHost};
use sateen_protocol::{AssignmentId, Counts, Finished, GridId, HostId, Outcome, RunId};
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::handshake::client::Request;
use tokio_tungstenite::tungstenite::{self, Message, WebSocket, client};

use crate::cluster::PATIENCE;

/// A host's websocket.
pub struct ForgedHost {
    socket: WebSocket<TcpStream>,
    decoder: Decoder,
    received: VecDeque<ToHost>,
    challenge: Option<Challenge>,
    principal: Principal,
    /// How its key came from earlier ones.
    pub rotations: Vec<Rotation>,
}

/// A host's key, and the number of its process.
#[derive(Clone)]
pub struct Principal {
    /// The key.
    pub key: Key,
    /// The number.
    pub instance: u64,
}

impl Principal {
    /// A new key.
    ///
    /// # Panics
    /// When the system has no randomness.
    pub fn new() -> Self {
        Self { key: Key::generate().expect("randomness"), instance: 1 }
    }
}

impl Default for Principal {
    fn default() -> Self {
        Self::new()
    }
}

/// The hosts that were welcome to any coordinator: one that comes back has the key that it had.
static WELCOME: LazyLock<Mutex<HashMap<HostId, Principal>>> = LazyLock::new(Mutex::default);

/// The identity that a host receives at its welcome.
pub type Identity = (HostId, u64, GridId);

impl ForgedHost {
    /// Opens a link without sending anything yet.
    ///
    /// # Panics
    /// When no coordinator listens at `address`.
    pub fn connect(address: &str) -> Self {
        Self::opened(address, format!("ws://{address}/ws/host").into_client_request().expect("a request"))
    }

    /// The same with a token.
    ///
    /// # Panics
    /// When no coordinator listens at `address`, or it refuses the token.
    pub fn connect_with(address: &str, token: &str) -> Self {
        let mut request = format!("ws://{address}/ws/host").into_client_request().expect("a request");
        let value = format!("Bearer {token}").parse().expect("a value");
        request.headers_mut().insert("authorization", value);
        Self::opened(address, request)
    }

    fn opened(address: &str, request: Request) -> Self {
        let stream = TcpStream::connect(address).expect("it listens");
        stream.set_nodelay(true).expect("a socket");
        stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
        let (socket, _) = client(request, stream).expect("a websocket");
        Self {
            socket,
            decoder: Decoder::default(),
            received: VecDeque::new(),
            challenge: None,
            principal: Principal::new(),
            rotations: Vec::new(),
        }
    }

    /// The same with this key.
    ///
    /// # Panics
    /// When no coordinator listens at `address`.
    pub fn connect_as(address: &str, principal: &Principal) -> Self {
        Self { principal: principal.clone(), ..Self::connect(address) }
    }

    /// Its key.
    pub fn key(&self) -> &Key {
        &self.principal.key
    }

    /// What the coordinator has sent first.
    ///
    /// # Panics
    /// When it sends something else.
    pub fn challenge(&mut self) -> Challenge {
        while self.challenge.is_none() {
            self.read_frame().unwrap_or_else(|reason| panic!("the link was closed: {reason}"));
        }
        self.challenge.expect("it was read")
    }

    /// Opens a link and joins the grid.
    ///
    /// # Panics
    /// When it is refused.
    pub fn join(address: &str, name: &str) -> (Self, Identity) {
        Self::join_as(address, name, None, Vec::new())
    }

    /// The same for a host that was connected before, with its root jobs.
    ///
    /// # Panics
    /// When it is refused.
    pub fn join_as(
        address: &str,
        name: &str,
        was: Option<Identity>,
        roots: Vec<RootClaim>,
    ) -> (Self, Identity) {
        let mut host = Self::connect(address);
        host.send(&[hello(name, was, roots)]);
        let identity = host.until(|message| match message {
            ToHost::Welcome { host, secret, grid, .. } => Some((*host, *secret, *grid)),
            _ => None,
        });
        (host, identity)
    }

    /// Sends messages in as few frames as they fit in. A hello names this host's key and is proven.
    ///
    /// # Panics
    /// When the link is closed.
    pub fn send(&mut self, messages: &[ToCoordinator]) {
        let mut encoder = Encoder::default();
        for message in messages {
            let proven = self.proven(message);
            let messages = proven.as_ref().map_or(std::slice::from_ref(message), |proven| proven);
            messages.iter().for_each(|message| encoder.push(message).expect("short enough"));
        }
        for frame in encoder.finish() {
            self.send_frame(frame);
        }
    }

    /// A hello with this host's key, and its proof; `None` for other messages.
    pub fn proven(&mut self, message: &ToCoordinator) -> Option<[ToCoordinator; 2]> {
        let mut hello = message.clone();
        let ToCoordinator::Hello { report, was, .. } = &mut hello else { return None };
        let known = was.and_then(|(host, ..)| {
            WELCOME.lock().unwrap_or_else(PoisonError::into_inner).get(&host).cloned()
        });
        if let Some(known) = known {
            self.principal = known;
        }
        report.key = self.principal.key.public();
        let challenge = self.challenge();
        let Principal { key, instance } = &self.principal;
        let proof = key.prove(&challenge, &hello, *instance, self.rotations.clone());
        Some([hello, ToCoordinator::Proof(proof)])
    }

    /// Sends a frame with any contents.
    ///
    /// # Panics
    /// When the link is closed.
    pub fn send_frame(&mut self, frame: Vec<u8>) {
        self.socket.send(Message::Binary(frame.into())).expect("an open link");
    }

    /// Sends a message; returns whether the link accepted it.
    pub fn try_send(&mut self, message: Message) -> bool {
        self.socket.send(message).is_ok()
    }

    /// Sends bytes, which need not be a websocket frame; returns whether the socket accepted them.
    pub fn try_send_raw(&mut self, bytes: &[u8]) -> bool {
        self.socket.get_mut().write_all(bytes).is_ok()
    }

    /// The first message that `pick` accepts; pings are answered meanwhile.
    ///
    /// # Panics
    /// When the link is closed, or the message does not come.
    pub fn until<T>(&mut self, mut pick: impl FnMut(&ToHost) -> Option<T>) -> T {
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until {
            let message =
                self.next_message().unwrap_or_else(|reason| panic!("the link was closed: {reason}"));
            if let Some(picked) = pick(&message) {
                return picked;
            }
        }
        panic!("the awaited message did not come");
    }

    /// The next message, or the reason why the link is closed.
    ///
    /// # Errors
    /// The reason that the coordinator gave.
    ///
    /// # Panics
    /// When it does not follow the protocol, or sends nothing but pings.
    pub fn next_message(&mut self) -> Result<ToHost, String> {
        let until = Instant::now() + PATIENCE;
        loop {
            assert!(Instant::now() < until, "nothing but pings came");
            if let Some(message) = self.received.pop_front() {
                match message {
                    ToHost::Ping { ping } => self.answer(ping),
                    message => return Ok(message),
                }
                continue;
            }
            self.read_frame()?;
        }
    }

    /// Reads what comes next, or the reason why the link is closed.
    fn read_frame(&mut self) -> Result<(), String> {
        match self.socket.read() {
            Ok(Message::Binary(frame)) => {
                for message in self.decoder.decode::<ToHost>(&frame).expect("sound frames") {
                    match &message {
                        ToHost::Challenge(challenge) => {
                            self.challenge = Some(*challenge);
                            continue;
                        }
                        ToHost::Welcome { host, .. } => {
                            let mut welcome = WELCOME.lock().unwrap_or_else(PoisonError::into_inner);
                            welcome.insert(*host, self.principal.clone());
                        }
                        _ => {}
                    }
                    self.received.push_back(message);
                }
                Ok(())
            }
            Ok(Message::Close(Some(close))) => Err(close.reason.to_string()),
            Ok(Message::Close(None)) => Err(String::new()),
            Ok(_) => Ok(()),
            // A read with a time limit ends in this way when this process was stopped and continued.
            Err(tungstenite::Error::Io(error)) if error.kind() == ErrorKind::Interrupted => Ok(()),
            Err(error) => Err(format!("{error}")),
        }
    }

    /// Answers a ping. If the link was closed meanwhile, the reason can still be read.
    fn answer(&mut self, ping: u64) {
        let mut encoder = Encoder::default();
        encoder.push(&ToCoordinator::Pong { ping }).expect("short enough");
        for frame in encoder.finish() {
            let _ = self.socket.send(Message::Binary(frame.into()));
        }
    }

    /// The refusal and the close frame's reason; earlier messages are skipped.
    pub fn cut_off(&mut self) -> (Option<String>, String) {
        let mut refused = None;
        loop {
            match self.next_message() {
                Ok(ToHost::Refused { reason }) => refused = Some(reason),
                Ok(_) => {}
                Err(reason) => return (refused, reason),
            }
        }
    }

    /// Joins the next run and receives its root job.
    ///
    /// # Panics
    /// When there is no such run.
    pub fn take_root(&mut self) -> (RunId, AssignmentId) {
        let RootClaim { run, number, .. } = self.take_root_with_proof();
        (run, number)
    }

    /// The same, with the proof.
    ///
    /// # Panics
    /// When there is no such run.
    pub fn take_root_with_proof(&mut self) -> RootClaim {
        let run = self.until(|message| match message {
            ToHost::StartRun { run, .. } => Some(*run),
            _ => None,
        });
        self.send(&[ToCoordinator::Ready { run }]);
        self.until(|message| match message {
            ToHost::Assign { run: of, number, proof, .. } if *of == run => {
                Some(RootClaim { run, number: *number, proof: *proof })
            }
            _ => None,
        })
    }

    /// Reports the outcome of the root job.
    ///
    /// # Panics
    /// When the link is closed.
    pub fn finish(&mut self, run: RunId, number: AssignmentId, outcome: Outcome) {
        let finished = Finished { outcome, work_ns: 3_000_000_000, span_ns: 2_000_000_000 };
        self.send(&[ToCoordinator::RootFinished { run, number, finished }]);
    }

    /// Waits until the coordinator acknowledges the run's result.
    ///
    /// # Panics
    /// When it never does.
    pub fn await_acknowledgement(&mut self, run: RunId) {
        self.until(|message| {
            matches!(message, ToHost::Acknowledged { run: of, .. } if *of == run).then_some(())
        });
    }

    /// Reports what happened to jobs.
    ///
    /// # Panics
    /// When the link is closed.
    pub fn report(&mut self, run: RunId, notes: &[JobNote]) {
        for notes in notes.chunks(NOTES_WAITING_MAX) {
            self.send(&[ToCoordinator::Counts {
                run,
                series: 1,
                counts: Box::new(Counts::default()),
                progress: None,
                notes: notes.to_vec(),
                ahead_ns: None,
                notes_dropped: 0,
                workers: Vec::new(),
            }]);
        }
    }
}

/// A host's first message.
pub fn hello(name: &str, was: Option<Identity>, roots: Vec<RootClaim>) -> ToCoordinator {
    let report = HostReport {
        name: name.to_owned(),
        site: "here".to_owned(),
        threads: 2,
        version: "0".to_owned(),
        direct: None,
        key: Default::default(),
    };
    ToCoordinator::Hello { report, was, incarnation: 0, roots, paused: None }
}
