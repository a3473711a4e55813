//! The terms on which hosts work for a run.

use sateen_protocol::{Priority, Trust};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// The terms on which hosts work for a run: for whom, whether their results are believed, and what it gets of hosts that also
/// have other runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS, JsonSchema)]
pub struct RunTerms {
    /// The name of the token with which the run was submitted. Null if there was none, or if it is no longer kept.
    pub submitter: Option<String>,
    /// Whether results of hosts are believed (`trust`) or checked (`quorum=N`, or `audit=P`).
    #[serde(default = "trusted")]
    pub trust: String,
    /// `low`, `normal` or `high`: which runs of one submitter get more.
    #[serde(default = "normal")]
    pub priority: String,
    /// Whether it uses results of its submitter's earlier runs, and its own are kept for later ones.
    #[serde(default)]
    pub reuse: bool,
    /// The part of the workers of each host that the run is due while all runs that are given to hosts have work enough, above 0 and
    /// up to 1: a part of what its submitter is due by weight, by the priorities of the submitter's runs. What runs do not use,
    /// others get. Null unless it is `running`.
    pub share: Option<f64>,
}

/// The policy of coordinators that know no other.
fn trusted() -> String {
    Trust::default().to_string()
}

/// The priority of coordinators that know no other.
fn normal() -> String {
    Priority::default().to_string()
}

impl Default for RunTerms {
    fn default() -> Self {
        Self { submitter: None, trust: trusted(), priority: normal(), reuse: false, share: None }
    }
}
