//! The apps of runs at a host.

use std::collections::{BTreeMap, BTreeSet};

use sateen_protocol::{RunId, RunSpec};

/// Which apps a host loads, and cannot load.
#[derive(Debug, Default)]
pub struct Apps {
    /// Runs whose app is being loaded.
    loading: BTreeMap<RunId, RunSpec>,
    /// Runs that it cannot take part in.
    unable: BTreeSet<RunId>,
}

impl Apps {
    /// Begins to load a run's app.
    pub fn load(&mut self, run: RunId, spec: RunSpec) {
        self.loading.insert(run, spec);
    }

    /// Whether a run's app is being loaded.
    pub fn is_loading(&self, run: RunId) -> bool {
        self.loading.contains_key(&run)
    }

    /// Ends to load a run's app: the run, if its app was being loaded.
    pub fn take(&mut self, run: RunId) -> Option<RunSpec> {
        self.loading.remove(&run)
    }

    /// It cannot take part in a run any more; returns whether it could before.
    pub fn forbid(&mut self, run: RunId) -> bool {
        self.unable.insert(run)
    }

    /// Whether it can take part in a run.
    pub fn allow(&self, run: RunId) -> bool {
        !self.unable.contains(&run)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_forbidden_once() {
        let mut apps = Apps::default();
        assert!(apps.allow(RunId(1)));
        assert_eq!([apps.forbid(RunId(1)), apps.forbid(RunId(1))], [true, false]);
        assert!(!apps.allow(RunId(1)) && apps.allow(RunId(2)));
        assert!(apps.take(RunId(1)).is_none() && !apps.is_loading(RunId(1)));
    }
}
