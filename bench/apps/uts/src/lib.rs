//! Unbalanced Tree Search: counts the nodes of a tree whose shape only its random generator knows.
//!
//! A job is a node and a range of its children. It spawns the second half of the range and follows the first itself, so
//! the job that waits longest is the largest part of the work.

mod sha1;
mod tree;

use sateen::prelude::*;
pub use tree::{Node, Tree};

/// The number of nodes of the tree T`tree`, 1 or 3.
///
/// # Errors
/// For other trees.
#[main]
pub fn main(tree: u64) -> Result<u64, BadInput> {
    let root = root(tree)?;
    Ok(1 + below(root, 0, root.children()))
}

/// The same count without spawns.
///
/// # Errors
/// For other trees.
#[main]
pub fn plain(tree: u64) -> Result<u64, BadInput> {
    Ok(count(root(tree)?))
}

/// The number of nodes in the subtree of `node`, itself included.
pub fn count(node: Node) -> u64 {
    1 + (0..node.children()).map(|index| count(node.child(index))).sum::<u64>()
}

/// The nodes in the subtrees of the children `first` to `end` of `node`. There is at least one.
#[job]
fn below(node: Node, first: u32, end: u32) -> u64 {
    if end - first == 1 {
        let child = node.child(first);
        return 1 + match child.children() {
            0 => 0,
            children => below(child, 0, children),
        };
    }
    let middle = first.midpoint(end);
    let others = below::spawn(node, middle, end);
    let nodes = below(node, first, middle);
    nodes + others.sync()
}

fn root(tree: u64) -> Result<Node, BadInput> {
    match Tree::of(tree) {
        Some(tree) => Ok(tree.root()),
        None => Err(BadInput(format!("there is no tree {tree}; the trees are 1 and 3"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trees_have_the_published_numbers_of_nodes() {
        for number in [1, 3] {
            let published = Tree::of(number).expect("it is one of them").nodes();
            assert_eq!(main(number).expect("it is one of them"), published, "T{number}");
            assert_eq!(plain(number).expect("it is one of them"), published, "T{number}");
        }
    }

    #[test]
    fn other_trees_are_refused() {
        assert!(main(2).is_err());
    }
}
