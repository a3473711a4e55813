//! The grid protocol of Sateen as a sans-I/O state machine.
//!
//! [`host::Host`] is the state machine of a volunteer's host, [`coordinator::Coordinator`] that of the coordinator.
//! Neither knows sockets, files, threads or clocks. Both have the same surface, in this order: getters; `handle_…`
//! for events from outside; commands; `poll_…` for the machine's output.
//!
//! The contract with a driver: make *one* `handle_…` call or command, then drain `poll_transmit`, `poll_command` and
//! `poll_event`, then wait for the next event or until the time that `poll_timeout` returns. The same machines run in
//! `sateen-host`, in `sateen-coordinator` and in the simulator.
#![forbid(unsafe_code)]

mod bytes;
pub mod codec;
pub mod coordinator;
mod entry;
pub mod frugal;
pub mod host;
mod id;
pub mod identity;
mod job;
mod key;
pub mod limits;
pub mod message;
mod outcome;
mod pace;
pub mod parcel;
mod random;
mod round_trip;
mod run;
pub mod shared;
mod steals;
mod table;
mod time;
mod trust;
mod unit;
mod unpolled;
mod wide;

pub use bytes::Bytes;
pub use entry::{Entry, EntryState};
pub use id::{AssignmentId, GridId, HeldId, HostId, LoanId, RunId, RuntimeJobId, StealId};
pub use identity::PublicKey;
pub use job::{Again, JobSpec, Lineage, Mention, ROOT_KIND, root_job};
pub use key::{BlobHash, JobKey, JobTag, KeyMaker};
pub use limits::{INLINE_RESULT_BYTES_MAX, LINEAGE_LENGTH_MAX};
pub use outcome::{Finished, JobFailure, MainOutcome, Outcome, RootOutcome, Verdict};
pub use random::Random;
pub use run::{
    Claim, Counts, FaultTolerance, HeldCounts, Jobs, LimitOutOfRange, Priority, RunEnd, RunLimits, RunSpec,
    RunState, Share, Stealing, due, dues,
};
pub use steals::{Latencies, STEAL_LATENCY_BOUNDS_US, Scope, StealCounts, Steals};
pub use table::Table;
pub use time::Time;
pub use trust::{NotTrust, Trust};
pub use unit::{Unit, UnitChild};
pub use wide::{WideCounts, counted_since};
