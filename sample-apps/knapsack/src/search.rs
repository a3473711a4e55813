//! Depth-first branch and bound, which can stop anywhere and hand over what is left.

use serde::{Deserialize, Serialize};

use crate::opening::Packing;
use crate::problem::Problem;

/// A node of the search tree that still has children to visit.
///
/// A node stands for the packings that have a given decision on the items before `first`. Leaving
/// out an item that the relaxation packs gives its weight back as room, so the node's relaxation
/// packs the first `broken` items of *all*, into `room`. The node's children are told apart by the
/// first item from `first` on that is decided otherwise than in this relaxation: left out, if it is
/// before `broken` (or is the broken item itself, which does not fit). Once all items that are
/// worthwhile by value are decided, the children are told apart by the next item that is packed
/// nevertheless, since its profit may be more than its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Node {
    /// The room for the first `broken` items, decided ones included.
    room: i64,
    /// What the packings are worth by value, less the values of the first `broken` items.
    value: i64,
    /// The same by profit.
    profit: i64,
    /// The first item that is not decided.
    first: u32,
    /// The item that the relaxation breaks.
    broken: u32,
    /// The children before this one are yet to be visited, from the last; or, where all worthwhile
    /// items are decided, the children from this one on.
    next: u32,
    /// The item whose decision made this node out of its parent; [`Node::NONE`] if none was turned.
    turned: u32,
}

impl Node {
    const NONE: u32 = u32::MAX;
}

/// A part of the search: what is left to visit below one node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    node: Node,
    /// The items that are decided otherwise than in the relaxation, on the way to the node.
    turned: Vec<u32>,
}

impl Part {
    /// The whole search.
    pub fn whole(problem: &Problem) -> Self {
        let broken = index(problem.broken(problem.room, 0));
        let node = Node {
            room: problem.room,
            value: problem.value,
            profit: problem.profit,
            first: 0,
            broken,
            next: if problem.worthwhile == 0 { 0 } else { broken + 1 },
            turned: Node::NONE,
        };
        Self { node, turned: Vec::new() }
    }
}

/// A search under way.
pub struct Search<'problem> {
    problem: &'problem Problem,
    /// Only packings worth more are looked for.
    floor: i64,
    best: Option<Packing>,
    /// Turned on the way to the first node of the stack, that one's included.
    turned: Vec<u32>,
    /// Nodes with children left, each below the one before.
    stack: Vec<Node>,
}

impl<'problem> Search<'problem> {
    /// The search of `part` for packings worth more than `floor`.
    pub fn new(problem: &'problem Problem, part: Part, floor: i64) -> Self {
        let mut search = Self { problem, floor, best: None, turned: part.turned, stack: vec![part.node] };
        search.note(part.node);
        search
    }

    /// Visits up to `nodes` more nodes; all of them are the caller's to choose, so that the tree is
    /// the same wherever and however often the search is stopped.
    pub fn run(&mut self, nodes: u64) {
        for _ in 0..nodes {
            let Some(&node) = self.stack.last() else { return };
            match self.next_child(node) {
                Some(child) => {
                    self.stack.push(child);
                    self.note(child);
                }
                None => {
                    self.stack.pop();
                }
            }
        }
    }

    /// The best packing found, if any is worth more than the floor.
    pub fn best(&mut self) -> Option<Packing> {
        self.best.take()
    }

    /// The profit that a packing must now exceed.
    pub fn floor(&self) -> i64 {
        self.floor
    }

    /// What is left to visit, as one part a node: the part next to the root comes first, and is
    /// likely the largest; the depth-first order is the other way round.
    pub fn into_parts(mut self) -> Vec<Part> {
        let mut parts = Vec::new();
        for (depth, node) in self.stack.iter().enumerate() {
            if depth > 0 && node.turned != Node::NONE {
                self.turned.push(node.turned);
            }
            parts.push(Part { node: *node, turned: self.turned.clone() });
        }
        parts
    }

    /// The next child of the node on top of the stack that may hold a better packing.
    #[inline]
    fn next_child(&mut self, node: Node) -> Option<Node> {
        if node.first as usize >= self.problem.worthwhile {
            return self.next_packed(node);
        }
        let problem = self.problem;
        let sums = &problem.sums[node.broken as usize];
        let needed = self.floor + 1 - node.value - sums.value;
        let rest = node.room - sums.weight;
        let (value, weight) = problem.efficiency(node.broken as usize);
        if needed > value {
            // A better packing has been found since the node was made, so good that no child counts.
            return None;
        }
        let mut next = node.next;
        while next > node.first {
            next -= 1;
            if next as usize == problem.worthwhile {
                // Everything worthwhile is packed; the items after it are what is left to decide.
                self.set_next(next);
                return Some(Node { first: next, next, turned: Node::NONE, ..node });
            }
            let item = &problem.items[next as usize];
            // Cheap and not quite exact: the room given back, filled as the broken item fills it.
            let debt = needed + item.value;
            if debt > 0 && (rest + item.weight) * value < debt * weight {
                continue;
            }
            let room = node.room + item.weight;
            let broken = problem.broken(room, (node.broken).max(next + 1) as usize);
            let sums = &problem.sums[broken];
            let debt = debt - sums.value + problem.sums[node.broken as usize].value;
            if debt > 0 {
                let (value, weight) = problem.efficiency(broken);
                if debt > value || (room - sums.weight) * value < debt * weight {
                    continue;
                }
            }
            self.set_next(next);
            let first = next + 1;
            let broken = index(broken);
            return Some(Node {
                room,
                value: node.value - item.value,
                profit: node.profit - item.profit,
                first,
                broken,
                next: if (first as usize) < problem.worthwhile { broken + 1 } else { first },
                turned: next,
            });
        }
        None
    }

    /// As [`next_child`](Self::next_child), where all worthwhile items are decided.
    fn next_packed(&mut self, node: Node) -> Option<Node> {
        let problem = self.problem;
        let sums = &problem.sums[node.broken as usize];
        let rest = node.room - sums.weight;
        let value = node.value + sums.value;
        for nth in node.next as usize..problem.items.len() {
            let item = &problem.items[nth];
            if item.weight <= rest && value + item.value > self.floor {
                self.set_next(index(nth + 1));
                return Some(Node {
                    room: node.room - item.weight,
                    value: node.value + item.value,
                    profit: node.profit + item.profit,
                    first: index(nth + 1),
                    next: index(nth + 1),
                    turned: index(nth),
                    ..node
                });
            }
        }
        None
    }

    fn set_next(&mut self, next: u32) {
        if let Some(top) = self.stack.last_mut() {
            top.next = next;
        }
    }

    /// Takes note of the packing that the relaxation of `node`, just pushed, holds whole.
    #[inline]
    fn note(&mut self, node: Node) {
        let profit = node.profit + self.problem.sums[node.broken as usize].profit;
        if profit > self.floor {
            self.floor = profit;
            let below = self.stack.iter().skip(1).map(|node| node.turned).filter(|&item| item != Node::NONE);
            let turned = self.turned.iter().copied().chain(below).collect();
            self.best = Some(Packing { profit, prefix: node.broken as usize, turned });
        }
    }
}

/// An item's place: there are a million at most.
#[allow(clippy::cast_possible_truncation)]
fn index(nth: usize) -> u32 {
    nth as u32
}
