//! Inspects an app's module, reading its bytes without running them. Coordinators inspect modules before they publish
//! them, and hosts before they run them: both use this crate, so that every published module can be run.
#![forbid(unsafe_code)]

mod abi;
mod inspect;
mod limits;
mod mention;
mod pitfall;
mod read;
mod shape;
mod state;
mod users;

pub use abi::FEATURES;
pub use inspect::{Determinism, Export, Import, Inspection, inspect};
pub use limits::{ModuleLimits, TABLE_ELEMENTS_MAX, size, sizes};
pub use mention::mentions;
pub use pitfall::Pitfall;
pub use shape::{Fields, JobShape, Plain, SHAPES_SECTION, Shape};
pub use state::{has_start, hidden_state};
pub use users::crates_with;
