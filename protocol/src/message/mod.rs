//! The messages, one enum for each direction.
//!
//! ```text
//! host ──► coordinator   ToCoordinator   hello, entries, counts, the root's result, …
//! coordinator ──► host   ToHost          welcome, other hosts, runs, the root job, …
//! host ◄─► host          PeerMessage     steals, jobs, results, reconciliation
//! ```
//!
//! **A hello**: `Challenge` → `Hello` and `Proof` → `Welcome` or `Refused`.
//!
//! **A steal**: `Steal` → `Job`, `Jobs` or `Nothing`; later `Result` → `Received` for each job.
//!
//! **Lost messages.** Links may break and relays may restart, so nothing relies on delivery. Every second each thief
//! reports to each owner which of its jobs it holds and which requests it waits for (`Holding`). The owner answers `Unknown`
//! for jobs that it does not know, and takes back lent jobs that the thief neither holds nor waits for. Results are
//! repeated until `Received`.
//!
//! **Acquaintances.** In a large grid, a host knows only some of the others, and these know it. Only acquaintances lend
//! one another jobs. Before the coordinator sends a host an entry that names another one, it introduces the two.
//!
//! **A crash**: the coordinator sends `Hosts { gone, … }` to all hosts that knew the crashed one. Each answers with the
//! entries of its orphans and then with `Recovered`. Owners of lost jobs send `Find`, which is answered when all have
//! recovered. They redo jobs that are neither done nor running, and `Adopt` those that are running.
//!
//! **Shared objects**: a host sends its updates to all hosts that it knows to have a replica (`Updates`). A thief
//! fetches the replicas that a job needs (`FetchReplica` → `Replica` or `NotShared`) and announces its own with
//! `Versions`. With `Versions`, hosts also compare their replicas at intervals: a host that has more updates sends
//! them, so lost updates arrive in the end, from whichever host has them.

mod coordinator;
pub mod direct;
mod host;
mod peer;
mod texts;

pub use coordinator::{
    HostInfo, HostReport, JobNote, LogLine, NoteKind, RootClaim, ToCoordinator, WorkerTimes,
};
pub use host::{Departure, ToHost};
pub use peer::PeerMessage;
