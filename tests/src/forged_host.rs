//! A host as the coordinator sees it: a websocket, and somebody who knows the protocol, computes nothing and
//! says whatever it is told to.

use std::collections::VecDeque;
use std::io::{ErrorKind, Write};
use std::net::TcpStream;
use std::time::Instant;

use sateen_protocol::codec::{Decoder, Encoder};
use sateen_protocol::limits::NOTES_WAITING_MAX;
use sateen_protocol::message::{HostReport, JobNote, RootClaim, ToCoordinator, ToHost};
use sateen_protocol::{Counts, Finished, GridId, HostId, JobNumber, Outcome, RunId};
use tokio_tungstenite::tungstenite::{self, Message, WebSocket, client};

use crate::cluster::PATIENCE;

/// A host's websocket.
pub struct ForgedHost {
    socket: WebSocket<TcpStream>,
    decoder: Decoder,
    received: VecDeque<ToHost>,
}

/// What a host learns at its welcome.
pub type Identity = (HostId, u64, GridId);

impl ForgedHost {
    /// Opens a link and says nothing yet.
    ///
    /// # Panics
    /// When no coordinator listens at `address`.
    pub fn connect(address: &str) -> Self {
        let stream = TcpStream::connect(address).expect("it listens");
        stream.set_nodelay(true).expect("a socket");
        stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
        let (socket, _) = client(format!("ws://{address}/ws/host"), stream).expect("a websocket");
        Self { socket, decoder: Decoder::default(), received: VecDeque::new() }
    }

    /// Opens a link and joins the grid.
    ///
    /// # Panics
    /// When it is not let in.
    pub fn join(address: &str, name: &str) -> (Self, Identity) {
        Self::join_as(address, name, None, Vec::new())
    }

    /// The same for a host that was there before, with the root jobs that it has.
    ///
    /// # Panics
    /// When it is not let in.
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

    /// Sends messages in as few frames as they fit in.
    ///
    /// # Panics
    /// When the link is closed.
    pub fn send(&mut self, messages: &[ToCoordinator]) {
        let mut encoder = Encoder::default();
        for message in messages {
            encoder.push(message).expect("short enough");
        }
        for frame in encoder.finish() {
            self.send_frame(frame);
        }
    }

    /// Sends a frame, whatever is in it.
    ///
    /// # Panics
    /// When the link is closed.
    pub fn send_frame(&mut self, frame: Vec<u8>) {
        self.socket.send(Message::Binary(frame.into())).expect("an open link");
    }

    /// Whether the link took the message.
    pub fn try_send(&mut self, message: Message) -> bool {
        self.socket.send(message).is_ok()
    }

    /// Whether the socket took these bytes, which need not be a websocket's.
    pub fn try_send_raw(&mut self, bytes: &[u8]) -> bool {
        self.socket.get_mut().write_all(bytes).is_ok()
    }

    /// The first message that `pick` likes; pings are answered on the way.
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

    /// The next message, or why the link is closed.
    ///
    /// # Errors
    /// The reason that the coordinator gave.
    ///
    /// # Panics
    /// When what comes is not of the protocol.
    pub fn next_message(&mut self) -> Result<ToHost, String> {
        loop {
            if let Some(message) = self.received.pop_front() {
                if let ToHost::Ping { ping } = message {
                    self.answer(ping);
                    continue;
                }
                return Ok(message);
            }
            match self.socket.read() {
                Ok(Message::Binary(frame)) => {
                    self.received.extend(self.decoder.decode::<ToHost>(&frame).expect("sound frames"));
                }
                Ok(Message::Close(Some(close))) => return Err(close.reason.to_string()),
                Ok(Message::Close(None)) => return Err(String::new()),
                Ok(_) => {}
                // A read with a time limit ends so when this process was stopped and goes on.
                Err(tungstenite::Error::Io(error)) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(format!("{error}")),
            }
        }
    }

    /// Answers a ping. A link that was closed meanwhile has still told why.
    fn answer(&mut self, ping: u64) {
        let mut encoder = Encoder::default();
        encoder.push(&ToCoordinator::Pong { ping }).expect("short enough");
        for frame in encoder.finish() {
            let _ = self.socket.send(Message::Binary(frame.into()));
        }
    }

    /// The refusal and the close frame's reason, after whatever came before.
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

    /// Takes part in the next run as far as having its root job.
    ///
    /// # Panics
    /// When there is no such run.
    pub fn take_root(&mut self) -> (RunId, JobNumber) {
        let RootClaim { run, number, .. } = self.take_root_with_proof();
        (run, number)
    }

    /// The same, with what proves it.
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

    /// Says that the root job has ended so.
    ///
    /// # Panics
    /// When the link is closed.
    pub fn finish(&mut self, run: RunId, number: JobNumber, outcome: Outcome) {
        let finished = Finished { outcome, work_ns: 3_000_000_000, span_ns: 2_000_000_000 };
        self.send(&[ToCoordinator::RootFinished { run, number, finished }]);
    }

    /// Waits until the coordinator has the run's result.
    ///
    /// # Panics
    /// When it never says so.
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
                notes_dropped: 0,
                workers: Vec::new(),
            }]);
        }
    }
}

/// What a host says first.
pub fn hello(name: &str, was: Option<Identity>, roots: Vec<RootClaim>) -> ToCoordinator {
    let report = HostReport {
        name: name.to_owned(),
        site: "here".to_owned(),
        threads: 2,
        version: "0".to_owned(),
        direct: None,
    };
    ToCoordinator::Hello { report, was, incarnation: 0, roots, paused: None }
}
