//! Work stealing between the workers of one host. The algorithm is told in `README.md`.

mod idle;
mod job;
mod permits;
mod shared;
mod worker;

pub use job::{Job, wait_for};
pub use shared::{Ending, JobCounts, Shared, SharedParts, Snapshot, TaskId};
pub use worker::{run_worker, start_task};
