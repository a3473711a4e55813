//! A host's part of one run: its tasks and its open jobs.

mod answers;
mod commands;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;

use sateen_protocol::shared::{ObjectId, Writer};
use sateen_protocol::{
    Counts, FaultTolerance, HostId, JobSpec, KeyMaker, ROOT_KIND, RunSpec, RuntimeJobId, Time,
};
use sateen_protocol_harness::runtime::{Exchange, Inherited};

pub use answers::read_root_answer;
use answers::{finished, node_of};

use super::objects::Object;
use super::tally::Tally;
use super::task::{Answer, Child, Doing, Frame, Place, Source, Stage, Task, TaskId};
use super::times::Times;
use crate::tree::{NodeIndex, Tree, filled};

/// Minimum work of a job whose result is recorded.
pub const RECORD_WORK_MIN_NS: u64 = 5_000_000;

/// A host's part of one run.
pub struct Portion {
    /// The run's specification.
    pub run_spec: RunSpec,
    /// Its tree.
    pub tree: Rc<Tree>,
    /// The jobs that it and the machine exchange.
    pub exchange: Exchange<Place>,
    /// Whether a limit was met, or a job failed beyond catching: nothing is computed any more.
    pub is_halted: bool,
    /// Whether their suspension was reported.
    pub drained_told: bool,
    /// The number of idle workers known to the machine.
    pub idle_told: usize,
    /// Jobs with an instance.
    pub tasks: BTreeMap<TaskId, Task>,
    /// Injected jobs that have not begun.
    pub incoming: VecDeque<TaskId>,
    /// Tasks that can continue.
    pub resumed: VecDeque<TaskId>,
    /// The runtime's counts.
    pub counts: Counts,
    /// Counts of other ways in which jobs begin or move.
    pub tally: Tally,
    /// The time of the last report of counts.
    pub counts_told: Time,
    /// Work done here.
    pub executed_ns: u64,
    /// The workers' use of time.
    pub times: Times,
    /// Workers whose tasks were aborted by their spawners.
    pub interrupted: Vec<usize>,
    /// Rules that the machine broke.
    pub complaints: Vec<String>,
    /// Shared objects by their creation.
    pub objects: BTreeMap<ObjectId, Object>,
    /// Stolen tasks whose guards wait.
    pub guarded: BTreeSet<TaskId>,
    /// This host's writer name in updates.
    pub origin: HostId,
    /// A number that is unique among this host's portions.
    pub uniqueness: u64,
    /// The number of objects created here.
    pub created: u64,
    /// The number of updates made here, by their log.
    pub made: BTreeMap<(ObjectId, Writer), u64>,
    /// Objects that were used here before, and may have been forgotten.
    pub dropped: BTreeSet<ObjectId>,
    /// Rare states reached.
    pub rare: Vec<&'static str>,
    keys: KeyMaker,
    next_task: TaskId,
}

impl Portion {
    /// A portion without jobs.
    pub fn new(run_spec: RunSpec, tree: Rc<Tree>, workers: usize, uniqueness: u64) -> Self {
        let keys = tree.keys();
        Self {
            run_spec,
            tree,
            exchange: Exchange::numbered_from(0),
            is_halted: false,
            drained_told: false,
            idle_told: 0,
            tasks: BTreeMap::new(),
            incoming: VecDeque::new(),
            resumed: VecDeque::new(),
            counts: Counts { workers: workers as u32, ..Counts::default() },
            tally: Tally::default(),
            counts_told: Time::default(),
            executed_ns: 0,
            times: Times::default(),
            interrupted: Vec::new(),
            complaints: Vec::new(),
            objects: BTreeMap::new(),
            guarded: BTreeSet::new(),
            origin: HostId(0),
            uniqueness,
            created: 0,
            made: BTreeMap::new(),
            dropped: BTreeSet::new(),
            rare: Vec::new(),
            keys,
            next_task: 0,
        }
    }

    /// The work of unfinished calls before their children.
    pub fn unreturned_ns(&self) -> u64 {
        let calls = self.tasks.values().flat_map(|task| &task.frames);
        let have_divided = calls.filter(|frame| matches!(frame.stage, Stage::Syncing(_) | Stage::Combining));
        have_divided.map(|frame| self.tree.node(frame.node).before_ns).sum()
    }

    /// Aborts all unfinished jobs.
    pub fn abort_all(&mut self) {
        while let Some(task) = self.tasks.first_key_value().map(|(id, _)| *id) {
            self.abort(task);
        }
    }

    /// A task for a job.
    pub fn begin(&mut self, mut spec: JobSpec, node: NodeIndex, source: Source) -> TaskId {
        if spec.kind == ROOT_KIND {
            self.tally.roots += 1;
            // Hosts count the root as a spawn, so that every executed job was spawned.
            self.counts.jobs.spawned += 1;
            spec.objects = self.create_objects();
        }
        let id = self.next_task;
        self.next_task += 1;
        let frame = Frame::new(node, Inherited::of_task(&spec));
        self.tasks.insert(id, Task { spec, source, doing: Doing::Ready, frames: vec![frame] });
        id
    }

    /// A worker has computed.
    pub fn compute(&mut self, worker: usize, cost_ns: u64, speed_percent: u64) {
        self.executed_ns += cost_ns;
        self.times.compute(worker, (u128::from(cost_ns) * 100 / u128::from(speed_percent)) as u64);
    }

    /// Stops a task and all tasks that work for it; returns their workers.
    pub fn abort(&mut self, id: TaskId) -> Vec<usize> {
        let mut workers = Vec::new();
        let mut waiting = vec![id];
        while let Some(id) = waiting.pop() {
            let Some(task) = self.tasks.remove(&id) else { continue };
            // Each call on its stack is a job, and so is each child that has not begun.
            let children = task.frames.iter().flat_map(|frame| &frame.children);
            let unbegun = children.filter(|child| matches!(child, Child::Latent | Child::Open)).count();
            self.counts.jobs.aborted += (task.frames.len() + unbegun) as u64;
            if let Doing::Running(worker) = task.doing {
                workers.push(worker);
            }
            if let Source::Held(held) = task.source {
                self.exchange.release(held);
            }
            self.incoming.retain(|other| *other != id);
            self.guarded.remove(&id);
            self.resumed.retain(|other| *other != id);
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

    /// A child at the machine is not wanted any more.
    pub fn give_up(&mut self, number: RuntimeJobId) {
        self.tally.given_up += 1;
        self.exchange.give_up(number);
    }

    /// A task is over.
    pub fn end(&mut self, id: TaskId, answer: Answer) {
        let Some(task) = self.tasks.remove(&id) else { return };
        match task.source {
            Source::Held(held) => {
                self.exchange.finish(held, finished(&self.tree, &task.spec, answer));
            }
            Source::Local(place) => {
                self.record(&task.spec, answer);
                self.fill(place, answer);
            }
        }
    }

    /// An exposed job that was not stolen has finished.
    pub fn record(&mut self, spec: &JobSpec, answer: Answer) {
        if self.records() {
            let tree = &self.tree;
            self.exchange.record(spec, answer.work_ns, RECORD_WORK_MIN_NS, || finished(tree, spec, answer));
        }
    }

    /// Whether finished work is recorded at all.
    pub fn records(&self) -> bool {
        self.run_spec.fault_tolerance == FaultTolerance::Full
    }

    /// Makes a child visible.
    pub fn expose(&mut self, place: Place, worker: usize) {
        let Some(spec) = self.spec_of(place) else { return };
        self.set(place, Child::Open);
        self.counts.jobs.exposed += 1;
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
        self.set(place, Child::Away(number));
        self.rare.push("a job was asked for before it was redone");
    }

    /// Has the machine look up a child of a redone job before it may run, if a result of it may exist.
    pub fn look_up(&mut self, place: Place) {
        let Some(spec) = self.spec_of(place) else { return };
        if self.exchange.lookups().may_find(spec.key.tag()) {
            let number = self.exchange.look_up(place, spec);
            self.set(place, Child::Away(number));
        }
    }

    /// The node of a job; `None` for parameters that no job has.
    pub fn node_of(&self, spec: &JobSpec) -> Option<NodeIndex> {
        node_of(&self.tree, spec)
    }

    /// Sets a child's state.
    pub fn set(&mut self, place: Place, child: Child) {
        if let Some(task) = self.tasks.get_mut(&place.task) {
            task.frames[place.frame].children[place.child] = child;
        }
    }

    fn fill(&mut self, place: Place, answer: Answer) {
        self.set(place, Child::Done(answer));
        self.wake(place);
    }

    /// Continues the task if it waits for this child.
    fn wake(&mut self, place: Place) {
        if let Some(task) = self.tasks.get_mut(&place.task)
            && let Doing::Waiting(awaited) = task.doing
            && awaited.frame == place.frame
        {
            let frame = &task.frames[place.frame];
            if awaited != place && !frame.is_decided(self.tree.node(frame.node)) {
                return;
            }
            task.doing = Doing::Ready;
            self.resumed.push_back(place.task);
        }
    }

    fn spec_of(&self, place: Place) -> Option<JobSpec> {
        let task = self.tasks.get(&place.task)?;
        let frame = &task.frames[place.frame];
        let node = self.tree.child(frame.node, place.child);
        let parameters = filled(&node.to_le_bytes(), u64::from(node), self.tree.parameter_bytes(node));
        // Calls in place that are recorded are above it, too.
        let within = task.frames[..=place.frame].iter().filter_map(|frame| Some(frame.exposed.as_ref()?.key));
        let (key, objects) = (self.keys.key(&parameters), task.spec.objects.clone());
        Some(frame.call.child(&task.spec, within, key, parameters.into(), objects))
    }
}
