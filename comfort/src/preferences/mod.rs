//! What the owner of a machine allows, in layers: defaults, a file, the environment, flags.

mod file;
mod hours;
mod keys;
mod layers;
mod value;

pub use file::{FILE_VERSION, FileError, FileLayer, file_path, set};
pub use hours::Hours;
pub use keys::{KEYS, Key, Profile, key_named, nearest};
pub use layers::{Given, Invalid, Resolved, Setting, Source, resolve};
pub use value::{Kind, Percent, Value};

use std::time::Duration;

/// What the owner allows.
#[derive(Debug, Clone, PartialEq)]
pub struct Preferences {
    /// The share of the processors, by whether the machine is in use.
    pub share: Share,
    /// When the host may compute.
    pub hours: Hours,
    /// What it may do on battery.
    pub battery: BatteryRule,
    /// What the machine must not exceed.
    pub machine: MachineRule,
    /// How long a pause lasts before the jobs go to other hosts.
    pub hand_over_after: Duration,
    /// What the host may use.
    pub limits: Limits,
    /// Whose apps it runs.
    pub trust: Trust,
}

impl Preferences {
    /// Whether guests may compute all the time, with all that they get: nothing has to be sensed.
    pub fn are_unlimited(&self) -> bool {
        let Self { share, hours, battery, machine, limits, .. } = self;
        (share.in_use, share.idle) == (Percent::ALL, Percent::ALL)
            && hours.are_always()
            && battery.on_battery
            && battery.battery_min == Percent::NONE
            && (machine.temperature_max_c, machine.others_load_max, machine.watts_max) == (None, None, None)
            && limits.daily_transfer_bytes.is_none()
    }

    /// These, for a host that has begun with `running`: of keys that [are fixed](Key::is_fixed), it keeps the values.
    #[must_use]
    pub fn for_running(self, running: &Self) -> Self {
        let Limits { threads, memory_bytes, disk_bytes, .. } = running.limits;
        Self {
            limits: Limits { threads, memory_bytes, disk_bytes, ..self.limits },
            trust: Trust { require_walls: running.trust.require_walls, ..self.trust },
            ..self
        }
    }
}

/// The share of the processors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// While the machine is in use; with 0, the host pauses.
    pub in_use: Percent,
    /// While nobody uses it.
    pub idle: Percent,
    /// Time without input after which the machine counts as not in use.
    pub idle_after: Duration,
}

/// What a host may do on battery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatteryRule {
    /// Whether it computes on battery at all.
    pub on_battery: bool,
    /// If so, the charge below which it does not.
    pub battery_min: Percent,
}

/// What the machine must not exceed; `None` stands for no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MachineRule {
    /// The temperature of its processors, in °C.
    pub temperature_max_c: Option<u16>,
    /// The load of other programs, as a share of all processors.
    pub others_load_max: Option<Percent>,
    /// The power that its processors draw, in watts.
    pub watts_max: Option<u16>,
}

/// What a host may use; `None` stands for no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Workers; without a number, one for each processor.
    pub threads: Option<usize>,
    /// Memory of all guests and results together, in bytes.
    pub memory_bytes: Option<u64>,
    /// The host's data folder, in bytes.
    pub disk_bytes: Option<u64>,
    /// Bytes a second, in each direction.
    pub bandwidth_bytes_s: Option<u64>,
    /// Bytes a day, in both directions together.
    pub daily_transfer_bytes: Option<u64>,
}

/// Whose apps a host runs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Trust {
    /// If not empty, only these apps, by the beginnings of their hashes.
    pub apps_allowed: Vec<String>,
    /// Not these.
    pub apps_refused: Vec<String>,
    /// If not empty, only runs of these submitters.
    pub submitters_allowed: Vec<String>,
    /// Not of these.
    pub submitters_refused: Vec<String>,
    /// Whether the host refuses runs if a wall of the system around its guests is missing.
    pub require_walls: bool,
}

impl Trust {
    /// Why runs of an app are refused, if they are. `app` is the hash of its module in hexadecimal digits.
    pub fn refuses_app(&self, app: &str) -> Option<String> {
        let is_app = |listed: &String| !listed.is_empty() && app.starts_with(&listed.to_ascii_lowercase());
        if self.apps_refused.iter().any(is_app) {
            return Some("its owner refuses this app (apps-refused)".to_owned());
        }
        if !self.apps_allowed.is_empty() && !self.apps_allowed.iter().any(is_app) {
            return Some("its owner allows other apps only (apps-allowed)".to_owned());
        }
        None
    }

    /// Whether it matters who has submitted a run.
    pub fn names_submitters(&self) -> bool {
        !self.submitters_allowed.is_empty() || !self.submitters_refused.is_empty()
    }

    /// Why runs of a submitter are refused, if they are. One that is not known is neither allowed nor refused by name.
    pub fn refuses_submitter(&self, submitter: Option<&str>) -> Option<String> {
        let is_submitter = |listed: &String| submitter == Some(listed.as_str());
        if self.submitters_refused.iter().any(is_submitter) {
            return Some("its owner refuses this submitter (submitters-refused)".to_owned());
        }
        if !self.submitters_allowed.is_empty() && !self.submitters_allowed.iter().any(is_submitter) {
            let who = if submitter.is_some() {
                "its owner allows other submitters only"
            } else {
                "its owner allows some submitters only, and the grid does not name this run's"
            };
            return Some(format!("{who} (submitters-allowed)"));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn apps_and_submitters_are_refused_by_name() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let mut trust = Trust::default();
        assert_eq!((trust.refuses_app("abcd"), trust.refuses_submitter(None)), (None, None));
        trust.apps_refused = names(&["ABC"]);
        assert!(trust.refuses_app("abcd").is_some_and(|why| why.contains("apps-refused")));
        assert_eq!(trust.refuses_app("bcda"), None);
        trust.apps_allowed = names(&["bc", "ab"]);
        assert!(trust.refuses_app("abcd").is_some_and(|why| why.contains("apps-refused")));
        assert!(trust.refuses_app("cc").is_some_and(|why| why.contains("apps-allowed")));
        assert_eq!((trust.refuses_app("bcd"), trust.refuses_submitter(Some("eve"))), (None, None));
        assert!(!trust.names_submitters());
        trust.submitters_refused = names(&["eve"]);
        assert!(trust.names_submitters());
        assert!(trust.refuses_submitter(Some("eve")).is_some_and(|why| why.contains("submitters-refused")));
        assert_eq!(trust.refuses_submitter(None), None);
        trust.submitters_allowed = names(&["ann"]);
        assert_eq!(trust.refuses_submitter(Some("ann")), None);
        assert!(trust.refuses_submitter(Some("bob")).is_some_and(|why| why.contains("other submitters")));
        assert!(trust.refuses_submitter(None).is_some_and(|why| why.contains("does not name")));
    }

    #[test]
    fn an_empty_name_matches_no_app() {
        let trust = Trust { apps_refused: vec![String::new()], ..Trust::default() };
        assert_eq!(trust.refuses_app("abcd"), None);
    }
}
