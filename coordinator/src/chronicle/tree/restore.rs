//! Saving and restoring a tree, job by job.

use sateen_protocol::{HostId, JobTag};
use serde::{Deserialize, Serialize};

use super::node::{
    HAS_PARAMETERS, NO_ROOM, NO_WORKER, NOWHERE, Node, REDONE, ROOT, SHARES, SHOWN_FLAGS, UNKNOWN_WORK,
    UNSAVED,
};
use super::{DepthCounts, Losses, RolledUp, Tree};
use crate::chronicle::state::JobState;

/// Of a saved root job: another host than the one that has it began it again. Only the last host of a job is saved.
const BEGAN_AGAIN_ELSEWHERE: u8 = UNSAVED;

/// Of a saved job that counts as lost: it was given back. Older versions saved it like this.
const WAS_GIVEN_BACK: u8 = 128;

/// A job as it is saved.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SavedJob {
    tag: JobTag,
    parent: Option<JobTag>,
    work_ns: Option<u64>,
    begun_ms: u32,
    ended_ms: u32,
    host: Option<HostId>,
    rolled: u32,
    critical: u32,
    kind: u16,
    depth: u16,
    worker: u16,
    pub(super) state: JobState,
    pub(super) flags: u8,
    parameters: Option<Vec<u8>>,
}

/// A tree except its jobs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeSummary {
    without_room: u64,
    /// Ids, names, sites.
    hosts: Vec<(HostId, String, String)>,
    /// Jobs that are not kept, by depth: how many are running, done, or neither.
    depths: Vec<(u16, u64, u64, u64)>,
    /// How many jobs others got from each host; in a column of their own, which folders of older versions lack.
    #[serde(skip)]
    pub lent: Vec<(HostId, u64)>,
}

impl Tree {
    /// A job in the form that is saved.
    pub fn saved(&self, place: u32) -> Option<SavedJob> {
        let node = self.get(place)?;
        Some(SavedJob {
            tag: node.tag,
            parent: self.parent_tag(place),
            work_ns: node.work_ns(),
            begun_ms: node.begun_ms,
            ended_ms: node.ended_ms,
            host: self.hosts.get(node.host).map(|host| host.id),
            rolled: node.rolled,
            critical: node.critical,
            kind: node.kind,
            depth: node.depth,
            worker: node.worker,
            state: node.state,
            flags: node.flags & (SHOWN_FLAGS | NO_ROOM | SHARES) | self.elsewhere(node),
            parameters: self.parameters(place).ok().map(<[u8]>::to_vec),
        })
    }

    fn elsewhere(&self, node: &Node) -> u8 {
        let is_elsewhere = node.kind == ROOT && node.is_redone() && self.root_began_again.is_some();
        if is_elsewhere { BEGAN_AGAIN_ELSEWHERE } else { 0 }
    }

    /// The rest of the tree in the form that is saved.
    pub fn summary(&self) -> TreeSummary {
        TreeSummary {
            without_room: self.rolled.count(),
            hosts: (self.hosts().iter())
                .map(|host| (host.id, host.name.clone(), host.site.clone()))
                .collect(),
            depths: (self.rolled.depths())
                .map(|(depth, counts)| (depth, counts.running, counts.done, counts.other))
                .collect(),
            lent: self.hosts.lent(),
        }
    }

    /// Restores a saved tree from its summary, and its jobs in the order of their places. They were first saved
    /// in that order, too, so only the last ones can be missing.
    pub fn restore(summary: &TreeSummary, went_on_ms: u32, jobs: impl Iterator<Item = SavedJob>) -> Self {
        let depths = summary.depths.iter();
        let depths = depths.map(|(depth, running, done, other)| {
            (*depth, DepthCounts { running: *running, done: *done, other: *other })
        });
        let rolled = RolledUp::restore(summary.without_room, depths);
        let mut tree = Self { rolled, losses: Losses::since(went_on_ms), ..Self::default() };
        tree.hosts.restore_lent(&summary.lent);
        for (id, name, site) in &summary.hosts {
            tree.host(*id, name, site);
        }
        tree.hosts.set_all_lost(true);
        // In a tree that was full, a job may come before its parent.
        let parents: Vec<(u32, JobTag)> = jobs.filter_map(|saved| tree.add(saved)).collect();
        for (place, parent) in parents {
            tree.link(place, Some(parent));
        }
        // Linking has marked some of them as changed.
        tree.take_unsaved(usize::MAX);
        tree
    }

    /// Adds a job; returns its place and its parent, if it has one.
    fn add(&mut self, saved: SavedJob) -> Option<(u32, JobTag)> {
        if self.nodes.is_full() || self.place(saved.tag).is_some() {
            return None;
        }
        let host = saved.host.and_then(|host| self.hosts.place(host)).unwrap_or(NOWHERE);
        let place = self.push(Node {
            tag: saved.tag,
            work_ns: saved.work_ns.unwrap_or(UNKNOWN_WORK),
            parent: NOWHERE,
            begun_ms: saved.begun_ms,
            ended_ms: saved.ended_ms,
            host,
            rolled: saved.rolled,
            critical: saved.critical,
            kind: saved.kind,
            depth: saved.depth,
            worker: saved.worker,
            state: if saved.flags & WAS_GIVEN_BACK == 0 { saved.state } else { JobState::GivenBack },
            flags: saved.flags & !(BEGAN_AGAIN_ELSEWHERE | WAS_GIVEN_BACK),
        });
        let is_elsewhere = saved.flags & BEGAN_AGAIN_ELSEWHERE != 0;
        if is_elsewhere && saved.kind == ROOT {
            self.root_began_again = Some(NOWHERE);
        }
        if saved.flags & REDONE != 0 {
            self.losses.count_redone();
            self.hosts.redoes(if is_elsewhere { NOWHERE } else { host });
        }
        if saved.kind != ROOT && saved.worker != NO_WORKER {
            self.count_begun(saved.flags & (HAS_PARAMETERS | NO_ROOM) == 0);
        }
        if let Some(parameters) = saved.parameters {
            self.parameters.restore(place, parameters.into());
        } else if let Some(node) = self.get_mut(place) {
            node.flags &= !HAS_PARAMETERS;
        }
        Some((place, saved.parent?))
    }
}
