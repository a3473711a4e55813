//! One instance of an app: its imports, its heartbeat, and the job that it runs.

mod any;
mod aside;
mod catch_up;
mod clock;
mod grain;
mod heartbeat;
mod imports;
mod memory;
mod objects;
mod pace;
mod profile;
mod rest;
mod state;
mod stopped;
mod task;

pub use aside::PerSandbox;
pub use imports::linker;
pub use profile::{ProfileLevel, Profiler, ProgramProfile};
pub use state::{Guest, LogLine};
pub use task::{Assignment, TaskEnd, run_task};
