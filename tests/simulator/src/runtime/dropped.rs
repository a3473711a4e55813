//! What is known of a host's parts of runs that it has dropped.

use std::collections::BTreeMap;

use sateen_protocol::{Jobs, RunId};

use super::portion::Portion;
use super::tally::Tally;

/// Why a part of a run is dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dropping {
    /// The run is suspended on all hosts.
    Suspended,
    /// The run is over, or the host goes, or cannot continue.
    Departed,
}

/// The work of a run in former parts that were dropped as it was suspended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Suspended {
    /// All of it.
    pub executed_ns: u64,
    /// Of it, that which was part of no recorded result, and lost.
    pub unsaved_ns: u64,
}

/// Figures of dropped parts of runs, added up by run.
#[derive(Debug, Default)]
pub struct Dropped {
    /// Work done.
    executed_ns: BTreeMap<RunId, u64>,
    /// Of it, the work of calls that had not returned when the run was last dropped.
    cut_short_ns: BTreeMap<RunId, u64>,
    /// The work of runs that were suspended.
    suspended: BTreeMap<RunId, Suspended>,
    /// Counts of jobs.
    jobs: BTreeMap<RunId, Jobs>,
    /// Tallies.
    tallies: BTreeMap<RunId, Tally>,
    /// Rules that the machine broke.
    complaints: Vec<String>,
}

impl Dropped {
    /// Adds a dropped part of a run, with the work that is lost with it: of a departure, only that of calls that had not
    /// returned is known.
    pub fn add(&mut self, run: RunId, portion: &Portion, why: Dropping, lost_ns: u64) {
        *self.executed_ns.entry(run).or_default() += portion.figures.executed_ns();
        match why {
            Dropping::Suspended => {
                self.note_suspended(run, lost_ns);
                self.suspended.entry(run).or_default().executed_ns += portion.figures.executed_ns();
            }
            Dropping::Departed => drop(self.cut_short_ns.insert(run, lost_ns)),
        }
        self.tallies.entry(run).or_default().add(portion.figures.tally());
        self.jobs.entry(run).or_default().add(portion.figures.jobs());
        self.complaints.extend(portion.remarks.complaints().iter().cloned());
    }

    /// A run is being suspended, and that loses work.
    pub fn note_suspended(&mut self, run: RunId, lost_ns: u64) {
        self.suspended.entry(run).or_default().unsaved_ns += lost_ns;
    }

    /// Work done, by run.
    pub fn executed_ns(&self) -> &BTreeMap<RunId, u64> {
        &self.executed_ns
    }

    /// The work of calls that had not returned when the run was last dropped.
    pub fn cut_short_ns(&self, run: RunId) -> u64 {
        self.cut_short_ns.get(&run).copied().unwrap_or_default()
    }

    /// The work of a run that was suspended.
    pub fn suspended(&self, run: RunId) -> Suspended {
        self.suspended.get(&run).copied().unwrap_or_default()
    }

    /// Counts of jobs.
    pub fn jobs(&self, run: RunId) -> Jobs {
        self.jobs.get(&run).copied().unwrap_or_default()
    }

    /// The tally.
    pub fn tally(&self, run: RunId) -> Tally {
        self.tallies.get(&run).copied().unwrap_or_default()
    }

    /// Rules that the machine broke.
    pub fn complaints(&self) -> &[String] {
        &self.complaints
    }
}
