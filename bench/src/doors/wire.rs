//! The bytes that a forged peer sends: HTTP, and websockets without masked frames.

use std::io::{Error, ErrorKind, Result};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use sateen_identity::Identity;
use sateen_identity::session::Session;
use sateen_identity::tunnel::{Ends, Lane, Tunnels};
use sateen_protocol::codec::{Decoder, Encoder};
use sateen_protocol::identity::Challenge;
use sateen_protocol::message::direct::{Caller, decode_challenge, decode_greeting, encode};
use sateen_protocol::message::{HostInfo, HostReport, PeerMessage, ToCoordinator, ToHost};
use sateen_protocol::{GridId, HostId, PublicKey, RunId, Time};
use serde::Serialize;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::{Instant, timeout_at};

/// A websocket's frames: text, binary, close.
const TEXT: u8 = 1;
const BINARY: u8 = 2;
const CLOSE: u8 = 8;
/// Longer than any frame from the coordinator.
const FRAME_BYTES_MAX: u64 = 1 << 20;

/// Connects from an address of this machine. Both ends must be on this machine: forged peers attack no other.
pub async fn connect(to: SocketAddr, from: Ipv4Addr) -> Result<TcpStream> {
    if !to.ip().is_loopback() || !from.is_loopback() {
        return Err(Error::other(format!("{from} and {to} are not both addresses of this machine")));
    }
    let socket = TcpSocket::new_v4()?;
    socket.bind(SocketAddr::new(from.into(), 0))?;
    let stream = socket.connect(to).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// Reads an answer's status but not its body.
pub async fn status(stream: &mut TcpStream) -> Result<u16> {
    let head = head(stream).await?;
    let status = head.split(' ').nth(1).and_then(|word| word.parse().ok());
    status.ok_or_else(|| Error::other(head))
}

async fn head(stream: &mut TcpStream) -> Result<String> {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") && head.len() < 4096 {
        stream.read_exact(&mut byte).await?;
        head.push(byte[0]);
    }
    Ok(String::from_utf8_lossy(&head).into_owned())
}

/// A short text message of a client's websocket.
pub fn text_frame(text: &str) -> Vec<u8> {
    let mut frame = frame_header(text.len());
    frame[0] = 0x80 | TEXT;
    frame.extend(text.as_bytes());
    frame
}

/// Requests a websocket as a client of `host` would.
pub async fn upgrade(stream: &mut TcpStream, path: &str, host: &str) -> Result<()> {
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await?;
    match status(stream).await? {
        101 => Ok(()),
        status => Err(Error::other(format!("{path}: {status}"))),
    }
}

/// The header of a client's frame with this number of bytes. The mask bit is set and the mask is zero.
pub fn frame_header(bytes: usize) -> Vec<u8> {
    let mut header = vec![0x80 | BINARY];
    match bytes {
        0..=125 => header.push(0x80 | bytes as u8),
        126..=65535 => {
            header.push(0x80 | 126);
            header.extend((bytes as u16).to_be_bytes());
        }
        _ => {
            header.push(0x80 | 127);
            header.extend((bytes as u64).to_be_bytes());
        }
    }
    header.extend([0; 4]);
    header
}

/// A websocket, of the coordinator or of a host.
pub struct Socket {
    pub stream: TcpStream,
}

impl Socket {
    /// Opens it, from an address of this machine.
    pub async fn open(to: SocketAddr, from: Ipv4Addr, path: &str) -> Result<Self> {
        let mut stream = connect(to, from).await?;
        upgrade(&mut stream, path, &to.to_string()).await?;
        Ok(Self { stream })
    }

    /// Opens a link to a coordinator, which sends a challenge.
    pub async fn open_link(to: SocketAddr, from: Ipv4Addr) -> Result<(Self, Challenge)> {
        let mut socket = Self::open(to, from, "/ws/host").await?;
        let messages = Decoder::default().decode::<ToHost>(&socket.next().await?).map_err(Error::other)?;
        match messages.first() {
            Some(ToHost::Challenge(challenge)) => Ok((socket, *challenge)),
            _ => Err(Error::other("the coordinator sent no challenge")),
        }
    }

    /// Says hello with this key, and proves it.
    pub async fn say_hello(
        &mut self,
        challenge: &Challenge,
        mut hello: ToCoordinator,
        key: &Identity,
    ) -> Result<()> {
        if let ToCoordinator::Hello { report, .. } = &mut hello {
            report.key = key.public();
        }
        let proof = ToCoordinator::Proof(key.prove(challenge, &hello, 1, Vec::new()));
        for frame in frames(&[hello, proof]) {
            self.send(&frame).await?;
        }
        Ok(())
    }

    /// Sends a binary message.
    pub async fn send(&mut self, message: &[u8]) -> Result<()> {
        self.stream.write_all(&frame_header(message.len())).await?;
        self.stream.write_all(message).await
    }

    /// The next binary message.
    pub async fn next(&mut self) -> Result<Vec<u8>> {
        loop {
            let mut start = [0; 2];
            self.stream.read_exact(&mut start).await?;
            let bytes = match start[1] {
                126 => u64::from(self.stream.read_u16().await?),
                127 => self.stream.read_u64().await?,
                few => u64::from(few),
            };
            if bytes > FRAME_BYTES_MAX || start[0] & 0xf == CLOSE {
                return Err(ErrorKind::ConnectionAborted.into());
            }
            let mut payload = vec![0; bytes as usize];
            self.stream.read_exact(&mut payload).await?;
            if start[0] & 0xf == BINARY {
                return Ok(payload);
            }
        }
    }
}

/// A host that has joined the grid.
pub struct Member {
    pub socket: Socket,
    decoder: Decoder,
    pub id: HostId,
    pub grid: GridId,
    /// The hosts that it knows.
    pub hosts: Vec<HostInfo>,
    /// Runs that it was asked to take part in, the newest last.
    pub runs: Vec<RunId>,
    pub key: Identity,
    tunnels: Tunnels,
    since: Instant,
}

impl Member {
    /// Joins under a name and a site, and with a direct address.
    pub async fn join(to: SocketAddr, from: Ipv4Addr, report: HostReport) -> Result<Self> {
        let (mut socket, challenge) = Socket::open_link(to, from).await?;
        let hello =
            ToCoordinator::Hello { report, was: None, incarnation: 0, roots: Vec::new(), paused: None };
        let key = Identity::generate().map_err(Error::other)?;
        socket.say_hello(&challenge, hello, &key).await?;
        let mut decoder = Decoder::default();
        loop {
            let messages = decoder.decode::<ToHost>(&socket.next().await?).map_err(Error::other)?;
            let (mut welcome, mut runs) = (None, Vec::new());
            for message in messages {
                match message {
                    ToHost::Welcome { host, grid, hosts, .. } => welcome = Some((host, grid, hosts)),
                    ToHost::StartRun { run, .. } => runs.push(run),
                    _ => {}
                }
            }
            if let Some((id, grid, hosts)) = welcome {
                let (tunnels, since) = (Tunnels::new(key.clone()), Instant::now());
                return Ok(Self { socket, decoder, id, grid, hosts, runs, key, tunnels, since });
            }
        }
    }

    /// Sends messages in as few frames as they fit in.
    pub async fn say(&mut self, messages: &[ToCoordinator]) -> Result<()> {
        for frame in frames(messages) {
            self.socket.send(&frame).await?;
        }
        Ok(())
    }

    /// Sends messages to another host through the coordinator.
    pub async fn relay(&mut self, to: HostId, messages: &[PeerMessage]) -> Result<()> {
        self.relay_frames(to, frames(messages)).await
    }

    /// Sends frames with any contents to another host through the coordinator, encrypted for that host. They are dropped if it
    /// does not answer in time.
    pub async fn relay_frames(&mut self, to: HostId, frames: Vec<Vec<u8>>) -> Result<()> {
        if !self.tunnels.is_open(to)
            && let Some(ends) = self.ends(to)
        {
            if let Some(begin) = self.tunnels.begin(self.now(), &ends) {
                self.say(&[ToCoordinator::Relay { to, frame: begin }]).await?;
            }
            for _ in 0..5 {
                if !self.tunnels.is_open(to) {
                    self.idle(Duration::from_millis(100)).await?;
                }
            }
        }
        let sealed = frames.iter().filter_map(|frame| self.tunnels.seal(to, Lane::Control, frame));
        let relayed: Vec<ToCoordinator> = sealed.map(|frame| ToCoordinator::Relay { to, frame }).collect();
        self.say(&relayed).await
    }

    fn now(&self) -> Time {
        Time(self.since.elapsed().as_nanos() as u64)
    }

    fn ends(&self, peer: HostId) -> Option<Ends> {
        let info = self.hosts.iter().find(|info| info.id == peer)?;
        Some(Ends { grid: self.grid, own: self.id, peer, key: info.report.key })
    }

    async fn relayed(&mut self, from: HostId, packet: &[u8]) -> Result<()> {
        let Some(ends) = self.ends(from) else { return Ok(()) };
        let received = self.tunnels.receive(self.now(), &ends, packet);
        let answers: Vec<ToCoordinator> =
            received.packets.into_iter().map(|frame| ToCoordinator::Relay { to: from, frame }).collect();
        self.say(&answers).await
    }

    /// Behaves as an honest host without work, for a while: it reads, and answers pings.
    pub async fn idle(&mut self, time: Duration) -> Result<()> {
        let until = Instant::now() + time;
        while let Ok(frame) = timeout_at(until, self.socket.next()).await {
            for message in self.decoder.decode::<ToHost>(&frame?).map_err(Error::other)? {
                match message {
                    ToHost::Ping { ping } => self.say(&[ToCoordinator::Pong { ping }]).await?,
                    ToHost::StartRun { run, .. } => self.runs.push(run),
                    ToHost::StopRun { run } => self.runs.retain(|known| *known != run),
                    ToHost::Hosts { joined, .. } => self.hosts.extend(joined),
                    ToHost::Relayed { from, frame } => self.relayed(from, &frame).await?,
                    ToHost::Refused { reason } => return Err(Error::other(reason)),
                    _ => {}
                }
            }
        }
        Ok(())
    }
}

/// Dials the host with the key `peer` as `caller`, with the key `own`; an error if the host refuses the caller.
pub async fn dial(
    to: SocketAddr,
    from: Ipv4Addr,
    caller: Caller,
    own: &Identity,
    peer: &PublicKey,
) -> Result<(Socket, Session)> {
    let mut socket = Socket::open(to, from, "/ws/peer").await?;
    let challenge = decode_challenge(&socket.next().await?)
        .ok_or_else(|| Error::other("the answer is not a challenge"))?;
    let (dialling, hello) =
        sateen_identity::direct::hello(own, peer, &challenge, caller).map_err(Error::other)?;
    socket.send(&encode(&hello)).await?;
    let greeting =
        decode_greeting(&socket.next().await?).ok_or_else(|| Error::other("the answer is not a greeting"))?;
    Ok((socket, dialling.greeted(&greeting).map_err(Error::other)?))
}

/// Messages in as few frames as they fit in.
pub fn frames<M: Serialize>(messages: &[M]) -> Vec<Vec<u8>> {
    let mut encoder = Encoder::default();
    for message in messages {
        // Messages that are too long for any number of frames are left out.
        let _ = encoder.push(message);
    }
    encoder.finish()
}
