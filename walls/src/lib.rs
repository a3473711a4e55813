//! Walls by the system around a process that runs strangers' code.
//!
//! The wasm engine is the first wall around an app. This crate is the second: a process calls [`raise`] on itself, and from
//! then on the system refuses it everything that computing does not need, whatever bug of the engine an app may find. There is
//! no way back.
//!
//! ```text
//! engine made, module loaded ──► raise(options) ──► threads started ──► strangers' code runs
//! ```
//!
//! * **The code is loaded before**, since no memory can be made executable afterwards: an app that breaks out cannot add code.
//! * **Threads start after**, since Linux before version 7.0 takes files and capabilities from one thread only, and the network
//!   from a process with one thread only. Threads inherit all walls. The filter of system calls holds for all threads in
//!   any case.
//! * **The main thread calls it**, since the signal at the parent's death belongs to the thread that asked for it.
//! * **The parent's thread that started the process lives as long as the parent**: Linux sends the signal when that *thread*
//!   ends. So do not start the process from a thread of a pool.
//!
//! [`Report`] says of each [`Wall`] whether it is up, or why not. Elsewhere than on Linux, none is.
//!
//! # What is allowed, and how the rest is refused
//!
//! The filter allows what a wasmtime process with many threads needs: memory that is not executable, threads, futexes, signals
//! to itself, clocks and timers, and reading and writing descriptors that it has (`linux/calls.rs`). The rest fails with
//! `EPERM`, which programs can live with: a library that wants a file, a socket or a process gets the error that it is not
//! permitted, and the run continues. System calls that no library makes by itself, such as `ptrace`, `bpf` or `execve`, are
//! evidence that the process was taken over. They kill it at once ([`is_breach`]), so nobody can try the next one.
#![deny(unsafe_code)] // except for two calls, each with its reason

#[cfg(not(target_os = "linux"))]
mod elsewhere;
#[cfg(target_os = "linux")]
mod linux;
mod options;
mod report;

use std::process::ExitStatus;

#[cfg(not(target_os = "linux"))]
use elsewhere as system;
#[cfg(target_os = "linux")]
use linux as system;
pub use options::Options;
pub use report::{Incomplete, Report, Standing, Wall};

/// Raises all walls around this process, as far as the system can. What it cannot do is in the report, and the process
/// continues without; see [`Report::require`]. To be called once.
#[must_use = "walls that are not up are only reported"]
pub fn raise(options: &Options) -> Report {
    system::raise(options)
}

/// Whether a process with this status was killed for a system call that only an attack makes.
pub fn is_breach(status: ExitStatus) -> bool {
    system::is_breach(status)
}
