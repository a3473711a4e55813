//! What is counted, and how Prometheus reads it. Never a label by host or job.
//!
//! Counts of jobs and steals are those that hosts report, summed; all else is this process's own. Counters
//! begin at nought with the process, those of runs that are older as well. Hosts are not believed to be honest: whatever they report, a counter
//! never falls.

mod exposition;
mod timing;

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::AtomicU64;

use sateen_protocol::Counts;

pub use exposition::exposition;
pub use timing::Timing;

/// Counts since this process began.
#[derive(Debug, Default)]
pub struct Counters {
    /// Websocket frames of hosts.
    pub frames_in: AtomicU64,
    /// Their bytes.
    pub bytes_in: AtomicU64,
    /// Websocket frames to hosts.
    pub frames_out: AtomicU64,
    /// Their bytes.
    pub bytes_out: AtomicU64,
    /// Messages for the coordinator itself.
    pub messages_in: AtomicU64,
    /// Frames passed on from host to host.
    pub relayed_frames: AtomicU64,
    /// Their bytes.
    pub relayed_bytes: AtomicU64,
    /// Frames for hosts that are not there.
    pub unreachable: AtomicU64,
    /// Hosts that broke the protocol.
    pub misbehaviours: AtomicU64,
    /// Websockets opened.
    pub links_opened: AtomicU64,
    /// Websockets of hosts that took too little of what they were sent.
    pub slow_links: AtomicU64,
    /// Root jobs lost with their hosts.
    pub root_losses: AtomicU64,
    /// Jobs that were lost and begun again.
    pub jobs_redone: AtomicU64,
    /// Hosts that came.
    pub hosts_joined: AtomicU64,
    /// Hosts that said goodbye.
    pub hosts_left: AtomicU64,
    /// Hosts that were given up.
    pub hosts_crashed: AtomicU64,
    /// Times that the driver was held up for so long that hosts got time to be heard again.
    pub stalls: AtomicU64,
    /// Runs that were submitted.
    pub runs_submitted: AtomicU64,
    /// Answers to requests, by the first digit of their status.
    pub answers: [AtomicU64; 5],
    /// What was said before, so that no counter falls.
    said: Mutex<HashMap<String, f64>>,
}

/// Sums over hosts and runs, from the driver.
#[derive(Debug, Clone, Default)]
pub struct Totals {
    /// Hosts that compute, that have nothing to do, that take no work, and whose link is away.
    pub hosts: HostsByState,
    /// Their workers, and those of them that compute.
    pub workers: u64,
    /// See `workers`.
    pub busy: u64,
    /// What became of jobs since the start, in runs that are not over and in those that ended since.
    pub counts: Counts,
    /// Jobs that were run since the start, in runs that ended since.
    pub executed: u64,
    /// Of the runs that ended, processor time that nobody used, in seconds.
    pub lost_work_s: f64,
    /// Runs that ended since the start, by state.
    pub ended: EndedByState,
    /// Entries of result tables, and their bytes.
    pub table: (usize, usize),
    /// What links have told and the driver has not looked at yet.
    pub waiting: usize,
    /// Entries of result tables that were not saved because too many waited.
    pub entries_dropped: u64,
    /// Changes of runs that could not be saved yet.
    pub unsaved: usize,
    /// Jobs run in the last seconds.
    pub jobs_per_s: f64,
}

/// Hosts that are there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HostsByState {
    /// A guest computes.
    pub working: u64,
    /// None does.
    pub idle: u64,
    /// They take no work.
    pub paused: u64,
    /// Their link is away; they may come back.
    pub away: u64,
}

impl HostsByState {
    /// All of them.
    pub fn all(&self) -> u64 {
        self.working + self.idle + self.paused + self.away
    }
}

/// Runs that are over.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EndedByState {
    /// With a result.
    pub done: u64,
    /// Without.
    pub failed: u64,
    /// Because somebody wanted that.
    pub cancelled: u64,
}

/// What the service knows beside.
#[derive(Debug, Clone, Default)]
pub struct Service {
    /// Of the software.
    pub version: &'static str,
    /// Of frames and messages.
    pub protocol: u8,
    /// Seconds since 1970.
    pub started_at_s: f64,
    /// Open websockets of hosts.
    pub links: usize,
    /// Open websockets of those who watch.
    pub watchers: usize,
    /// Runs that are known, by state.
    pub runs: Vec<(&'static str, u64)>,
    /// Whether the data folder could be written when that was tried last.
    pub store_works: bool,
}
