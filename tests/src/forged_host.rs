//! A host that computes nothing and reports whatever it is told to.

use std::net::{SocketAddr, TcpStream};
use std::time::Instant;

use sateen_protocol::codec::{Decoder, Encoder};
use sateen_protocol::limits::NOTES_WAITING_MAX;
use sateen_protocol::message::{HostReport, JobNote, ToCoordinator, ToHost};
use sateen_protocol::{Counts, RunId};
use tokio_tungstenite::tungstenite::{Message, WebSocket, client};

use crate::cluster::PATIENCE;

/// A host's websocket.
pub struct ForgedHost {
    socket: WebSocket<TcpStream>,
    decoder: Decoder,
}

impl ForgedHost {
    /// Takes part in the next run of the coordinator at `address`, as far as having its root job.
    ///
    /// # Panics
    /// When there is no such run, or the coordinator wants no such host.
    pub fn with_root(address: SocketAddr) -> (Self, RunId) {
        let stream = TcpStream::connect(address).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
        let (socket, _) = client(format!("ws://{address}/ws/host"), stream).expect("a websocket");
        let mut host = Self { socket, decoder: Decoder::default() };
        let report = HostReport {
            name: "forged".to_owned(),
            site: "here".to_owned(),
            threads: 1,
            version: "0".to_owned(),
            direct: None,
        };
        host.send(&ToCoordinator::Hello { report, was: None, roots: Vec::new(), paused: None });
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until {
            let Ok(Message::Binary(frame)) = host.socket.read() else { continue };
            for message in host.decoder.decode::<ToHost>(&frame).expect("sound frames") {
                match message {
                    ToHost::StartRun { run, .. } => host.send(&ToCoordinator::Ready { run }),
                    ToHost::Assign { run, .. } => return (host, run),
                    _ => {}
                }
            }
        }
        panic!("no root job came");
    }

    /// Reports what happened to jobs.
    ///
    /// # Panics
    /// When the link is closed.
    pub fn report(&mut self, run: RunId, notes: &[JobNote]) {
        for notes in notes.chunks(NOTES_WAITING_MAX) {
            self.send(&ToCoordinator::Counts {
                run,
                counts: Box::new(Counts::default()),
                progress: None,
                notes: notes.to_vec(),
                notes_dropped: 0,
                workers: Vec::new(),
            });
        }
    }

    fn send(&mut self, message: &ToCoordinator) {
        let mut encoder = Encoder::default();
        encoder.push(message).expect("short enough");
        for frame in encoder.finish() {
            self.socket.send(Message::Binary(frame.into())).expect("an open link");
        }
    }
}
