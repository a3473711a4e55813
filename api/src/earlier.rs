//! Results of earlier runs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// Results of earlier runs that a run used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, TS, JsonSchema)]
pub struct EarlierResults {
    /// Jobs that were not computed because of them; jobs below those are not counted.
    pub jobs: u64,
    /// Processor time that these results took when they were computed, in seconds, with each use. It is not part of the run's
    /// `work_s`.
    pub work_s: f64,
}
