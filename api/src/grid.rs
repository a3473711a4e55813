//! The grid: hosts, status, logs.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::JobCounts;

/// `/api/v1/runs/{run}/log`.
#[derive(Debug, Clone, Serialize, Deserialize, TS, JsonSchema)]
pub struct Log {
    /// The newest lines that are kept, in order.
    pub lines: Vec<LogLine>,
    /// The number of lines after the requested one that are not kept any more.
    #[serde(default)]
    pub dropped: u64,
}

/// A line of an app's log.
#[derive(Debug, Clone, Serialize, Deserialize, TS, JsonSchema)]
pub struct LogLine {
    /// Counts from 1.
    pub number: u64,
    /// The host on which it was written.
    #[serde(default)]
    pub host: String,
    /// The name of the job that wrote it.
    #[serde(default)]
    pub job: String,
    /// The beginning of that job's key, as in the run's tree; none if its host did not report it.
    pub tag: Option<String>,
    /// The text of the line.
    pub text: String,
}

/// A host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS, JsonSchema)]
pub struct Host {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its site.
    pub site: String,
    /// Its workers.
    #[serde(default)]
    pub threads: u32,
    /// The version of its software.
    #[serde(default)]
    pub version: String,
    /// Whether its link is open.
    #[serde(default)]
    pub connected: bool,
    /// Why it takes no new work.
    pub paused: Option<String>,
    /// When it joined. This does not change if it loses its link or the coordinator is restarted.
    #[serde(default)]
    pub since: String,
    /// Runs whose app it has loaded.
    #[serde(default)]
    pub runs: Vec<u64>,
    /// Counts of jobs there, in runs under way and in runs that have ended while it was in the grid and this
    /// coordinator ran.
    #[serde(default)]
    pub jobs: JobCounts,
    /// Workers that compute now, for runs or to check results of other hosts; null if that is not known, as when it is `unknown`, `silent` or `away`.
    pub busy: Option<u32>,
    /// `working`: workers compute. `idle`: no worker computes. `paused`: it takes no work. `unknown`: it was given a run, or
    /// came back after a restart of the coordinator, and has not reported since. `silent`: nothing
    /// has come from it for one and a half seconds or longer, or for three if no worker computed when it last reported. `away`: its link is broken,
    /// and it is given up unless it is back in a moment. A host that was given up or has left is gone: it is in no
    /// list, and `there` is false in runs.
    #[serde(default)]
    pub state: String,
    /// Why it does nothing, in a sentence.
    pub why_idle: Option<String>,
    /// Jobs that it got from other hosts, in the same runs.
    #[serde(default)]
    pub steals_in: u64,
    /// Jobs that other hosts got from it and began, in the same runs, as they report.
    #[serde(default)]
    pub steals_out: u64,
    /// The round-trip time to the coordinator.
    pub rtt_ms: Option<f64>,
    /// Jobs that it runs in a second of processor time, divided by the median of the hosts that work on the same
    /// run; for several runs, the mean weighted by its work. None until it has worked for a second and run a
    /// hundred jobs of a run, and another host has done so as well.
    pub speed: Option<f64>,
}

/// A host's key: its identity, whatever its name, its address and its id are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS, JsonSchema)]
pub struct HostKey {
    /// The public part of its ed25519 key, 64 digits.
    pub key: String,
    /// `enrolled`: it may take part. `waiting`: it waits for the operator's approval. `revoked`: it is refused.
    /// `replaced`: its host has another key now.
    pub state: String,
    /// Whether the operator has approved it by name.
    #[serde(default)]
    pub approved: bool,
    /// The key that has replaced it.
    pub replaced_by: Option<String>,
    /// The host's name when it was last seen; empty if it was never seen.
    #[serde(default)]
    pub name: String,
    /// Its address then.
    #[serde(default)]
    pub address: String,
    /// Whether a host with this key is connected.
    #[serde(default)]
    pub connected: bool,
    /// When it was first seen, or approved before that.
    #[serde(default)]
    pub since: String,
    /// When it was last seen; null if it never was.
    pub seen: Option<String>,
    /// The address from which a second host with the same key has tried to connect, while this coordinator ran: the
    /// key was copied.
    pub copied_to: Option<String>,
}

/// `/api/v1/status`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS, JsonSchema)]
#[serde(default)]
pub struct Status {
    /// The grid, 16 digits.
    pub grid: String,
    /// The version of the software.
    pub version: String,
    /// Time since this process started.
    pub uptime_s: f64,
    /// Hosts in the grid.
    pub hosts: usize,
    /// Hosts that were in the grid before the coordinator was restarted, and may still come back.
    #[serde(default)]
    pub hosts_awaited: usize,
    /// Workers of those that are connected.
    pub threads: u32,
    /// How many runs are in each state.
    pub runs: BTreeMap<String, u64>,
    /// Open websockets.
    pub links: usize,
    /// Messages for the coordinator itself since this process started.
    pub messages_in: u64,
    /// Frames relayed from host to host.
    pub relayed_frames: u64,
    /// Their bytes.
    pub relayed_bytes: u64,
    /// Hosts that broke the protocol.
    pub misbehaviours: u64,
    /// Why nothing can be saved, if that is the case.
    pub trouble: Option<String>,
    /// Jobs run per second, over the last seconds; 0 while no run is under way. Null while it is not known yet, as after a
    /// restart of the coordinator.
    pub jobs_per_s: Option<f64>,
    /// Open websockets of pages.
    pub watchers: usize,
}
