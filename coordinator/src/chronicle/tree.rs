//! The jobs of a run that have an instance of their own, 48 bytes each, and what is counted of them.
//!
//! Jobs that there is no room for are rolled up: they count at their depth, and at the nearest job above them
//! that is kept, so that no sum is ever wrong because something is left out. `room` says who that is.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::hash::{BuildHasher, RandomState};

use hashbrown::HashTable;
use sateen_protocol::limits::NOTED_PARAMETERS_BYTES_MAX;
use sateen_protocol::message::{JobNote, NoteKind};
use sateen_protocol::{HostId, JobTag, ROOT_KIND};
use thiserror::Error;

use super::state::{Group, JobState};
use crate::limits::{TREE_HOSTS_MAX, TREE_NODES_MAX, TREE_PARAMETERS_BYTES_MAX, TREE_UNKNOWN_PARENTS_MAX};
use node::{
    FRESH, GIVEN_BACK, HAS_PARAMETERS, NO_ROOM, SHARES, UNKNOWN_WORK, UNSAVED, short_depth, short_kind,
};
use room::{Rolled, Room};

pub use node::{DepthCounts, NEVER, NO_WORKER, NOWHERE, Node, ROOT};
pub use restore::{SavedJob, TreeSummary};

/// Nodes never move: they are kept in chunks.
const CHUNK: usize = 1 << 14;
/// What is counted for parameters beside their bytes.
const PARAMETERS_OVERHEAD: usize = 64;

/// Why a job's parameters are not known; the root's are in its run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Missing {
    /// Its host did not send them.
    #[error(
        "they are longer than the {NOTED_PARAMETERS_BYTES_MAX} bytes that hosts send the coordinator; choose a job \
         above or below it"
    )]
    TooLong,
    /// The notes with them were lost.
    #[error("the coordinator did not hear how it began; choose a job above or below it")]
    Unheard,
    /// They came when there was no room left for them.
    #[error(
        "the coordinator keeps the first {} MiB of a run's; choose an earlier job",
        TREE_PARAMETERS_BYTES_MAX >> 20
    )]
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
    /// Jobs that it was the first to begin again after they had been lost.
    pub redone: u64,
    /// It crashed, or was not heard of since a restart: what ran there is lost.
    has_lost: bool,
}

/// How many nodes there is room for.
#[derive(Debug, Clone, Copy)]
struct NodesMax(usize);

impl Default for NodesMax {
    fn default() -> Self {
        Self(TREE_NODES_MAX)
    }
}

/// What becomes of jobs that run no more although nobody said so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// Their host is gone.
    Lost,
    /// The same, and it left in peace: owners have them again.
    GivenBack,
    /// Their run is over.
    Aborted,
}

/// The jobs of a run.
#[derive(Debug, Default)]
pub struct Tree {
    nodes_max: NodesMax,
    chunks: Vec<Vec<Node>>,
    places: HashTable<u32>,
    hasher: RandomState,
    hosts: Vec<TreeHost>,
    host_places: HashMap<HostId, u32>,
    /// Jobs that run, by the places of their hosts, as far as they are kept.
    running_at: HashMap<u32, BTreeSet<u32>>,
    /// The run is over: nothing runs any more, whatever is told late.
    is_over: bool,
    /// Jobs that were lost, and of which an equal one was begun elsewhere since: that they are not begun again yet does
    /// not show in their state.
    lost_beside: HashSet<JobTag>,
    /// Hosts whose jobs run no more, what became of these, and when: that is done little by little.
    ending: VecDeque<(u32, Ending, u32)>,
    parameters: HashMap<u32, Box<[u8]>>,
    parameters_bytes: usize,
    /// Jobs below the root that a worker has begun, and of these, jobs whose parameters were too long to be sent here.
    begun: (u64, u64),
    /// Jobs that were begun again after they had been lost.
    redone: u64,
    /// Nothing that was begun before is lost: the run rested, and went on then.
    went_on_ms: u32,
    /// Jobs whose parents are not known yet, both ways.
    parent_of: HashMap<u32, JobTag>,
    waiting: BTreeSet<(JobTag, u32)>,
    depths: BTreeMap<u16, DepthCounts>,
    root: Option<u32>,
    /// Jobs that were begun and are not kept: how many, by depth, and the newest of them.
    without_room: u64,
    rolled_depths: BTreeMap<u16, DepthCounts>,
    rolled: HashMap<JobTag, Rolled>,
    rolled_newest: VecDeque<JobTag>,
    /// Once it was full.
    room: Option<Room>,
    /// What has changed since it was saved, and since it was shown, if anybody looks.
    unsaved: VecDeque<u32>,
    fresh: VecDeque<u32>,
    is_watched: bool,
}

fn node_at(chunks: &[Vec<Node>], place: u32) -> Option<&Node> {
    chunks.get(place as usize / CHUNK)?.get(place as usize % CHUNK)
}

impl Tree {
    /// One that is full soon.
    #[cfg(test)]
    pub fn with_room_for(nodes_max: usize) -> Self {
        Self { nodes_max: NodesMax(nodes_max), ..Self::default() }
    }

    /// How many are kept.
    pub fn len(&self) -> usize {
        self.chunks.last().map_or(0, |last| (self.chunks.len() - 1) * CHUNK + last.len())
    }

    /// A job by its place.
    pub fn get(&self, place: u32) -> Option<&Node> {
        node_at(&self.chunks, place)
    }

    fn get_mut(&mut self, place: u32) -> Option<&mut Node> {
        self.chunks.get_mut(place as usize / CHUNK)?.get_mut(place as usize % CHUNK)
    }

    /// All of them, by their places.
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

    /// A host, and its place, if it is known.
    pub fn known_host(&self, id: HostId) -> Option<(u32, &TreeHost)> {
        let place = *self.host_places.get(&id)?;
        Some((place, self.hosts.get(place as usize)?))
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

    /// A job's parameters, encoded.
    pub fn parameters(&self, place: u32) -> Result<&[u8], Missing> {
        match (self.parameters.get(&place), self.get(place)) {
            (Some(bytes), _) => Ok(bytes),
            (None, Some(node)) if node.flags & NO_ROOM != 0 => Err(Missing::NoRoom),
            (None, Some(node)) if node.came_with_parameters() => Err(Missing::TooLong),
            _ => Err(Missing::Unheard),
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
            if let Some(host) = self.hosts.get_mut(*place as usize) {
                host.has_lost = false;
            }
            return *place;
        }
        if self.hosts.len() >= TREE_HOSTS_MAX {
            return NOWHERE;
        }
        let place = self.hosts.len() as u32;
        let (name, site) = (name.to_owned(), site.to_owned());
        self.hosts.push(TreeHost { id, name, site, lent: 0, redone: 0, has_lost: false });
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
        let is_redone = self.begins_again(note);
        let Some(place) = self.kept(host, t_ms, note) else { return self.roll_up(note) };
        self.keep_parameters(place, note);
        if matches!(note.what, NoteKind::Begun { .. }) && note.kind != ROOT_KIND {
            self.count_begun(note.parameters.is_none());
        }
        if is_redone {
            self.count_redone(place, host);
        }
        let Some(node) = self.get_mut(place) else { return };
        node.flags |= if note.shares { SHARES } else { 0 };
        let before = node.state.group();
        match note.what {
            NoteKind::Begun { worker, .. } => {
                node.work_ns = UNKNOWN_WORK;
                node.begun_ms = t_ms;
                node.ended_ms = NEVER;
                node.worker = u16::try_from(worker).unwrap_or(NO_WORKER);
                node.flags &= !GIVEN_BACK;
                self.change(place, JobState::Running, host);
                self.begins(place);
            }
            NoteKind::Done { work_ns } => {
                node.work_ns = work_ns.min(UNKNOWN_WORK - 1);
                self.end(place, JobState::Done, t_ms);
            }
            NoteKind::Failed => self.end(place, JobState::Failed, t_ms),
            // A job that is done twice may be done before the second is stopped.
            NoteKind::Aborted if before == Group::Done => {}
            NoteKind::Aborted => self.end(place, JobState::Aborted, t_ms),
            NoteKind::Lost => {
                node.flags &= !GIVEN_BACK;
                self.end(place, JobState::Lost, t_ms);
            }
            NoteKind::GivenBack => {
                node.flags |= GIVEN_BACK;
                self.end(place, JobState::Lost, t_ms);
            }
            NoteKind::Reused => self.end(place, JobState::Reused, t_ms),
            // It may have come to its end before this was heard.
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

    /// The job's place, which is a new one if it has none; `None` if it is rolled up, or has to be.
    fn kept(&mut self, host: u32, t_ms: u32, note: &JobNote) -> Option<u32> {
        if let Some(place) = self.place(note.job) {
            return Some(place);
        }
        if self.stays_rolled(note) {
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
        let place = if self.len() < self.nodes_max.0 {
            self.push(node)
        } else {
            let place = self.make_room()?;
            self.put(place, node);
            place
        };
        self.unroll(note.job);
        self.link(place, note.parent);
        Some(place)
    }

    /// Adds a node behind all others.
    fn push(&mut self, node: Node) -> u32 {
        let place = self.len() as u32;
        if self.chunks.last().is_none_or(|last| last.len() == CHUNK) {
            self.chunks.push(Vec::with_capacity(if place == 0 { 0 } else { CHUNK }));
        }
        if let Some(last) = self.chunks.last_mut() {
            last.push(node);
        }
        self.count_in(place, node);
        place
    }

    /// Puts a node where another was, of which the marks of what is to be told stay.
    fn put(&mut self, place: u32, node: Node) {
        if let Some(before) = self.get_mut(place) {
            *before = Node { flags: before.flags & (UNSAVED | FRESH), ..node };
        }
        self.count_in(place, node);
    }

    /// What is counted of a node, and how it is found.
    fn count_in(&mut self, place: u32, node: Node) {
        let (chunks, hasher) = (&self.chunks, &self.hasher);
        let hash = |place: &u32| hasher.hash_one(node_at(chunks, *place).map_or(JobTag(0), |node| node.tag));
        self.places.insert_unique(hash(&place), place, hash);
        if node.kind == ROOT {
            self.root = self.root.or(Some(place));
        }
        self.depths.entry(node.depth).or_default().add(node.state.group());
        if node.state.group() == Group::Running {
            self.runs_at(node.host, place);
        }
    }

    /// The job is found there no more.
    fn forget_place(&mut self, tag: JobTag) {
        let hash = self.hasher.hash_one(tag);
        let chunks = &self.chunks;
        let is_it = |place: &u32| node_at(chunks, *place).is_some_and(|node| node.tag == tag);
        if let Ok(entry) = self.places.find_entry(hash, is_it) {
            entry.remove();
        }
    }

    fn runs_at(&mut self, host: u32, place: u32) {
        self.running_at.entry(host).or_default().insert(place);
    }

    fn runs_no_more_at(&mut self, host: u32, place: u32) {
        if let Some(running) = self.running_at.get_mut(&host) {
            running.remove(&place);
            if running.is_empty() {
                self.running_at.remove(&host);
            }
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
                    self.waiting.insert((parent, place));
                }
                None => {}
            }
        }
        while let Some((_, child)) = self.waiting.range((tag, 0)..=(tag, NOWHERE)).next().copied() {
            self.waiting.remove(&(tag, child));
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
            self.count_below(parent);
        }
    }

    /// Moves a job to another state, and with it what is counted.
    fn change(&mut self, place: u32, state: JobState, host: u32) {
        let Some(node) = self.get_mut(place) else { return };
        let (before, was_at, depth) = (node.state, node.host, node.depth);
        (node.state, node.host) = (state, host);
        let counts = self.depths.entry(depth).or_default();
        counts.take(before.group());
        counts.add(state.group());
        if before.group() == Group::Running {
            self.runs_no_more_at(was_at, place);
        }
        if state.group() == Group::Running {
            self.runs_at(host, place);
        }
    }

    fn end(&mut self, place: u32, state: JobState, t_ms: u32) {
        let Some(node) = self.get_mut(place) else { return };
        node.ended_ms = t_ms.max(node.begun_ms);
        let host = node.host;
        self.change(place, state, host);
        self.may_be_leaf(place);
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

    fn count_begun(&mut self, is_long: bool) {
        self.begun.0 += 1;
        self.begun.1 += u64::from(is_long);
    }

    /// Jobs below the root that a worker has begun, and of these, jobs with parameters of more than
    /// `NOTED_PARAMETERS_BYTES_MAX`.
    pub fn begun(&self) -> (u64, u64) {
        self.begun
    }

    /// Whether the host has to do with the run.
    pub fn has_host(&self, host: HostId) -> bool {
        self.host_places.contains_key(&host)
    }

    /// The run is over: what still runs is not wanted any more, as [`Self::end_some`] gets to it.
    pub fn abort_all(&mut self, t_ms: u32) {
        self.is_over = true;
        let mut hosts: Vec<u32> = self.running_at.keys().copied().collect();
        hosts.sort_unstable();
        self.ending.extend(hosts.into_iter().map(|host| (host, Ending::Aborted, t_ms)));
        // What there was no room for has come to its end as well.
        self.abort_rolled();
    }

    /// Ends at most `most` jobs that no longer run. Returns whether more are left.
    pub fn end_some(&mut self, most: usize) -> bool {
        let mut left = most;
        while let Some((host, ending, t_ms)) = self.ending.front().copied() {
            let state = if ending == Ending::Aborted { JobState::Aborted } else { JobState::Lost };
            let running = self.running_at.get(&host).into_iter().flatten();
            let places: Vec<u32> = running.take(left).copied().collect();
            for place in &places {
                self.end(*place, state, t_ms);
                if let Some(node) = self.get_mut(*place).filter(|_| ending == Ending::GivenBack) {
                    node.flags |= GIVEN_BACK;
                }
                self.touch(*place);
            }
            left -= places.len();
            if self.running_at.contains_key(&host) {
                return true;
            }
            self.ending.pop_front();
        }
        false
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
        let next = |place: &u32| {
            let next = self.get(*place)?.critical;
            self.get(next).is_some_and(|below| below.parent == *place).then_some(next)
        };
        std::iter::successors(self.root, next).take(limit).collect()
    }
}

mod changes;
mod losses;
mod node;
mod restore;
mod room;

#[cfg(test)]
mod tests;
