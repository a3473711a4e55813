//! The coordinator's process: its machine and its store.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Duration;

use crate::by_id::ById;
use crate::faults::disks::Behind;
use crate::faults::stalls::Waiting;
use crate::recorded::{Machine, Record, Told};
use sateen_protocol::coordinator::{
    Account, Checked, Circle, CoordinatorConfig, Earlier, LinkId, Standing, StoredRun, Submitter,
};
use sateen_protocol::limits::{PLACE_KEPT_MIN, RUNS_ACTIVE_MAX};
use sateen_protocol::{Counts, Entry, GridId, JobKey, Random, RunEnd, RunId, RunSpec, RunState, Time};

/// Time until entries reach the coordinator's disk.
const FLUSH_NS: u64 = 200_000_000;

/// The first runs, as many as have places, are of one submitter, and those that follow of others, so that the first gives
/// places up. The numbers are those of the addresses from 10.0.0.1 on, as the coordinator numbers them.
pub fn submitter_of(run: RunId) -> Submitter {
    let others = run.0.saturating_sub(RUNS_ACTIVE_MAX as u64);
    Submitter(0xffff_0a00_0001 + u128::from(others))
}

/// How long runs keep their places in half of the seeds: in most seeds, runs are over before they would give way.
const PLACE_KEPT_SHORT: Duration = Duration::from_millis(300);

/// A run on disk.
#[derive(Debug, Clone)]
pub struct Stored {
    /// Its specification.
    pub spec: RunSpec,
    state: RunState,
    entries: BTreeMap<JobKey, Entry>,
    /// Its end.
    pub end: Option<RunEnd>,
    /// The coordinator's final counts, and whether all hosts have reported their last counts.
    pub counted: Option<(Counts, bool)>,
    /// How far its results were checked.
    pub checked: Option<Checked>,
    /// The times of its submission and its end.
    pub times: (Time, Option<Time>),
}

/// Entries that are not on disk yet.
type Unsaved = (Time, RunId, Vec<Entry>, Vec<JobKey>);

/// The coordinator.
pub struct Server {
    /// The machine, while the process runs.
    pub machine: Option<Machine>,
    /// The runs on disk.
    pub runs: BTreeMap<RunId, Stored>,
    /// The owners of links.
    pub(crate) links: ById<LinkId>,
    /// The earliest timer on the heap.
    pub timer_at: Time,
    /// The number of starts.
    pub starts: u32,
    /// Events that wait while it stalls.
    pub waiting: Option<Waiting>,
    /// Changes that wait for its disk.
    pub behind: Behind,
    /// The bound on its result tables, in bytes.
    pub table_bytes_max: usize,
    /// What runs may find of earlier ones.
    pub earlier: BTreeMap<RunId, Vec<Entry>>,
    /// Saved states of unfinished runs, for the next start.
    pub standings: BTreeMap<RunId, Standing>,
    record: Option<Record>,
    unsaved: Vec<Unsaved>,
    /// A copy of the disk.
    copy: BTreeMap<RunId, Stored>,
    seed: u64,
    circle: Circle,
}

impl Server {
    /// A coordinator that has never run.
    pub fn new(seed: u64, circle: Circle, table_bytes_max: usize, now: Time) -> Self {
        let mut server = Self {
            machine: None,
            runs: BTreeMap::new(),
            links: ById::default(),
            timer_at: Time::NEVER,
            starts: 0,
            waiting: None,
            behind: Behind::default(),
            table_bytes_max,
            earlier: BTreeMap::new(),
            standings: BTreeMap::new(),
            record: None,
            unsaved: Vec::new(),
            copy: BTreeMap::new(),
            seed,
            circle,
        };
        server.start(now);
        server
    }

    /// Its configuration at the next start.
    fn config(&self) -> CoordinatorConfig {
        CoordinatorConfig {
            grid: GridId(self.seed),
            secret: [self.seed as u8; 32],
            seed: self.seed.wrapping_add(u64::from(self.starts) + 1),
            table_bytes_max: self.table_bytes_max,
            circle: self.circle,
            place_kept: if self.seed.is_multiple_of(2) { PLACE_KEPT_SHORT } else { PLACE_KEPT_MIN },
            restarted: self.starts > 0,
        }
    }

    /// Records its inputs. Must be called before anything except submissions has happened, which the record
    /// includes.
    pub fn record(&mut self, now: Time) -> Record {
        // The state at its first start.
        let config = CoordinatorConfig { restarted: false, seed: self.seed.wrapping_add(1), ..self.config() };
        let mut told = vec![(now, Told::Started(config, Vec::new()))];
        let submitted = |(run, stored): (&RunId, &Stored)| {
            (now, Told::Submitted(*run, submitter_of(*run), Box::new(stored.spec.clone())))
        };
        told.extend(self.runs.iter().map(submitted));
        let record = Record::new(RefCell::new(told));
        if let Some(machine) = &mut self.machine {
            machine.record(Record::clone(&record));
        }
        self.record = Some(Record::clone(&record));
        record
    }

    /// Starts from the disk.
    pub fn start(&mut self, now: Time) {
        let config = self.config();
        self.starts += 1;
        let stored = (self.runs.iter().filter(|(_, stored)| !stored.state.is_over()))
            .map(|(run, stored)| StoredRun {
                run: *run,
                submitter: submitter_of(*run),
                spec: stored.spec.clone(),
                state: stored.state,
                entries: stored.entries.values().cloned().collect(),
                standing: self.standings.get(run).cloned().unwrap_or_default(),
            })
            .collect();
        let mut machine = Machine::start(config, stored, now, self.record.clone());
        for (run, entries) in &self.earlier {
            if let Some(stored) = self.runs.get(run) {
                machine.use_earlier(now, *run, Earlier::new(&stored.spec, usize::MAX, entries.clone()));
            }
        }
        self.machine = Some(machine);
        self.timer_at = Time::NEVER;
    }

    /// The process is killed.
    pub fn crash(&mut self, now: Time) {
        self.machine = None;
        if let Some(record) = &self.record {
            record.borrow_mut().push((now, Told::Crashed));
        }
        self.behind.crash();
        self.links.clear();
        let kept = self.unsaved.iter().take_while(|(at, ..)| at.0 + FLUSH_NS <= now.0).count();
        let unsaved = std::mem::take(&mut self.unsaved);
        for (_, run, entries, superfluous) in unsaved.into_iter().take(kept) {
            self.write(run, entries, &superfluous);
        }
    }

    /// Stores a run before the machine knows it.
    pub fn store(&mut self, now: Time, run: RunId, spec: RunSpec) {
        let stored = Stored {
            spec,
            state: RunState::Queued,
            entries: BTreeMap::new(),
            end: None,
            counted: None,
            checked: None,
            times: (now, None),
        };
        self.runs.insert(run, stored);
    }

    /// Saves a run's state, at once.
    pub fn save_state(&mut self, run: RunId, state: RunState) {
        if let Some(stored) = self.runs.get_mut(&run) {
            stored.state = state;
        }
    }

    /// Saves a run's end, at once; false if it had ended before.
    pub fn save_end(&mut self, now: Time, run: RunId, end: RunEnd) -> bool {
        let Some(stored) = self.runs.get_mut(&run) else { return false };
        let is_first = stored.end.is_none();
        stored.state = match end {
            RunEnd::Finished(_) => RunState::Done,
            RunEnd::Cancelled => RunState::Cancelled,
            RunEnd::Limit(_) | RunEnd::Unable(_) | RunEnd::Failed(_) | RunEnd::Unverified(_) => {
                RunState::Failed
            }
        };
        stored.end = Some(end);
        stored.times.1 = Some(now);
        stored.entries.clear();
        is_first
    }

    /// Saves the hosts' counts of a finished run.
    pub fn save_counts(&mut self, run: RunId, counts: Counts, account: Account) {
        if let Some(stored) = self.runs.get_mut(&run) {
            stored.counted = Some((counts, account.is_complete));
            stored.checked = account.checked;
        }
    }

    /// Saves entries, with a delay.
    pub fn save_entries(&mut self, now: Time, run: RunId, entries: Vec<Entry>, superfluous: Vec<JobKey>) {
        let flushed = self.unsaved.iter().take_while(|(at, ..)| at.0 + FLUSH_NS <= now.0).count();
        let written: Vec<Unsaved> = self.unsaved.drain(..flushed).collect();
        for (_, run, entries, superfluous) in written {
            self.write(run, entries, &superfluous);
        }
        // Unsaved entries cost work and nothing else.
        if !self.behind.is_full {
            let at = Time(now.0 + self.behind.each_ns);
            self.unsaved.push((at, run, entries, superfluous));
        }
    }

    /// Removes entries, as lost or unreadable, except `left_percent`; returns their number.
    pub fn damage(&mut self, random: &mut Random, left_percent: usize) -> usize {
        let mut lost = 0;
        for stored in self.runs.values_mut() {
            let before = stored.entries.len();
            stored.entries.retain(|_, _| random.below(100) < left_percent);
            lost += before - stored.entries.len();
        }
        lost
    }

    /// Keeps a copy of the disk.
    pub fn keep_copy(&mut self) {
        self.copy.clone_from(&self.runs);
    }

    /// Replaces the disk by its copy; returns whether they differed. A run that has ended since is running again:
    /// its submitter has its result, and gets it a second time.
    pub fn roll_back(&mut self) -> bool {
        let is_old = self.copy.iter().any(|(run, copy)| {
            self.runs.get(run).is_some_and(|now| {
                now.state != copy.state
                    || now.entries != copy.entries
                    || now.end.is_some() != copy.end.is_some()
            })
        });
        self.runs.extend(std::mem::take(&mut self.copy));
        is_old
    }

    /// Runs that are suspended, or about to be.
    pub fn suspended(&self) -> Vec<RunId> {
        let is_suspended =
            |stored: &Stored| matches!(stored.state, RunState::Suspended | RunState::Suspending);
        self.runs.iter().filter(|(_, stored)| is_suspended(stored)).map(|(run, _)| *run).collect()
    }

    /// Whether no host works on a run any more, or hosts are about to stop: it is suspended, also to give its place to
    /// another.
    pub fn is_at_rest(&self, run: RunId) -> bool {
        let state = self.machine.as_ref().and_then(|machine| Some(machine.run(run)?.state()));
        matches!(state, Some(RunState::Suspending | RunState::Suspended | RunState::Queued))
    }

    fn write(&mut self, run: RunId, entries: Vec<Entry>, superfluous: &[JobKey]) {
        let Some(stored) = self.runs.get_mut(&run) else { return };
        if stored.end.is_some() {
            return;
        }
        for key in superfluous {
            stored.entries.remove(key);
        }
        stored.entries.extend(entries.into_iter().map(|entry| (entry.key, entry)));
    }
}
