//! The runtime of Sateen: it loads an app, an untrusted wasm module, into a sandbox and runs its
//! jobs on this machine's cores.
//!
//! ```
//! use sateen_host::{App, Engine, Limits, Output, Run, RunOptions};
//!
//! # let bytes = wat::parse_str(r#"(module (import "sateen" "take" (func (param i32)))
//! #   (memory (export "memory") 1) (data (i32.const 64) "\00\0242")
//! #   (func (export "sateen_abi_1"))
//! #   (func (export "sateen_main_main") (param i32) (result i64) (i64.const 0x4000000004)))"#).unwrap();
//! let engine = Engine::new(&Limits::default(), false)?;
//! let app = App::load(&engine, &bytes, None)?;
//! let run = Run::start(&app, RunOptions { arguments: vec!["8".into()], ..RunOptions::default() })?;
//! let finished = run.wait()?;
//! assert_eq!(finished.output, Output::Text("42".into()));
//! # Ok::<(), sateen_host::RunError>(())
//! ```
//!
//! * [`Engine`] is wasmtime, set up so that guests are deterministic and bounded by [`Limits`].
//! * [`App`] is a module that was [inspected](inspect()) and, if necessary, compiled.
//! * [`Run`] runs an entry point on some threads; `scheduler/README.md` explains how.
//! * [`Portion`] is this host's portion of a run that is spread over many.
//! * [`grid`] lets a volunteer's host take part in a grid.
#![deny(unsafe_code)] // except for a few calls, each with its reason

mod engine;
mod failure;
#[cfg(unix)]
pub mod grid;
mod guest;
mod limits;
mod memory;
mod module;
mod portion;
#[cfg(unix)]
mod run;
mod scheduler;
mod self_test;

pub use engine::Engine;
pub use failure::{JobFailure, RunError};
pub use guest::{LogLine, PerSandbox, ProfileLevel, ProgramProfile};
pub use limits::{LimitExceeded, Limits, size};
pub use memory::HostMemory;
pub use module::{App, ModuleCache, inspect};
#[cfg(unix)]
pub use module::{Attempts, COMPILE_COMMAND, Compiler, compile_module};
pub use portion::{Notice, Portion, PortionOptions, RunCommand};
pub use run::{Canceller, Finished, Output, Run, RunOptions};
pub use sateen_abi::SHAPE_PREFIX;
pub use sateen_module::{
    Determinism, Export, Import, Inspection, JobShape, Pitfall, SHAPES_SECTION, crates_with, mentions,
};
pub use scheduler::{JobCounts, ObjectFigures, Priority, Snapshot, Turns};
pub use self_test::{Passed, SelfTestError, self_test, self_test_daily};
