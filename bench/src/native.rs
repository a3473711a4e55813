//! The native baselines: `fib` written with rayon and with chili, N-queens and UTS with rayon.

use std::num::NonZero;

use anyhow::{Context, Result};
use nqueens::Board;
use rayon::prelude::*;

/// `fib(n)`, one join for each addition, as in rayon's and chili's own examples.
pub fn rayon_fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (left, right) = rayon::join(|| rayon_fib(n - 1), || rayon_fib(n - 2));
    left + right
}

/// As [`rayon_fib`], with chili.
pub fn chili_fib(scope: &mut chili::Scope<'_>, n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (left, right) = scope.join(|scope| chili_fib(scope, n - 1), |scope| chili_fib(scope, n - 2));
    left + right
}

/// `fib(n)` without joins: the same function that the sandbox runs.
pub use fib::fib_plain as plain_fib;

/// Eight words, as the app's own wide parameter.
#[derive(Clone, Copy)]
pub struct Wide {
    n: u64,
    rest: [u64; 7],
}

impl Wide {
    /// All words derived from `n`.
    pub fn new(n: u64) -> Self {
        Self { n, rest: [n ^ 1, n ^ 2, n ^ 3, n ^ 4, n ^ 5, n ^ 6, n ^ 7] }
    }
}

/// Returns `n`, checked against the words that [`Wide::new`] derived from it, so that none can be optimised away.
fn checked_word(n: u64, rest: [u64; 7]) -> u64 {
    if rest.iter().fold(0, |sum, word| sum ^ word) == n { n } else { u64::MAX }
}

/// `fib(n)` with joins that carry 64 bytes to each side.
pub fn rayon_wide_fib(wide: Wide) -> u64 {
    let Wide { n, rest } = wide;
    if n < 2 {
        return checked_word(n, rest);
    }
    let (left, right) = (Wide::new(n - 1), Wide::new(n - 2));
    let (left, right) = rayon::join(move || rayon_wide_fib(left), move || rayon_wide_fib(right));
    left + right
}

/// As [`rayon_wide_fib`], without joins.
#[inline(never)]
pub fn plain_wide_fib(wide: Wide) -> u64 {
    let Wide { n, rest } = wide;
    if n < 2 {
        return checked_word(n, rest);
    }
    let left = plain_wide_fib(Wide::new(n - 1));
    let right = plain_wide_fib(Wide::new(n - 2));
    left + right
}

/// The solutions below `board`, with a parallel iterator over the columns of each of the next `rows` rows,
/// which are not all of its rows.
pub fn rayon_queens(board: Board, rows: u32) -> u64 {
    if rows == 0 {
        return board.solutions(board.free_columns());
    }
    let columns: Vec<u32> = board.each_free_column().collect();
    columns.into_par_iter().map(|column| rayon_queens(board.with_queen(column), rows - 1)).sum()
}

/// The nodes in the subtrees of the children `first` to `end` of `node`, which are not none: as the app, with joins.
pub fn rayon_uts(node: uts::Node, first: u32, end: u32) -> u64 {
    if end - first == 1 {
        let child = node.child(first);
        return 1 + match child.children() {
            0 => 0,
            children => rayon_uts(child, 0, children),
        };
    }
    let middle = first.midpoint(end);
    let (nodes, others) = rayon::join(|| rayon_uts(node, first, middle), || rayon_uts(node, middle, end));
    nodes + others
}

/// Room for the deepest tree, whose branches are frames of a thread's stack.
const STACK_BYTES: usize = 256 << 20;

/// A rayon pool of `threads` threads.
pub fn rayon_pool(threads: usize) -> Result<rayon::ThreadPool> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).stack_size(STACK_BYTES);
    pool.build().context("rayon gets no threads")
}

/// A chili pool of `threads` threads, including its caller's.
pub fn chili_pool(threads: NonZero<usize>) -> chili::ThreadPool {
    chili::ThreadPool::with_config(chili::Config { thread_count: Some(threads), ..chili::Config::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_baselines_give_fibonacci_numbers() {
        let pool = chili_pool(NonZero::<usize>::MIN);
        assert_eq!(rayon_fib(20), 6765);
        assert_eq!(chili_fib(&mut pool.scope(), 20), 6765);
        assert_eq!(plain_fib(20), 6765);
        assert_eq!(rayon_wide_fib(Wide::new(20)), 6765);
        assert_eq!(plain_wide_fib(Wide::new(20)), 6765);
    }

    #[test]
    fn trees_have_all_their_nodes() {
        let pool = rayon_pool(2).expect("threads");
        for tree in [uts::Tree::T1, uts::Tree::T3] {
            let root = tree.root();
            let below = pool.install(|| rayon_uts(root, 0, root.children()));
            assert_eq!(1 + below, tree.nodes(), "{tree:?}");
        }
    }

    #[test]
    fn queens_are_counted_at_any_depth() {
        for rows in 0..=4 {
            assert_eq!(rayon_queens(Board::empty(8), rows), 92, "{rows} rows");
        }
    }
}
