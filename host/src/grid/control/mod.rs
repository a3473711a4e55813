//! `status`, `pause`, `resume` and `leave`: a private socket in the data folder.
//!
//! One connection, one request, as a line of JSON; then lines of answers until the host closes it. The
//! folder's rights are the socket's protection.

mod client;
mod server;
mod status;

use serde::{Deserialize, Serialize};

pub use client::{AskError, ask};
pub(super) use server::{Answers, Incoming, listen};
pub use status::{Contributed, MayUse, PeerPath, PeerStatus, RunStatus, Status, StealStatus};

/// What a user asks of the host that runs on this folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// How it is.
    Status,
    /// Give back what it has and take nothing, until told otherwise or for so long.
    Pause {
        /// How long, in seconds.
        for_s: Option<u64>,
    },
    /// Take work again.
    Resume,
    /// Give back what it has, and end.
    Leave,
}

/// What the host answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// How it is.
    Status(Box<Status>),
    /// It is done, and how it is now.
    Done(String),
    /// It takes a while.
    Progress(String),
    /// It was not understood.
    Refused(String),
}
