//! Write divide-and-conquer programs as ordinary recursive functions, mark those that may run
//! elsewhere, and let a grid of volunteers run them.
//!
//! ```
//! # mod app {
//! use sateen::prelude::*;
//!
//! #[job]
//! fn fib(n: u64) -> u64 {
//!     if n < 2 {
//!         return n;
//!     }
//!     let left = fib::spawn(n - 1); // may be stolen from here on
//!     let right = fib(n - 2); // an ordinary call
//!     left.sync() + right
//! }
//!
//! #[main]
//! fn main(n: u64) -> u64 {
//!     fib(n)
//! }
//! # pub fn check() { assert_eq!(main(20), 6765); }
//! # }
//! # fn main() { app::check(); }
//! ```
//!
//! Spawning costs a few nanoseconds, because a spawned job is *latent*: a record in the app's own memory that
//! its sync pops and calls like any function. Only if a worker is idle, the oldest latent job is *exposed*: its
//! parameters are serialised, and it may run in a fresh sandbox on another core or another machine.
//!
//! # What an app may count on
//! * **Serial elision.** Take the spawns away and the program means the same. Compiled for this
//!   machine rather than for wasm, jobs simply run at their sync: `cargo test` needs no grid.
//! * **Any order.** A handle may be kept, moved and synced in any order. The last spawned first is
//!   the cheapest. A handle dropped without a sync aborts its job.
//! * **Results as they come.** A [`JobSet`] returns its jobs' results in the order in which they finish, and
//!   aborts the rest when it is dropped: for searches that end with the first answer, and for trees of
//!   which one branch makes others useless. A [`Stream`] does so for more jobs than memory holds.
//! * **Errors travel.** A panic in a job reaches its parent's sync, whichever machine it ran on:
//!   [`Spawned::sync`] passes it on, [`Spawned::try_sync`] returns it.
//!
//! `#[job] fn work` makes a function and a type named `work`, so no module beside it can have that name.
//!
//! # What an app must keep
//! A job is a function of its parameters and the run's [inputs](input()), and of nothing else. Jobs communicate
//! only through [`Shared`] objects. There is no clock, no randomness and no file. A job that runs elsewhere
//! starts with fresh statics, so a static may only hold values that can be computed again (a table); see
//! [`per_sandbox`]. Mark what is made of the inputs alone with [`#[prepare]`](macro@prepare): each host makes it once.
//!
//! Parameters and results must survive their encoding, which has no field names. So serde's `skip_serializing_if`,
//! `flatten`, `untagged` and `tag`, `skip` of fields with a value, numbers that are written shorter than they are,
//! and types such as `serde_json::Value` cannot be used. In tests every parameter and result is encoded, decoded
//! and compared, and the error names the value that is lost. They are compared by `PartialEq`, else by `Debug`; a
//! type that has neither does not compile. Optimised tests do not check this, unless the feature `checks` is on.
//!
//! The standard library's `HashMap` and `HashSet` iterate in another order in each sandbox. A result must not
//! depend on that order: use [`HashMap`] and [`HashSet`], which encode their entries in the order of insertion,
//! or a `BTreeMap`.
//!
//! Tests marked with [`#[sateen::test]`](macro@crate::test) run in sandboxes as well: `sateen test` compares the values
//! that they return on one worker, on several, and with every job in an instance of its own, with those that they
//! return on this machine.

#![deny(unsafe_code)] // elsewhere than in `wasm`

// The proc-macros name this crate by its public path, also in its own tests and examples.
extern crate self as sateen;

mod argument;
mod codec;
mod collections;
mod error;
mod input;
mod job;
mod output;
mod prepared;
mod random;
mod report;
mod sandbox;
mod set;
#[cfg(any(target_family = "wasm", test))]
mod shape;
mod shared;
pub mod testing;

#[cfg(not(target_family = "wasm"))]
mod native;
#[cfg(target_family = "wasm")]
#[doc(hidden)]
#[allow(unsafe_code)]
pub mod wasm;

pub use argument::{Argument, Arguments};
#[doc(hidden)]
pub use codec::lost;
pub use collections::{HashMap, HashSet};
pub use error::{BadInput, JobError};
pub use input::{input, input_text};
pub use job::{Job, Spawned, SpawnedAll, SyncAll};
pub use output::{Outcome, Output};
#[doc(hidden)]
pub use prepared::Prepared;
pub use random::SplitMix64;
pub use report::{log_line, progress};
pub use sandbox::per_sandbox;
pub use sateen_macros::{job, main, prepare, shared, test, update};
pub use set::{JobSet, Stream};
pub use shared::{Reading, Shared, SharedObject};
#[doc(hidden)]
pub use shared::{Replica, Updates, decode_arguments};

/// What nearly every app needs.
pub mod prelude {
    pub use crate::{
        BadInput, JobError, JobSet, Shared, Spawned, SyncAll, job, main, prepare, shared, update,
    };
}
