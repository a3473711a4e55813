//! How runs share hosts.

use sateen_protocol::Priority;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// What a run gets of hosts that have other runs, too.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS, JsonSchema)]
pub struct RunShare {
    /// `low`, `normal` or `high`: which runs of one submitter get more.
    #[serde(default = "normal")]
    pub priority: String,
    /// The part of the workers of each host that the run is due while all runs that are given to hosts have work enough, above 0 and
    /// up to 1: a part of what its submitter is due by weight, by the priorities of the submitter's runs. What runs do not use,
    /// others get. Null unless it is `running`.
    pub share: Option<f64>,
}

/// The priority of coordinators that know no other.
fn normal() -> String {
    Priority::default().to_string()
}

impl Default for RunShare {
    fn default() -> Self {
        Self { priority: normal(), share: None }
    }
}
