//! The host of the root job, which may have it again after another had it: it continues then, and does not begin.

use sateen_protocol::HostId;
use sateen_protocol::message::NoteKind;

use super::Tree;
use super::node::{NEVER, NO_WORKER, NOWHERE, Node, ROOT};
use crate::chronicle::state::{Group, JobState};

/// Where the root job ran before another host began it, and since when.
#[derive(Debug, Clone, Copy)]
pub struct RootBefore {
    host: u32,
    worker: u16,
    begun_ms: u32,
}

impl Tree {
    /// A host has the root job. If it had begun it before, it continues.
    pub fn root_given(&mut self, host: HostId) {
        let Some((place, host)) = self.root.zip(self.hosts.place(host)) else { return };
        if self.root_before.is_some_and(|before| before.host == host) {
            self.root_moves(place, host);
            self.change(place, JobState::Running, host);
            if let Some(node) = self.get_mut(place) {
                node.ended_ms = NEVER;
            }
            self.touch(place);
        }
    }

    /// The host that was the last to begin a job again: as a rule its host.
    pub(super) fn began_again(&self, place: u32) -> Option<u32> {
        let node = self.get(place).filter(|node| node.is_redone())?;
        Some(self.root_began_again.filter(|_| node.kind == ROOT).unwrap_or(node.host))
    }

    /// Remembers where the root job ran, if this host begins it now. A host that gave it back does not continue it.
    pub(super) fn keep_root_before(&mut self, place: u32, host: u32, what: NoteKind) {
        let Some(node) = self.get(place).filter(|node| node.kind == ROOT) else { return };
        if matches!(what, NoteKind::Begun { .. }) && node.host != host && node.worker != NO_WORKER {
            let (host, worker, begun_ms) = (node.host, node.worker, node.begun_ms);
            let may_continue = node.state != JobState::GivenBack;
            self.root_before = may_continue.then_some(RootBefore { host, worker, begun_ms });
        }
    }

    /// The root job is of the host that ended it.
    pub(super) fn follow_root(&mut self, place: u32, host: u32, what: NoteKind) {
        let is_elsewhere =
            |node: &Node| node.kind == ROOT && node.host != host && node.state.group() != Group::Done;
        if self.get(place).is_some_and(is_elsewhere)
            && host != NOWHERE
            && matches!(what, NoteKind::Done { .. } | NoteKind::Failed)
        {
            self.root_moves(place, host);
        }
    }

    /// The root job runs at this host, without having been begun there now.
    fn root_moves(&mut self, place: u32, host: u32) {
        let began_again = self.began_again(place);
        self.root_began_again = began_again.filter(|began_again| *began_again != host);
        let Some(node) = self.get_mut(place) else { return };
        let now = RootBefore { host: node.host, worker: node.worker, begun_ms: node.begun_ms };
        let before = self.root_before.replace(now).filter(|before| before.host == host);
        let state = self.get(place).map_or(JobState::Running, |node| node.state);
        self.change(place, state, host);
        if let Some(node) = self.get_mut(place) {
            (node.worker, node.begun_ms) =
                before.map_or((NO_WORKER, node.begun_ms), |before| (before.worker, before.begun_ms));
        }
    }
}
