//! How a run's results are checked.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// How a run's results are checked. A unit is what one host computed between a steal and its result: a job, without the jobs
/// below it that other hosts computed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS, JsonSchema)]
#[serde(default)]
pub struct Checked {
    /// Whether the root job has a result, and that is being checked. The run is not over before.
    pub is_checking: bool,
    /// Units that hosts have reported; once they are being checked, those that the result was made of.
    pub units: u64,
    /// Of these, units on whose result enough owners agree. An audit believes the others.
    pub units_checked: u64,
    /// The share of the units' processor time, as hosts report it, that is in such units, from 0 to 1; null if there is none.
    pub work_share: Option<f64>,
    /// How often a unit was computed again.
    pub checks: u64,
    /// The processor time that this took so far, in seconds. It is not part of the run's `work_s`, and counts towards its
    /// `--cpu-limit`.
    pub work_s: f64,
    /// Hosts that gave a wrong result, and take no part in checks of this run.
    pub barred: Vec<BarredHost>,
    /// For an audit, the owners of hosts that contributed, and of which fewer units had been verified before this run than an audit
    /// always checks. Null otherwise, and until it is known.
    pub without_standing: Option<u64>,
    /// For an audit, how probable it is that a host which lied was found. Empty otherwise, and until it is known.
    pub caught: Vec<Caught>,
}

/// How probable it is that a host which gave wrong results was found, if the hosts that computed its work again are honest.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, TS, JsonSchema)]
#[serde(default)]
pub struct Caught {
    /// The case: the host lied about one of this many of its units; in a small run, about one unit.
    pub one_in: u32,
    /// The probability, from 0 to 1: that of the host of which the least was checked.
    pub probability: f64,
}

/// A host that gave a wrong result.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS, JsonSchema)]
#[serde(default)]
pub struct BarredHost {
    /// Its id.
    pub host: String,
    /// Its key: other hosts with this key are barred as well.
    pub key: String,
}
