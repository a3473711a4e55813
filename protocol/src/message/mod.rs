//! The messages, one enum for each direction.
//!
//! ```text
//! host ──► coordinator   ToCoordinator   hello, entries, counts, the root's result, …
//! coordinator ──► host   ToHost          welcome, who is there, runs, the root job, …
//! host ◄─► host          PeerMessage     steals, jobs, results, reconciliation
//! ```
//!
//! **A steal**: `Steal` → `Job` or `Nothing`; later `Result` → `Received`.
//!
//! **Lost messages.** Links may break and relays may restart, so nothing relies on delivery. Every
//! second each thief tells each owner what it holds and which requests it waits for (`Holding`). The
//! owner answers `Unknown` for jobs that it does not know, and takes back what it lent and the thief
//! neither holds nor waits for. Results are repeated until `Received`.
//!
//! **Who knows whom.** A host knows a part of a large grid, and is known by it. Only acquaintances lend one
//! another jobs; before the coordinator names a host in an entry, it makes the two acquainted.
//!
//! **A crash**: the coordinator says `Hosts { gone, … }` to all who knew it. Each sends the entries of its
//! orphans and then `Recovered`. Owners of lost jobs ask `Find`, are answered when all have recovered,
//! and redo what is neither done nor running; what runs they `Adopt`.
//!
//! **Shared objects**: a host ships its updates to all that it knows to have a replica (`Updates`). A thief
//! fetches the replicas that a job needs (`FetchReplica` → `Replica` or `NotShared`) and makes itself known
//! to those who have one by `Versions`, with which all compare their replicas now and then: who has more
//! sends it, so what was lost heals, whoever made it.

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
