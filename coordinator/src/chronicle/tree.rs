//! The jobs of a run that have an instance of their own, 48 bytes each, and their counts.
//!
//! Jobs for which there is no room are rolled up: they count at their depth, and at the nearest job above them
//! that is kept, so sums stay right although jobs are left out. `room` finds that job, `rolled` counts them.
//!
//! `nodes` has the jobs, `hosts` their hosts; `running` the running jobs, `unlinked` the jobs whose parent
//! is not known yet; `parameters` their parameters, `losses` the fate of lost jobs, `critical` the child that ended
//! last, `changes` what is still to be saved and shown.

use std::collections::BTreeMap;

use sateen_protocol::message::{JobNote, NoteKind};
use sateen_protocol::{HostId, JobTag, ROOT_KIND};

use super::state::{Group, JobState};
use changes::Changes;
use hosts::Hosts;
use losses::Losses;
use node::{HAS_PARAMETERS, NO_ROOM, SHARES, UNKNOWN_WORK, short_depth, short_kind};
use nodes::Nodes;
use parameters::Parameters;
use rolled::RolledUp;
use room::Room;
use root::RootBefore;
use running::Running;
use unlinked::Unlinked;

pub use hosts::TreeHost;
pub use node::{DepthCounts, NEVER, NO_WORKER, NOWHERE, Node, ROOT};
pub use parameters::Missing;
pub use restore::{SavedJob, TreeSummary};

/// The jobs of a run.
#[derive(Debug, Default)]
pub struct Tree {
    nodes: Nodes,
    hosts: Hosts,
    running: Running,
    /// The run is over: nothing runs any more, whatever is reported late.
    is_over: bool,
    losses: Losses,
    parameters: Parameters,
    /// Jobs below the root that a worker has begun, and of these, jobs whose parameters were too long to be sent here.
    begun: (u64, u64),
    unlinked: Unlinked,
    depths: BTreeMap<u16, DepthCounts>,
    root: Option<u32>,
    /// Where the root job ran before it was begun again.
    root_before: Option<RootBefore>,
    /// The host that began the root job again, if it is not the one that has it; `NOWHERE` if it is not known.
    root_began_again: Option<u32>,
    rolled: RolledUp,
    /// Exists since the tree was full for the first time.
    room: Option<Room>,
    changes: Changes,
}

impl Tree {
    /// A tree that is soon full.
    #[cfg(test)]
    pub fn with_room_for(nodes_max: usize) -> Self {
        Self { nodes: Nodes::with_room_for(nodes_max), ..Self::default() }
    }

    /// The number of jobs that are kept.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// A job by its place.
    pub fn get(&self, place: u32) -> Option<&Node> {
        self.nodes.get(place)
    }

    fn get_mut(&mut self, place: u32) -> Option<&mut Node> {
        self.nodes.get_mut(place)
    }

    /// All jobs, in order of their places.
    pub fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.nodes.all()
    }

    /// The place of a job.
    pub fn place(&self, tag: JobTag) -> Option<u32> {
        self.nodes.place(tag)
    }

    /// The hosts; nodes refer to them by their places here.
    pub fn hosts(&self) -> &[TreeHost] {
        self.hosts.all()
    }

    /// A known host, with its place.
    pub fn known_host(&self, id: HostId) -> Option<(u32, &TreeHost)> {
        let place = self.hosts.place(id)?;
        Some((place, self.hosts.get(place)?))
    }

    /// Jobs by depth, including those that are not kept.
    pub fn depths(&self) -> BTreeMap<u16, DepthCounts> {
        let mut depths = self.depths.clone();
        for (depth, rolled) in self.rolled.depths() {
            let counts = depths.entry(depth).or_default();
            counts.running = counts.running.saturating_add(rolled.running);
            counts.done = counts.done.saturating_add(rolled.done);
            counts.other = counts.other.saturating_add(rolled.other);
        }
        depths
    }

    /// The number of jobs that were begun and are not kept. Such a job may be counted more than once.
    pub fn without_room(&self) -> u64 {
        self.rolled.count()
    }

    /// A job's parameters, encoded.
    pub fn parameters(&self, place: u32) -> Result<&[u8], Missing> {
        match (self.parameters.get(place), self.get(place)) {
            (Some(bytes), _) => Ok(bytes),
            (None, Some(node)) if node.flags & NO_ROOM != 0 => Err(Missing::NoRoom),
            (None, Some(node)) if node.came_with_parameters() => Err(Missing::TooLong),
            _ => Err(Missing::Unheard),
        }
    }

    /// The tag of the parent, even if the parent is not kept.
    pub fn parent_tag(&self, place: u32) -> Option<JobTag> {
        let node = self.get(place)?;
        match self.get(node.parent) {
            Some(parent) => Some(parent.tag),
            None => self.unlinked.parent_of(place),
        }
    }

    /// The place of a host, which is added if it was not known; `NOWHERE` if there is no room.
    pub fn host(&mut self, id: HostId, name: &str, site: &str) -> u32 {
        self.hosts.add(id, name, site)
    }

    /// A host in sentences, told apart from others of the same name.
    pub fn named(&self, id: HostId, name: &str, site: &str) -> String {
        self.hosts.named(id, name, site)
    }

    /// Records what happened to a job at a host, at a time.
    pub fn note(&mut self, host: u32, t_ms: u32, note: &JobNote) {
        if let NoteKind::Begun { victim: Some(victim), .. } = note.what {
            self.hosts.lends(victim);
        }
        let is_redone = self.begins_again(note);
        let Some(place) = self.kept(host, t_ms, note) else { return self.roll_up(note) };
        self.keep_parameters(place, note);
        if matches!(note.what, NoteKind::Begun { .. }) && note.kind != ROOT_KIND {
            self.count_begun(note.parameters.is_none());
        }
        if is_redone {
            self.count_redone(place, host);
        } else if matches!(note.what, NoteKind::Begun { .. }) {
            self.redone_moves(place, host);
        }
        self.keep_root_before(place, host, note.what);
        self.follow_root(place, host, note.what);
        let Some(node) = self.get_mut(place) else { return };
        node.flags |= if note.shares { SHARES } else { 0 };
        let before = node.state.group();
        let (is_root, was_at) = (node.kind == ROOT, node.host);
        match note.what {
            NoteKind::Begun { worker, .. } => {
                node.work_ns = UNKNOWN_WORK;
                node.begun_ms = t_ms;
                node.ended_ms = NEVER;
                node.worker = u16::try_from(worker).unwrap_or(NO_WORKER);
                self.change(place, JobState::Running, host);
                self.may_end_last(place);
            }
            NoteKind::Done { work_ns } => {
                node.work_ns = work_ns.min(UNKNOWN_WORK - 1);
                self.end(place, JobState::Done, t_ms);
            }
            NoteKind::Failed => self.end(place, JobState::Failed, t_ms),
            // A job that is done twice may be done before the second execution is stopped.
            NoteKind::Aborted if before == Group::Done => {}
            // It was handed on, and runs there.
            NoteKind::Aborted if is_root && was_at != host => {}
            NoteKind::Aborted => self.end(place, JobState::Aborted, t_ms),
            NoteKind::Lost => self.end(place, JobState::Lost, t_ms),
            NoteKind::GivenBack => self.end(place, JobState::GivenBack, t_ms),
            NoteKind::Reused => self.end(place, JobState::Reused, t_ms),
            // It may have ended before this note arrived.
            NoteKind::Adopted if before == Group::Done => {}
            NoteKind::Adopted => {
                let host = node.host;
                node.ended_ms = NEVER;
                self.change(place, JobState::Adopted, host);
            }
        }
        if self.is_over && matches!(note.what, NoteKind::Begun { .. } | NoteKind::Adopted) {
            let is_running = self.get(place).is_some_and(|node| node.state.group() == Group::Running);
            if is_running {
                self.end(place, JobState::Aborted, t_ms);
            }
        }
        self.touch(place);
    }

    /// The job's place, a new one if it has none; `None` if it is rolled up, or has to be.
    fn kept(&mut self, host: u32, t_ms: u32, note: &JobNote) -> Option<u32> {
        if let Some(place) = self.place(note.job) {
            return Some(place);
        }
        if self.rolled.stays(note) {
            return None;
        }
        let node = Node {
            tag: note.job,
            work_ns: UNKNOWN_WORK,
            parent: NOWHERE,
            begun_ms: t_ms,
            ended_ms: NEVER,
            host,
            rolled: 0,
            critical: NOWHERE,
            kind: short_kind(note.kind),
            depth: short_depth(note.depth),
            worker: NO_WORKER,
            state: JobState::Running,
            flags: 0,
        };
        let place = if self.nodes.is_full() {
            let place = self.make_room()?;
            self.nodes.put(place, node);
            self.count_in(place, node);
            place
        } else {
            self.push(node)
        };
        self.unroll(note.job);
        self.link(place, note.parent);
        Some(place)
    }

    /// Adds a node behind all others.
    fn push(&mut self, node: Node) -> u32 {
        let place = self.nodes.push(node);
        self.count_in(place, node);
        place
    }

    /// Counts a new node.
    fn count_in(&mut self, place: u32, node: Node) {
        if node.kind == ROOT {
            self.root = self.root.or(Some(place));
        }
        self.depths.entry(node.depth).or_default().add(node.state.group());
        if node.state.group() == Group::Running {
            self.running.begins(node.host, place);
        }
    }

    /// Links a new node to its parent, and the jobs that waited for it to the node.
    fn link(&mut self, place: u32, parent: Option<JobTag>) {
        let Some(tag) = self.get(place).map(|node| node.tag) else { return };
        if let Some(parent) = parent {
            match self.place(parent) {
                Some(parent) => self.hang(place, parent),
                None => self.unlinked.add(place, parent),
            }
        }
        while let Some(child) = self.unlinked.take_below(tag) {
            self.hang(child, place);
            self.touch(child);
        }
    }

    /// Links point to a lesser depth, or among the deepest to an earlier place: whatever hosts say, they never
    /// lead in a circle.
    fn hang(&mut self, place: u32, parent: u32) {
        let depth = |place| self.get(place).map_or(0, |node| node.depth);
        let (above, below) = (depth(parent), depth(place));
        if (above < below || (above == u16::MAX && below == u16::MAX && parent < place))
            && let Some(node) = self.get_mut(place)
        {
            node.parent = parent;
            self.count_below(parent);
        }
    }

    /// Changes a job's state, and the counts with it.
    fn change(&mut self, place: u32, state: JobState, host: u32) {
        let Some(node) = self.get_mut(place) else { return };
        let (before, was_at, depth) = (node.state, node.host, node.depth);
        (node.state, node.host) = (state, host);
        let counts = self.depths.entry(depth).or_default();
        counts.take(before.group());
        counts.add(state.group());
        if before.group() == Group::Running {
            self.running.ends(was_at, place);
        }
        if state.group() == Group::Running {
            self.running.begins(host, place);
        }
    }

    fn end(&mut self, place: u32, state: JobState, t_ms: u32) {
        let Some(node) = self.get_mut(place) else { return };
        node.ended_ms = t_ms.max(node.begun_ms);
        let host = node.host;
        self.change(place, state, host);
        self.may_be_leaf(place);
        self.has_ended_last(place);
    }

    fn keep_parameters(&mut self, place: u32, note: &JobNote) {
        let Some(parameters) = &note.parameters else { return };
        let Some(has_room) = self.parameters.keep(place, parameters) else { return };
        if let Some(node) = self.get_mut(place) {
            node.flags |= if has_room { HAS_PARAMETERS } else { NO_ROOM };
        }
    }

    fn count_begun(&mut self, is_long: bool) {
        self.begun.0 += 1;
        self.begun.1 += u64::from(is_long);
    }

    /// Jobs below the root that a worker has begun, and of these, jobs with parameters of more than
    /// `NOTED_PARAMETERS_BYTES_MAX`.
    pub fn begun(&self) -> (u64, u64) {
        self.begun
    }

    /// Whether the host has anything to do with the run.
    pub fn has_host(&self, host: HostId) -> bool {
        self.hosts.place(host).is_some()
    }

    /// Jobs whose tags are `from` to `to`, at most `limit`.
    pub fn between(&self, from: JobTag, to: JobTag, limit: usize) -> Vec<u32> {
        self.nodes.between(from, to, limit)
    }
}

mod changes;
mod critical;
mod hosts;
mod losses;
mod node;
mod nodes;
mod parameters;
mod restore;
mod rolled;
mod room;
mod root;
mod running;
mod unlinked;

#[cfg(test)]
mod tests;
