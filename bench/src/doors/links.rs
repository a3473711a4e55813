//! Attacks on the websockets for hosts: before a hello, and after it.

use std::io::Result;
use std::time::Duration;

use sateen_protocol::codec::{PROTOCOL_VERSION, encode};
use sateen_protocol::limits::{FRAME_BYTES_MAX, REASON_BYTES_MAX};
use sateen_protocol::message::{HostReport, PeerMessage, RootClaim, ToCoordinator};
use sateen_protocol::parcel::{Contents, ParcelId, ParcelMessage};
use sateen_protocol::{
    AssignmentId, Bytes, Finished, HostId, JobFailure, JobKey, LoanId, Outcome, RunId, StealId,
};
use tokio::io::AsyncWriteExt;
use tokio::time::sleep;

use super::attackers::Peer;
use super::wire::{Member, Socket, frame_header};

/// Opcode of a fragment that is not the last.
const FRAGMENT: u8 = 1;
const LAST_FRAGMENT: u8 = 2;
/// The payload of the longest allowed frame.
const FRAGMENT_BYTES: usize = FRAME_BYTES_MAX - 2;
/// Fragments that together stay just below the limit of a message.
const FRAGMENTS: usize = (8 << 20) / FRAGMENT_BYTES;

/// Characters that disturb terminals, logs and pages.
const CONTROLS: &str = "\u{1}\u{1b}[2J\u{202e}\r\n";

impl Peer {
    /// Its report of itself. Half of the peers claim the honest hosts' site.
    fn report(&mut self, name: &str) -> HostReport {
        let site = if self.random.below(2) == 0 { "here" } else { "elsewhere" };
        HostReport {
            name: name.to_owned(),
            site: site.to_owned(),
            threads: u32::MAX,
            version: "0".to_owned(),
            direct: None,
            key: Default::default(),
        }
    }

    pub async fn join(&mut self) -> Result<Member> {
        let report = self.report("forged");
        Member::join(self.coordinator, self.address, report).await
    }

    /// A run's number, which is easy to guess.
    pub fn run(&mut self) -> RunId {
        RunId(1 + self.random.below(8) as u64)
    }

    pub fn key(&mut self) -> JobKey {
        let mut key = [0; 32];
        key.chunks_exact_mut(8).for_each(|part| part.copy_from_slice(&self.random.next_u64().to_le_bytes()));
        JobKey(key)
    }

    /// Joins and leaves, and each time all its acquaintances are notified.
    pub async fn floods_hellos(&mut self) -> Result<()> {
        for _ in 0..10 {
            self.join().await?;
        }
        Ok(())
    }

    /// Opens a link and sends nothing.
    pub async fn says_no_hello(&mut self) -> Result<()> {
        let (mut socket, _) = Socket::open_link(self.coordinator, self.address).await?;
        socket.next().await.map(drop)
    }

    /// Joins under a name of control characters, with a direct address that must not be dialled.
    pub async fn has_a_hostile_name(&mut self) -> Result<()> {
        let mut report = self.report(&CONTROLS.repeat(20));
        report.version = CONTROLS.to_owned();
        let targets = [self.coordinator.to_string(), "127.0.0.1:22".to_owned(), "192.0.2.1:80".to_owned()];
        report.direct = Some(targets[self.random.below(targets.len())].clone());
        let mut member = Member::join(self.coordinator, self.address, report).await?;
        let reason = CONTROLS.repeat(20);
        member.say(&[ToCoordinator::Unready { run: self.run(), reason: reason.clone() }]).await?;
        member.say(&[ToCoordinator::Paused { reason: Some(reason) }]).await?;
        self.idle(&mut member, 5).await
    }

    /// Millions of empty strings, a byte each, as the first message or a later one.
    pub async fn sends_empty_strings(&mut self) -> Result<()> {
        let mebibytes = [1, 7, 20][self.random.below(3)];
        let message = empty_strings(mebibytes << 20);
        let mut socket = match self.random.below(4) {
            0 => Socket::open_link(self.coordinator, self.address).await?.0,
            _ => self.join().await?.socket,
        };
        let mut parts = message.chunks(FRAGMENT_BYTES).peekable();
        while let Some(part) = parts.next() {
            let kind = if parts.peek().is_some() { FRAGMENT } else { LAST_FRAGMENT };
            socket.send(&[&[PROTOCOL_VERSION, kind], part].concat()).await?;
        }
        socket.next().await.map(drop)
    }

    /// Nearly as much as a message may have, and never its end.
    pub async fn sends_endless_fragments(&mut self) -> Result<()> {
        let mut member = self.join().await?;
        let fragment = [&[PROTOCOL_VERSION, FRAGMENT], vec![7; FRAGMENT_BYTES].as_slice()].concat();
        for _ in 0..FRAGMENTS {
            member.socket.send(&fragment).await?;
        }
        // Nothing else may be sent in between, so the peer is silent for longer than allowed.
        sleep(Duration::from_secs(20)).await;
        Ok(())
    }

    /// Announces a long frame, sends most of it, and then a byte now and then, as if its link were slow.
    pub async fn sends_half_a_frame(&mut self) -> Result<()> {
        let mut member = self.join().await?;
        let mut frame = frame_header(FRAME_BYTES_MAX);
        frame.resize(FRAME_BYTES_MAX - 64, 0);
        member.socket.stream.write_all(&frame).await?;
        for _ in 0..5 {
            sleep(Duration::from_secs(2)).await;
            member.socket.stream.write_all(&[0]).await?;
        }
        Ok(())
    }

    /// Asks for jobs that no host has, with 34 bytes per question.
    pub async fn asks_for_jobs(&mut self) -> Result<()> {
        let mut member = self.join().await?;
        let run = self.live_run(&mut member).await?;
        for _ in 0..10 {
            let finds: Vec<ToCoordinator> =
                (0..200).map(|_| ToCoordinator::Find { run, key: self.key() }).collect();
            member.say(&finds).await?;
            self.idle(&mut member, 1).await?;
        }
        Ok(())
    }

    /// Receives all of a host's messages, and more from another forged peer, and reads none of them.
    pub async fn reads_nothing(&mut self) -> Result<()> {
        let deaf = self.join().await?;
        let mut other = self.join().await?;
        let frame = vec![0; FRAME_BYTES_MAX - 64];
        for _ in 0..40 {
            other.say(&[ToCoordinator::Relay { to: deaf.id, frame: frame.clone() }]).await?;
        }
        self.idle(&mut other, 5).await?;
        sleep(self.seconds(10)).await;
        Ok(())
    }

    /// Ends runs whose root jobs it was never assigned, as itself and as a host that was here before.
    pub async fn forges_roots(&mut self) -> Result<()> {
        let mut member = self.join().await?;
        let (run, number) =
            (self.live_run(&mut member).await?, AssignmentId(1 + self.random.below(3) as u64));
        if self.random.below(2) == 0 {
            let outcome = Outcome::Done(vec![0; 8].into());
            let finished = Finished { outcome, work_ns: 1, span_ns: 1 };
            member.say(&[ToCoordinator::RootFinished { run, number, finished }]).await?;
            return self.idle(&mut member, 2).await;
        }
        let roots = vec![RootClaim { run, number, proof: self.random.next_u64() }];
        let was = Some((member.id, self.random.next_u64(), member.grid));
        let hello =
            ToCoordinator::Hello { report: self.report("back"), was, incarnation: 9, roots, paused: None };
        let (mut socket, challenge) = Socket::open_link(self.coordinator, self.address).await?;
        socket.say_hello(&challenge, hello, &member.key).await?;
        socket.next().await.map(drop)
    }

    /// Ends runs in which it takes no part.
    pub async fn fails_runs(&mut self) -> Result<()> {
        let mut member = self.join().await?;
        let live = self.live_run(&mut member).await?;
        for run in (1..9).map(RunId).chain([live]) {
            let failure =
                JobFailure { job: "main".to_owned(), message: "forged".to_owned(), backtrace: Vec::new() };
            member
                .say(&[
                    ToCoordinator::Failed { run, failure },
                    ToCoordinator::Limit { run, reason: "forged".to_owned() },
                    ToCoordinator::Suspended { run },
                ])
                .await?;
        }
        self.idle(&mut member, 2).await
    }

    /// Accuses all hosts that it knows, at length.
    pub async fn accuses(&mut self) -> Result<()> {
        let mut member = self.join().await?;
        let reason = CONTROLS.repeat(REASON_BYTES_MAX / CONTROLS.len());
        let accused: Vec<HostId> = member.hosts.iter().map(|info| info.id).take(50).collect();
        for host in accused.into_iter().chain([HostId(7)]) {
            member.say(&[ToCoordinator::Misbehaved { host, reason: reason.clone() }]).await?;
        }
        self.idle(&mut member, 2).await
    }

    /// Announces parcels of any size to the coordinator and to its acquaintances, and sends chunks of others.
    pub async fn announces_parcels(&mut self) -> Result<()> {
        let mut member = self.join().await?;
        let run = self.live_run(&mut member).await?;
        let mut messages = Vec::new();
        for number in 0..300 {
            let bytes = [u64::MAX, 80 << 20, 1 << 40, 0][self.random.below(4)];
            let contents = match self.random.below(2) {
                0 => Contents::Result { run, number: LoanId(number) },
                _ => Contents::Job { run, steal: StealId(number), number: LoanId(number) },
            };
            messages.push(ParcelMessage::Announce { parcel: ParcelId(number), contents, bytes });
            let chunk = Bytes::from(vec![0; 4096]);
            let parcel = ParcelId(self.random.next_u64());
            messages.push(ParcelMessage::Chunk { parcel, offset: u64::MAX - 1, bytes: chunk });
        }
        let to: Vec<HostId> = member.hosts.iter().map(|info| info.id).collect();
        for to in to {
            let some = messages[..20].iter().cloned().map(PeerMessage::Parcel).collect::<Vec<_>>();
            member.relay(to, &some).await?;
        }
        let all: Vec<ToCoordinator> = messages.into_iter().map(ToCoordinator::Parcel).collect();
        member.say(&all).await?;
        self.idle(&mut member, 2).await
    }

    /// Sends its acquaintances invalid frames, and frames that their protocol does not have.
    pub async fn relays_rubbish(&mut self) -> Result<()> {
        let mut member = self.join().await?;
        let rubbish = vec![self.random.below(256) as u8; 1 << self.random.below(16)];
        let to: Vec<HostId> = member.hosts.iter().map(|info| info.id).collect();
        let is_sealed = self.random.below(2) == 0;
        for to in to {
            if is_sealed {
                member.relay_frames(to, vec![rubbish.clone()]).await?;
            } else {
                member.say(&[ToCoordinator::Relay { to, frame: rubbish.clone() }]).await?;
            }
        }
        self.idle(&mut member, 2).await
    }

    /// Waits as an honest member does, for up to `seconds_max` seconds.
    pub async fn idle(&mut self, member: &mut Member, seconds_max: u64) -> Result<()> {
        member.idle(self.seconds(seconds_max)).await
    }
}

/// A job's failure with `count` empty frames in its backtrace.
fn empty_strings(count: usize) -> Vec<u8> {
    let failure = JobFailure { job: String::new(), message: String::new(), backtrace: Vec::new() };
    let frames = encode(&ToCoordinator::Failed { run: RunId(1), failure }).unwrap_or_default();
    let mut message = frames.concat();
    message.drain(..2);
    // The backtrace's length is last, as a varint: seven bits a byte, the least first.
    message.pop();
    let mut left = count;
    while left >= 0x80 {
        message.push(left as u8 | 0x80);
        left >>= 7;
    }
    message.push(left as u8);
    message.resize(message.len() + count, 0);
    message
}

#[cfg(test)]
mod tests {
    use sateen_protocol::codec::Decoder;

    use super::*;

    #[test]
    fn empty_strings_are_a_message() {
        let message = empty_strings(300);
        let frame = [&[PROTOCOL_VERSION, 0], message.as_slice()].concat();
        let messages = Decoder::default().decode::<ToCoordinator>(&frame).expect("few are not an attack");
        let [ToCoordinator::Failed { failure, .. }] = messages.as_slice() else { panic!("{messages:?}") };
        assert_eq!(failure.backtrace.len(), 300);
    }
}
