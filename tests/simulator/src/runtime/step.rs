//! A task's steps between two stretches of work. At every step it may expose jobs.

use sateen_protocol::Time;

use super::portion::Portion;
use super::task::{Answer, Child, Doing, Frame, Place, Stage, TaskId};
use crate::tree::Node;

/// Maximum latent jobs that are exposed each time that work must be recorded.
const EXPOSED_TO_RECORD_MAX: usize = 64;

/// A worker's next step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// A stretch of work.
    Compute {
        /// At speed 1.
        cost_ns: u64,
    },
    /// The task waits, or has ended.
    Free,
}

/// The host's state for a step.
#[derive(Debug, Clone, Copy)]
pub struct Surroundings {
    /// Now.
    pub now: Time,
    /// The worker that runs the task.
    pub worker: usize,
    /// Workers without work.
    pub idle: usize,
    /// A subtree with less work is computed in one stretch while no worker is hungry.
    pub grain_ns: u64,
}

impl Portion {
    /// Continues a task until it needs time, waits or ends. At `next_record`, the worker has to
    /// expose a job so that its result will be recorded.
    pub fn step(&mut self, id: TaskId, around: Surroundings, next_record: &mut Time) -> Step {
        loop {
            let Some(task) = self.tasks.get_mut(id) else { return Step::Free };
            let top = task.frames.len() - 1;
            let frame = &mut task.frames[top];
            let node = *self.tree.node(frame.node);
            match frame.stage {
                Stage::Fresh => {
                    let looks_up = self.exchange.lookups().reach_below(&frame.call);
                    let is_hungry = self.exchange.thieves() + around.idle > self.exchange.open().len();
                    let is_whole = node.children == 0
                        || node.work_ns <= around.grain_ns
                            && !is_hungry
                            && !looks_up
                            && !self.exchange.is_draining();
                    frame.stage = if is_whole { Stage::Whole } else { Stage::Dividing };
                    let cost_ns = if is_whole { node.work_ns } else { node.before_ns };
                    return Step::Compute { cost_ns };
                }
                Stage::Whole => {
                    let Node { answer: value, work_ns, span_ns, .. } = node;
                    let answer = Answer { value, work_ns, span_ns, unrecorded_ns: work_ns };
                    if self.tree.is_twin(frame.node) {
                        self.figures.tally_mut().twins_ns += node.work_ns;
                    }
                    self.figures.jobs_mut().executed += node.jobs;
                    self.figures.jobs_mut().spawned += node.jobs - 1;
                    if self.return_from(id, answer) {
                        return Step::Free;
                    }
                }
                Stage::Dividing => {
                    let count = node.children as usize;
                    frame.children = vec![Child::Latent; count];
                    frame.stage = Stage::Syncing(0);
                    let looks_up = self.exchange.lookups().reach_below(&frame.call);
                    let at = frame.node;
                    self.update_objects(id, at);
                    self.figures.jobs_mut().spawned += count as u64;
                    if looks_up {
                        for child in 0..count {
                            self.look_up(Place { task: id, frame: top, child });
                        }
                    }
                }
                Stage::Syncing(_) if frame.is_decided(&node) => {
                    frame.stage = Stage::Combining;
                    self.abort_children(id, top);
                    if node.after_ns > 0 {
                        return Step::Compute { cost_ns: node.after_ns };
                    }
                }
                Stage::Syncing(child) if child == frame.children.len() => {
                    frame.stage = Stage::Combining;
                    if node.after_ns > 0 {
                        return Step::Compute { cost_ns: node.after_ns };
                    }
                }
                Stage::Syncing(child) => {
                    self.expose_if_wanted(id, around, next_record);
                    if self.sync(Place { task: id, frame: top, child }) {
                        self.expose_all(id, around.worker);
                        return Step::Free;
                    }
                }
                Stage::Combining => {
                    let own_ns = node.before_ns + node.after_ns;
                    let mut sum = Answer { work_ns: own_ns, unrecorded_ns: own_ns, ..Answer::default() };
                    let answers = frame.children.iter().map(|child| match child {
                        Child::Done(answer) => Some(answer),
                        Child::Aborted => None,
                        other => unreachable!("a synced child is {other:?}"),
                    });
                    let mut values = Vec::new();
                    for (child, answer) in answers.enumerate() {
                        let Some(answer) = answer else { continue };
                        sum.work_ns += answer.work_ns;
                        sum.unrecorded_ns += answer.unrecorded_ns;
                        sum.span_ns = sum.span_ns.max(answer.span_ns);
                        if node.decisive.is_none_or(|decisive| decisive as usize == child) {
                            values.push(answer.value);
                        }
                    }
                    let value = self.tree.combine(frame.node, values.into_iter());
                    let answer = Answer { value, span_ns: sum.span_ns + own_ns, ..sum };
                    if self.tree.is_twin(frame.node) {
                        self.figures.tally_mut().twins_ns += own_ns;
                    }
                    self.figures.jobs_mut().executed += 1;
                    if self.return_from(id, answer) {
                        return Step::Free;
                    }
                }
            }
        }
    }

    /// The unfinished children of this call are no longer wanted.
    fn abort_children(&mut self, id: TaskId, frame: usize) {
        let Some(task) = self.tasks.get(id) else { return };
        for child in 0..task.frames[frame].children.len() {
            let place = Place { task: id, frame, child };
            let Some(task) = self.tasks.get(id) else { return };
            match task.frames[frame].children[child] {
                Child::Done(_) | Child::Aborted => continue,
                Child::Latent => self.figures.jobs_mut().aborted += 1,
                Child::Open => {
                    self.exchange.withdraw(&place);
                    self.figures.jobs_mut().aborted += 1;
                }
                Child::Local(task) => {
                    let workers = self.abort(task);
                    self.tasks.interrupt(workers);
                }
                Child::Away(number) => self.give_up(number),
                Child::InPlace => unreachable!("a call in place returns before its parent continues"),
            }
            self.tasks.set(place, Child::Aborted);
        }
    }

    /// Syncs a child; true when the task must wait for it.
    fn sync(&mut self, place: Place) -> bool {
        let is_draining = self.exchange.is_draining();
        let Some(task) = self.tasks.get_mut(place.task) else { return true };
        let frame = &mut task.frames[place.frame];
        let child = frame.children[place.child];
        match child {
            Child::Done(_) => {
                frame.stage = Stage::Syncing(place.child + 1);
                return false;
            }
            // A real guest first finishes unsaved work; this one loses it, which is harder on the protocol.
            Child::Latent | Child::Open if is_draining => {
                task.doing = Doing::Resting;
                return true;
            }
            Child::Latent => {
                frame.children[place.child] = Child::InPlace;
                let node = self.tree.child(frame.node, place.child);
                let call = frame.call.in_place();
                task.frames.push(Frame::new(node, call));
                return false;
            }
            Child::Open => {
                // It may still be elsewhere.
                if let Some(index) = self.exchange.find_open(&place)
                    && self.ask_first(index)
                {
                    return false;
                }
            }
            Child::InPlace | Child::Aborted => {
                unreachable!("a call in place returns, and a decided one continues, before its parent syncs")
            }
            Child::Local(_) | Child::Away(_) => {
                task.doing = Doing::Waiting(place);
                return true;
            }
        }
        // It has not been taken.
        let Some(spec) = self.exchange.withdraw(&place) else {
            unreachable!("an open child is not in the queue")
        };
        let Some(task) = self.tasks.get_mut(place.task) else { return true };
        let parent = &mut task.frames[place.frame];
        parent.children[place.child] = Child::InPlace;
        let node = self.tree.child(parent.node, place.child);
        let mut frame = Frame::new(node, parent.call.taken_back(&spec));
        frame.exposed = Some(Box::new(spec));
        task.frames.push(frame);
        false
    }

    /// Returns from the innermost call; true when it was the task's own.
    fn return_from(&mut self, id: TaskId, answer: Answer) -> bool {
        let Some(task) = self.tasks.get_mut(id) else { return true };
        let Some(frame) = task.frames.pop() else { return true };
        if task.frames.is_empty() {
            self.end(id, answer);
            return true;
        }
        let answer = frame.exposed.map_or(answer, |spec| self.record(&spec, answer));
        let parent = self.tasks.get_mut(id).and_then(|task| task.frames.last_mut());
        let Some(parent) = parent else { return true };
        let Stage::Syncing(child) = parent.stage else { unreachable!("a caller is {:?}", parent.stage) };
        parent.children[child] = Child::Done(answer);
        parent.stage = Stage::Syncing(child + 1);
        false
    }

    fn expose_if_wanted(&mut self, id: TaskId, around: Surroundings, next_record: &mut Time) {
        if self.exchange.is_draining() {
            self.expose_all(id, around.worker);
            return;
        }
        while self.is_hungry(around) {
            if !self.expose_oldest(id, around.worker) {
                break;
            }
        }
        if self.records() && around.now >= *next_record {
            for _ in 0..EXPOSED_TO_RECORD_MAX {
                if !self.expose_oldest(id, around.worker) {
                    break;
                }
            }
            let every_ns = u64::from(self.run_spec.record_every_ms.max(1)) * 1_000_000;
            *next_record = Time(around.now.0 + every_ns);
        }
    }

    /// Whether there are more thieves and idle workers than open jobs.
    fn is_hungry(&self, around: Surroundings) -> bool {
        self.exchange.thieves() + around.idle > self.exchange.open().len()
    }

    fn expose_oldest(&mut self, id: TaskId, worker: usize) -> bool {
        let latent = self.tasks.get(id).and_then(super::task::Task::oldest_latent);
        let Some((frame, child)) = latent else { return false };
        self.expose(Place { task: id, frame, child }, worker);
        true
    }

    /// A waiting guest cannot expose jobs, so it exposes all of them before.
    fn expose_all(&mut self, id: TaskId, worker: usize) {
        while self.expose_oldest(id, worker) {}
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use sateen_protocol::host::Notice;
    use sateen_protocol::{HeldId, HostId, JobSpec, ROOT_KIND, RunSpec, Stealing};

    use super::*;
    use crate::runtime::figures::Figures;
    use crate::runtime::objects::Uniqueness;
    use crate::tree::{Tree, TreePlan};

    fn portion() -> Portion {
        let tree = Rc::new(Tree::new(&TreePlan {
            seed: 7,
            jobs: 100,
            work_ns: 1_000_000_000,
            children_max: 4,
            share_percent_max: 80,
            ..TreePlan::default()
        }));
        let spec = RunSpec { stealing: Stealing::Random, record_every_ms: 100, ..RunSpec::new(tree.app()) };
        Portion::new(spec, tree, Uniqueness::new(HostId(1), 1, Rc::default()), Figures::new(2, Time(0)))
    }

    fn root(portion: &Portion) -> JobSpec {
        JobSpec::new(portion.tree.keys().key(&[]), ROOT_KIND, Vec::new())
    }

    #[test]
    fn a_suspension_loses_the_work_that_is_in_no_recorded_result() {
        // The root's children are exposed at once, or never.
        for first_record in [Time(0), Time(u64::MAX)] {
            let mut portion = portion();
            portion.inject(HeldId(1), root(&portion));
            let root = portion.pick(0).expect("the root waits");
            let around = Surroundings { now: Time(0), worker: 0, idle: 0, grain_ns: 0 };
            let (mut next_record, mut done_ns, mut recorded_ns) = (first_record, 0, 0);
            while let Step::Compute { cost_ns } = portion.step(root, around, &mut next_record) {
                let recorded = std::iter::from_fn(|| portion.exchange.poll_notice());
                let recorded = recorded.map(|notice| match notice {
                    Notice::Recorded { finished, .. } => finished.work_ns,
                    _ => 0,
                });
                recorded_ns += recorded.sum::<u64>();
                assert_eq!(portion.unsaved_ns(), done_ns - recorded_ns);
                done_ns += cost_ns;
            }
            assert_eq!((done_ns, portion.unsaved_ns()), (portion.tree.root().work_ns, 0));
            assert_eq!(recorded_ns > 0, first_record == Time(0));
        }
    }

    /// The child was never exposed, so it is in no lineage, but entries may be below it.
    #[test]
    fn a_worker_that_takes_a_child_of_a_redone_job_looks_up_as_deep() {
        for (redone, lookup_below) in [(true, 5), (false, 0)] {
            let mut portion = portion();
            let spec = JobSpec { redone, lookup_below, ..root(&portion) };
            portion.inject(HeldId(1), spec);
            let root = portion.pick(0).expect("the root waits");
            let around = Surroundings { now: Time(0), worker: 0, idle: 2, grain_ns: 0 };
            let mut next_record = Time(u64::MAX);
            // The work before its children; then the first of them, with the second exposed.
            for _ in 0..2 {
                let step = portion.step(root, around, &mut next_record);
                assert!(matches!(step, Step::Compute { .. }), "{step:?}");
            }
            let child = portion.pick(1).expect("an idle worker has a child exposed");
            let call = &portion.tasks.get(child).expect("it has begun").frames[0];
            let call = call.call;
            assert_eq!((call.depth, call.redone, call.lookup_below), (1, redone, lookup_below));
        }
    }
}
