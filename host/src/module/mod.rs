//! From a module's bytes to an app that can run: inspected (see `sateen_module`), compiled once, and
//! cached.

mod app;
#[cfg(unix)]
mod attempts;
mod cache;
#[cfg(unix)]
mod compiler;
mod image;
#[cfg(target_os = "linux")]
mod mapped;
#[cfg(not(target_os = "linux"))]
#[path = "unmapped.rs"]
mod mapped;
mod pages;
mod preparation;
#[cfg(unix)]
mod program;
mod words;

pub use app::{App, encode_arguments};
#[cfg(unix)]
pub use attempts::Attempts;
pub use cache::ModuleCache;
#[cfg(unix)]
pub use compiler::{COMPILE_COMMAND, Compiler, compile_module};

pub use image::{Blank, Image, values as global_values};
pub use mapped::Mapped;
pub use pages::Page;
pub use words::Words;

use sateen_module::Inspection;

use crate::limits::Limits;

/// The unit in which memories are compared.
const PART_BYTES: usize = 4 << 10;

/// Inspects the module `bytes` as if it should run under `limits`.
pub fn inspect(bytes: &[u8], limits: &Limits) -> Inspection {
    sateen_module::inspect(bytes, &limits.of_module())
}
