//! Attacks by members of the grid on the current run, and on the hosts that compute it. None claims to take
//! part in it.

use std::io::Result;
use std::time::Duration;

use sateen_protocol::limits::{ENTRIES_PER_MESSAGE_MAX, NOTES_WAITING_MAX, REASON_BYTES_MAX};
use sateen_protocol::message::{JobNote, LogLine, NoteKind, PeerMessage, ToCoordinator};
use sateen_protocol::shared::{NamedSharers, ObjectId, Snapshot};
use sateen_protocol::{
    Bytes, Counts, Entry, EntryState, Finished, HostId, JobTag, Jobs, Lineage, Outcome, RunId,
};
use tokio::time::sleep;

use super::attackers::Peer;
use super::wire::{Member, frames};

impl Peer {
    /// The current run according to the coordinator; a guess if it has announced none.
    pub async fn live_run(&mut self, member: &mut Member) -> Result<RunId> {
        member.idle(Duration::from_millis(500)).await?;
        let known = member.runs.last().copied();
        Ok(known.unwrap_or_else(|| self.run()))
    }

    /// Some hosts that it knows, honest ones first: these listen for others of their site.
    fn acquaintances(member: &Member) -> Vec<HostId> {
        let mut known: Vec<_> =
            member.hosts.iter().map(|info| (info.report.direct.is_none(), info.id)).collect();
        known.sort_unstable();
        known.into_iter().map(|(_, id)| id).take(20).collect()
    }

    /// Sends many log lines in the app's name.
    pub async fn floods_logs(&mut self) -> Result<()> {
        let mut member = self.join().await?;
        let run = self.live_run(&mut member).await?;
        let line = LogLine { job: None, function: "main".to_owned(), text: "\u{1b}[2J".repeat(200) };
        for _ in 0..20 {
            member.say(&[ToCoordinator::Log { run, lines: vec![line.clone(); 200] }]).await?;
            member.idle(Duration::from_millis(100)).await?;
        }
        Ok(())
    }

    /// Pauses, at length, and again, and again.
    pub async fn pauses_at_length(&mut self) -> Result<()> {
        let mut member = self.join().await?;
        for round in 0..20 {
            let reason = (round % 2 == 0).then(|| "\u{202e}".repeat(REASON_BYTES_MAX / 3));
            member.say(&[ToCoordinator::Paused { reason }]).await?;
        }
        self.idle(&mut member, 3).await
    }

    /// Sends results of jobs that it never ran.
    pub async fn forges_entries(&mut self) -> Result<()> {
        let mut member = self.join().await?;
        let run = self.live_run(&mut member).await?;
        for _ in 0..10 {
            let entries = (0..ENTRIES_PER_MESSAGE_MAX.min(200)).map(|_| {
                let outcome = Outcome::Done(vec![7; 64].into());
                let state = EntryState::Done(Finished { outcome, work_ns: u64::MAX, span_ns: u64::MAX });
                Entry {
                    key: self.key(),
                    depth: 1,
                    lineage: Lineage(vec![JobTag(1)]),
                    state,
                    is_earlier: false,
                }
            });
            member.say(&[ToCoordinator::Entries { run, entries: entries.collect() }]).await?;
        }
        self.idle(&mut member, 2).await
    }

    /// Reports counts of work that was not done, and jobs that were not spawned.
    pub async fn forges_counts(&mut self) -> Result<()> {
        let mut member = self.join().await?;
        let run = self.live_run(&mut member).await?;
        let jobs = Jobs { spawned: u64::MAX, executed: u64::MAX, ..Jobs::default() };
        let counts =
            Counts { jobs, work_ns: u64::MAX, workers: u32::MAX, busy: u32::MAX, ..Counts::default() };
        for series in 0..10 {
            let note = |_| JobNote {
                job: JobTag(self.random.next_u64()),
                parent: Some(JobTag(self.random.next_u64())),
                kind: 0,
                depth: u32::MAX,
                what: NoteKind::Begun { victim: None, redone: true, worker: u32::MAX },
                ago_ms: u32::MAX,
                parameters: Some(vec![0; 64]),
                shares: true,
            };
            let notes = (0..NOTES_WAITING_MAX.min(500)).map(note).collect();
            let counts = Box::new(counts);
            let (progress, workers) = (Some((u64::MAX, 1)), Vec::new());
            let forged = ToCoordinator::Counts {
                run,
                series,
                counts,
                progress,
                notes,
                ahead_ns: None,
                notes_dropped: u64::MAX,
                workers,
            };
            member.say(&[forged]).await?;
        }
        self.idle(&mut member, 2).await
    }

    /// Makes the coordinator relay tens of thousands of small frames to hosts that have work.
    pub async fn floods_hosts(&mut self) -> Result<()> {
        let mut member = self.join().await?;
        let run = self.live_run(&mut member).await?;
        let Some(to) = Self::acquaintances(&member).first().copied() else { return Ok(()) };
        let frame = frames(&[PeerMessage::Lending { run }]).concat();
        for _ in 0..10 {
            member.relay_frames(to, vec![frame.clone(); 2000]).await?;
        }
        self.idle(&mut member, 2).await
    }

    /// Asks hosts for results that they do not have, and others for results that they have.
    pub async fn floods_wants(&mut self) -> Result<()> {
        let mut member = self.join().await?;
        let run = self.live_run(&mut member).await?;
        for to in Self::acquaintances(&member) {
            let wants: Vec<PeerMessage> =
                (0..500).map(|_| PeerMessage::Want { run, key: self.key() }).collect();
            member.relay(to, &wants).await?;
        }
        self.idle(&mut member, 2).await
    }

    /// Sends hosts unrequested replicas, and requests replicas that do not exist.
    pub async fn floods_replicas(&mut self) -> Result<()> {
        let mut member = self.join().await?;
        let run = self.live_run(&mut member).await?;
        for to in Self::acquaintances(&member) {
            let sharers = NamedSharers { known: vec![member.id; 100], former: Vec::new() };
            let flood: Vec<PeerMessage> = (0..20)
                .flat_map(|_| {
                    let mut id = [0; 16];
                    id[..8].copy_from_slice(&self.random.next_u64().to_le_bytes());
                    let object = ObjectId(id);
                    let snapshot = Snapshot {
                        base: Bytes::from(vec![1; 16 << 10]),
                        base_versions: Default::default(),
                        base_digest: Default::default(),
                        updates: Vec::new(),
                    };
                    [
                        PeerMessage::FetchReplica { run, object },
                        PeerMessage::Replica { run, object, snapshot, sharers: sharers.clone() },
                    ]
                })
                .collect();
            member.relay(to, &flood).await?;
            sleep(Duration::from_millis(50)).await;
        }
        self.idle(&mut member, 2).await
    }
}
