//! The coordinator's HTTP API: the types of its JSON, and the rules that both sides must know. The coordinator writes
//! these types and `sateen` reads them. The dashboard's TypeScript, the tables of `docs/api.md` and the OpenAPI
//! document are generated from them.
//!
//! The two sides may have different versions. A field that an older coordinator does not write has a default. An
//! unknown field is ignored in an answer and refused in a [`Submission`], where it would change the run. An unknown
//! kind is read as `Other`, or as the most cautious kind.

mod access;
mod app;
mod checked;
mod counts;
mod earlier;
mod grid;
mod job;
pub mod limits;
pub mod names;
mod run;
mod terms;
#[cfg(test)]
mod typescript;
mod watch;

pub use access::{AccessToken, AuditLine, JoinRequest, Joined, Me, NewToken, RunSubmitter, TokenRequest};
pub use app::{App, Blob, Version, is_publisher};
pub use checked::{BarredHost, Caught, Checked};
pub use counts::JobCounts;
pub use earlier::EarlierResults;
pub use grid::{Host, HostKey, Log, LogLine, Status};
pub use job::{ChildJob, Job, JobDetails, Node, Tree};
pub use limits::{RunLimits, SubmittedLimits};
pub use run::{
    AppOfRun, Counted, Figures, HostOfRun, Progress, Run, RunFailure, Steals, Submission, Submitted,
    TableSize,
};
pub use terms::RunTerms;
pub use watch::{
    Alert, CriticalJob, Depth, EventKind, Grid, HoldUp, HoldUpKind, IdleWhy, Remaining, RunDetails, RunEvent,
    SeriesOfRun, Timeline, TimelineRow, TreeHost, TreeTable,
};
