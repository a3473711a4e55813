//! Attacks on the ports where hosts listen for one another.

use std::io::{Error, Result};
use std::net::SocketAddr;
use std::time::Duration;

use sateen_identity::Identity;
use sateen_protocol::RunId;
use sateen_protocol::message::PeerMessage;
use sateen_protocol::message::direct::Caller;
use tokio::io::AsyncWriteExt;
use tokio::time::sleep;

use super::attackers::Peer;
use super::wire::{Socket, connect, dial, frames};

/// More links than a host can use.
const LINKS: usize = 12;

impl Peer {
    fn host(&mut self) -> SocketAddr {
        self.hosts[self.random.below(self.hosts.len())]
    }

    /// Dials as itself, many times, and does not read the answers.
    pub async fn opens_many_direct_links(&mut self) -> Result<()> {
        let mut member = self.join().await?;
        let known = member.hosts.iter().find_map(|info| {
            let address = info.report.direct.as_ref()?.parse().ok()?;
            self.hosts.contains(&address).then_some((info.id, info.report.key, address))
        });
        // Hosts do not know all others.
        let Some((to, key, address)) = known else { return self.idle(&mut member, 5).await };
        let caller = Caller { grid: member.grid, from: member.id, to };
        let mut links = Vec::new();
        for _ in 0..LINKS {
            links.push(dial(address, self.address, caller, &member.key, &key).await?);
        }
        member.idle(Duration::from_millis(500)).await?;
        let run = member.runs.last().copied().unwrap_or(RunId(1));
        let asked = frames(&vec![PeerMessage::Lending { run }; 4000]);
        for (link, session) in &mut links {
            let mut next = 0;
            for frame in &asked {
                // The older ones are closed by now.
                let _ = link.send(&session.seal(&mut next, frame)).await;
            }
        }
        self.idle(&mut member, 3).await
    }

    /// Dials as another host with its own key, or as itself with another one.
    pub async fn forges_proofs(&mut self) -> Result<()> {
        let mut member = self.join().await?;
        let known: Vec<_> = member.hosts.iter().map(|info| (info.id, info.report.key)).collect();
        if known.len() < 2 {
            return self.idle(&mut member, 1).await;
        }
        let one = self.random.below(known.len());
        let other = (one + 1 + self.random.below(known.len() - 1)) % known.len();
        let ((to, key), (other, _)) = (known[one], known[other]);
        let none = Identity::generate().map_err(Error::other)?;
        let (from, own) = [(member.id, &none), (other, &member.key)][self.random.below(2)];
        let caller = Caller { grid: member.grid, from, to };
        let address = self.host();
        if dial(address, self.address, caller, own, &key).await.is_ok() {
            return Err(super::attackers::let_in(101));
        }
        self.idle(&mut member, 1).await
    }

    /// Dials and sends nothing, or nonsense.
    pub async fn holds_handshakes(&mut self) -> Result<()> {
        let address = self.host();
        if self.random.below(2) == 0 {
            let mut stream = connect(address, self.address).await?;
            stream.write_all(&vec![b'x'; 64 << 10]).await?;
            sleep(Duration::from_secs(5)).await;
            return Ok(());
        }
        let mut socket = Socket::open(address, self.address, "/ws/peer").await?;
        let challenge = socket.next().await?;
        if challenge.len() > 256 {
            return Err(Error::other("a long challenge"));
        }
        socket.send(&vec![0; 256 << 10]).await?;
        socket.next().await.map(drop)
    }
}
