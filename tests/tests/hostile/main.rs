//! Hostile modules end with a clear error of the right kind, and the host continues. No contents or actions of a
//! module may make the host panic, hang, or run it without limits.

mod alone;
mod bytes;
#[cfg(target_os = "linux")]
mod cancelled;
#[cfg(target_os = "linux")]
mod compiling;
#[cfg(target_os = "linux")]
mod guests;
#[cfg(target_os = "linux")]
mod host_memory;
mod imports;
mod jobs;
#[cfg(target_os = "linux")]
mod logs;
mod prepares;
#[cfg(target_os = "linux")]
mod real_host;
mod refusals;
mod resources;
mod results;
mod starts;
