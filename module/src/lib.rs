//! What an app's module is, read from its bytes without running any of them: what hosts run and what
//! coordinators publish. Both ask here, so that what is published can be run.
#![forbid(unsafe_code)]

mod abi;
mod inspect;
mod limits;
mod mention;
mod pitfall;
mod read;
mod shape;

pub use abi::FEATURES;
pub use inspect::{Determinism, Export, Import, Inspection, inspect};
pub use limits::{ModuleLimits, size};
pub use mention::mentions;
pub use pitfall::Pitfall;
pub use shape::{Fields, JobShape, Plain, SHAPES_SECTION, Shape};
