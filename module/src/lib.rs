//! What an app's module is, read from its bytes without running any of them: what hosts run and what
//! coordinators publish. Both ask here, so that what is published can be run.
#![forbid(unsafe_code)]

mod abi;
mod inspect;
mod limits;
mod pitfall;
mod read;

pub use abi::{ABI_PREFIX, ABI_VERSION, FEATURES, IMPORT_MODULE, IMPORTS, JOB_PREFIX, MAIN_PREFIX};
pub use inspect::{Determinism, Export, Import, Inspection, inspect};
pub use limits::{ModuleLimits, size};
pub use pitfall::Pitfall;
