//! A host as the coordinator sees it: a websocket, and somebody who knows the protocol.

use std::collections::VecDeque;
use std::io::ErrorKind;
use std::net::TcpStream;
use std::time::Instant;

use sateen_protocol::codec::{Decoder, Encoder};
use sateen_protocol::message::{HostReport, LogLine, ToCoordinator, ToHost};
use sateen_protocol::{Finished, GridId, HostId, JobNumber, JobTag, MainOutcome, Outcome, RunId};
use tokio_tungstenite::tungstenite::{self, Message, WebSocket, client};

use crate::server::{PATIENCE, Server};

pub struct Host {
    socket: WebSocket<TcpStream>,
    decoder: Decoder,
    received: VecDeque<ToHost>,
}

/// What a host learns at its welcome.
pub type Identity = (HostId, u64, GridId);

impl Host {
    /// Opens a link and says nothing yet.
    pub fn connect(server: &Server) -> Self {
        let stream = TcpStream::connect(&server.address).expect("it listens");
        stream.set_nodelay(true).expect("a socket");
        stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
        let (socket, _) = client(format!("ws://{}/ws/host", server.address), stream).expect("a websocket");
        Self { socket, decoder: Decoder::default(), received: VecDeque::new() }
    }

    pub fn join(server: &Server, name: &str) -> (Self, Identity) {
        Self::join_as(server, name, None, Vec::new())
    }

    pub fn join_as(
        server: &Server,
        name: &str,
        was: Option<Identity>,
        roots: Vec<(RunId, JobNumber)>,
    ) -> (Self, Identity) {
        let mut host = Self::connect(server);
        host.send(&[hello(name, was, roots)]);
        let identity = host.until(|message| match message {
            ToHost::Welcome { host, secret, grid, .. } => Some((*host, *secret, *grid)),
            _ => None,
        });
        (host, identity)
    }

    pub fn send(&mut self, messages: &[ToCoordinator]) {
        let mut encoder = Encoder::default();
        for message in messages {
            encoder.push(message).expect("short enough");
        }
        for frame in encoder.finish() {
            self.send_frame(frame);
        }
    }

    pub fn send_frame(&mut self, frame: Vec<u8>) {
        self.socket.send(Message::Binary(frame.into())).expect("an open link");
    }

    pub fn try_send(&mut self, message: Message) -> bool {
        self.socket.send(message).is_ok()
    }

    /// The first message that `pick` likes; pings are answered on the way.
    pub fn until<T>(&mut self, mut pick: impl FnMut(&ToHost) -> Option<T>) -> T {
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until {
            let message = self.next().unwrap_or_else(|reason| panic!("the link was closed: {reason}"));
            if let Some(picked) = pick(&message) {
                return picked;
            }
        }
        panic!("the awaited message did not come");
    }

    /// The next message, or why the link is closed.
    pub fn next(&mut self) -> Result<ToHost, String> {
        loop {
            if let Some(message) = self.received.pop_front() {
                if let ToHost::Ping { ping } = message {
                    self.send(&[ToCoordinator::Pong { ping }]);
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

    /// The refusal and the close frame's reason, after whatever came before.
    pub fn cut_off(&mut self) -> (Option<String>, String) {
        let mut refused = None;
        loop {
            match self.next() {
                Ok(ToHost::Refused { reason }) => refused = Some(reason),
                Ok(_) => {}
                Err(reason) => return (refused, reason),
            }
        }
    }

    /// Takes part in a run as far as having its root job.
    pub fn take_root(&mut self) -> (RunId, JobNumber) {
        let run = self.until(|message| match message {
            ToHost::StartRun { run, .. } => Some(*run),
            _ => None,
        });
        self.send(&[ToCoordinator::Ready { run }]);
        self.until(|message| match message {
            ToHost::Assign { run: of, number, .. } if *of == run => Some((run, *number)),
            _ => None,
        })
    }

    pub fn finish(&mut self, run: RunId, number: JobNumber, outcome: Outcome) {
        let finished = Finished { outcome, work_ns: 3_000_000_000, span_ns: 2_000_000_000 };
        self.send(&[ToCoordinator::RootFinished { run, number, finished }]);
    }

    pub fn await_acknowledgement(&mut self, run: RunId) {
        self.until(|message| {
            matches!(message, ToHost::Acknowledged { run: of, .. } if *of == run).then_some(())
        });
    }
}

pub fn hello(name: &str, was: Option<Identity>, roots: Vec<(RunId, JobNumber)>) -> ToCoordinator {
    let report = HostReport {
        name: name.to_owned(),
        site: "here".to_owned(),
        threads: 2,
        version: "0".to_owned(),
        direct: None,
    };
    ToCoordinator::Hello { report, was, roots, paused: None }
}

/// A line of a run's log, of its job 2.
pub fn said(run: RunId) -> ToCoordinator {
    let (function, text) = ("work".to_owned(), "hello".to_owned());
    ToCoordinator::Log { run, lines: vec![LogLine { job: Some(JobTag(2)), function, text }] }
}

pub fn text(result: &str) -> Outcome {
    main_outcome(&MainOutcome::Text(result.to_owned()))
}

pub fn main_outcome(outcome: &MainOutcome) -> Outcome {
    Outcome::Done(postcard::to_allocvec(outcome).expect("encodes"))
}
