//! The coordinator's machine behind a websocket, and nothing more: no store, no HTTP.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use futures_util::{SinkExt, StreamExt};
use sateen_protocol::codec::{Decoder, encode};
use sateen_protocol::coordinator::{Command, Coordinator, CoordinatorConfig, LinkId};
use sateen_protocol::identity::Challenge;
use sateen_protocol::message::{ToCoordinator, ToHost};
use sateen_protocol::{GridId, HostId, RunEnd, RunId, RunSpec, Time};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_tungstenite::tungstenite::Message;

pub struct MiniCoordinator {
    pub address: SocketAddr,
    /// How the run ended.
    pub ended: Receiver<RunEnd>,
    /// Frames that it passed on.
    pub relayed: Arc<AtomicUsize>,
}

struct Machine {
    coordinator: Coordinator,
    start: Instant,
    links: BTreeMap<LinkId, mpsc::UnboundedSender<Vec<u8>>>,
    hosts: BTreeMap<HostId, LinkId>,
    ended: std::sync::mpsc::Sender<RunEnd>,
    relayed: Arc<AtomicUsize>,
}

impl MiniCoordinator {
    /// With one run, which starts when `hosts` hosts are there.
    pub fn start(spec: RunSpec, hosts: usize) -> Self {
        let (ended, ends) = channel();
        let (bound, address) = channel();
        let relayed = Arc::new(AtomicUsize::new(0));
        let counted = relayed.clone();
        std::thread::spawn(move || {
            let tokio =
                tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            tokio.block_on(async move {
                let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
                bound.send(listener.local_addr().expect("bound")).expect("awaited");
                let config = CoordinatorConfig {
                    grid: GridId(1),
                    secret: [1; 32],
                    seed: 1,
                    table_bytes_max: 1 << 20,
                    circle: sateen_protocol::limits::CIRCLE,
                    place_kept: sateen_protocol::limits::PLACE_KEPT_MIN,
                    restarted: false,
                };
                let start = Instant::now();
                let coordinator = Coordinator::new(config, Vec::new(), Time(0));
                let (links, known) = (BTreeMap::new(), BTreeMap::new());
                let machine = Machine { coordinator, start, links, hosts: known, ended, relayed: counted };
                machine.serve(listener, Some(spec), hosts).await;
            });
        });
        Self { address: address.recv().expect("it listens"), ended: ends, relayed }
    }
}

impl Machine {
    async fn serve(mut self, listener: TcpListener, mut spec: Option<RunSpec>, hosts: usize) {
        let (events, mut inbox) = mpsc::unbounded_channel::<(LinkId, Option<Vec<u8>>)>();
        let mut decoders: BTreeMap<LinkId, Decoder> = BTreeMap::new();
        let mut next = 0;
        loop {
            if self.hosts.len() >= hosts
                && let Some(spec) = spec.take()
            {
                let now = self.now();
                self.coordinator.submit(now, RunId(1), Default::default(), spec);
            }
            self.drain();
            let now = self.now();
            let wait =
                self.coordinator.poll_timeout().map_or(Duration::from_secs(1), |(at, _)| at.since(now));
            tokio::select! {
                accepted = listener.accept() => {
                    let (stream, _) = accepted.expect("it accepts");
                    stream.set_nodelay(true).expect("it can");
                    let socket = tokio_tungstenite::accept_async(stream).await.expect("a websocket");
                    next += 1;
                    let link = LinkId(next);
                    let (mut sink, mut stream) = socket.split();
                    let (sender, mut frames) = mpsc::unbounded_channel::<Vec<u8>>();
                    self.links.insert(link, sender);
                    // Nobody checks the proof.
                    let challenge = Challenge { nonce: [7; 32], grid: GridId(1) };
                    self.send(link, &ToHost::Challenge(challenge));
                    tokio::spawn(async move {
                        while let Some(frame) = frames.recv().await {
                            let _ = sink.send(Message::binary(frame)).await;
                        }
                    });
                    let events = events.clone();
                    tokio::spawn(async move {
                        while let Some(Ok(message)) = stream.next().await {
                            if let Message::Binary(bytes) = message {
                                let _ = events.send((link, Some(bytes.to_vec())));
                            }
                        }
                        let _ = events.send((link, None));
                    });
                }
                Some((link, frame)) = inbox.recv() => match frame {
                    Some(frame) => {
                        let messages: Vec<ToCoordinator> =
                            decoders.entry(link).or_default().decode(&frame).expect("hosts speak well");
                        for message in messages {
                            self.take(link, message);
                        }
                    }
                    None => {
                        let now = self.now();
                        self.coordinator.handle_closed(now, link);
                    }
                },
                () = tokio::time::sleep(wait) => {
                    let now = self.now();
                    self.coordinator.handle_timeout(now);
                }
            }
        }
    }

    fn now(&self) -> Time {
        Time(self.start.elapsed().as_nanos() as u64)
    }

    fn take(&mut self, link: LinkId, message: ToCoordinator) {
        if let ToCoordinator::Relay { to, frame } | ToCoordinator::RelayBulk { to, frame } = message {
            self.relayed.fetch_add(1, Relaxed);
            let from = self.hosts.iter().find(|(_, known)| **known == link).map(|(host, _)| *host);
            if let (Some(from), Some(to)) = (from, self.hosts.get(&to).copied()) {
                self.send(to, &ToHost::Relayed { from, frame });
            }
            return;
        }
        let now = self.now();
        self.coordinator.handle_message(now, link, message);
        self.drain();
    }

    fn drain(&mut self) {
        while let Some((link, message)) = self.coordinator.poll_transmit() {
            self.send(link, &message);
        }
        while let Some(command) = self.coordinator.poll_command() {
            match command {
                Command::Identified { link, host } => {
                    self.hosts.insert(host, link);
                }
                Command::SaveEnd { end, .. } => {
                    let _ = self.ended.send(end);
                }
                _ => {}
            }
        }
        while self.coordinator.poll_event().is_some() {}
    }

    fn send(&self, link: LinkId, message: &ToHost) {
        for frame in encode(message).expect("short enough") {
            let _ = self.links[&link].send(frame);
        }
    }
}
