//! Runs whose guests are in processes of their own.
//!
//! The host is the supervisor: it has the network, the store, the keys, the page, and code that it compiles in other
//! processes. For each run it starts a process of the same program, which has an engine, workers and a portion, and
//! nothing else; all that it can do is talk to its host.
//!
//! ```text
//! driver ─► PortionApart ─► mailbox ──┐                       ┌─► child ─► Portion: workers, guests
//!                                     ├─ channel: sockets, ───┤
//! driver ◄─ notify ◄─ check ◄─ Reader ┘   sealed memory       └─◄ outbox ◄─ notices, counts
//!                              │
//!               pools: turns and memory of all processes ◄─ watch: what each really takes
//! ```
//!
//! What runs share in one process stays shared: the host lends turns and memory to the processes, and takes them back.
//! Nothing of the memory of two processes is shared, so none can disturb another.
//!
//! A process that ends, or is killed as it broke the rules, is a crash of the portion: its jobs are done again, and the run
//! begins here in another process. A module that has ended three of them is refused.

mod cgroups;
mod channel;
mod check;
mod child;
mod inherited;
mod mailbox;
mod member;
mod memory;
mod outbox;
mod pools;
mod portion;
mod process;
mod reader;
mod runtime;
mod sealed;
mod stock;
mod strikes;
mod turns;
mod watch;
mod wire;

pub use child::{GUESTS_COMMAND, run_guests};
pub use runtime::Apart;
