//! A guest at work: a stack of calls, each with its children.

use sateen_protocol::{HeldId, JobSpec, RuntimeJobId};
use sateen_protocol_harness::runtime::{self, Inherited};

use crate::tree::{Node, NodeIndex};

/// The number of a task in its portion.
pub type TaskId = u64;

/// A child's place: the task, the call in its stack, the child of that call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The task.
    pub task: TaskId,
    /// The call.
    pub frame: usize,
    /// The child.
    pub child: usize,
}

impl runtime::Place for Place {
    type Task = TaskId;

    fn task(&self) -> TaskId {
        self.task
    }
}

/// The state of a spawned child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Child {
    /// A record in the guest's memory.
    Latent,
    /// In the queue of open jobs.
    Open,
    /// Called in place.
    InPlace,
    /// Another task of this host runs it.
    Local(TaskId),
    /// The machine has it: lent, or looked up.
    Away(RuntimeJobId),
    /// Its result.
    Done(Answer),
    /// Its result is not wanted.
    Aborted,
}

/// A result and its cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Answer {
    /// The result.
    pub value: u64,
    /// The work of the subtree.
    pub work_ns: u64,
    /// Its critical path.
    pub span_ns: u64,
    /// Of the work, that which was done here and is part of no recorded result; see also [`super::Tally::small_ns`].
    pub unrecorded_ns: u64,
}

/// The stage of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// It has not begun.
    Fresh,
    /// Its whole subtree is being computed in one stretch.
    Whole,
    /// The work before the children is being done.
    Dividing,
    /// All children before this one have been synced. Guests sync in the order in which they spawned.
    Syncing(usize),
    /// The work after the children is being done.
    Combining,
}

/// A call.
#[derive(Debug)]
pub struct Frame {
    /// Its node.
    pub node: NodeIndex,
    /// What its children inherit.
    pub call: Inherited,
    /// Its stage.
    pub stage: Stage,
    /// Its children, once they are spawned.
    pub children: Vec<Child>,
    /// Whether it was exposed, and taken back.
    pub exposed: Option<Box<JobSpec>>,
}

/// The owner of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// For the machine.
    Held(HeldId),
    /// For another task of this host.
    Local(Place),
}

/// The state of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doing {
    /// It waits for a worker.
    Ready,
    /// A worker runs it.
    Running(usize),
    /// It waits for a child.
    Waiting(Place),
    /// Its guard waits for an update.
    Guarded,
    /// It is suspended for good.
    Resting,
}

/// A job with an instance of its own.
#[derive(Debug)]
pub struct Task {
    /// Its job.
    pub spec: JobSpec,
    /// Its owner.
    pub source: Source,
    /// Its state.
    pub doing: Doing,
    /// Its calls, the innermost last.
    pub frames: Vec<Frame>,
}

impl Frame {
    /// Whether the unfinished children have become useless.
    pub fn is_decided(&self, node: &Node) -> bool {
        let child = node.decisive.and_then(|child| self.children.get(child as usize));
        matches!(child, Some(Child::Done(_)))
    }

    /// A call that has not begun.
    pub fn new(node: NodeIndex, call: Inherited) -> Self {
        // The real runtime hands this down. Here, all redone work below a job counts as lost.
        let call = Inherited { given_back: false, ..call };
        Self { node, call, stage: Stage::Fresh, children: Vec::new(), exposed: None }
    }
}

impl Task {
    /// The oldest child that is still latent.
    pub fn oldest_latent(&self) -> Option<(usize, usize)> {
        self.frames.iter().enumerate().find_map(|(frame, call)| {
            let child = call.children.iter().position(|child| *child == Child::Latent)?;
            Some((frame, child))
        })
    }
}
