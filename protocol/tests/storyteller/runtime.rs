//! A runtime in which the script decides which jobs are open, lent, run in place, and finished.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use sateen_protocol::host::Notice;
use sateen_protocol::shared::SharedReplica;
use sateen_protocol::{Again, Finished, HeldId, JobKey, JobSpec, JobTag, Mention, RuntimeJobId};

use crate::entries::{finished, value};
use crate::names::parent;

/// The state of a job in this runtime.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// Exposed, and not begun.
    Open,
    /// Lent, or looked up, under this number.
    Away(RuntimeJobId),
    /// Running.
    Runs,
    /// It has ended with this result.
    Done(Finished),
}

/// A job below a task.
#[derive(Debug)]
pub struct Node {
    pub spec: JobSpec,
    pub state: State,
    /// Finished here, and not recorded yet.
    is_unsaved: bool,
}

/// A held job, and all jobs below it that this runtime knows, by name.
#[derive(Debug)]
pub struct Task {
    pub name: String,
    pub nodes: BTreeMap<String, Node>,
}

#[derive(Default)]
pub struct Runtime {
    pub tasks: BTreeMap<HeldId, Task>,
    /// Tasks and their open jobs, the oldest first.
    open: VecDeque<(HeldId, String)>,
    away: BTreeMap<RuntimeJobId, (HeldId, String)>,
    next_number: u64,
    pub thieves: usize,
    pub looks_up: bool,
    /// Jobs for which entries have come since they were last looked up.
    pub news: BTreeSet<JobTag>,
    /// The objects that its jobs mention.
    pub mentions: Vec<Mention>,
    /// The replicas that its jobs use.
    pub replicas: Vec<Arc<SharedReplica>>,
}

impl Runtime {
    pub fn inject(&mut self, held: HeldId, name: String, spec: JobSpec) {
        let node = Node { spec, state: State::Runs, is_unsaved: false };
        self.tasks.insert(held, Task { name: name.clone(), nodes: BTreeMap::from([(name, node)]) });
    }

    /// The task in which the job `name` has this state, or one like it.
    pub fn find(&self, name: &str, is: impl Fn(&State) -> bool) -> Option<HeldId> {
        (self.tasks.iter())
            .find(|(_, task)| task.nodes.get(name).is_some_and(|node| is(&node.state)))
            .map(|(held, _)| *held)
    }

    fn number(&mut self, held: HeldId, name: &str) -> RuntimeJobId {
        self.next_number += 1;
        let number = RuntimeJobId(self.next_number);
        self.away.insert(number, (held, name.to_owned()));
        number
    }

    fn node(&mut self, held: HeldId, name: &str) -> Option<&mut Node> {
        self.tasks.get_mut(&held)?.nodes.get_mut(name)
    }

    /// The job `name`, whose parent runs here, is exposed or, if entries may have it, looked up.
    pub fn open(&mut self, name: &str, key: JobKey) -> Result<Option<Notice>, String> {
        let above = parent(name).ok_or("the root has no parent")?;
        let held = self.find(above, |state| *state == State::Runs).ok_or("its parent does not run here")?;
        let task = &self.tasks[&held];
        let over = &task.nodes[above].spec;
        // A job called in place shares its caller's instance and is in no lineage.
        let lineage = if above == task.name { over.lineage.child(&over.key) } else { over.lineage.clone() };
        let spec = JobSpec {
            key,
            kind: 0,
            parameters: name.as_bytes().into(),
            depth: over.depth + 1,
            lineage,
            redone: over.redone,
            given_back: over.given_back,
            lookup_below: over.lookup_below,
            objects: self.mentions.clone(),
        };
        let looks_up = self.looks_up && over.redone && over.depth < over.lookup_below;
        let state = if looks_up { State::Away(self.number(held, name)) } else { State::Open };
        let notice = match state {
            State::Away(number) => Some(Notice::Lookup { number, spec: spec.clone() }),
            _ => (self.thieves > 0).then_some(Notice::Exposed),
        };
        if state == State::Open {
            self.open.push_back((held, name.to_owned()));
        }
        let node = Node { spec, state, is_unsaved: false };
        if let Some(task) = self.tasks.get_mut(&held) {
            task.nodes.insert(name.to_owned(), node);
        }
        Ok(notice)
    }

    /// Looks up a redone job before it begins, if an entry has come for it since it was opened.
    pub fn ask_first(&mut self, name: &str) -> Option<Notice> {
        let index = self.open.iter().position(|(_, open)| open == name)?;
        let (held, _) = self.open[index];
        let spec = self.node(held, name).map(|node| node.spec.clone())?;
        if !spec.redone || !self.news.remove(&spec.key.tag()) {
            return None;
        }
        self.open.remove(index);
        let number = self.number(held, name);
        self.node(held, name)?.state = State::Away(number);
        Some(Notice::Lookup { number, spec })
    }

    /// The job that is given to a thief first.
    pub fn oldest_open(&self) -> Option<String> {
        self.open.front().map(|(_, name)| name.clone())
    }

    /// Gives the oldest open job to a thief.
    pub fn offer(&mut self) -> Option<(RuntimeJobId, JobSpec)> {
        let (held, name) = self.open.pop_front()?;
        let number = self.number(held, &name);
        let node = self.node(held, &name)?;
        node.state = State::Away(number);
        Some((number, node.spec.clone()))
    }

    /// Runs an open job in place.
    pub fn call(&mut self, name: &str) -> bool {
        let Some(index) = self.open.iter().position(|(_, open)| open == name) else { return false };
        let Some((held, name)) = self.open.remove(index) else { return false };
        if let Some(node) = self.node(held, &name) {
            node.state = State::Runs;
        }
        true
    }

    /// Whether a running job waits for none of its children.
    pub fn can_finish(&self, name: &str) -> bool {
        let Some(held) = self.find(name, |state| *state == State::Runs) else { return false };
        (self.tasks[&held].nodes.iter())
            .filter(|(child, _)| parent(child) == Some(name))
            .all(|(_, node)| matches!(node.state, State::Done(_)))
    }

    /// The job that a worker takes back first.
    pub fn newest_open(&self) -> Option<String> {
        self.open.back().map(|(_, name)| name.clone())
    }

    /// Ends a running job. Returns its value, and the notice to the state machine.
    pub fn finish(&mut self, name: &str, padding: usize) -> Result<(u64, Option<Notice>), String> {
        let held = self.find(name, |state| *state == State::Runs).ok_or("it does not run here")?;
        let task = &self.tasks[&held];
        let mut sum = 1;
        for (child, node) in task.nodes.iter().filter(|(child, _)| parent(child) == Some(name)) {
            let State::Done(finished) = &node.state else { return Err(format!("it waits for {child}")) };
            sum += value(finished).ok_or("a result that is no number")?;
        }
        let result = finished(sum, padding);
        if task.name == name {
            self.tasks.remove(&held);
            return Ok((sum, Some(Notice::Finished { held, finished: result })));
        }
        if let Some(node) = self.node(held, name) {
            node.state = State::Done(result);
            node.is_unsaved = true;
        }
        Ok((sum, None))
    }

    /// The spawner of a job no longer needs it, and continues as if the job had returned `value`.
    pub fn abandon(&mut self, name: &str, value: u64) -> Result<Option<Notice>, String> {
        let is_there = |state: &State| matches!(state, State::Open | State::Away(_));
        let held = self.find(name, is_there).ok_or("it is neither open nor lent there")?;
        let node = self.node(held, name).ok_or("no task knows it")?;
        let state = std::mem::replace(&mut node.state, State::Done(finished(value, 0)));
        self.open.retain(|(_, open)| open != name);
        let State::Away(number) = state else { return Ok(None) };
        self.away.remove(&number);
        Ok(Some(Notice::Abandoned { number }))
    }

    /// A lent or looked-up job has a result. Returns the job's name.
    pub fn complete(&mut self, number: RuntimeJobId, finished: &Finished) -> Option<String> {
        let (held, name) = self.away.remove(&number)?;
        self.node(held, &name)?.state = State::Done(finished.clone());
        Some(name)
    }

    /// A lent or looked-up job is open again.
    pub fn requeue(&mut self, number: RuntimeJobId, again: Again) -> Option<JobSpec> {
        let (held, name) = self.away.remove(&number)?;
        let node = self.node(held, &name)?;
        node.state = State::Open;
        (node.spec.redone, node.spec.given_back) = (again.redone, again.given_back);
        node.spec.lookup_below = again.lookup_below;
        let spec = node.spec.clone();
        self.news.remove(&spec.key.tag());
        self.open.push_front((held, name));
        Some(spec)
    }

    /// Drops a task, and what is below it.
    pub fn abort(&mut self, held: HeldId) -> Option<(String, Vec<Notice>)> {
        let task = self.tasks.remove(&held)?;
        self.open.retain(|(of, _)| *of != held);
        let abandoned = (task.nodes.values())
            .filter_map(|node| match node.state {
                State::Away(number) => Some(Notice::Abandoned { number }),
                _ => None,
            })
            .collect();
        self.away.retain(|_, (of, _)| *of != held);
        Some((task.name, abandoned))
    }

    /// There is no memory for a job of another host: drops it with all jobs below it, and hands it back.
    pub fn evict(&mut self, name: &str) -> Result<Vec<Notice>, String> {
        let held = self.tasks.iter().find(|(_, task)| task.name == name).map(|(held, _)| *held);
        let held = held.ok_or("it did not come there from elsewhere")?;
        let (_, mut notices) = self.abort(held).ok_or("it is gone")?;
        notices.push(Notice::HandedBack { held });
        Ok(notices)
    }

    /// Jobs that finished in place and are worth an entry: those that are not below another finished one.
    pub fn unsaved(&mut self) -> Vec<Notice> {
        let mut notices = Vec::new();
        for task in self.tasks.values_mut() {
            let done: Vec<String> = (task.nodes.iter())
                .filter(|(_, node)| matches!(node.state, State::Done(_)))
                .map(|(name, _)| name.clone())
                .collect();
            for (name, node) in &mut task.nodes {
                let is_below = parent(name).is_some_and(|above| done.iter().any(|name| name == above));
                if let State::Done(finished) = &node.state
                    && std::mem::take(&mut node.is_unsaved)
                    && !is_below
                {
                    notices.push(Notice::Recorded {
                        key: node.spec.key,
                        depth: node.spec.depth,
                        lineage: node.spec.lineage.clone(),
                        finished: finished.clone(),
                    });
                }
            }
        }
        notices
    }
}
