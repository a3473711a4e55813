//! Depth-first branch and bound, which can stop anywhere and hand over the rest.

use serde::{Deserialize, Serialize};

use crate::opening::Packing;
use crate::problem::{Problem, Step, broken_step};

/// A node of the search tree that has children left to visit.
///
/// A node stands for the packings that have a given decision on the items before `first`. Leaving
/// out an item that the relaxation packs gives its weight back as room, so the node's relaxation
/// packs the first `broken` items of *all*, into `room`. The node's children differ in the
/// first item, from `first` on, that is left out although the relaxation packs it or a part of it.
///
/// Once all worthwhile items are decided, those with a negative value remain: their
/// profits may be worth it nevertheless. Such a node, in the *tail*, has children that differ
/// in the next item that is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Node {
    /// The room for the first `broken` items, decided ones included.
    room: i64,
    /// The value of the packings, less the values of the first `broken` items.
    value: i64,
    /// The first undecided item, or the lowest item whose child does not belong to another part.
    first: u32,
    /// The item that the relaxation breaks.
    broken: u32,
    /// The children still to be visited are those of the items from `first` to before `next`. In the
    /// tail, they are those of the items from `next - 1` on: so only there, `next` is above the
    /// number of worthwhile items.
    next: u32,
    /// The number of items decided differently from the root's relaxation.
    depth: u32,
}

/// A part of the search: the unvisited nodes below one node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    node: Node,
    /// The items decided differently from the root's relaxation.
    turned: Vec<u32>,
}

impl Part {
    /// The whole search.
    pub fn whole(problem: &Problem) -> Self {
        let broken = broken_step(&problem.steps, problem.room, 0);
        let end = &problem.steps[broken];
        let node = Node {
            room: problem.room,
            value: problem.value,
            first: 0,
            broken: index(broken),
            next: first_visit(broken, problem.room - end.weight_before, end),
            depth: 0,
        };
        Self { node, turned: Vec::new() }
    }
}

/// A running search.
pub struct Search<'problem> {
    problem: &'problem Problem,
    /// Only packings worth more are looked for.
    floor: i64,
    best: Option<Packing>,
    /// The items decided differently on the path to the visited node; beyond its depth
    /// are items of nodes visited before.
    turned: Vec<u32>,
    /// Nodes with children left, each below the one before.
    stack: Vec<Node>,
}

impl<'problem> Search<'problem> {
    /// The search of `part` for packings worth more than `floor`. The packing of the whole items in the relaxation of
    /// the part's own node is known already.
    pub fn new(problem: &'problem Problem, part: Part, floor: i64) -> Self {
        let mut turned = part.turned;
        turned.resize(problem.items.len() + 1, 0);
        Self { problem, floor, best: None, turned, stack: vec![part.node] }
    }

    /// Takes up to about `steps_max` steps, each to a child or back to a parent. The tree is the same
    /// wherever and however often the search is stopped.
    pub fn run(&mut self, steps_max: u64) {
        let steps = self.problem.steps.as_slice();
        let Some(mut node) = self.stack.pop() else { return };
        // A guest checks at each turn of a loop whether to stop. That takes a considerable part of a step's
        // time, so there are several steps per turn.
        for _ in 0..steps_max.div_ceil(4) {
            let goes_on = self.step(steps, &mut node)
                && self.step(steps, &mut node)
                && self.step(steps, &mut node)
                && self.step(steps, &mut node);
            if !goes_on {
                return;
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

    /// The unvisited parts: two for each node of the stack, or one if it cannot be
    /// halved. The parts next to the root come first, and are likely the largest; the depth-first
    /// order is the other way round.
    pub fn into_parts(self) -> Vec<Part> {
        let mut parts = Vec::with_capacity(2 * self.stack.len());
        for node in &self.stack {
            let turned = self.turned[..node.depth as usize].to_vec();
            let middle = node.first.midpoint(node.next);
            // Halved, since a job that is called in place runs inside the job that spawned it: nested this
            // way, a node with a thousand children is ten calls deep instead of a thousand.
            if middle > node.first && (node.next as usize) < self.problem.steps.len() {
                parts.push(Part { node: Node { next: middle, ..*node }, turned: turned.clone() });
                parts.push(Part { node: Node { first: middle, ..*node }, turned });
            } else {
                parts.push(Part { node: *node, turned });
            }
        }
        parts
    }

    /// Replaces `node` by its next child that may contain a better packing, or, if there is none, by the node
    /// on top of the stack. A node with further children is pushed there. Returns whether there was such a node.
    #[inline(always)]
    fn step(&mut self, steps: &[Step], node: &mut Node) -> bool {
        // The node in variables: a guest's compiler leaves structs that are copied as a whole in
        // memory.
        let Node { room, value, first, broken, mut next, depth } = *node;
        if next as usize >= steps.len() {
            let Some(next) = self.step_tail(*node) else { return false };
            *node = next;
            return true;
        }
        let needed = self.floor + 1 - value;
        while next > first {
            next -= 1;
            let item = &steps[next as usize];
            let child_room = room + item.weight;
            let child_broken = broken_step(steps, child_room, broken.max(next + 1) as usize);
            let end = &steps[child_broken];
            let rest = child_room - end.weight_before;
            // The minimum worth of the fitting part of the broken item for the child to count.
            let debt = needed + item.value - end.value_before;
            if debt > 0 && (debt > end.value || rest * end.value < debt * end.weight) {
                continue;
            }
            if next > first {
                self.stack.push(Node { room, value, first, broken, next, depth });
            }
            self.turned[depth as usize] = next;
            *node = Node {
                room: child_room,
                value: value - item.value,
                first: next + 1,
                broken: index(child_broken),
                next: first_visit(child_broken, rest, end),
                depth: depth + 1,
            };
            if debt <= 0 {
                self.consider(node.broken, node.depth);
            }
            return true;
        }
        self.step_back(node)
    }

    /// Replaces `node` by the node on top of the stack, if there is one.
    #[inline(always)]
    fn step_back(&mut self, node: &mut Node) -> bool {
        match self.stack.pop() {
            Some(Node { room, value, first, broken, next, depth }) => {
                *node = Node { room, value, first, broken, next, depth };
                true
            }
            None => false,
        }
    }

    /// As [`step`](Self::step), at a node in the tail or on the way into it.
    #[inline(never)]
    fn step_tail(&mut self, mut node: Node) -> Option<Node> {
        let problem = self.problem;
        let worthwhile = index(problem.worthwhile());
        if node.first < worthwhile {
            // All worthwhile items fit. Packing all of them is one child, and the others follow.
            self.stack.push(Node { next: worthwhile, ..node });
            return Some(Node { first: worthwhile, ..node });
        }
        let end = &problem.steps[node.broken as usize];
        let rest = node.room - end.weight_before;
        let value = node.value + end.value_before;
        let left = problem.items.iter().enumerate().skip(node.next as usize - 1);
        let mut fitting = left.filter(|(_, item)| item.weight <= rest && value + item.value > self.floor);
        let Some((nth, item)) = fitting.next() else { return self.stack.pop() };
        node.next = index(nth) + 2;
        self.stack.push(node);
        self.turned[node.depth as usize] = index(nth);
        node.room -= item.weight;
        node.value += item.value;
        node.first = index(nth) + 1;
        node.depth += 1;
        self.consider(node.broken, node.depth);
        Some(node)
    }

    /// Records the whole items in the relaxation of a node at `depth`, if they are worth more
    /// than the floor.
    #[cold]
    #[inline(never)]
    fn consider(&mut self, broken: u32, depth: u32) {
        let problem = self.problem;
        let turned = &self.turned[..depth as usize];
        let gain = |&nth: &u32| {
            let profit = problem.items[nth as usize].profit;
            if nth < broken { -profit } else { profit }
        };
        let prefix = problem.steps[broken as usize].profit_before;
        let profit = problem.profit + prefix + turned.iter().map(gain).sum::<i64>();
        if profit > self.floor {
            self.floor = profit;
            self.best = Some(Packing { profit, prefix: broken as usize, turned: turned.to_vec() });
        }
    }
}

/// [`Node::next`] of a node with no child visited, whose relaxation leaves the room `rest` at the
/// step `end`. The child without the broken item is left out if nothing after that item fits: it
/// would hold the same packing once more.
#[inline(always)]
fn first_visit(broken: usize, rest: i64, end: &Step) -> u32 {
    index(broken) + u32::from(rest >= end.lightest_after)
}

/// An item's place: there are a million at most.
#[allow(clippy::cast_possible_truncation)]
fn index(nth: usize) -> u32 {
    nth as u32
}
