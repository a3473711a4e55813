//! The host's limit for one run, if its owner set one.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::grid::store::StoredRun;

/// Maximum runs whose use is remembered; those with the lowest grid and run are forgotten first.
const RUNS_REMEMBERED_MAX: usize = 4096;

/// Processor time of runs on this host. If a run comes back to the host, counting continues.
pub struct Caps {
    work_max: Option<Duration>,
    had_ns: BTreeMap<StoredRun, u64>,
}

impl Caps {
    /// With this limit for each run.
    pub fn new(work_max: Option<Duration>) -> Self {
        Self { work_max, had_ns: BTreeMap::new() }
    }

    /// Adds processor time of a run.
    pub fn count(&mut self, run: StoredRun, work_ns: u64) {
        if self.work_max.is_none() || work_ns == 0 {
            return;
        }
        let had_ns = self.had_ns.entry(run).or_default();
        *had_ns = had_ns.saturating_add(work_ns);
        if self.had_ns.len() > RUNS_REMEMBERED_MAX {
            self.had_ns.pop_first();
        }
    }

    /// Why a run gets no more processor time here, if its limit is reached.
    pub fn refusal(&self, run: StoredRun) -> Option<String> {
        let most = self.work_max?;
        let had = Duration::from_nanos(*self.had_ns.get(&run)?);
        (had >= most).then(|| {
            let most = humantime::format_duration(most);
            format!("this host allows each run at most {most} of processor time (--run-cpu-limit)")
        })
    }
}

#[cfg(test)]
mod tests {
    use sateen_protocol::{GridId, RunId};

    use super::*;

    fn run(number: u64) -> StoredRun {
        StoredRun { grid: GridId(1), run: RunId(number) }
    }

    #[test]
    fn a_run_that_has_had_its_time_gets_no_more() {
        let mut caps = Caps::new(Some(Duration::from_secs(60)));
        caps.count(run(1), 59_999_999_999);
        assert_eq!(caps.refusal(run(1)), None);
        caps.count(run(1), 1);
        assert!(caps.refusal(run(1)).is_some_and(|why| why.contains("at most 1m of processor time")));
        assert_eq!(caps.refusal(run(2)), None);
        for number in 2..2 * RUNS_REMEMBERED_MAX as u64 {
            caps.count(run(number), 1);
        }
        assert_eq!(caps.had_ns.len(), RUNS_REMEMBERED_MAX);
        let mut free = Caps::new(None);
        free.count(run(1), u64::MAX);
        assert_eq!((free.refusal(run(1)), free.had_ns.len()), (None, 0));
    }
}
