//! Work stealing between the workers of one host, and its interface to other hosts. `README.md` describes the
//! algorithm.

mod activity;
mod claims;
mod demand;
mod deques;
mod ending;
mod figures;
mod grain;
mod hunger;
mod idle;
mod inputs;
mod job;
mod keys;
mod metronome;
mod objects;
mod pause;
mod permits;
mod place;
mod priority;
mod registry;
mod remote;
mod room;
mod tasks;
mod tempo;
mod threads;
mod turns;
mod updates;
mod worker;

pub use activity::Doing;
pub use deques::own_index;
pub use ending::Ending;
pub use figures::{JobCounts, Snapshot};
pub use hunger::Alarm;
pub use job::{Job, Outcome, ROOT, Task};
pub use keys::{Keys, LazyKey};
pub use metronome::Metronome;
pub use objects::{Behind, Object, ObjectFigures};
pub use place::{Ancestry, Place};
pub use priority::Priority;
pub use registry::{Grid, RegistryParts, Settings};
pub use remote::{Registry, Remote, RemoteParts};
pub use tasks::TaskId;
pub use tempo::CALM;
pub use threads::Threads;
pub use turns::{Turns, end_turn, is_turn_over};
pub use worker::{begin_task, start_task};
