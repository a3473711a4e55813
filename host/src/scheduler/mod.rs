//! Work stealing between the workers of one host. The algorithm is told in `README.md`.

mod figures;
mod idle;
mod job;
mod permits;
mod shared;
mod worker;

pub use figures::{JobCounts, Snapshot};
pub use job::{Job, wait_for};
pub use shared::{Ending, Shared, SharedParts, TaskId};
pub use worker::{run_worker, start_task};
