//! A host's part of one run: its tasks and its open jobs.

mod answers;
mod commands;
mod remarks;
mod sharing;

use std::rc::Rc;

use sateen_protocol::{FaultTolerance, JobSpec, KeyMaker, ROOT_KIND, RunSpec, RuntimeJobId};
use sateen_protocol_harness::runtime::Exchange;

pub use answers::{earlier_results, read_root_answer};
use answers::{finished, node_of};
pub use remarks::Remarks;

use super::figures::Figures;
use super::lies::Lies;
use super::objects::{Objects, Uniqueness};
use super::task::{Answer, Child, Doing, Place, Source, Stage, TaskId};
use super::tasks::Tasks;
use super::telling::Told;
use crate::tree::{NodeIndex, Tree, filled};

/// Minimum work of a job whose result is recorded. In the real runtime it also depends on the interval of recording.
pub const RECORD_WORK_MIN_NS: u64 = 5_000_000;

/// A host's part of one run.
pub struct Portion {
    /// The run's specification.
    pub run_spec: RunSpec,
    /// Its tree.
    pub tree: Rc<Tree>,
    /// Makes the keys of its jobs.
    keys: KeyMaker,
    /// The jobs that it and the machine exchange.
    pub exchange: Exchange<Place>,
    /// Jobs with an instance.
    pub tasks: Tasks,
    /// Shared objects.
    pub objects: Objects,
    /// What is counted.
    pub figures: Figures,
    /// What was reported.
    pub(super) told: Told,
    /// What is noticed.
    pub remarks: Remarks,
    /// The number of jobs of other hosts that will come and find no memory.
    pub turns_away: usize,
    /// Whether a limit was met, or a job failed beyond catching: nothing is computed any more.
    pub is_halted: bool,
    /// Whether it gives wrong results, and gets them.
    pub lies: Lies,
}

impl Portion {
    /// A portion without jobs.
    pub fn new(run_spec: RunSpec, tree: Rc<Tree>, uniqueness: Uniqueness, figures: Figures) -> Self {
        Self {
            run_spec,
            keys: tree.keys(),
            tree,
            exchange: Exchange::numbered_from(0),
            tasks: Tasks::default(),
            objects: Objects::new(uniqueness),
            figures,
            told: Told::default(),
            remarks: Remarks::default(),
            turns_away: 0,
            is_halted: false,
            lies: Lies::default(),
        }
    }

    /// The work of unfinished calls before their children.
    pub fn unreturned_ns(&self) -> u64 {
        let calls = self.tasks.values().flat_map(|task| &task.frames);
        let have_divided = calls.filter(|frame| matches!(frame.stage, Stage::Syncing(_) | Stage::Combining));
        have_divided.map(|frame| self.tree.node(frame.node).before_ns).sum()
    }

    /// The work done here that is part of no recorded result: that of unfinished calls before their children, and that
    /// of children that have returned to them.
    pub fn unsaved_ns(&self) -> u64 {
        let calls = self.tasks.values().flat_map(|task| &task.frames);
        let unrecorded = calls.flat_map(|frame| &frame.children).map(|child| match child {
            Child::Done(answer) => answer.unrecorded_ns,
            _ => 0,
        });
        self.unreturned_ns() + unrecorded.sum::<u64>()
    }

    /// Aborts all unfinished jobs.
    pub fn abort_all(&mut self) {
        while let Some(task) = self.tasks.first() {
            self.abort(task);
        }
    }

    /// A task for a job.
    pub fn begin(&mut self, mut spec: JobSpec, node: NodeIndex, source: Source) -> TaskId {
        if spec.kind == ROOT_KIND {
            self.figures.begin_root();
            spec.objects = self.objects.create(&self.tree, |notice| self.exchange.notify(notice));
        }
        self.tasks.begin(spec, node, source)
    }

    /// Stops a task and all tasks that work for it; returns their workers.
    pub fn abort(&mut self, id: TaskId) -> Vec<usize> {
        let mut workers = Vec::new();
        let mut waiting = vec![id];
        while let Some(id) = waiting.pop() {
            let Some(task) = self.tasks.remove(id) else { continue };
            // Each call on its stack is a job, and so is each child that has not begun.
            let children = task.frames.iter().flat_map(|frame| &frame.children);
            let unbegun = children.filter(|child| matches!(child, Child::Latent | Child::Open)).count();
            self.figures.jobs_mut().aborted += (task.frames.len() + unbegun) as u64;
            if let Doing::Running(worker) = task.doing {
                workers.push(worker);
            }
            if let Source::Held(held) = task.source {
                self.exchange.release(held);
            }
            self.exchange.withdraw_all(id);
            for child in task.frames.iter().flat_map(|frame| &frame.children) {
                match child {
                    Child::Local(task) => waiting.push(*task),
                    Child::Away(number) => self.give_up(*number),
                    _ => {}
                }
            }
        }
        workers
    }

    /// A child that is elsewhere is no longer wanted.
    pub fn give_up(&mut self, number: RuntimeJobId) {
        self.figures.tally_mut().given_up += 1;
        self.exchange.give_up(number);
    }

    /// A task is over.
    pub fn end(&mut self, id: TaskId, answer: Answer) {
        let Some(task) = self.tasks.remove(id) else { return };
        match task.source {
            Source::Held(held) => {
                if answer.work_ns < self.run_spec.recorded_work_ns_min() {
                    self.figures.tally_mut().small_ns += answer.unrecorded_ns;
                }
                let is_check = !self.run_spec.trust.is_checked();
                let answer = self.lies.twist(&task.spec.key, is_check, answer);
                self.exchange.finish(held, finished(&self.tree, &task.spec, answer));
            }
            Source::Local(place) => {
                let answer = self.record(&task.spec, answer);
                self.fill(place, answer);
            }
        }
    }

    /// An exposed job that was not stolen has finished. Returns its answer, which says whether it is recorded.
    pub fn record(&mut self, spec: &JobSpec, answer: Answer) -> Answer {
        if !self.records() || answer.work_ns < RECORD_WORK_MIN_NS {
            return answer;
        }
        let tree = &self.tree;
        self.exchange.record(spec, answer.work_ns, RECORD_WORK_MIN_NS, || finished(tree, spec, answer));
        Answer { unrecorded_ns: 0, ..answer }
    }

    /// Whether finished work is recorded at all.
    pub fn records(&self) -> bool {
        self.run_spec.fault_tolerance == FaultTolerance::Full
    }

    /// Makes a child visible.
    pub fn expose(&mut self, place: Place, worker: usize) {
        let Some(spec) = self.spec_of(place) else { return };
        self.tasks.set(place, Child::Open);
        self.figures.jobs_mut().exposed += 1;
        self.exchange.expose(place, Some(worker), spec);
    }

    /// Has the machine look up an open redone job before it begins, if there was news of it.
    pub fn ask_first(&mut self, index: usize) -> bool {
        let Some((place, number)) = self.exchange.ask_first(index) else { return false };
        self.note_asked(place, number);
        true
    }

    /// A job is looked up that was open.
    fn note_asked(&mut self, place: Place, number: RuntimeJobId) {
        self.tasks.set(place, Child::Away(number));
        self.remarks.hit("a job was asked for before it was redone");
    }

    /// Has the machine look up a child of a redone job before it may run, if a result of it may exist.
    pub fn look_up(&mut self, place: Place) {
        let Some(spec) = self.spec_of(place) else { return };
        if self.exchange.lookups().may_find(spec.key.tag()) {
            let number = self.exchange.look_up(place, spec);
            self.tasks.set(place, Child::Away(number));
        }
    }

    /// The node of a job; `None` for parameters that no job has.
    pub fn node_of(&self, spec: &JobSpec) -> Option<NodeIndex> {
        node_of(&self.tree, spec)
    }

    fn fill(&mut self, place: Place, answer: Answer) {
        self.tasks.set(place, Child::Done(answer));
        self.wake(place);
    }

    /// Continues the task if it waits for this child.
    fn wake(&mut self, place: Place) {
        if let Some(task) = self.tasks.get(place.task)
            && let Doing::Waiting(awaited) = task.doing
            && awaited.frame == place.frame
        {
            let frame = &task.frames[place.frame];
            if awaited == place || frame.is_decided(self.tree.node(frame.node)) {
                self.tasks.resume(place.task);
            }
        }
    }

    fn spec_of(&self, place: Place) -> Option<JobSpec> {
        let task = self.tasks.get(place.task)?;
        let frame = &task.frames[place.frame];
        let node = self.tree.child(frame.node, place.child);
        let parameters = filled(&node.to_le_bytes(), u64::from(node), self.tree.parameter_bytes(node));
        // Calls in place that are recorded are above it, too.
        let within = task.frames[..=place.frame].iter().filter_map(|frame| Some(frame.exposed.as_ref()?.key));
        let (key, objects) = (self.keys.key(&parameters), task.spec.objects.clone());
        Some(frame.call.child(&task.spec, within, key, parameters.into(), objects))
    }
}
