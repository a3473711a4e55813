//! The grid protocol's state machines in virtual time.
//!
//! The same `Host` and `Coordinator` that run in the real programs run here on one thread, driven by a
//! heap of events. One seed derives everything: the grid, the runs, the faults, every delay. Equal seeds
//! give equal traces. [`seed`] checks laws ([`invariants`]) under random faults; [`experiments`] repeats
//! the papers' measurements with more hosts than are available.

pub mod arguments;
mod by_id;
pub mod digest;
mod drive;
pub mod event;
pub mod experiments;
mod extra;
pub mod families;
pub mod faults;
pub mod invariants;
pub mod network;
pub mod pipes;
pub mod process;
pub mod recorded;
pub mod runtime;
pub mod schedule;
pub mod seed;
mod sending;
pub mod server;
pub mod sometimes;
pub mod sweep;
pub mod tree;
pub mod world;
