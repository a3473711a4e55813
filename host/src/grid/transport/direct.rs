//! Direct links between the hosts of a site: dialling and being dialled.
//!
//! Both sides prove that they have the keys that the coordinator has named (`sateen_identity::direct`). Only then is the
//! link used, and all its frames are encrypted; until then, messages are relayed.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use sateen_identity::Identity;
use sateen_identity::session::Session;
use sateen_protocol::PublicKey;
use sateen_protocol::message::direct::{self, Caller, Challenge, DirectHello, Greeting, Nonce};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc};
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response};
use tokio_tungstenite::tungstenite::http::StatusCode;
use tokio_tungstenite::tungstenite::{Bytes, Message};
use tokio_tungstenite::{accept_hdr_async_with_config, client_async_with_config};

use super::NetEvent;
use super::link::{Seal, Socket, limits, set_up};
use super::listen::Listener;

const PATH: &str = "/ws/peer";
/// Maximum time of dialling, the handshake and the greeting.
const DIAL_MAX: Duration = Duration::from_secs(5);
/// Maximum time until a stranger identifies itself.
const HANDSHAKE_MAX: Duration = Duration::from_secs(5);
/// Maximum concurrent handshakes.
const HANDSHAKES_MAX: usize = 64;
/// Maximum concurrent handshakes with one address; several hosts may share it.
const HANDSHAKES_PER_ADDRESS_MAX: usize = 32;

/// A host that has dialled this one and claims an identity, which must be checked.
pub struct Stranger {
    /// The challenge.
    pub challenge: Challenge,
    /// The answer.
    pub hello: DirectHello,
    /// The address from which it dialled.
    pub address: IpAddr,
    /// Its link.
    pub socket: Socket,
}

impl Stranger {
    /// Accepts the host: its link, which begins with the greeting.
    pub fn let_in(self, session: Session, greeting: &Greeting) -> Dialled {
        let seal = Seal { session, greeting: Some(direct::encode(greeting)) };
        Dialled { socket: self.socket, seal }
    }
}

/// A link whose handshake is complete, or is so with the greeting.
pub struct Dialled {
    /// The link.
    pub socket: Socket,
    /// What its frames are encrypted with.
    pub seal: Seal,
}

/// Accepts connections as long as the driver lives.
pub async fn accept_all(listener: Listener, events: mpsc::Sender<NetEvent>) {
    let Ok(listener) = TcpListener::from_std(listener.socket) else { return };
    let handshakes = Handshakes::default();
    let all = Arc::new(Semaphore::new(HANDSHAKES_MAX));
    while let Ok(permit) = all.clone().acquire_owned().await {
        let (stream, address) = match listener.accept().await {
            Ok((stream, from)) => (stream, from.ip().to_canonical()),
            Err(_) => {
                // For example, there are no free descriptors; waiting a little may help.
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let Some(of_address) = handshakes.begin(address) else { continue };
        let events = events.clone();
        tokio::spawn(async move {
            let greeted = timeout(HANDSHAKE_MAX, accept(stream, address)).await;
            if let Ok(Some(stranger)) = greeted {
                let _ = events.send(NetEvent::Hello(stranger)).await;
            }
            drop((permit, of_address));
        });
    }
}

/// Handshakes under way, by address, so that one machine leaves room for others.
#[derive(Clone, Default)]
struct Handshakes(Arc<Mutex<HashMap<IpAddr, usize>>>);

struct Handshake(Handshakes, IpAddr);

impl Handshakes {
    fn begin(&self, address: IpAddr) -> Option<Handshake> {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(address).or_default();
        if *count >= HANDSHAKES_PER_ADDRESS_MAX {
            return None;
        }
        *count += 1;
        Some(Handshake(self.clone(), address))
    }
}

impl Drop for Handshake {
    fn drop(&mut self) {
        let mut counts = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Entry::Occupied(mut count) = counts.entry(self.1) {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
    }
}

async fn accept(stream: TcpStream, address: IpAddr) -> Option<Stranger> {
    let stream = set_up(stream).ok()?;
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
    let challenge = Challenge::new(nonce().ok()?);
    socket.send(Message::binary(direct::encode(&challenge))).await.ok()?;
    let hello = direct::decode_hello(&next_binary(&mut socket).await?)?;
    Some(Stranger { challenge, hello, address, socket })
}

fn nonce() -> Result<Nonce, String> {
    let mut nonce = Nonce::default();
    getrandom::fill(&mut nonce).map_err(|error| error.to_string())?;
    Ok(nonce)
}

/// Dials the peer with this key, and reports the outcome to the driver.
pub async fn dial(
    address: SocketAddr,
    caller: Caller,
    identity: Identity,
    key: PublicKey,
    events: mpsc::Sender<NetEvent>,
) {
    let peer = caller.to;
    let event = match timeout(DIAL_MAX, try_dial(address, caller, &identity, &key)).await {
        Ok(Ok(dialled)) => NetEvent::Dialled(peer, Box::new(dialled)),
        Ok(Err(why)) => NetEvent::DialFailed(peer, why),
        Err(_) => NetEvent::DialFailed(peer, format!("no answer in {} s", DIAL_MAX.as_secs())),
    };
    let _ = events.send(event).await;
}

async fn try_dial(
    address: SocketAddr,
    caller: Caller,
    identity: &Identity,
    key: &PublicKey,
) -> Result<Dialled, String> {
    let stream = TcpStream::connect(address).await.map_err(|error| error.to_string())?;
    let stream = set_up(stream).map_err(|error| error.to_string())?;
    let (mut socket, _) = client_async_with_config(format!("ws://{address}{PATH}"), stream, Some(limits()))
        .await
        .map_err(|error| error.to_string())?;
    let challenge = next_binary(&mut socket).await.and_then(|bytes| direct::decode_challenge(&bytes));
    let challenge = challenge.ok_or("it is not a host of this version")?;
    let (dialling, hello) = sateen_identity::direct::hello(identity, key, &challenge, caller)
        .map_err(|error| error.to_string())?;
    socket.send(Message::binary(direct::encode(&hello))).await.map_err(|error| error.to_string())?;
    let greeting = next_binary(&mut socket).await.ok_or("it did not let this host in")?;
    let greeting = direct::decode_greeting(&greeting).ok_or("it sent something else than a greeting")?;
    let session = dialling.greeted(&greeting).map_err(|error| error.to_string())?;
    Ok(Dialled { socket, seal: Seal { session, greeting: None } })
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
    fn one_address_leaves_room_for_others() {
        let handshakes = Handshakes::default();
        let [one, other] = [[10, 0, 0, 1], [10, 0, 0, 2]].map(IpAddr::from);
        let mut held: Vec<_> = std::iter::from_fn(|| handshakes.begin(one)).collect();
        assert_eq!(held.len(), HANDSHAKES_PER_ADDRESS_MAX);
        assert!(handshakes.begin(other).is_some());
        held.pop();
        assert!(handshakes.begin(one).is_some(), "one has ended");
        drop(held);
        assert!(handshakes.0.lock().expect("whole").is_empty());
    }
}
