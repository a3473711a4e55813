//! A portion's tasks, and which of them can continue.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use sateen_protocol::JobSpec;
use sateen_protocol_harness::runtime::Inherited;

use super::task::{Child, Doing, Frame, Place, Source, Task, TaskId};
use crate::tree::NodeIndex;

/// Jobs with an instance.
#[derive(Debug, Default)]
pub struct Tasks {
    of: BTreeMap<TaskId, Task>,
    next: TaskId,
    /// Injected jobs that have not begun.
    incoming: VecDeque<TaskId>,
    /// Tasks that can continue.
    resumed: VecDeque<TaskId>,
    /// Stolen tasks whose guards wait.
    guarded: BTreeSet<TaskId>,
    /// Workers whose tasks were aborted by their spawners.
    interrupted: Vec<usize>,
}

impl Tasks {
    /// All tasks.
    pub fn values(&self) -> impl Iterator<Item = &Task> {
        self.of.values()
    }

    /// The oldest task.
    pub fn first(&self) -> Option<TaskId> {
        self.of.first_key_value().map(|(id, _)| *id)
    }

    /// A task.
    pub fn get(&self, id: TaskId) -> Option<&Task> {
        self.of.get(&id)
    }

    /// A task, to be changed.
    pub fn get_mut(&mut self, id: TaskId) -> Option<&mut Task> {
        self.of.get_mut(&id)
    }

    /// Sets a child's state.
    pub fn set(&mut self, place: Place, child: Child) {
        if let Some(task) = self.of.get_mut(&place.task) {
            task.frames[place.frame].children[place.child] = child;
        }
    }

    /// Adds a task for a job.
    pub fn begin(&mut self, spec: JobSpec, node: NodeIndex, source: Source) -> TaskId {
        let id = self.next;
        self.next += 1;
        let frame = Frame::new(node, Inherited::of_task(&spec));
        self.of.insert(id, Task { spec, source, doing: Doing::Ready, frames: vec![frame] });
        id
    }

    /// Removes a task that is over, or aborted.
    pub fn remove(&mut self, id: TaskId) -> Option<Task> {
        let task = self.of.remove(&id)?;
        self.incoming.retain(|other| *other != id);
        self.resumed.retain(|other| *other != id);
        self.guarded.remove(&id);
        Some(task)
    }

    // ---- tasks that can continue ----

    /// A task has come from the machine.
    pub fn receive(&mut self, id: TaskId) {
        self.incoming.push_back(id);
    }

    /// Whether a task from the machine has not begun.
    pub fn has_incoming(&self) -> bool {
        !self.incoming.is_empty()
    }

    /// The next task from the machine that has not begun.
    pub fn next_incoming(&mut self) -> Option<TaskId> {
        self.incoming.pop_front()
    }

    /// A task can continue.
    pub fn resume(&mut self, id: TaskId) {
        if let Some(task) = self.of.get_mut(&id) {
            task.doing = Doing::Ready;
            self.resumed.push_back(id);
        }
    }

    /// Whether a task can continue.
    pub fn has_resumed(&self) -> bool {
        !self.resumed.is_empty()
    }

    /// The next task that can continue.
    pub fn next_resumed(&mut self) -> Option<TaskId> {
        self.resumed.pop_front()
    }

    // ---- guards ----

    /// A task's guard waits.
    pub fn guard(&mut self, id: TaskId) {
        if let Some(task) = self.of.get_mut(&id) {
            task.doing = Doing::Guarded;
        }
        self.guarded.insert(id);
    }

    /// Tasks whose guards wait.
    pub fn guarded(&self) -> impl ExactSizeIterator<Item = TaskId> {
        self.guarded.iter().copied()
    }

    /// A task's guard waits no more.
    pub fn free(&mut self, id: TaskId) {
        self.guarded.remove(&id);
        self.resume(id);
    }

    // ---- workers ----

    /// The tasks of these workers were aborted.
    pub fn interrupt(&mut self, workers: Vec<usize>) {
        self.interrupted.extend(workers);
    }

    /// Workers whose tasks were aborted since they were last taken.
    pub fn take_interrupted(&mut self) -> Vec<usize> {
        std::mem::take(&mut self.interrupted)
    }
}

#[cfg(test)]
mod tests {
    use sateen_protocol::{HeldId, JobKey};

    use super::*;

    fn begin(tasks: &mut Tasks) -> TaskId {
        let spec = JobSpec::new(JobKey([1; 32]), 0, Vec::new());
        tasks.begin(spec, 0, Source::Held(HeldId(1)))
    }

    #[test]
    fn a_task_that_is_removed_waits_nowhere() {
        let mut tasks = Tasks::default();
        let [incoming, guarded, resumed] = [(); 3].map(|()| begin(&mut tasks));
        tasks.receive(incoming);
        tasks.guard(guarded);
        tasks.resume(resumed);
        assert!([incoming, guarded, resumed].into_iter().all(|id| tasks.remove(id).is_some()));
        assert!(!tasks.has_incoming() && !tasks.has_resumed() && tasks.guarded().len() == 0);
        tasks.resume(resumed);
        assert_eq!(tasks.next_resumed(), None);
    }

    #[test]
    fn a_guarded_task_continues_when_it_is_free() {
        let mut tasks = Tasks::default();
        let id = begin(&mut tasks);
        tasks.guard(id);
        assert_eq!(tasks.get(id).map(|task| task.doing), Some(Doing::Guarded));
        tasks.free(id);
        assert_eq!(tasks.get(id).map(|task| task.doing), Some(Doing::Ready));
        assert_eq!((tasks.next_resumed(), tasks.guarded().len()), (Some(id), 0));
    }
}
