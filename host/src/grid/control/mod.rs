//! `status`, `pause`, `resume` and `leave`: a private socket in the data folder.
//!
//! Each connection carries one request, a line of JSON, then lines of answers until the host closes it. The
//! folder's permissions protect the socket.

mod client;
mod comfort;
mod guests;
mod server;
mod status;

use serde::{Deserialize, Serialize};

pub use client::{AskError, ask};
pub use comfort::{ComfortStatus, PAUSED_BY_USER, PreferencesStatus, to_user};
pub use guests::GuestsStatus;
pub(super) use server::{Answers, Incoming, listen};
pub use status::{Contributed, MayUse, PeerPath, PeerStatus, RunStatus, Status, StealStatus};

/// A user's request to the host that runs on this folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// How it is.
    Status,
    /// Give back all work and take none, for this time or until resumed.
    Pause {
        /// The time, in seconds.
        for_s: Option<u64>,
    },
    /// Take work again.
    Resume,
    /// Give back all work, and end.
    Leave,
}

/// An answer of the host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// How it is.
    Status(Box<Status>),
    /// The request is done; the host's state now.
    Done(String),
    /// The request takes a while.
    Progress(String),
    /// The request failed or was not understood.
    Refused(String),
}
