//! From a module's bytes to an app that can run: inspected (see `sateen_module`), compiled once, and
//! cached.

mod app;
mod cache;

pub use app::App;
pub use cache::ModuleCache;

use sateen_module::Inspection;

use crate::limits::Limits;

/// Inspects the module `bytes` as if it were to run under `limits`.
pub fn inspect(bytes: &[u8], limits: &Limits) -> Inspection {
    sateen_module::inspect(bytes, &limits.of_module())
}
