//! Direct links between the hosts of a site.
//!
//! Whoever dials shows two secrets that the coordinator told both: the receiver's, so that it was sent
//! here by the grid, and its own, so that it is who it says. The receiver answers with a greeting, and
//! only then is the link used: until then messages go by the relay.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener as StdListener, ToSocketAddrs, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use sateen_protocol::{GridId, HostId};
use serde::{Deserialize, Serialize};
use thiserror::Error;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc};
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response};
use tokio_tungstenite::tungstenite::http::StatusCode;
use tokio_tungstenite::tungstenite::{Bytes, Message};
use tokio_tungstenite::{accept_hdr_async_with_config, client_async_with_config};

use super::NetEvent;
use super::link::{Socket, limits};
use crate::grid::address::CoordinatorAddress;

const PATH: &str = "/ws/peer";
const MAGIC: u64 = u64::from_be_bytes(*b"sateen d");
/// What the receiver answers.
pub const GREETING: &[u8] = b"sateen direct";
const HELLO_BYTES_MAX: usize = 256;
/// Dialling, the handshake and the greeting take at most this long.
const DIAL_MAX: Duration = Duration::from_secs(5);
/// A stranger has this long to say who it is.
const HANDSHAKE_MAX: Duration = Duration::from_secs(5);
/// Strangers that are listened to at once.
const HANDSHAKES_MAX: usize = 64;

/// Where hosts of the same site may reach this one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum DirectListen {
    /// At the interface by which it reaches the coordinator, at any port.
    #[default]
    Auto,
    /// There.
    At(SocketAddr),
    /// Nowhere: all goes by the relay.
    Off,
}

/// An address that this host cannot listen at.
#[derive(Debug, Error)]
#[error(
    "this host cannot listen at {0} ({1}); name another address with --direct ADDRESS:PORT, or --direct off"
)]
pub struct ListenError(SocketAddr, io::Error);

/// A bound socket, and the address to tell others.
pub struct Listener {
    listener: StdListener,
    /// `address:port`.
    pub reported: SocketAddr,
}

impl DirectListen {
    /// Binds the socket, if there is to be one.
    ///
    /// # Errors
    /// When the address that was asked for cannot be had.
    pub fn bind(self, coordinator: &CoordinatorAddress) -> Result<Option<Listener>, ListenError> {
        let address = match self {
            Self::Off => return Ok(None),
            Self::At(address) => address,
            Self::Auto => match interface_towards(coordinator) {
                Some(interface) => SocketAddr::new(interface, 0),
                None => return Ok(None),
            },
        };
        let bound = StdListener::bind(address)
            .and_then(|listener| {
                listener.set_nonblocking(true)?;
                let mut reported = listener.local_addr()?;
                if reported.ip().is_unspecified() {
                    reported.set_ip(interface_towards(coordinator).unwrap_or(Ipv4Addr::LOCALHOST.into()));
                }
                Ok(Some(Listener { listener, reported }))
            })
            .map_err(|error| ListenError(address, error));
        match bound {
            // Nobody asked for it; the relay does as well.
            Err(_) if self == Self::Auto => Ok(None),
            bound => bound,
        }
    }
}

/// This machine's address on the way to the coordinator. Nothing is sent.
fn interface_towards(coordinator: &CoordinatorAddress) -> Option<IpAddr> {
    let to = coordinator.authority().to_socket_addrs().ok()?.next()?;
    let any: IpAddr =
        if to.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { std::net::Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind(SocketAddr::new(any, 0)).ok()?;
    socket.connect(to).ok()?;
    Some(socket.local_addr().ok()?.ip())
}

/// The first frame on a direct link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirectHello {
    magic: u64,
    /// Of which grid both are.
    pub grid: GridId,
    /// Who dials.
    pub from: HostId,
    /// Whom it dials.
    pub to: HostId,
    /// The secret of the one who is dialled.
    pub to_secret: u64,
    /// The secret of the one who dials.
    pub from_secret: u64,
}

impl DirectHello {
    /// What `from` shows to `to`; each with its secret.
    pub fn new(grid: GridId, (from, from_secret): (HostId, u64), (to, to_secret): (HostId, u64)) -> Self {
        Self { magic: MAGIC, grid, from, to, to_secret, from_secret }
    }
}

/// Takes whoever dials, as long as the driver lives.
pub async fn accept_all(listener: Listener, events: mpsc::Sender<NetEvent>) {
    let Ok(listener) = TcpListener::from_std(listener.listener) else { return };
    let handshakes = Arc::new(Semaphore::new(HANDSHAKES_MAX));
    while let Ok(permit) = handshakes.clone().acquire_owned().await {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(_) => {
                // Out of descriptors, say: it will not be better at once.
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let events = events.clone();
        tokio::spawn(async move {
            let greeted = timeout(HANDSHAKE_MAX, accept(stream)).await;
            if let Ok(Some((hello, socket))) = greeted {
                let _ = events.send(NetEvent::Hello(hello, socket)).await;
            }
            drop(permit);
        });
    }
}

async fn accept(stream: TcpStream) -> Option<(DirectHello, Socket)> {
    stream.set_nodelay(true).ok()?;
    #[expect(clippy::result_large_err, reason = "the library's own type")]
    let only_peers = |request: &Request, response: Response| -> Result<Response, ErrorResponse> {
        if request.uri().path() == PATH {
            return Ok(response);
        }
        let mut refusal = ErrorResponse::new(None);
        *refusal.status_mut() = StatusCode::NOT_FOUND;
        Err(refusal)
    };
    let mut socket = accept_hdr_async_with_config(stream, only_peers, Some(limits())).await.ok()?;
    let hello = next_binary(&mut socket).await?;
    if hello.len() > HELLO_BYTES_MAX {
        return None;
    }
    let hello = postcard::from_bytes::<DirectHello>(&hello).ok().filter(|hello| hello.magic == MAGIC)?;
    Some((hello, socket))
}

/// Dials the peer of `hello` and tells the driver how it went.
pub async fn dial(address: String, hello: DirectHello, events: mpsc::Sender<NetEvent>) {
    let peer = hello.to;
    let event = match timeout(DIAL_MAX, try_dial(&address, &hello)).await {
        Ok(Ok(socket)) => NetEvent::Dialled(peer, socket),
        Ok(Err(why)) => NetEvent::DialFailed(peer, why),
        Err(_) => NetEvent::DialFailed(peer, format!("no answer in {} s", DIAL_MAX.as_secs())),
    };
    let _ = events.send(event).await;
}

async fn try_dial(address: &str, hello: &DirectHello) -> Result<Socket, String> {
    // An address and no name: a stranger's report starts no look-up.
    let address: SocketAddr = address.parse().map_err(|_| format!("{address:?} is no address"))?;
    let stream = TcpStream::connect(address).await.map_err(|error| error.to_string())?;
    stream.set_nodelay(true).map_err(|error| error.to_string())?;
    let (mut socket, _) = client_async_with_config(format!("ws://{address}{PATH}"), stream, Some(limits()))
        .await
        .map_err(|error| error.to_string())?;
    let hello = postcard::to_allocvec(hello).map_err(|error| error.to_string())?;
    socket.send(Message::binary(hello)).await.map_err(|error| error.to_string())?;
    match next_binary(&mut socket).await {
        Some(greeting) if &*greeting == GREETING => Ok(socket),
        _ => Err("it did not greet".to_owned()),
    }
}

async fn next_binary(socket: &mut Socket) -> Option<Bytes> {
    loop {
        match socket.next().await?.ok()? {
            Message::Binary(bytes) => return Some(bytes),
            Message::Ping(_) | Message::Pong(_) => {}
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn on_loopback_nobody_else_can_dial() {
        let listener = DirectListen::Auto.bind(&CoordinatorAddress::default()).expect("a port").expect("one");
        assert!(listener.reported.ip().is_loopback() && listener.reported.port() != 0);
        assert!(DirectListen::Off.bind(&CoordinatorAddress::default()).expect("nothing to do").is_none());
    }

    #[test]
    fn an_address_that_cannot_be_had_is_named() {
        let taken = StdListener::bind("127.0.0.1:0").expect("a port");
        let address = taken.local_addr().expect("it has one");
        let error =
            DirectListen::At(address).bind(&CoordinatorAddress::default()).err().expect("taken").to_string();
        assert!(error.contains(&address.to_string()) && error.contains("--direct"), "{error}");
    }
}
