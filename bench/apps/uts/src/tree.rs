//! The trees T1 and T3 of UTS (Olivier et al., "UTS: An Unbalanced Tree Search Benchmark", LCPC 2006), with the
//! parameters and the node counts that its authors published with their program.

use serde::{Deserialize, Serialize};

use crate::sha1::digest;

/// One of the trees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Tree {
    /// Geometric: the number of children follows a geometric law with mean 4 above depth 10, from seed 19.
    T1,
    /// Binomial: 2000 children of the root; every other node has 8 children with probability 0.124875, from seed 42.
    T3,
}

impl Tree {
    /// The tree with this number, if there is one.
    pub fn of(number: u64) -> Option<Self> {
        match number {
            1 => Some(Self::T1),
            3 => Some(Self::T3),
            _ => None,
        }
    }

    /// The published number of nodes.
    pub fn nodes(self) -> u64 {
        match self {
            Self::T1 => 4_130_071,
            Self::T3 => 4_112_897,
        }
    }

    /// Its root.
    pub fn root(self) -> Node {
        let seed = match self {
            Self::T1 => 19,
            Self::T3 => 42,
        };
        Node { tree: self, depth: 0, state: digest([0, 0, 0, 0, seed]) }
    }
}

/// A node, from which all its descendants derive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    tree: Tree,
    /// Edges from the root.
    depth: u32,
    /// State of the random generator.
    state: [u32; 5],
}

impl Node {
    /// The number of its children.
    #[inline]
    pub fn children(&self) -> u32 {
        match self.tree {
            Tree::T1 => self.geometric(),
            Tree::T3 if self.depth == 0 => 2000,
            Tree::T3 if self.random() < 0.124_875 => 8,
            Tree::T3 => 0,
        }
    }

    /// Its child with this index.
    #[inline]
    pub fn child(&self, index: u32) -> Self {
        let [a, b, c, d, e] = self.state;
        Self { tree: self.tree, depth: self.depth + 1, state: digest([a, b, c, d, e, index]) }
    }

    /// Fixed shape: the mean is the same at all depths above the last.
    fn geometric(&self) -> u32 {
        const DEPTH_MAX: u32 = 10;
        const MEAN: f64 = 4.0;
        const CHILDREN_MAX: u32 = 100;
        if self.depth >= DEPTH_MAX {
            return 0;
        }
        let p = 1.0 / (1.0 + MEAN);
        let children = libm::floor(libm::log(1.0 - self.random()) / libm::log(1.0 - p));
        (children as u32).min(CHILDREN_MAX)
    }

    /// A random number from 0 to 1, exclusive.
    fn random(&self) -> f64 {
        f64::from(self.state[4] & 0x7fff_ffff) / 2_147_483_648.0
    }
}
