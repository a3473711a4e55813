//! `cargo xtask test`: every test.

use anyhow::Result;

use crate::build::build_with_tests;
use crate::shell::{cargo, run};

/// Builds the apps, which tests run, then tests everything.
pub fn test() -> Result<()> {
    build_with_tests()?;
    // The apps and the SDK for this machine, and the runtime: optimised, for the engine's compiler
    // would otherwise take minutes over each module.
    run(cargo(["test", "--release", "--locked", "--workspace", "--all-targets"]))?;
    run(cargo(["test", "--release", "--locked", "--workspace", "--doc"]))
}
