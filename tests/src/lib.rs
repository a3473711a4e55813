//! Code shared by this crate's tests: the probe app, the built command, clusters of real processes,
//! hostile modules, and numbers derived from a seed.
//!
//! The probe app (`tests/apps/probe`) and the app with awkward types (`tests/apps/awkward`) are built once per process
//! by `dist/sateen build`, as a user would build them, and are linked natively as well: run without a grid, they return
//! the expected answers.

#[cfg(unix)]
pub mod cluster;
pub mod command;
#[cfg(unix)]
pub mod forged_host;
#[cfg(unix)]
pub mod forged_peer;
pub mod grid;
#[cfg(unix)]
pub mod guests;
pub mod hostile;
#[cfg(unix)]
pub mod lying_host;
pub mod memory;
pub mod probe;
pub mod proxy;
pub mod random;
#[cfg(unix)]
pub mod real_host;
pub mod wat;
#[cfg(unix)]
pub mod watcher;
pub mod websocket;

use std::path::{Path, PathBuf};

/// The repo's top folder.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("this crate is in a folder of the repo")
}

/// A folder for files that tests build and keep for their next run.
pub fn kept() -> PathBuf {
    let folder = root().join("target/tests");
    std::fs::create_dir_all(&folder).expect("target/ can be written");
    folder
}
