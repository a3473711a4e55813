//! The cost-model guest: a tree of jobs whose answer, work and critical path are known exactly.
//!
//! A node costs some work before its children (divide) and some after them (combine). Its answer is
//! a hash of its own name and its children's answers, so that a result in a wrong place is detected. Some
//! nodes are twins of others: equal parameters, equal keys. Some need the answer of one child only, and
//! abort the others as soon as they have it.

mod bulk;

use std::collections::BTreeMap;

use sateen_protocol::{BlobHash, KeyMaker, Random};

use crate::digest::mix;
pub use bulk::{Bulk, Sizes, filled, is_filled};

/// The index of a node; the root is 0.
pub type NodeIndex = u32;

/// One job.
#[derive(Debug, Clone, Copy, Default)]
pub struct Node {
    /// Work before the children, in nanoseconds at speed 1.
    pub before_ns: u64,
    /// Work after them.
    pub after_ns: u64,
    /// The first of its children, which follow one another.
    pub first_child: NodeIndex,
    /// Their number.
    pub children: u32,
    /// The child whose answer makes the others useless.
    pub decisive: Option<u32>,
    /// Work of the whole subtree, one job after another: work after a decisive child is not done.
    pub work_ns: u64,
    /// The minimum work for an answer, and the work of all jobs.
    pub least_ns: u64,
    /// See `least_ns`.
    pub most_ns: u64,
    /// Its critical path.
    pub span_ns: u64,
    /// Its jobs.
    pub jobs: u64,
    /// Its answer.
    pub answer: u64,
    /// The node that it is a twin of, or itself.
    original: NodeIndex,
}

/// The parameters of a tree. The default has nothing special: no twins, no failures, no shared objects, no large items.
#[derive(Debug, Clone, Default)]
pub struct TreePlan {
    /// Everything random follows from it.
    pub seed: u64,
    /// The approximate number of jobs (exact without twins).
    pub jobs: u64,
    /// The work of all, in nanoseconds.
    pub work_ns: u64,
    /// Maximum children of a node.
    pub children_max: u32,
    /// The largest share of a node's jobs that goes to one child, in percent: 50 is balanced for a
    /// binary tree, 95 is skewed.
    pub share_percent_max: u32,
    /// Nodes per thousand that are a twin of their elder sibling.
    pub twins_per_mille: u32,
    /// Nodes with children per thousand that need the answer of one child only.
    pub decisive_per_mille: u32,
    /// Nodes per thousand that cost fifty times as much as others.
    pub heavy_per_mille: u32,
    /// Shared objects that the root creates, and others update and wait for.
    pub shared_objects: u32,
    /// The largest of their updates, in bytes.
    pub update_bytes_max: usize,
    /// Nodes per thousand that fail, below the root; their parents handle the failure.
    pub failing_per_mille: u32,
    /// Large items.
    pub bulk: Bulk,
}

/// A tree of jobs.
#[derive(Debug)]
pub struct Tree {
    nodes: Vec<Node>,
    parents: Vec<NodeIndex>,
    /// The number of places of each node, as it or a node above it has twins.
    places: Vec<u64>,
    app: BlobHash,
    shared_objects: u32,
    update_bytes_max: usize,
    failing_per_mille: u32,
    result_bytes: BTreeMap<NodeIndex, usize>,
    parameter_bytes: BTreeMap<NodeIndex, usize>,
    object_bytes: usize,
}

impl Node {
    /// The number of its children that run if they run one after another.
    fn in_order(&self) -> usize {
        self.decisive.map_or(self.children, |decisive| decisive + 1) as usize
    }
}

impl Tree {
    /// Builds it.
    pub fn new(plan: &TreePlan) -> Self {
        Self::build(plan, shares)
    }

    /// A tree in which all jobs are the root's children.
    pub fn flat(plan: &TreePlan) -> Self {
        Self::build(plan, |_, below, _| vec![1; below as usize])
    }

    fn build(plan: &TreePlan, shares: impl Fn(&TreePlan, u64, &mut Random) -> Vec<u64>) -> Self {
        let mut random = Random::new(plan.seed);
        let mut nodes = vec![Node { jobs: plan.jobs.max(1), ..Node::default() }];
        let mut weights: Vec<u64> = Vec::new();
        let mut at = 0;
        while at < nodes.len() {
            weights.push(weight(plan, &mut random));
            let below = nodes[at].jobs - 1;
            if nodes[at].original as usize == at && below > 0 {
                let first = nodes.len();
                nodes[at].first_child = first as NodeIndex;
                let shares = shares(plan, below, &mut random);
                nodes[at].children = shares.len() as u32;
                if plan.decisive_per_mille > 0 && random.below(1000) < plan.decisive_per_mille as usize {
                    nodes[at].decisive = Some(random.below(shares.len()) as u32);
                }
                for (child, jobs) in shares.into_iter().enumerate() {
                    let index = nodes.len() as NodeIndex;
                    let twin = child > 0 && random.below(1000) < plan.twins_per_mille as usize;
                    let original = if twin { nodes[index as usize - 1].original } else { index };
                    nodes.push(Node { jobs, original, ..Node::default() });
                }
            }
            at += 1;
        }
        let app = BlobHash::of(&plan.seed.to_le_bytes());
        let parents = vec![0; nodes.len()];
        let places = vec![0; nodes.len()];
        let mut tree = Self {
            nodes,
            parents,
            places,
            app,
            shared_objects: plan.shared_objects,
            update_bytes_max: plan.update_bytes_max,
            failing_per_mille: plan.failing_per_mille,
            result_bytes: BTreeMap::new(),
            parameter_bytes: BTreeMap::new(),
            object_bytes: plan.bulk.object_bytes,
        };
        let mut random = Random::new(plan.seed ^ 0xb01c);
        tree.result_bytes = plan.bulk.results.draw(tree.nodes.len(), &mut random);
        tree.parameter_bytes = plan.bulk.parameters.draw(tree.nodes.len(), &mut random);
        let total: u64 = tree.total_weight(&weights);
        tree.fill(&weights, plan.work_ns as f64 / total as f64);
        tree.count_places();
        tree
    }

    /// A node.
    pub fn node(&self, index: NodeIndex) -> &Node {
        &self.nodes[index as usize]
    }

    /// The node at the top.
    pub fn root(&self) -> &Node {
        &self.nodes[0]
    }

    /// The `child`th child of a node.
    pub fn child(&self, parent: NodeIndex, child: usize) -> NodeIndex {
        let index = self.node(parent).first_child as usize + child;
        self.nodes[index].original
    }

    /// Whether anything may be aborted.
    pub fn has_decisive(&self) -> bool {
        self.nodes.iter().any(|node| node.decisive.is_some())
    }

    /// Whether equal jobs have several places.
    pub fn has_twins(&self) -> bool {
        self.nodes.iter().enumerate().any(|(index, node)| node.original as usize != index)
    }

    /// Whether this node's job has several places.
    pub fn is_twin(&self, index: NodeIndex) -> bool {
        self.places[index as usize] > 1
    }

    /// The work of all jobs with several places, done once for each place.
    pub fn twins_ns(&self) -> u64 {
        let of_all = self.nodes.iter().zip(&self.places).filter(|(_, places)| **places > 1);
        of_all.map(|(node, places)| places * (node.before_ns + node.after_ns)).sum()
    }

    fn count_places(&mut self) {
        self.places[0] = 1;
        // Children come after their parents.
        for index in 0..self.nodes.len() {
            for child in 0..self.nodes[index].children as usize {
                let child = self.child(index as NodeIndex, child) as usize;
                self.places[child] += self.places[index];
            }
        }
    }

    /// The longest stretch of work of one job.
    pub fn heaviest_ns(&self) -> u64 {
        self.nodes.iter().map(|node| node.before_ns.max(node.after_ns)).max().unwrap_or(0)
    }

    /// A node's answer, given its children's answers.
    pub fn combine(&self, index: NodeIndex, children: impl Iterator<Item = u64>) -> u64 {
        let start = mix(u64::from(index) ^ 0x5a7e_e000_0000_0000);
        children.fold(start, |answer, child| mix(answer.rotate_left(7) ^ child))
    }

    /// The hash that represents its module.
    pub fn app(&self) -> BlobHash {
        self.app
    }

    /// Makes its jobs' keys.
    pub fn keys(&self) -> KeyMaker {
        KeyMaker::new(1, 0, self.app, "node", b"")
    }

    fn total_weight(&self, weights: &[u64]) -> u64 {
        let mut sums = weights.to_vec();
        for index in (0..self.nodes.len()).rev() {
            if self.nodes[index].original as usize == index {
                sums[index] += (0..self.nodes[index].in_order())
                    .map(|child| sums[self.child(index as NodeIndex, child) as usize])
                    .sum::<u64>();
            }
        }
        sums[0]
    }

    fn fill(&mut self, weights: &[u64], scale: f64) {
        for index in (0..self.nodes.len()).rev() {
            let mut node = self.nodes[index];
            if node.original as usize != index {
                continue;
            }
            let cost_ns = ((weights[index] as f64 * scale) as u64).max(1);
            node.after_ns = if node.children > 0 { cost_ns / 8 } else { 0 };
            node.before_ns = cost_ns - node.after_ns;
            let below: Vec<NodeIndex> =
                (0..node.children as usize).map(|child| self.child(index as NodeIndex, child)).collect();
            let needed = match node.decisive {
                None => &below[..],
                Some(child) => &below[child as usize..=child as usize],
            };
            let in_order = &below[..node.in_order()];
            let sum_of = |below: &[NodeIndex], of: fn(&Node) -> u64| -> u64 {
                below.iter().map(|child| of(self.node(*child))).sum()
            };
            node.work_ns = cost_ns + sum_of(in_order, |node| node.work_ns);
            node.least_ns = cost_ns + sum_of(needed, |node| node.least_ns);
            node.most_ns = cost_ns + sum_of(&below, |node| node.most_ns);
            node.jobs = 1 + sum_of(in_order, |node| node.jobs);
            let longest = needed.iter().map(|child| self.node(*child).span_ns).max();
            node.span_ns = cost_ns + longest.unwrap_or(0);
            node.answer =
                self.combine(index as NodeIndex, needed.iter().map(|child| self.node(*child).answer));
            self.nodes[index] = node;
            for child in below {
                self.parents[child as usize] = index as NodeIndex;
            }
        }
    }

    /// The number of shared objects that the root creates.
    pub fn shared_objects(&self) -> u32 {
        self.shared_objects
    }

    /// The object that a node updates before it spawns.
    pub fn updates(&self, index: NodeIndex) -> Option<u32> {
        let draw = mix(u64::from(index) ^ 0x0b1e_c700);
        let does = self.shared_objects > 0 && self.node(index).children > 0 && draw.is_multiple_of(3);
        does.then(|| (draw >> 32) as u32 % self.shared_objects)
    }

    /// Whether a job with this answer fails, and its parent gets the answer from the failure. Twins do the same.
    pub fn fails(&self, answer: u64) -> bool {
        answer != self.root().answer && mix(answer ^ 0xfa11) % 1000 < u64::from(self.failing_per_mille)
    }

    /// The padding of a node's update: none in three of four.
    pub fn update_padding(&self, index: NodeIndex) -> usize {
        let draw = mix(u64::from(index) ^ 0x09ad_d1e5) as usize;
        if draw.is_multiple_of(4) { draw / 4 % (self.update_bytes_max + 1) } else { 0 }
    }

    /// Minimum bytes of a node's encoded result.
    pub fn result_bytes(&self, index: NodeIndex) -> usize {
        self.result_bytes.get(&index).copied().unwrap_or(0)
    }

    /// Minimum bytes of a node's encoded parameters.
    pub fn parameter_bytes(&self, index: NodeIndex) -> usize {
        self.parameter_bytes.get(&index).copied().unwrap_or(0)
    }

    /// Minimum bytes of a replica.
    pub fn object_bytes(&self) -> usize {
        self.object_bytes
    }

    /// The bytes of all large items, if each of `hosts` hosts gets a replica of each object.
    pub fn bulk_bytes(&self, hosts: u64) -> u64 {
        let of_jobs: usize = self.result_bytes.values().chain(self.parameter_bytes.values()).sum();
        of_jobs as u64 + hosts * u64::from(self.shared_objects) * self.object_bytes as u64
    }

    /// The nodes above a node, the root first.
    pub fn above(&self, index: NodeIndex) -> Vec<NodeIndex> {
        let mut above = Vec::new();
        let mut node = index;
        while node != 0 {
            node = self.parents[node as usize];
            above.insert(0, node);
        }
        above
    }

    /// How many nodes there are, twins counted once.
    pub fn nodes_len(&self) -> usize {
        self.nodes.len()
    }

    /// The update that a stolen node's guard waits for: the parent, and the object that it updates.
    pub fn guard(&self, index: NodeIndex) -> Option<(NodeIndex, u32)> {
        let parent = self.parents[index as usize];
        let is_guarded = index != 0 && mix(u64::from(index) ^ 0x9a8d).is_multiple_of(2);
        let object = self.updates(parent).filter(|_| is_guarded)?;
        Some((parent, object))
    }
}

fn weight(plan: &TreePlan, random: &mut Random) -> u64 {
    let usual = 200 + random.below(1600) as u64;
    if random.below(1000) < plan.heavy_per_mille as usize { usual * 50 } else { usual }
}

/// Divides `jobs` among children: irregularly, within the plan's bounds.
fn shares(plan: &TreePlan, jobs: u64, random: &mut Random) -> Vec<u64> {
    let most = u64::from(plan.children_max.max(1)).min(jobs);
    let count = if most <= 2 { most } else { 2 + random.below(most as usize - 1) as u64 };
    let mut left = jobs;
    let mut shares = Vec::with_capacity(count as usize);
    for child in 0..count {
        let others = count - child - 1;
        if others == 0 {
            shares.push(left);
            break;
        }
        let low = 100u64.saturating_sub(u64::from(plan.share_percent_max)).min(50) / others.max(1);
        let high = u64::from(plan.share_percent_max);
        let percent = low + random.below((high - low + 1) as usize) as u64;
        let share = (left * percent / 100).clamp(1, left - others);
        shares.push(share);
        left -= share;
    }
    shares
}

#[cfg(test)]
mod tests;
