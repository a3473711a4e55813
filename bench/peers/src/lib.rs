//! The work of `cargo xtask bench peers`, for tasks that are not Sateen's: the same functions of the same crates that guests
//! run in the sandbox, compiled for this machine.
//!
//! Python calls the functions of the dynamic library by ctypes, with integers only. HyperQueue's tasks are processes, which
//! run the program of this crate.

use nqueens::Board;
use uts::{Node, Tree};

/// Bits for each column of a prefix.
pub const COLUMN_BITS: u32 = 8;
/// Maximum number of columns of a prefix.
pub const ROWS_MAX: u32 = u64::BITS / COLUMN_BITS;
/// Bits for each index of a path.
pub const INDEX_BITS: u32 = 16;
/// What the functions about trees return for a tree that does not exist.
pub const NO_TREE: u64 = u64::MAX;

/// Turns of the random generator that the app `coarse` calls a job; returns its state.
// SAFETY: no other function of this library or its dependencies has this name.
#[unsafe(no_mangle)]
pub extern "C" fn peers_spin(turns: u64, seed: u64) -> u64 {
    coarse::spin(turns, seed)
}

/// The solutions for `size` queens, 1 to 27, of which the first `rows` stand where `prefix` says, with [`COLUMN_BITS`] bits
/// for each row's column, the first row's lowest. 0 if two of these attack one another. `rows` is at most [`ROWS_MAX`], and
/// less than `size`.
// SAFETY: no other function of this library or its dependencies has this name.
#[unsafe(no_mangle)]
pub extern "C" fn peers_queens(size: u32, rows: u32, prefix: u64) -> u64 {
    let mut board = Board::empty(size);
    for row in 0..rows {
        let column = 1_u32 << ((prefix >> (COLUMN_BITS * row)) & 31);
        if board.free_columns() & column == 0 {
            return 0;
        }
        board = board.with_queen(column);
    }
    board.solutions(board.free_columns())
}

/// The number of nodes below and at the node of the tree T`tree` that `path` leads to from the root, in `depth` steps, at
/// most 4, with [`INDEX_BITS`] bits for each step's index, the first step's lowest.
// SAFETY: no other function of this library or its dependencies has this name.
#[unsafe(no_mangle)]
pub extern "C" fn peers_uts(tree: u64, depth: u32, path: u64) -> u64 {
    node(tree, depth, path).map_or(NO_TREE, uts::count)
}

/// The number of children of that node.
// SAFETY: no other function of this library or its dependencies has this name.
#[unsafe(no_mangle)]
pub extern "C" fn peers_uts_children(tree: u64, depth: u32, path: u64) -> u64 {
    node(tree, depth, path).map_or(NO_TREE, |node| u64::from(node.children()))
}

fn node(tree: u64, depth: u32, path: u64) -> Option<Node> {
    let index = |step| ((path >> (INDEX_BITS * step)) & 0xffff) as u32;
    let tree = Tree::of(tree)?;
    Some((0..depth).fold(tree.root(), |node, step| node.child(index(step))))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All prefixes of two rows, attacked or not.
    fn prefixes(size: u64) -> impl Iterator<Item = u64> {
        (0..size).flat_map(move |first| (0..size).map(move |second| first | second << COLUMN_BITS))
    }

    #[test]
    fn prefixes_of_two_rows_have_all_solutions() {
        assert_eq!(peers_queens(8, 0, 0), 92);
        assert_eq!(prefixes(8).map(|prefix| peers_queens(8, 2, prefix)).sum::<u64>(), 92);
    }

    #[test]
    fn attacked_prefixes_have_none() {
        assert_eq!(peers_queens(8, 2, 3 | 3 << COLUMN_BITS), 0);
        assert_eq!(peers_queens(8, 2, 3 | 4 << COLUMN_BITS), 0);
    }

    #[test]
    fn children_and_their_root_are_the_tree() {
        for tree in [1, 3] {
            let children = peers_uts_children(tree, 0, 0);
            let nodes = 1 + (0..children).map(|index| peers_uts(tree, 1, index)).sum::<u64>();
            assert_eq!(Some(nodes), Tree::of(tree).map(Tree::nodes));
        }
        assert_eq!((peers_uts(2, 0, 0), peers_uts_children(2, 0, 0)), (NO_TREE, NO_TREE));
    }

    #[test]
    fn a_spin_is_the_apps_own() {
        assert_eq!(peers_spin(1000, 7), coarse::spin(1000, 7));
        assert_ne!(peers_spin(1000, 7), peers_spin(1001, 7));
    }
}
