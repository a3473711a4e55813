//! A host's part of one run: its tasks and its open jobs.

mod answers;
mod commands;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;

use sateen_protocol::host::Notice;
use sateen_protocol::shared::{ObjectId, Writer};
use sateen_protocol::{
    Counts, FaultTolerance, HeldId, HostId, JobSpec, JobTag, KeyMaker, ROOT_KIND, RunSpec, RuntimeJobId, Time,
};

pub use answers::read_root_answer;

use super::objects::Object;
use super::tally::Tally;
use super::task::{Answer, Child, Doing, Frame, Place, Source, Stage, Task, TaskId};
use super::times::Times;
use crate::tree::{NodeIndex, Tree, filled, is_filled};

/// Minimum work of a job whose result is recorded.
pub const RECORD_WORK_MIN_NS: u64 = 5_000_000;

/// An exposed job that has not been taken.
#[derive(Debug)]
pub struct Open {
    /// Its place as a child.
    pub place: Place,
    /// The worker that exposed it.
    pub worker: usize,
    /// Its specification.
    pub spec: JobSpec,
    /// The number of lookup notices before it became open; see [`Portion::sought`].
    pub asked: u64,
}

/// A host's part of one run.
pub struct Portion {
    /// The run's specification.
    pub run_spec: RunSpec,
    /// Its tree.
    pub tree: Rc<Tree>,
    /// The number of waiting thieves.
    pub thieves: usize,
    /// Children of redone jobs whose lookup may find a result, there or below; each with the number of the
    /// last notice about it.
    pub sought: BTreeMap<JobTag, u64>,
    /// The number of lookup notices.
    pub told: u64,
    /// Whether its guests are being suspended.
    pub is_draining: bool,
    /// Whether a limit was met, or a job failed beyond catching: nothing is computed any more.
    pub is_halted: bool,
    /// Whether their suspension was reported.
    pub drained_told: bool,
    /// The number of idle workers known to the machine.
    pub idle_told: usize,
    /// Jobs with an instance.
    pub tasks: BTreeMap<TaskId, Task>,
    /// Exposed jobs, oldest first.
    pub open: VecDeque<Open>,
    /// Injected jobs that have not begun.
    pub incoming: VecDeque<TaskId>,
    /// Tasks that can continue.
    pub resumed: VecDeque<TaskId>,
    /// Children at the machine.
    pub away: BTreeMap<RuntimeJobId, (Place, JobSpec)>,
    /// Abandoned children at the machine, whose results may still arrive.
    pub abandoned: BTreeSet<RuntimeJobId>,
    /// Tasks by the machine's numbers.
    pub held: BTreeMap<HeldId, TaskId>,
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
    /// Notices for the machine.
    pub notices: VecDeque<Notice>,
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
    next_number: u64,
}

impl Portion {
    /// A portion without jobs.
    pub fn new(run_spec: RunSpec, tree: Rc<Tree>, workers: usize, uniqueness: u64) -> Self {
        let keys = tree.keys();
        Self {
            run_spec,
            tree,
            thieves: 0,
            sought: BTreeMap::new(),
            told: 0,
            is_draining: false,
            is_halted: false,
            drained_told: false,
            idle_told: 0,
            tasks: BTreeMap::new(),
            open: VecDeque::new(),
            incoming: VecDeque::new(),
            resumed: VecDeque::new(),
            away: BTreeMap::new(),
            abandoned: BTreeSet::new(),
            held: BTreeMap::new(),
            counts: Counts { workers: workers as u32, ..Counts::default() },
            tally: Tally::default(),
            counts_told: Time::default(),
            executed_ns: 0,
            times: Times::default(),
            interrupted: Vec::new(),
            notices: VecDeque::new(),
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
            next_number: 0,
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
        let frame = Frame::new(node, spec.depth, spec.redone, spec.lookup_below);
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
                self.held.remove(&held);
            }
            self.incoming.retain(|other| *other != id);
            self.guarded.remove(&id);
            self.resumed.retain(|other| *other != id);
            self.open.retain(|open| open.place.task != id);
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
        self.away.remove(&number);
        self.abandoned.insert(number);
        self.tally.given_up += 1;
        self.notices.push_back(Notice::Abandoned { number });
    }

    /// A task is over.
    pub fn end(&mut self, id: TaskId, answer: Answer) {
        let Some(task) = self.tasks.remove(&id) else { return };
        match task.source {
            Source::Held(held) => {
                self.held.remove(&held);
                let finished = self.finished(&task.spec, answer);
                self.notices.push_back(Notice::Finished { held, finished });
            }
            Source::Local(place) => {
                self.record(&task.spec, answer);
                self.fill(place, answer);
            }
        }
    }

    /// An exposed job that was not stolen has finished.
    pub fn record(&mut self, spec: &JobSpec, answer: Answer) {
        if answer.work_ns >= RECORD_WORK_MIN_NS && self.records() {
            let finished = self.finished(spec, answer);
            let (key, depth, lineage) = (spec.key, spec.depth, spec.lineage.clone());
            self.notices.push_back(Notice::Recorded { key, depth, lineage, finished });
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
        self.open.push_back(Open { place, worker, spec, asked: 0 });
        self.tell_exposed();
    }

    /// Looks up an open redone job before it begins, if there was news of it since it became
    /// open: for example, its thief was away for a moment and still runs it.
    pub fn ask_first(&mut self, index: usize) -> bool {
        let Some(open) = self.open.get_mut(index).filter(|open| open.spec.redone && !self.is_draining) else {
            return false;
        };
        let told = self.sought.get(&open.spec.key.tag()).copied();
        if told.is_none_or(|told| told <= open.asked) {
            return false;
        }
        let Some(open) = self.open.remove(index) else { return false };
        let (place, spec) = (open.place, open.spec);
        let number = self.send_away(place, spec.clone());
        self.notices.push_back(Notice::Lookup { number, spec });
        self.rare.push("a job was asked for before it was redone");
        true
    }

    /// Has the machine look up a child of a redone job before it may run, if a result of it may exist.
    pub fn look_up(&mut self, place: Place) {
        let Some(spec) = self.spec_of(place) else { return };
        if !self.sought.contains_key(&spec.key.tag()) {
            return;
        }
        let number = self.send_away(place, spec.clone());
        self.notices.push_back(Notice::Lookup { number, spec });
    }

    /// Removes a job from the open ones.
    pub fn withdraw(&mut self, place: Place) -> Option<JobSpec> {
        let index = self.open.iter().rposition(|open| open.place == place)?;
        self.open.remove(index).map(|open| open.spec)
    }

    /// Reports that there is an open job, if a thief waits for one.
    pub fn tell_exposed(&mut self) {
        if self.thieves > 0 && !self.open.is_empty() {
            self.notices.push_back(Notice::Exposed);
        }
    }

    /// The node of a job; `None` for parameters that no job has.
    pub fn node_of(&self, spec: &JobSpec) -> Option<NodeIndex> {
        if spec.kind == ROOT_KIND {
            return Some(0);
        }
        let (node, rest) = spec.parameters.split_first_chunk()?;
        let node = NodeIndex::from_le_bytes(*node);
        (spec.parameters.len() == self.tree.parameter_bytes(node).max(size_of::<NodeIndex>())
            && is_filled(rest, u64::from(node)))
        .then_some(node)
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

    fn send_away(&mut self, place: Place, spec: JobSpec) -> RuntimeJobId {
        let number = self.new_number();
        self.set(place, Child::Away(number));
        self.away.insert(number, (place, spec));
        number
    }

    fn new_number(&mut self) -> RuntimeJobId {
        let number = RuntimeJobId(self.next_number);
        self.next_number += 1;
        number
    }

    fn spec_of(&self, place: Place) -> Option<JobSpec> {
        let task = self.tasks.get(&place.task)?;
        let frame = &task.frames[place.frame];
        let node = self.tree.child(frame.node, place.child);
        let parameters = filled(&node.to_le_bytes(), u64::from(node), self.tree.parameter_bytes(node));
        // Calls in place that are recorded are above it, too; the task comes last.
        let calls = task.frames[..=place.frame].iter().filter_map(|frame| frame.exposed.as_ref());
        let above = calls.fold(task.spec.lineage.clone(), |above, call| above.child(&call.key));
        Some(JobSpec {
            key: self.keys.key(&parameters),
            kind: 0,
            parameters: parameters.into(),
            depth: frame.depth + 1,
            lineage: above.child(&task.spec.key),
            redone: frame.redone,
            given_back: false,
            // A child that was never exposed is in no lineage, but entries may be below it.
            lookup_below: frame.lookup_below,
            objects: task.spec.objects.clone(),
        })
    }
}
