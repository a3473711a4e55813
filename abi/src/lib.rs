//! Names, numbers and places in guest memory that a guest and its host must agree on. `docs/abi.md` explains them. The
//! SDK, hosts and the inspection of modules use them from here; `cargo xtask abi` writes them into the SDKs for C and
//! AssemblyScript.
#![no_std]

pub mod answer;
mod fault;
pub mod import;
pub mod kind;
mod moment;
pub mod outcome;
pub mod shared;
pub mod stack;
pub mod word;

pub use fault::Fault;
pub use moment::Moment;

/// The version that this release supports.
pub const VERSION: u32 = 1;
/// Prefix of the export that states the version, which follows the prefix.
pub const VERSION_PREFIX: &str = "sateen_abi_";
/// Prefix of a job's export, before the job's name.
pub const JOB_PREFIX: &str = "sateen_job_";
/// Prefix of an entry point's export, before its name.
pub const MAIN_PREFIX: &str = "sateen_main_";
/// Prefix of the export that makes a value of the inputs alone, before the name of its function.
pub const PREPARE_PREFIX: &str = "sateen_prepare_";
/// Prefix of the export that returns a job's shapes, before the job's name.
pub const SHAPE_PREFIX: &str = "sateen_shape_";
/// The export that the import `attempt` calls.
pub const ATTEMPT: &str = "sateen_attempt";
