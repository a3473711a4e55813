//! The tests' own apps as modules.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use crate::command::sateen;
use crate::{kept, root};

/// The path of the probe app's module, which the first call builds.
pub fn module_path() -> &'static Path {
    static PATH: OnceLock<Option<PathBuf>> = OnceLock::new();
    PATH.get_or_init(|| built("probe")).as_ref().expect("the probe app can be built")
}

/// The path of the module of the app with awkward types, which the first call builds.
pub fn awkward_path() -> &'static Path {
    static PATH: OnceLock<Option<PathBuf>> = OnceLock::new();
    PATH.get_or_init(|| built("awkward")).as_ref().expect("the app with awkward types can be built")
}

/// Builds the app in `tests/apps/NAME` as its author would.
fn built(name: &str) -> Option<PathBuf> {
    let module = kept().join(format!("{name}.wasm"));
    let built = Command::new(sateen())
        .args(["build", "--manifest-path"])
        .arg(root().join("tests/apps").join(name).join("Cargo.toml"))
        .arg("--output")
        .arg(&module)
        // A separate folder, as the process that runs these tests may hold the usual folder's lock.
        .env("CARGO_TARGET_DIR", kept().join("apps"))
        .stdout(Stdio::null())
        .status();
    built.is_ok_and(|status| status.success()).then_some(module)
}

/// The probe app's module.
pub fn module() -> &'static [u8] {
    static BYTES: OnceLock<Vec<u8>> = OnceLock::new();
    BYTES.get_or_init(|| std::fs::read(module_path()).expect("the module was just built"))
}
