//! From a module's bytes to an app that can run: inspected, compiled once, and cached.

mod app;
mod cache;
mod inspect;
mod read;

pub use app::App;
pub use cache::ModuleCache;
pub use inspect::{Determinism, Export, Import, Inspection, inspect};
