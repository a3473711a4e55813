//! Work stealing between the workers of one host, and its seams to other hosts. The algorithm is told in
//! `README.md`.

mod activity;
mod figures;
mod grain;
mod idle;
mod job;
mod keys;
mod objects;
mod pause;
mod permits;
mod place;
mod priority;
mod remote;
mod shared;
mod tempo;
mod threads;
mod turns;
mod worker;

pub use activity::Doing;
pub use figures::{JobCounts, Snapshot};
pub use job::{Job, Outcome, Waited, wait_for, wait_until};
pub use keys::{Keys, LazyKey};
pub use objects::{Behind, Object, ObjectFigures, wait_for_objects};
pub use place::{Ancestry, Place};
pub use priority::Priority;
pub use remote::{ROOT, Remote, RemoteParts};
pub use shared::{Alarm, Ending, Shared, SharedParts, TaskId};
pub use tempo::{CALM, Metronome};
pub use threads::Threads;
pub use turns::{Turns, end_turn, is_turn_over};
pub use worker::{Task, begin_task, own_index, run_worker, start_task};
