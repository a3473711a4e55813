//! What a guest and its host must agree on: names, numbers, and places in the guest's memory. `docs/abi.md` tells what they
//! mean. The SDK, hosts and those who check modules take them from here; so do the SDKs for C and AssemblyScript, into which
//! `cargo xtask abi` writes them.
#![no_std]

pub mod answer;
mod fault;
pub mod import;
pub mod kind;
mod moment;
pub mod outcome;
pub mod shared;
pub mod word;

pub use fault::Fault;
pub use moment::Moment;

/// The version that this release speaks.
pub const VERSION: u32 = 1;
/// What the export that tells the version begins with, before the version.
pub const VERSION_PREFIX: &str = "sateen_abi_";
/// What a job's export begins with, before its name.
pub const JOB_PREFIX: &str = "sateen_job_";
/// What an entry point's export begins with, before its name.
pub const MAIN_PREFIX: &str = "sateen_main_";
/// What the export that tells the shapes of a job begins with, before its name.
pub const SHAPE_PREFIX: &str = "sateen_shape_";
/// The export that the import `attempt` calls.
pub const ATTEMPT: &str = "sateen_attempt";
