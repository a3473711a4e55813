//! Sateen beside Ray, Dask.distributed, HyperQueue and rayon: the same problems on the same machine, with two workers each.
//!
//! Systems take turns. In each round, each system starts, warms up, is measured and stops, so that nothing of another one
//! runs meanwhile; the order rotates. Tasks of all systems call the same Rust functions: compiled for this machine for
//! rayon and, as a dynamic library or a program, for the others' tasks; in the sandbox for Sateen.

mod bag;
mod install;
mod kill;
mod queens;
mod rounds;
mod session;
mod system;
mod trees;

use crate::parts::Part;

const BENCH: &str = "peers";

/// Its parts.
pub const PARTS: [Part; 5] = [
    ("queens", queens::by_hand),
    ("deep", queens::deep),
    ("uts", trees::bench),
    ("bag", bag::bench),
    ("kill", kill::bench),
];
