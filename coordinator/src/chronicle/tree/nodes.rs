//! The jobs that are kept, each at its place, and the index that finds them by tag.

use std::hash::{BuildHasher, RandomState};

use hashbrown::HashTable;
use sateen_protocol::JobTag;

use super::node::{FRESH, Node, UNSAVED};
use crate::limits::TREE_NODES_MAX;

/// Nodes never move: they are kept in chunks.
const CHUNK: usize = 1 << 14;

/// Maximum nodes.
#[derive(Debug, Clone, Copy)]
struct NodesMax(usize);

impl Default for NodesMax {
    fn default() -> Self {
        Self(TREE_NODES_MAX)
    }
}

/// Jobs by place and by tag.
#[derive(Debug, Default)]
pub struct Nodes {
    max: NodesMax,
    chunks: Vec<Vec<Node>>,
    places: HashTable<u32>,
    hasher: RandomState,
}

fn node_at(chunks: &[Vec<Node>], place: u32) -> Option<&Node> {
    chunks.get(place as usize / CHUNK)?.get(place as usize % CHUNK)
}

impl Nodes {
    /// A store that is soon full.
    #[cfg(test)]
    pub fn with_room_for(most: usize) -> Self {
        Self { max: NodesMax(most), ..Self::default() }
    }

    /// The number of nodes.
    pub fn len(&self) -> usize {
        self.chunks.last().map_or(0, |last| (self.chunks.len() - 1) * CHUNK + last.len())
    }

    /// Whether there is no room for another node.
    pub fn is_full(&self) -> bool {
        self.len() >= self.max.0
    }

    /// A job by its place.
    pub fn get(&self, place: u32) -> Option<&Node> {
        node_at(&self.chunks, place)
    }

    /// The same, mutable; the tag must not change.
    pub fn get_mut(&mut self, place: u32) -> Option<&mut Node> {
        self.chunks.get_mut(place as usize / CHUNK)?.get_mut(place as usize % CHUNK)
    }

    /// All nodes, in order of their places.
    pub fn all(&self) -> impl Iterator<Item = &Node> {
        self.chunks.iter().flatten()
    }

    /// The place of a job.
    pub fn place(&self, tag: JobTag) -> Option<u32> {
        let hash = self.hasher.hash_one(tag);
        self.places.find(hash, |place| self.get(*place).is_some_and(|node| node.tag == tag)).copied()
    }

    /// Adds a node behind all others.
    pub fn push(&mut self, node: Node) -> u32 {
        let place = self.len() as u32;
        if self.chunks.last().is_none_or(|last| last.len() == CHUNK) {
            self.chunks.push(Vec::with_capacity(if place == 0 { 0 } else { CHUNK }));
        }
        if let Some(last) = self.chunks.last_mut() {
            last.push(node);
        }
        self.is_found_at(place);
        place
    }

    /// Puts a node in the place of one that is no longer found; the marks of what is still to be saved and shown remain.
    pub fn put(&mut self, place: u32, node: Node) {
        if let Some(before) = self.get_mut(place) {
            *before = Node { flags: before.flags & (UNSAVED | FRESH), ..node };
        }
        self.is_found_at(place);
    }

    fn is_found_at(&mut self, place: u32) {
        let (chunks, hasher) = (&self.chunks, &self.hasher);
        let hash = |place: &u32| hasher.hash_one(node_at(chunks, *place).map_or(JobTag(0), |node| node.tag));
        self.places.insert_unique(hash(&place), place, hash);
    }

    /// The job is no longer found there.
    pub fn forget_place(&mut self, tag: JobTag) {
        let hash = self.hasher.hash_one(tag);
        let chunks = &self.chunks;
        let is_it = |place: &u32| node_at(chunks, *place).is_some_and(|node| node.tag == tag);
        if let Ok(entry) = self.places.find_entry(hash, is_it) {
            entry.remove();
        }
    }

    /// Jobs whose tags are `from` to `to`, at most `limit`.
    pub fn between(&self, from: JobTag, to: JobTag, limit: usize) -> Vec<u32> {
        if from == to {
            return self.place(from).into_iter().take(limit).collect();
        }
        let nodes = (0_u32..).zip(self.all());
        let mut found: Vec<(JobTag, u32)> = nodes
            .filter(|(_, node)| (from..=to).contains(&node.tag))
            .map(|(place, node)| (node.tag, place))
            .collect();
        found.sort_unstable();
        found.into_iter().take(limit).map(|(_, place)| place).collect()
    }

    /// The number of jobs that are found by their tags.
    #[cfg(test)]
    pub fn found(&self) -> usize {
        self.places.len()
    }

    /// Their size in memory.
    #[cfg(test)]
    pub fn bytes(&self) -> usize {
        let chunks: usize = self.chunks.iter().map(|chunk| chunk.capacity() * size_of::<Node>()).sum();
        chunks + self.places.allocation_size()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chronicle::state::JobState;
    use crate::chronicle::tree::{NEVER, NO_WORKER, NOWHERE};

    fn node(tag: u64, flags: u8) -> Node {
        Node {
            tag: JobTag(tag),
            work_ns: 0,
            parent: NOWHERE,
            begun_ms: 0,
            ended_ms: NEVER,
            host: 0,
            rolled: 0,
            critical: NOWHERE,
            kind: 0,
            depth: 0,
            worker: NO_WORKER,
            state: JobState::Running,
            flags,
        }
    }

    #[test]
    fn jobs_are_found_at_their_places_until_they_leave_them() {
        let mut nodes = Nodes::with_room_for(CHUNK + 2);
        for tag in 0..CHUNK as u64 + 2 {
            assert!(!nodes.is_full());
            assert_eq!(u64::from(nodes.push(node(3 * tag, UNSAVED))), tag);
        }
        assert!(nodes.is_full());
        let last = CHUNK as u32 + 1;
        let tag = JobTag(3 * u64::from(last));
        assert_eq!((nodes.place(tag), nodes.place(JobTag(1))), (Some(last), None));
        nodes.forget_place(tag);
        assert_eq!((nodes.place(tag), nodes.found(), nodes.len()), (None, CHUNK + 1, CHUNK + 2));
        nodes.put(last, node(7, FRESH));
        assert_eq!(nodes.place(JobTag(7)), Some(last));
        assert_eq!(nodes.get(last).map(|node| node.flags), Some(UNSAVED), "the mark is that of the place");
        assert_eq!(nodes.between(JobTag(3), JobTag(7), 9), [1, 2, last]);
        assert_eq!(nodes.between(JobTag(3), JobTag(7), 1), [1]);
        assert_eq!(nodes.between(JobTag(7), JobTag(7), 9), [last]);
    }
}
