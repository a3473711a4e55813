//! Where guests run, in the status of a host.

use serde::{Deserialize, Serialize};

/// Where guests run, and what the system keeps from them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuestsStatus {
    /// Whether the guests of each run are in a process of their own.
    pub own_process: bool,
    /// Why not, if they are not.
    pub why_not: Option<String>,
    /// What the system keeps from the process that was started last, and what it does not, a line each.
    pub walls: Vec<String>,
    /// Whether each process has a cgroup of its own: `up`, or why not.
    #[serde(default)]
    pub cgroup: String,
}

impl GuestsStatus {
    /// The lines of the status for people.
    pub(super) fn lines(&self) -> Vec<String> {
        let guests = match (&self.why_not, self.own_process) {
            (_, true) => "in a process of their own: yes".to_owned(),
            (Some(why), false) => format!("in a process of their own: no, {why}"),
            (None, false) => "in a process of their own: no".to_owned(),
        };
        let walls = self.walls.iter().map(|wall| format!("          {wall}"));
        let cgroup =
            (!self.cgroup.is_empty()).then(|| format!("          a cgroup of its own: {}", self.cgroup));
        std::iter::once(format!("guests    {guests}")).chain(walls).chain(cgroup).collect()
    }
}
