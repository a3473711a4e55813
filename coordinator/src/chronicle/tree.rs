//! The jobs of a run that have an instance of their own, 48 bytes each, and what is counted of them.
//!
//! Jobs that there is no room for are rolled up: they count at their depth, and at the nearest job above them
//! that is kept, so that no sum is ever wrong because something is left out.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::hash::{BuildHasher, RandomState};

use hashbrown::HashTable;
use sateen_protocol::message::{JobNote, NoteKind};
use sateen_protocol::{HostId, JobTag, ROOT_KIND};

use super::state::{Group, JobState};
use crate::limits::{
    TREE_HOSTS_MAX, TREE_NODES_MAX, TREE_PARAMETERS_BYTES_MAX, TREE_ROLLED_REMEMBERED_MAX,
    TREE_UNKNOWN_PARENTS_MAX,
};

/// No place.
pub const NOWHERE: u32 = u32::MAX;
/// No time: it has not ended.
pub const NEVER: u32 = u32::MAX;
/// The kind of a root.
pub const ROOT: u16 = u16::MAX;
/// A kind that no app has.
const NO_KIND: u16 = u16::MAX - 1;
/// A worker that is not known.
pub const NO_WORKER: u16 = u16::MAX;
/// Work that is not known.
const UNKNOWN_WORK: u64 = u64::MAX;
/// Nodes never move: they are kept in chunks.
const CHUNK: usize = 1 << 14;
/// What is counted for parameters beside their bytes.
const PARAMETERS_OVERHEAD: usize = 64;

const REDONE: u8 = 1;
const HAS_PARAMETERS: u8 = 2;
const NO_ROOM: u8 = 4;
const UNSAVED: u8 = 8;
const FRESH: u8 = 16;
const SHARES: u8 = 32;
/// The flags that people see.
const SHOWN_FLAGS: u8 = REDONE | HAS_PARAMETERS;

/// A job.
#[derive(Debug, Clone, Copy)]
pub struct Node {
    /// The beginning of its key.
    pub tag: JobTag,
    work_ns: u64,
    /// The place of the job above it.
    pub parent: u32,
    /// When it began, in milliseconds since the run was submitted.
    pub begun_ms: u32,
    /// When it ended.
    pub ended_ms: u32,
    /// Where it is, or was last.
    pub host: u32,
    /// Jobs below it that are not kept.
    pub rolled: u32,
    /// The child that ended last, or is expected to.
    pub critical: u32,
    /// As the app numbers them.
    pub kind: u16,
    /// Spawns below the root.
    pub depth: u16,
    /// Which of the host's workers took it.
    pub worker: u16,
    /// What was heard of it last.
    pub state: JobState,
    flags: u8,
}

/// What is known of a job's parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parameters<'a> {
    /// These are they.
    Known(&'a [u8]),
    /// Its host did not send them; the root's are in its run.
    NotSent,
    /// They came when there was no room left for them.
    NoRoom,
}

/// A host of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeHost {
    /// Who.
    pub id: HostId,
    /// Its name.
    pub name: String,
    /// Its site.
    pub site: String,
    /// Jobs that other hosts got from it.
    pub lent: u64,
    /// Jobs that run there, as far as they are kept.
    running: u32,
}

/// Jobs of one depth, or of all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DepthCounts {
    /// They run, here or as orphans.
    pub running: u64,
    /// They have a result.
    pub done: u64,
    /// They failed, were aborted, or are lost.
    pub other: u64,
}

impl DepthCounts {
    fn of(&mut self, group: Group) -> &mut u64 {
        match group {
            Group::Running => &mut self.running,
            Group::Done => &mut self.done,
            Group::Other => &mut self.other,
        }
    }

    /// All of them.
    pub fn total(&self) -> u64 {
        self.running.saturating_add(self.done).saturating_add(self.other)
    }
}

/// The jobs of a run.
#[derive(Debug, Default)]
pub struct Tree {
    chunks: Vec<Vec<Node>>,
    places: HashTable<u32>,
    hasher: RandomState,
    hosts: Vec<TreeHost>,
    host_places: HashMap<HostId, u32>,
    parameters: HashMap<u32, Box<[u8]>>,
    parameters_bytes: usize,
    /// Jobs whose parents are not known yet, both ways.
    parent_of: HashMap<u32, JobTag>,
    children_of: HashMap<JobTag, Vec<u32>>,
    depths: BTreeMap<u16, DepthCounts>,
    /// Jobs that were begun and are not kept, by depth; and the newest by their tags, with where they were
    /// rolled up.
    rolled_depths: BTreeMap<u16, DepthCounts>,
    root: Option<u32>,
    without_room: u64,
    rolled: HashMap<JobTag, u32>,
    rolled_newest: VecDeque<JobTag>,
    /// What has changed since it was saved, and since it was shown, if anybody looks.
    unsaved: VecDeque<u32>,
    fresh: VecDeque<u32>,
    is_watched: bool,
}

impl Node {
    /// Processor time in nanoseconds, descendants included, if it is known.
    pub fn work_ns(&self) -> Option<u64> {
        (self.work_ns != UNKNOWN_WORK).then_some(self.work_ns)
    }

    /// It, or a job above it, was lost before.
    pub fn is_redone(&self) -> bool {
        self.flags & REDONE != 0
    }

    /// Its parameters mention shared objects of its run.
    pub fn shares(&self) -> bool {
        self.flags & SHARES != 0
    }

    /// What people see of its flags: 1 redone, 2 has parameters.
    pub fn flags(&self) -> u8 {
        self.flags & SHOWN_FLAGS
    }

    /// Its kind, as notes have it.
    pub fn kind(&self) -> u32 {
        if self.kind == ROOT { ROOT_KIND } else { u32::from(self.kind) }
    }
}

/// A kind in two bytes.
fn short_kind(kind: u32) -> u16 {
    match kind {
        ROOT_KIND => ROOT,
        kind => u16::try_from(kind).unwrap_or(NO_KIND).min(NO_KIND),
    }
}

impl Tree {
    /// How many are kept.
    pub fn len(&self) -> usize {
        self.chunks.last().map_or(0, |last| (self.chunks.len() - 1) * CHUNK + last.len())
    }

    /// A job by its place.
    pub fn get(&self, place: u32) -> Option<&Node> {
        self.chunks.get(place as usize / CHUNK)?.get(place as usize % CHUNK)
    }

    fn get_mut(&mut self, place: u32) -> Option<&mut Node> {
        self.chunks.get_mut(place as usize / CHUNK)?.get_mut(place as usize % CHUNK)
    }

    /// All of them, in the order in which they became known.
    pub fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.chunks.iter().flatten()
    }

    /// The place of a job.
    pub fn place(&self, tag: JobTag) -> Option<u32> {
        let hash = self.hasher.hash_one(tag);
        self.places.find(hash, |place| self.get(*place).is_some_and(|node| node.tag == tag)).copied()
    }

    /// Its hosts; nodes name them by their places here.
    pub fn hosts(&self) -> &[TreeHost] {
        &self.hosts
    }

    /// Jobs by depth, those that are not kept as well.
    pub fn depths(&self) -> BTreeMap<u16, DepthCounts> {
        let mut depths = self.depths.clone();
        for (depth, rolled) in &self.rolled_depths {
            let counts = depths.entry(*depth).or_default();
            counts.running = counts.running.saturating_add(rolled.running);
            counts.done = counts.done.saturating_add(rolled.done);
            counts.other = counts.other.saturating_add(rolled.other);
        }
        depths
    }

    /// Jobs that were begun and are not kept. One of them may be counted more than once.
    pub fn without_room(&self) -> u64 {
        self.without_room
    }

    /// What is known of a job's parameters.
    pub fn parameters(&self, place: u32) -> Parameters<'_> {
        match (self.parameters.get(&place), self.get(place)) {
            (Some(bytes), _) => Parameters::Known(bytes),
            (None, Some(node)) if node.flags & NO_ROOM != 0 => Parameters::NoRoom,
            _ => Parameters::NotSent,
        }
    }

    /// The tag of the job above, even if that is not kept.
    pub fn parent_tag(&self, place: u32) -> Option<JobTag> {
        let node = self.get(place)?;
        match self.get(node.parent) {
            Some(parent) => Some(parent.tag),
            None => self.parent_of.get(&place).copied(),
        }
    }

    /// The place of a host, which is new if it was not known; `NOWHERE` if there is no room.
    pub fn host(&mut self, id: HostId, name: &str, site: &str) -> u32 {
        if let Some(place) = self.host_places.get(&id) {
            return *place;
        }
        if self.hosts.len() >= TREE_HOSTS_MAX {
            return NOWHERE;
        }
        let place = self.hosts.len() as u32;
        self.hosts.push(TreeHost { id, name: name.to_owned(), site: site.to_owned(), lent: 0, running: 0 });
        self.host_places.insert(id, place);
        place
    }

    /// Takes down what happened to a job at a host, at a time.
    pub fn note(&mut self, host: u32, t_ms: u32, note: &JobNote) {
        if let NoteKind::Begun { victim: Some(victim), .. } = note.what
            && let Some(victim) = self.host_places.get(&victim)
            && let Some(victim) = self.hosts.get_mut(*victim as usize)
        {
            victim.lent = victim.lent.saturating_add(1);
        }
        let Some(place) = self.known(host, t_ms, note) else { return self.roll_up(note) };
        self.keep_parameters(place, note);
        let Some(node) = self.get_mut(place) else { return };
        node.flags |= if note.shares { SHARES } else { 0 };
        let before = node.state;
        match note.what {
            NoteKind::Begun { redone, worker, .. } => {
                node.work_ns = UNKNOWN_WORK;
                node.begun_ms = t_ms;
                node.ended_ms = NEVER;
                node.worker = u16::try_from(worker).unwrap_or(NO_WORKER);
                node.flags |= if redone { REDONE } else { 0 };
                self.change(place, JobState::Running, host);
                self.begins(place);
            }
            NoteKind::Done { work_ns } => {
                node.work_ns = work_ns.min(UNKNOWN_WORK - 1);
                self.end(place, JobState::Done, t_ms);
            }
            NoteKind::Failed => self.end(place, JobState::Failed, t_ms),
            // A job that is done twice may be done before the second is stopped.
            NoteKind::Aborted if before == JobState::Done => {}
            NoteKind::Aborted => self.end(place, JobState::Aborted, t_ms),
            NoteKind::Lost => self.end(place, JobState::Lost, t_ms),
            NoteKind::Reused => self.end(place, JobState::Reused, t_ms),
            // It may have come to its end before this was heard.
            NoteKind::Adopted if before == JobState::Done => {}
            NoteKind::Adopted => {
                let host = node.host;
                node.ended_ms = NEVER;
                self.change(place, JobState::Adopted, host);
            }
        }
        self.touch(place);
    }

    fn known(&mut self, host: u32, t_ms: u32, note: &JobNote) -> Option<u32> {
        if let Some(place) = self.place(note.job) {
            return Some(place);
        }
        if self.len() >= TREE_NODES_MAX {
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
            depth: u16::try_from(note.depth).unwrap_or(u16::MAX),
            worker: NO_WORKER,
            state: JobState::Running,
            flags: 0,
        };
        let place = self.push(node);
        self.link(place, note.parent);
        Some(place)
    }

    /// Adds a node, with what is counted of it.
    fn push(&mut self, node: Node) -> u32 {
        let place = self.len() as u32;
        if self.chunks.last().is_none_or(|last| last.len() == CHUNK) {
            self.chunks.push(Vec::with_capacity(if place == 0 { 0 } else { CHUNK }));
        }
        if let Some(last) = self.chunks.last_mut() {
            last.push(node);
        }
        let (chunks, hasher) = (&self.chunks, &self.hasher);
        let hash = |place: &u32| {
            let node =
                chunks.get(*place as usize / CHUNK).and_then(|chunk| chunk.get(*place as usize % CHUNK));
            hasher.hash_one(node.map_or(JobTag(0), |node| node.tag))
        };
        self.places.insert_unique(hash(&place), place, hash);
        if node.kind == ROOT {
            self.root = self.root.or(Some(place));
        }
        *self.depths.entry(node.depth).or_default().of(node.state.group()) += 1;
        if node.state.group() == Group::Running {
            self.count_at(node.host, 1);
        }
        place
    }

    fn count_at(&mut self, host: u32, change: i32) {
        if let Some(host) = self.hosts.get_mut(host as usize) {
            host.running = host.running.saturating_add_signed(change);
        }
    }

    /// Hangs a new node below its parent, and those that waited for it below it.
    fn link(&mut self, place: u32, parent: Option<JobTag>) {
        let Some(tag) = self.get(place).map(|node| node.tag) else { return };
        if let Some(parent) = parent {
            match self.place(parent) {
                Some(parent) => self.hang(place, parent),
                None if self.parent_of.len() < TREE_UNKNOWN_PARENTS_MAX => {
                    self.parent_of.insert(place, parent);
                    self.children_of.entry(parent).or_default().push(place);
                }
                None => {}
            }
        }
        for child in self.children_of.remove(&tag).unwrap_or_default() {
            self.parent_of.remove(&child);
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
        }
    }

    /// Moves a job to another state, and with it what is counted.
    fn change(&mut self, place: u32, state: JobState, host: u32) {
        let Some(node) = self.get_mut(place) else { return };
        let (before, was_at, depth) = (node.state, node.host, node.depth);
        (node.state, node.host) = (state, host);
        let counts = self.depths.entry(depth).or_default();
        let left = counts.of(before.group());
        *left = left.saturating_sub(1);
        *counts.of(state.group()) += 1;
        if before.group() == Group::Running {
            self.count_at(was_at, -1);
        }
        if state.group() == Group::Running {
            self.count_at(host, 1);
        }
    }

    fn end(&mut self, place: u32, state: JobState, t_ms: u32) {
        let Some(node) = self.get_mut(place) else { return };
        node.ended_ms = t_ms.max(node.begun_ms);
        let host = node.host;
        self.change(place, state, host);
        let Some(parent) = self.get(place).map(|node| node.parent) else { return };
        // The child that ends last is the critical one. One that still runs will end later.
        let critical = self.get(parent).map_or(NOWHERE, |parent| parent.critical);
        let is_running = self.get(critical).is_some_and(|node| node.state.group() == Group::Running);
        if !is_running || critical == place {
            self.set_critical(parent, place);
        }
    }

    fn begins(&mut self, place: u32) {
        let Some(parent) = self.get(place).map(|node| node.parent) else { return };
        let critical = self.get(parent).map_or(NOWHERE, |parent| parent.critical);
        if !self.get(critical).is_some_and(|node| node.state.group() == Group::Running) {
            self.set_critical(parent, place);
        }
    }

    fn set_critical(&mut self, parent: u32, place: u32) {
        if let Some(parent) = self.get_mut(parent) {
            parent.critical = place;
        }
    }

    fn keep_parameters(&mut self, place: u32, note: &JobNote) {
        let Some(parameters) = &note.parameters else { return };
        if self.parameters.contains_key(&place) {
            return;
        }
        let bytes = parameters.len() + PARAMETERS_OVERHEAD;
        let has_room = self.parameters_bytes + bytes <= TREE_PARAMETERS_BYTES_MAX;
        if has_room {
            self.parameters_bytes += bytes;
            self.parameters.insert(place, parameters.as_slice().into());
        }
        if let Some(node) = self.get_mut(place) {
            node.flags |= if has_room { HAS_PARAMETERS } else { NO_ROOM };
        }
    }

    /// A job that there is no room for.
    fn roll_up(&mut self, note: &JobNote) {
        let counts = self.rolled_depths.entry(u16::try_from(note.depth).unwrap_or(u16::MAX)).or_default();
        let ended = match note.what {
            NoteKind::Begun { redone, .. } => {
                counts.running += 1;
                if redone && self.rolled.contains_key(&note.job) {
                    counts.other = counts.other.saturating_sub(1);
                    return;
                }
                self.without_room = self.without_room.saturating_add(1);
                let above = note
                    .parent
                    .and_then(|parent| self.place(parent).or_else(|| self.rolled.get(&parent).copied()));
                let above = above.unwrap_or(0);
                if let Some(node) = self.get_mut(above) {
                    node.rolled = node.rolled.saturating_add(1);
                }
                self.touch(above);
                self.rolled.insert(note.job, above);
                self.rolled_newest.push_back(note.job);
                if self.rolled_newest.len() > TREE_ROLLED_REMEMBERED_MAX
                    && let Some(oldest) = self.rolled_newest.pop_front()
                {
                    self.rolled.remove(&oldest);
                }
                return;
            }
            NoteKind::Adopted => return,
            NoteKind::Done { .. } | NoteKind::Reused => Group::Done,
            NoteKind::Failed | NoteKind::Aborted | NoteKind::Lost => Group::Other,
        };
        counts.running = counts.running.saturating_sub(1);
        *counts.of(ended) += 1;
    }

    /// A host is gone: what ran there is lost.
    pub fn lose_host(&mut self, host: HostId, t_ms: u32) {
        let Some(host) = self.host_places.get(&host).copied() else { return };
        if self.hosts.get(host as usize).is_none_or(|host| host.running == 0) {
            return;
        }
        self.end_all(JobState::Lost, t_ms, |node| node.host == host);
    }

    /// The run is over: what still runs is not wanted any more.
    pub fn abort_all(&mut self, t_ms: u32) {
        self.end_all(JobState::Aborted, t_ms, |_| true);
        // What there was no room for has come to its end as well.
        for counts in self.rolled_depths.values_mut() {
            counts.other = counts.other.saturating_add(std::mem::take(&mut counts.running));
        }
    }

    fn end_all(&mut self, state: JobState, t_ms: u32, which: impl Fn(&Node) -> bool) {
        let running = |node: &Node| node.state.group() == Group::Running && which(node);
        let places: Vec<u32> =
            (0_u32..).zip(self.nodes()).filter(|(_, node)| running(node)).map(|(place, _)| place).collect();
        for place in places {
            self.end(place, state, t_ms);
            self.touch(place);
        }
    }

    /// Jobs whose tags are `from` to `to`, at most `limit`.
    pub fn between(&self, from: JobTag, to: JobTag, limit: usize) -> Vec<u32> {
        if from == to {
            return self.place(from).into_iter().take(limit).collect();
        }
        let nodes = (0_u32..).zip(self.nodes());
        let mut found: Vec<(JobTag, u32)> = nodes
            .filter(|(_, node)| (from..=to).contains(&node.tag))
            .map(|(place, node)| (node.tag, place))
            .collect();
        found.sort_unstable();
        found.into_iter().take(limit).map(|(_, place)| place).collect()
    }

    /// From the root down: the child that ended last, and so on.
    pub fn critical_path(&self, limit: usize) -> Vec<u32> {
        let next =
            |place: &u32| self.get(*place).map(|node| node.critical).filter(|next| self.get(*next).is_some());
        std::iter::successors(self.root, next).take(limit).collect()
    }
}

mod changes;
mod restore;

pub use restore::{SavedJob, TreeSummary};

#[cfg(test)]
mod tests;
