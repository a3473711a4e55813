//! A host's runtime: workers that run cost-model guests. It represents the sandboxes, the scheduler and
//! the driver of a real host, and obeys the same contract with the machine. What it exchanges with the machine follows
//! the model that the stories use, too ([`sateen_protocol_harness::runtime`]).

mod dropped;
mod figures;
pub mod lies;
mod objects;
mod pick;
mod portion;
mod step;
mod stops;
mod suspending;
mod tally;
mod task;
mod tasks;
mod telling;
mod times;

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Duration;

use sateen_protocol::host::{FinalCounts, Notice, RunCommand};
use sateen_protocol::{HeldId, HostId, JobKey, JobSpec, Jobs, RunId, RunSpec, RuntimeJobId, Time};

use dropped::Dropped;
pub use dropped::{Dropping, Suspended};
use figures::Figures;
use lies::Lies;
pub use objects::Object;
use objects::Uniqueness;
pub use portion::{Portion, RECORD_WORK_MIN_NS, earlier_results, read_root_answer};
pub use step::Step;
use step::Surroundings;
use stops::Stops;
pub use tally::Tally;
pub use task::{Child, Doing, Task, TaskId};
use times::Now;

use crate::tree::Tree;

/// Time that guards wait before they ask, and between questions.
const PATIENCE_NS: u64 = 20_000_000;
/// A wake for guards, not for a worker.
const GUARDS: u32 = u32::MAX;

/// A worker's activity.
#[derive(Debug, Default)]
struct Worker {
    running: Option<(RunId, TaskId)>,
    stretch: Option<Stretch>,
    generation: u32,
    next_record: Time,
}

#[derive(Debug, Clone, Copy)]
struct Stretch {
    began: Time,
    ends: Time,
    cost_ns: u64,
}

/// A worker's stretch of work, for the heap.
#[derive(Debug, Clone, Copy)]
pub struct Wake {
    /// The worker.
    pub worker: u32,
    /// The stretch's number.
    pub generation: u32,
    /// Its end.
    pub at: Time,
}

/// The runtime of one host.
pub struct Runtime {
    workers: Vec<Worker>,
    /// Work per time, in percent.
    pub speed_percent: u64,
    grain_ns: u64,
    /// Its parts of the runs.
    pub portions: BTreeMap<RunId, Box<Portion>>,
    /// Its former parts of runs.
    dropped: Dropped,
    /// Whether it takes no jobs of other hosts.
    pub is_resting: bool,
    /// Stretches that have begun.
    pub wakes: Vec<Wake>,
    stops: Stops,
    is_watching: bool,
    portions_begun: u64,
    /// The number of makers of updates so far: see [`Uniqueness`].
    makers: Rc<Cell<u64>>,
    next_run: usize,
    /// Whether it gives wrong results, and gets them.
    pub lies: Lies,
}

impl Runtime {
    /// A runtime without work.
    pub fn new(workers: usize, speed_percent: u64, grain_ns: u64) -> Self {
        Self {
            workers: (0..workers).map(|_| Worker::default()).collect(),
            speed_percent,
            grain_ns,
            portions: BTreeMap::new(),
            dropped: Dropped::default(),
            is_resting: false,
            wakes: Vec::new(),
            stops: Stops::default(),
            is_watching: false,
            portions_begun: 0,
            makers: Rc::default(),
            next_run: 0,
            lies: Lies::default(),
        }
    }

    /// The number of workers.
    pub fn workers(&self) -> usize {
        self.workers.len()
    }

    /// Begins to take part in a run, at the host with this id.
    pub fn start(&mut self, now: Time, (run, origin): (RunId, HostId), spec: RunSpec, tree: Rc<Tree>) {
        let figures = Figures::new(self.workers.len(), self.stops.own_time(now));
        self.portions_begun += 1;
        let uniqueness = Uniqueness::new(origin, self.portions_begun, Rc::clone(&self.makers));
        let portion = self
            .portions
            .entry(run)
            .or_insert_with(|| Box::new(Portion::new(spec, tree, uniqueness, figures)));
        portion.lies = self.lies.clone();
    }

    /// Drops a run; returns its counts.
    pub fn stop(&mut self, now: Time, run: RunId, why: Dropping) -> Option<FinalCounts> {
        let lost_ns = match why {
            Dropping::Departed => self.portions.get(&run).map_or(0, |portion| portion.unreturned_ns()),
            Dropping::Suspended => self.unsaved_ns(now, run),
        };
        for worker in 0..self.workers.len() {
            if self.workers[worker].running.is_some_and(|(other, _)| other == run) {
                self.interrupt(now, worker);
            }
        }
        let mut portion = self.portions.remove(&run)?;
        portion.abort_all();
        self.dropped.add(run, &portion, why, lost_ns);
        let counts = portion.figures.counts(0);
        let workers = portion.figures.times(self.stops.own_time(now), |_| Now::Steals);
        Some(FinalCounts { counts, workers, ..FinalCounts::default() })
    }

    /// Drops all runs.
    pub fn stop_all(&mut self, now: Time) {
        let runs: Vec<RunId> = self.portions.keys().copied().collect();
        for run in runs {
            self.stop(now, run, Dropping::Departed);
        }
    }

    /// Stops computing a run.
    pub fn halt(&mut self, now: Time, run: RunId) {
        if let Some(portion) = self.portions.get_mut(&run) {
            portion.is_halted = true;
        }
        for worker in 0..self.workers.len() {
            let Some((_, task)) = self.workers[worker].running.filter(|(other, _)| *other == run) else {
                continue;
            };
            self.interrupt(now, worker);
            if let Some(task) = self.portions.get_mut(&run).and_then(|portion| portion.tasks.get_mut(task)) {
                task.doing = Doing::Resting;
            }
        }
    }

    /// Passes a command of the state machine to the part of a run. Returns the jobs that it gives up.
    pub fn handle(&mut self, now: Time, run: RunId, command: RunCommand) -> Vec<(RuntimeJobId, JobSpec)> {
        let Some(portion) = self.portions.get_mut(&run) else { return Vec::new() };
        let offered = portion.handle(command);
        self.interrupt_aborted(now, run);
        offered
    }

    /// There is no longer room for a job of another host.
    pub fn evict(&mut self, now: Time, run: RunId, held: HeldId) {
        if let Some(portion) = self.portions.get_mut(&run) {
            portion.abort_held(held);
            self.interrupt_aborted(now, run);
        }
    }

    /// The key of a job that it runs for another host or the coordinator.
    pub fn key_of(&self, run: RunId, held: HeldId) -> Option<JobKey> {
        let portion = self.portions.get(&run)?;
        Some(portion.tasks.get(portion.exchange.task_of(held)?)?.spec.key)
    }

    /// A worker's stretch is over; false if it was interrupted before.
    pub fn stretch_over(&mut self, now: Time, worker: u32, generation: u32) -> bool {
        if worker == GUARDS {
            self.is_watching = false;
            self.portions.values_mut().for_each(|portion| portion.refetch());
            return true;
        }
        let state = &mut self.workers[worker as usize];
        if state.generation != generation {
            return false;
        }
        let Some(stretch) = state.stretch.take() else { return false };
        let Some((run, _)) = state.running else { return false };
        if let Some(portion) = self.portions.get_mut(&run) {
            portion.figures.compute(worker as usize, stretch.cost_ns, self.speed_percent);
        }
        self.advance(now, worker as usize);
        true
    }

    /// Gives available work to idle workers, and reports workers without work.
    pub fn dispatch(&mut self, now: Time) {
        if self.stops.is_stopped() {
            return;
        }
        for worker in 0..self.workers.len() {
            if !self.portions.values().any(|portion| portion.has_work()) {
                break;
            }
            if self.workers[worker].running.is_none() {
                self.advance(now, worker);
            }
        }
        if !self.is_watching && self.portions.values().any(|portion| portion.tasks.guarded().len() > 0) {
            self.is_watching = true;
            self.wakes.push(Wake { worker: GUARDS, generation: 0, at: Time(now.0 + PATIENCE_NS) });
        }
        self.tell(now);
    }

    /// The process is stopped.
    pub fn freeze(&mut self, now: Time) {
        self.stops.begin(now);
        for worker in &mut self.workers {
            worker.generation += 1;
        }
    }

    /// The time for which it has been stopped.
    pub fn frozen_for(&self, now: Time) -> Duration {
        self.stops.lasts(now)
    }

    /// The process continues.
    pub fn thaw(&mut self, now: Time) {
        let Some(since) = self.stops.end(now) else { return };
        for (index, worker) in self.workers.iter_mut().enumerate() {
            if let Some(stretch) = &mut worker.stretch {
                let pause = now.since(since);
                stretch.began = stretch.began + pause;
                stretch.ends = stretch.ends + pause;
                let wake = Wake { worker: index as u32, generation: worker.generation, at: stretch.ends };
                self.wakes.push(wake);
            }
        }
    }

    /// The next notice for the machine.
    pub fn poll_notice(&mut self) -> Option<(RunId, Notice)> {
        self.portions.iter_mut().find_map(|(run, portion)| Some((*run, portion.exchange.poll_notice()?)))
    }

    /// The work done for each run, including unfinished stretches.
    pub fn executed(&self, now: Time) -> BTreeMap<RunId, u64> {
        let mut executed = self.dropped.executed_ns().clone();
        for (run, portion) in &self.portions {
            *executed.entry(*run).or_default() += portion.figures.executed_ns();
        }
        for worker in &self.workers {
            if let (Some((run, _)), Some(stretch)) = (worker.running, worker.stretch) {
                let until = self.stops.until(now);
                *executed.entry(run).or_default() += self.done_of(stretch, until);
            }
        }
        executed
    }

    /// The work of calls that had not returned when the run was last dropped here.
    pub fn cut_short_ns(&self, run: RunId) -> u64 {
        self.dropped.cut_short_ns(run)
    }

    /// All counts of a run's jobs.
    pub fn jobs(&self, run: RunId) -> Jobs {
        let mut jobs = self.dropped.jobs(run);
        if let Some(portion) = self.portions.get(&run) {
            jobs.add(portion.figures.jobs());
        }
        jobs
    }

    /// The whole tally of a run.
    pub fn tally(&self, run: RunId) -> Tally {
        let mut tally = self.dropped.tally(run);
        if let Some(portion) = self.portions.get(&run) {
            tally.add(portion.figures.tally());
        }
        tally
    }

    /// The number of busy workers.
    pub fn busy(&self) -> usize {
        self.workers.iter().filter(|worker| worker.running.is_some()).count()
    }

    /// The keys of all jobs with an instance here.
    pub fn task_keys(&self, run: RunId) -> BTreeSet<JobKey> {
        self.portions
            .get(&run)
            .map_or_else(BTreeSet::new, |portion| portion.tasks.values().map(|task| task.spec.key).collect())
    }

    /// Rules that the machine broke.
    pub fn complaints(&self) -> impl Iterator<Item = &String> {
        let present = self.portions.values().flat_map(|portion| portion.remarks.complaints());
        self.dropped.complaints().iter().chain(present)
    }

    /// Frees the workers whose tasks were aborted.
    fn interrupt_aborted(&mut self, now: Time, run: RunId) {
        let Some(portion) = self.portions.get_mut(&run) else { return };
        for worker in portion.tasks.take_interrupted() {
            self.interrupt(now, worker);
        }
    }

    fn interrupt(&mut self, now: Time, worker: usize) {
        let until = self.stops.until(now);
        let state = &mut self.workers[worker];
        state.generation += 1;
        let running = state.running.take();
        let stretch = state.stretch.take();
        if let (Some((run, _)), Some(stretch)) = (running, stretch) {
            let done = self.done_of(stretch, until);
            if let Some(portion) = self.portions.get_mut(&run) {
                portion.figures.compute(worker, done, self.speed_percent);
            }
        }
    }

    fn done_of(&self, stretch: Stretch, now: Time) -> u64 {
        let done = now.0.saturating_sub(stretch.began.0) as u128 * u128::from(self.speed_percent) / 100;
        (done as u64).min(stretch.cost_ns)
    }

    fn advance(&mut self, now: Time, worker: usize) {
        loop {
            if self.workers[worker].running.is_none() {
                self.workers[worker].running = self.pick(worker);
            }
            let Some((run, task)) = self.workers[worker].running else { break };
            let idle = self.workers.iter().filter(|worker| worker.running.is_none()).count();
            let around = Surroundings { now, worker, idle, grain_ns: self.grain_ns };
            let state = &mut self.workers[worker];
            let Some(portion) = self.portions.get_mut(&run) else {
                state.running = None;
                continue;
            };
            let step = portion.step(task, around, &mut state.next_record);
            self.interrupt_aborted(now, run);
            let state = &mut self.workers[worker];
            match step {
                Step::Compute { cost_ns } => {
                    let takes_ns = (u128::from(cost_ns) * 100 / u128::from(self.speed_percent)) as u64;
                    let ends = Time(now.0 + takes_ns);
                    state.stretch = Some(Stretch { began: now, ends, cost_ns });
                    state.generation += 1;
                    let generation = state.generation;
                    self.wakes.push(Wake { worker: worker as u32, generation, at: ends });
                    break;
                }
                Step::Free => state.running = None,
            }
        }
    }

    fn pick(&mut self, worker: usize) -> Option<(RunId, TaskId)> {
        // Runs take turns.
        let count = self.portions.len();
        self.next_run = (self.next_run + 1) % count.max(1);
        let first = self.portions.keys().nth(self.next_run).copied()?;
        let later =
            self.portions.range_mut(first..).find_map(|(run, portion)| Some((*run, portion.pick(worker)?)));
        if later.is_some() {
            return later;
        }
        self.portions.range_mut(..first).find_map(|(run, portion)| Some((*run, portion.pick(worker)?)))
    }
}
