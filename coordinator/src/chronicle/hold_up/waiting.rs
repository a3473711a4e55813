//! Why and for how long nothing happened.

use std::collections::BTreeMap;

use super::figures::time_of;
use crate::chronicle::Chronicle;
use crate::chronicle::waits::{SUSPENDED, Waits, without_advice};

/// Minimum time for which a run has waited.
const WAITED_S_MIN: f64 = 1.0;
/// Minimum share of its time that a run waited.
const WAITED_MIN: f64 = 0.2;
/// A reason for less than this share of the waiting is said to be one among others.
const ONE_REASON_MIN: f64 = 0.9;
/// Other reasons are worth mentioning from this time on.
const OTHERS_S_MIN: f64 = 0.1;

/// Why and for how long nothing happened.
#[derive(Debug, Clone, Default)]
pub struct Waiting {
    /// The present reason, if the run waits.
    pub now: Option<Waits>,
    /// The time in seconds, by reason, without advice.
    pub waited: BTreeMap<String, f64>,
}

impl Chronicle {
    pub(super) fn waiting(&self, now: Option<&Waits>, now_ms: u32) -> Waiting {
        let mut waited = BTreeMap::new();
        for idle in self.idle.iter().filter(|idle| idle.host.is_none()) {
            let time_ms = idle.to_ms.unwrap_or(now_ms).saturating_sub(idle.from_ms);
            *waited.entry(without_advice(&idle.text).to_owned()).or_default() += f64::from(time_ms) / 1e3;
        }
        Waiting { now: now.cloned(), waited }
    }
}

impl Waiting {
    /// For how long nothing was done, in seconds.
    pub fn waited_s(&self) -> f64 {
        self.waited.values().sum()
    }

    /// Why the run waits, and for how long it has, for this reason and in all.
    pub fn present(&self, passed_s: f64) -> Option<String> {
        let Waits { why, reason } = self.now.as_ref()?;
        // It may just have begun to.
        let this_s = self.waited.get(without_advice(reason)).copied().unwrap_or(0.0);
        let waited_s = self.waited_s();
        if waited_s < WAITED_S_MIN {
            return Some(format!("It waits: {why}."));
        }
        let part = if waited_s - this_s < OTHERS_S_MIN {
            String::new()
        } else {
            format!(", for {} of that for this reason", time_of(this_s, passed_s))
        };
        let (waited, passed) = (time_of(waited_s, passed_s), time_of(passed_s, passed_s));
        Some(format!("It has waited for {waited} of the {passed} since its submission{part}: {why}."))
    }

    /// Why the run waited, if it did for long.
    pub fn past(&self, passed_s: f64, is_over: bool) -> Option<String> {
        let waited_s = self.waited_s();
        let (why, longest_s) = self.waited.iter().max_by(|left, right| left.1.total_cmp(right.1))?;
        if waited_s / passed_s < WAITED_MIN {
            return None;
        }
        let part = if longest_s / waited_s < ONE_REASON_MIN {
            format!("for {} of that, ", time_of(*longest_s, passed_s))
        } else {
            String::new()
        };
        // The reasons are of the time when they were given.
        let why = if why == SUSPENDED { "the run was suspended".to_owned() } else { format!("\"{why}\"") };
        let until = if is_over { "from its submission to its end" } else { "since its submission" };
        let (waited, passed) = (time_of(waited_s, passed_s), time_of(passed_s, passed_s));
        Some(format!("For {waited} of the {passed} {until}, nothing was done; {part}the reason was: {why}."))
    }
}
