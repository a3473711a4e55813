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

    /// The node with `next` set so that all children are yet to be visited, but for the one without
    /// the broken item when nothing after that fits: it would hold the same packing once more.
    #[inline(always)]
    fn unvisited(self, problem: &Problem) -> Self {
        let broken = self.broken as usize;
        let next = if self.first as usize >= problem.worthwhile {
            self.first
        } else if broken == problem.worthwhile {
            self.broken + 1
        } else {
            let fits = self.room - problem.sums[broken].weight >= problem.sums[broken + 1].lightest_after;
            self.broken + u32::from(fits)
        };
        Self { next, ..self }
    }
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
        let node = Node {
            room: problem.room,
            value: problem.value,
            profit: problem.profit,
            first: 0,
            broken: index(problem.broken(problem.room, 0)),
            next: 0,
            turned: Node::NONE,
        };
        Self { node: node.unvisited(problem), turned: Vec::new() }
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
    /// The search of `part` for packings worth more than `floor`, which the packing that its node's
    /// relaxation holds whole is not.
    pub fn new(problem: &'problem Problem, part: Part, floor: i64) -> Self {
        Self { problem, floor, best: None, turned: part.turned, stack: vec![part.node] }
    }

    /// Takes up to `steps` steps, one down to a child or up to a parent each. The tree is the same
    /// wherever and however often the search is stopped.
    pub fn run(&mut self, steps: u64) {
        let problem = self.problem;
        let Some(mut node) = self.stack.pop() else { return };
        let mut steps = steps;
        'node: while steps > 0 {
            steps -= 1;
            let sums = &problem.sums[node.broken as usize];
            let rest = node.room - sums.weight;
            let needed = self.floor + 1 - node.value - sums.value;
            let (value, weight) = problem.efficiency(node.broken as usize);
            // Otherwise, since the node was made, so good a packing was found that no child counts.
            if needed <= value {
                while node.next > node.first {
                    node.next -= 1;
                    let item = &problem.items[node.next as usize];
                    // Cheap and not quite exact: the room given back, filled as the broken item fills it.
                    let debt = needed + item.value;
                    if debt > 0 && (rest + item.weight) * value < debt * weight {
                        continue;
                    }
                    let first = node.next + 1;
                    let room = node.room + item.weight;
                    let broken = problem.broken(room, node.broken.max(first) as usize);
                    let sums = &problem.sums[broken];
                    let debt = self.floor + 1 - (node.value - item.value) - sums.value;
                    if debt > 0 {
                        let (value, weight) = problem.efficiency(broken);
                        if debt > value || (room - sums.weight) * value < debt * weight {
                            continue;
                        }
                    }
                    let child = Node {
                        room,
                        value: node.value - item.value,
                        profit: node.profit - item.profit,
                        first,
                        broken: index(broken),
                        next: 0,
                        turned: node.next,
                    };
                    self.stack.push(node);
                    node = child.unvisited(problem);
                    let packed = node.profit + sums.profit;
                    if packed > self.floor {
                        self.note(packed, node);
                    }
                    continue 'node;
                }
            }
            match self.stack.pop() {
                Some(parent) => node = parent,
                None => return,
            }
        }
        self.stack.push(node);
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

    /// As [`next_child`](Self::next_child), where all worthwhile items are decided.
    #[inline(never)]
    fn next_packed(&self, node: &mut Node) -> Option<Node> {
        let problem = self.problem;
        let sums = &problem.sums[node.broken as usize];
        let rest = node.room - sums.weight;
        let value = node.value + sums.value;
        for (nth, item) in problem.items.iter().enumerate().skip(node.next as usize) {
            if item.weight <= rest && value + item.value > self.floor {
                node.next = index(nth + 1);
                return Some(Node {
                    room: node.room - item.weight,
                    value: node.value + item.value,
                    profit: node.profit + item.profit,
                    first: node.next,
                    next: node.next,
                    turned: index(nth),
                    broken: node.broken,
                });
            }
        }
        None
    }

    /// Takes note of the packing that the relaxation of `node` holds whole.
    #[cold]
    fn note(&mut self, profit: i64, node: Node) {
        let below = self.stack.iter().skip(1).chain(Some(&node)).map(|node| node.turned);
        let turned = self.turned.iter().copied().chain(below).filter(|&item| item != Node::NONE).collect();
        self.floor = profit;
        self.best = Some(Packing { profit, prefix: node.broken as usize, turned });
    }
}

/// An item's place: there are a million at most.
#[allow(clippy::cast_possible_truncation)]
fn index(nth: usize) -> u32 {
    nth as u32
}
