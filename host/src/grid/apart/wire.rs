//! The messages between a host and a process of its guests.
//!
//! ```text
//! host                                     process of guests
//! Start: the run, its app and inputs ────►
//!                                    ◄──── Started | Unpooled | Refused
//! Command, Turns, Lease, Resident    ────►
//!                                    ◄──── Notice, Counts, Turns, Memory
//! Spare                              ────►
//!                                    ◄──── Spared, Reclaim
//! Alive, twice a second              ────►
//! Stop                               ────►
//!                                    ◄──── Stopped: the last counts, and it ends
//! ```
//!
//! The host trusts no message of the other side: see `check`.

use std::time::Duration;

use sateen_protocol::host::{FinalCounts, Notice, RunCommand};
use sateen_protocol::{Counts, HeldId, JobSpec, RunId, RunSpec, RuntimeJobId};
use serde::{Deserialize, Serialize};

use crate::memory::{Lease, MemoryNews};
use crate::scheduler::TurnNews;

/// Interval of signs of life from the host.
pub const ALIVE_EVERY: Duration = Duration::from_millis(500);
/// Guests do not compute for a host that has been silent for this time: the system may have stopped it, and nobody would
/// stop them. It is shorter than the time after which the grid gives up the host.
pub const SILENCE_MAX: Duration = Duration::from_secs(2);

/// From the host.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum ToGuests {
    /// The first message. Two descriptors come with it: the module and the inputs, one after the other; and the code.
    Start(Box<Start>),
    /// A command of the state machine.
    Command(RunCommand),
    /// More turns.
    Lend(u32),
    /// These turns are wanted back.
    Recall(u32),
    /// Whether others wait for turns.
    Scarce(bool),
    /// The memory that the guests may use.
    Lease(Lease),
    /// The resident memory of the guests, in bytes.
    Resident(u64),
    /// Whether guests stand still, as the owner's governor wants it.
    Hold(bool),
    /// The host is not stopped. Without any message for [`SILENCE_MAX`], guests stand still until there is one.
    Alive,
    /// End all guests, report the last counts, and end.
    Stop,
    /// Give up at most this number of jobs for the next thieves, if there are enough. Answered by [`FromGuests::Spared`].
    Spare(usize),
}

/// What a process needs to know to run guests.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Start {
    /// The run.
    pub run: RunId,
    /// Its specification.
    pub spec: RunSpec,
    /// The number of workers.
    pub threads: usize,
    /// Whether workers have the lowest priority.
    pub is_idle: bool,
    /// The memory of all guests of the host, if it is limited, in bytes.
    pub memory_bytes_max: Option<usize>,
    /// Whether the code is for instances in a pool.
    pub is_pooled: bool,
    /// Whether an instance's memory and exported globals are all that it can remember.
    pub is_copyable: bool,
    /// The size of the module, in bytes.
    pub module_bytes: usize,
    /// The names and sizes of the inputs.
    pub inputs: Vec<(String, usize)>,
}

/// From a process of guests.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum FromGuests {
    /// It takes part, within these walls.
    Started {
        /// What the system keeps from it.
        walls: sateen_walls::Report,
    },
    /// The system has no room for a pool of instances: it needs other code.
    Unpooled,
    /// It cannot take part; the reason.
    Refused(String),
    /// A notice for the state machine.
    Notice(Notice),
    /// The counts so far.
    Counts(Box<Counts>),
    /// News about turns.
    Turns(TurnNews),
    /// News about memory.
    Memory(MemoryNews),
    /// A thread has panicked, which is a bug: the message.
    Panicked(String),
    /// No guest computes any more.
    Stopped(Box<FinalCounts>),
    /// [`Notice::Begun`], with the time at which the job began.
    Begun {
        /// As in [`Notice::Begun`].
        held: HeldId,
        /// As in [`Notice::Begun`].
        worker: u32,
        /// The time of the machine's clock, in nanoseconds.
        at_ns: u64,
    },
    /// The answer to [`ToGuests::Spare`]: jobs that are given up, if there are enough, as in [`Notice::Offered`].
    Spared(Vec<(RuntimeJobId, JobSpec)>),
    /// A worker has nothing to do, and wants the spared jobs back that no thief has.
    Reclaim,
}
