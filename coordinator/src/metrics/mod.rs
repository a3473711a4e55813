//! Counters, and their exposition for Prometheus. Never with a label for a host or job.
//!
//! Counts of jobs and steals are sums of hosts' reports; all others are counted by this process. Counters
//! begin at zero with the process, those of older runs as well. Hosts are not trusted: whatever they report, a counter
//! never falls.

mod exposition;
mod timing;

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::AtomicU64;

use sateen_protocol::{Counts, RunState};

pub use exposition::exposition;
pub use timing::Timing;

/// Counts since this process started.
#[derive(Debug, Default)]
pub struct Counters {
    /// Websocket frames from hosts.
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
    /// Frames for hosts that are not connected.
    pub unreachable: AtomicU64,
    /// Hosts that broke the protocol.
    pub misbehaviours: AtomicU64,
    /// Websockets opened.
    pub links_opened: AtomicU64,
    /// Websockets of hosts that took too little of their messages.
    pub slow_links: AtomicU64,
    /// Root jobs lost with their hosts.
    pub root_losses: AtomicU64,
    /// Jobs that were lost and begun again.
    pub jobs_redone: AtomicU64,
    /// Hosts that joined.
    pub hosts_joined: AtomicU64,
    /// Hosts that left in order.
    pub hosts_left: AtomicU64,
    /// Hosts that were given up.
    pub hosts_crashed: AtomicU64,
    /// Stalls of the driver, after which hosts got time to be heard again.
    pub stalls: AtomicU64,
    /// Runs that were submitted.
    pub runs_submitted: AtomicU64,
    /// Answers to requests, by the first digit of their status.
    pub answers: [AtomicU64; 5],
    /// Values that were exposed last, so that no counter falls.
    said: Mutex<HashMap<String, f64>>,
}

/// Sums over hosts and runs, computed by the driver.
#[derive(Debug, Clone, Default)]
pub struct Totals {
    /// Hosts by state.
    pub hosts: HostsByState,
    /// Hosts from before a restart that may still come back.
    pub hosts_awaited: usize,
    /// Workers of connected hosts, and those of them that compute.
    pub workers: u64,
    /// See `workers`.
    pub busy: u64,
    /// Counts of jobs since the start, in runs that are not over and in those that ended since.
    pub counts: Counts,
    /// Processor time of checks since the start, in nanoseconds.
    pub checks_work_ns: u64,
    /// Jobs executed since the start, in runs that ended since.
    pub executed: u64,
    /// Runs that ended since the start, by state.
    pub ended: EndedByState<u64>,
    /// Their work.
    pub ended_work: EndedByState<EndedWork>,
    /// Entries of result tables, and their bytes.
    pub table: (usize, usize),
    /// Messages of links that wait for the driver.
    pub waiting: usize,
    /// Entries of result tables that were not saved because too many were waiting.
    pub entries_dropped: u64,
    /// Changes of runs that are not saved yet.
    pub unsaved: usize,
    /// Jobs per second over the last seconds, if it is known.
    pub jobs_per_s: Option<f64>,
}

/// Connected hosts, by activity.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HostsByState {
    /// A guest computes.
    pub working: u64,
    /// None does.
    pub idle: u64,
    /// They accept no work.
    pub paused: u64,
    /// They computed, and have reported nothing for a while.
    pub silent: u64,
    /// Their link is down; they may come back.
    pub away: u64,
    /// They have not reported what they do.
    pub unknown: u64,
}

impl HostsByState {
    /// All hosts.
    pub fn all(&self) -> u64 {
        self.working + self.idle + self.paused + self.unknown + self.silent + self.away
    }
}

/// Something of runs that are over, by outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EndedByState<T> {
    /// With a result.
    pub done: T,
    /// Without.
    pub failed: T,
    /// Cancelled.
    pub cancelled: T,
}

impl<T> EndedByState<T> {
    /// That of runs which ended like this.
    pub fn of(&mut self, state: RunState) -> &mut T {
        match state {
            RunState::Done => &mut self.done,
            RunState::Cancelled => &mut self.cancelled,
            _ => &mut self.failed,
        }
    }
}

/// The work of runs that are over, as far as it is known what is in their results, in seconds of processor time.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct EndedWork {
    /// All of it.
    pub work_s: f64,
    /// The part that is in no result.
    pub lost_s: f64,
}

/// Facts that the service adds.
#[derive(Debug, Clone, Default)]
pub struct Service {
    /// The version of the software.
    pub version: &'static str,
    /// The version of the protocol.
    pub protocol: u8,
    /// Start time in seconds since 1970.
    pub started_at_s: f64,
    /// Open websockets of hosts.
    pub links: usize,
    /// Open websockets of pages that watch.
    pub watchers: usize,
    /// Known runs, by state.
    pub runs: Vec<(&'static str, u64)>,
    /// Whether the last test write to the data folder succeeded.
    pub store_works: bool,
}
