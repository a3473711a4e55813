//! One instance of an app: its imports, its heartbeat, and the job that it runs.

mod any;
mod aside;
mod catch_up;
mod children;
mod clock;
mod control_words;
mod exposure;
mod failing;
mod grain;
mod guards;
mod heartbeat;
mod imports;
mod jobs;
mod kinds;
mod limiter;
mod memory;
mod news;
mod objects;
mod offered;
mod own_job;
mod pace;
mod profile;
mod profiler;
mod recordings;
mod rest;
mod state;
mod stopped;
mod task;
mod waiting;

pub use aside::PerSandbox;
pub use imports::linker;
pub use own_job::Assignment;
pub use profiler::{ProfileLevel, Profiler, ProgramProfile};
pub use state::{Guest, LogLine};
pub use task::{TaskEnd, run_task};
