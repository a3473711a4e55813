//! A runtime in which the script decides which jobs are open, lent, run in place, and finished.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use sateen_protocol::host::Notice;
use sateen_protocol::shared::ObjectId;
use sateen_protocol::{Again, Finished, HeldId, JobKey, JobSpec, Mention, RunSpec, RuntimeJobId};
use sateen_protocol_harness::runtime::{Among, Exchange, Inherited, Offer, Place};

use crate::entries::{finished, value};
use crate::names::parent;
use crate::world::RECORD_EVERY_MS;

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

impl Task {
    /// What the children of the job `name`, which runs here, inherit from it, and the calls in place above them, which
    /// are recorded.
    fn above_children_of(&self, name: &str) -> (Inherited, Vec<JobKey>) {
        let spec = &self.nodes[name].spec;
        let Some(caller) = parent(name).filter(|_| name != self.name) else {
            return (Inherited::of_task(spec), Vec::new());
        };
        let (call, mut within) = self.above_children_of(caller);
        within.push(spec.key);
        (call.taken_back(spec), within)
    }
}

/// A job's place: the held job that it is below, and its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct At {
    held: HeldId,
    name: String,
}

impl Place for At {
    type Task = HeldId;

    fn task(&self) -> HeldId {
        self.held
    }
}

pub struct Runtime {
    pub tasks: BTreeMap<HeldId, Task>,
    /// What the machine has of its jobs, and it of the machine's.
    pub exchange: Exchange<At>,
    /// The objects that its jobs mention.
    pub mentions: Vec<Mention>,
    /// The objects that it has a place for.
    pub objects: BTreeSet<ObjectId>,
}

impl Default for Runtime {
    fn default() -> Self {
        Self {
            tasks: BTreeMap::new(),
            exchange: Exchange::numbered_from(1),
            mentions: Vec::new(),
            objects: BTreeSet::new(),
        }
    }
}

impl Runtime {
    /// A job comes. Returns the objects that it mentions and that the runtime has no place for yet.
    pub fn use_objects(&mut self, spec: &JobSpec) -> Vec<ObjectId> {
        let new: Vec<Mention> =
            (spec.objects.iter()).filter(|mention| self.objects.insert(mention.creation)).copied().collect();
        let new = new.into_iter().map(|mention| {
            self.mentions.push(mention);
            mention.creation
        });
        new.collect()
    }

    pub fn inject(&mut self, held: HeldId, name: String, spec: JobSpec) {
        let node = Node { spec, state: State::Runs, is_unsaved: false };
        self.exchange.hold(held, held);
        self.tasks.insert(held, Task { name: name.clone(), nodes: BTreeMap::from([(name, node)]) });
    }

    /// The task in which the job `name` has this state, or one like it.
    pub fn find(&self, name: &str, is: impl Fn(&State) -> bool) -> Option<HeldId> {
        (self.tasks.iter())
            .find(|(_, task)| task.nodes.get(name).is_some_and(|node| is(&node.state)))
            .map(|(held, _)| *held)
    }

    /// What is to be reported to the machine.
    pub fn notices(&mut self) -> Vec<Notice> {
        std::iter::from_fn(|| self.exchange.poll_notice()).collect()
    }

    fn node(&mut self, at: &At) -> Option<&mut Node> {
        self.tasks.get_mut(&at.held)?.nodes.get_mut(&at.name)
    }

    fn set(&mut self, at: &At, state: State) {
        if let Some(node) = self.node(at) {
            node.state = state;
        }
    }

    /// The open job `name`.
    fn find_open(&self, name: &str) -> Option<usize> {
        self.exchange.open().position(|open| open.place.name == name)
    }

    /// The job `name`, whose parent runs here, is exposed or, if entries may have it, looked up.
    pub fn open(&mut self, name: &str, key: JobKey) -> Result<Option<Notice>, String> {
        let above = parent(name).ok_or("the root has no parent")?;
        let held = self.find(above, |state| *state == State::Runs).ok_or("its parent does not run here")?;
        let task = self.tasks.get_mut(&held).ok_or("its parent does not run here")?;
        let (call, within) = task.above_children_of(above);
        let (of, mentions) = (&task.nodes[&task.name].spec, self.mentions.clone());
        let spec = call.child(of, within, key, name.as_bytes().into(), mentions);
        let at = At { held, name: name.to_owned() };
        // The real runtime looks up only those of which the machine has notified it.
        let state = if self.exchange.lookups().reach_below(&call) {
            State::Away(self.exchange.look_up(at, spec.clone()))
        } else {
            self.exchange.expose(at, None, spec.clone());
            State::Open
        };
        task.nodes.insert(name.to_owned(), Node { spec, state, is_unsaved: false });
        Ok(self.exchange.poll_notice())
    }

    /// Looks up a redone job before it begins, if an entry has come for it since it was opened.
    pub fn ask_first(&mut self, name: &str) -> Option<Notice> {
        let (at, number) = self.exchange.ask_first(self.find_open(name)?)?;
        self.set(&at, State::Away(number));
        self.exchange.poll_notice()
    }

    /// Gives the oldest open job up, and at most `more` like it; the names of those that it asks for instead.
    pub fn offer(&mut self, more: usize) -> (Vec<String>, Vec<(RuntimeJobId, JobSpec)>) {
        let Offer { looked_up, lent } = self.exchange.offer(more);
        looked_up.iter().for_each(|(at, number)| self.set(at, State::Away(*number)));
        let lent = lent.into_iter().map(|(at, number, spec)| {
            self.set(&at, State::Away(number));
            (number, spec)
        });
        let lent = lent.collect();
        (looked_up.into_iter().map(|(at, _)| at.name).collect(), lent)
    }

    /// Runs an open job in place.
    pub fn call(&mut self, name: &str) -> bool {
        let Some(open) = self.find_open(name).and_then(|index| self.exchange.take(index)) else {
            return false;
        };
        self.set(&open.place, State::Runs);
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
        self.exchange.open().next_back().map(|open| open.place.name.clone())
    }

    /// Ends a running job. Returns its value, and the notice to the state machine.
    pub fn finish(&mut self, name: &str, padding: usize) -> Result<(u64, Option<Notice>), String> {
        let held = self.find(name, |state| *state == State::Runs).ok_or("it does not run here")?;
        let task = &self.tasks[&held];
        let mut sum = 1;
        for (child, node) in task.nodes.iter().filter(|(child, _)| parent(child) == Some(name)) {
            let State::Done(finished) = &node.state else { return Err(format!("it waits for {child}")) };
            sum += value(finished).ok_or("a result that is not a number")?;
        }
        let result = finished(sum, padding);
        if task.name == name {
            self.tasks.remove(&held);
            self.exchange.finish(held, result);
            return Ok((sum, self.exchange.poll_notice()));
        }
        if let Some(node) = self.node(&At { held, name: name.to_owned() }) {
            node.state = State::Done(result);
            node.is_unsaved = true;
        }
        Ok((sum, None))
    }

    /// The spawner of a job no longer needs it, and continues as if the job had returned `value`.
    pub fn abandon(&mut self, name: &str, value: u64) -> Result<Option<Notice>, String> {
        let is_there = |state: &State| matches!(state, State::Open | State::Away(_));
        let held = self.find(name, is_there).ok_or("it is neither open nor lent there")?;
        let at = At { held, name: name.to_owned() };
        let node = self.node(&at).ok_or("nobody knows it")?;
        match std::mem::replace(&mut node.state, State::Done(finished(value, 0))) {
            State::Away(number) => self.exchange.give_up(number),
            _ => drop(self.exchange.withdraw(&at)),
        }
        Ok(self.exchange.poll_notice())
    }

    /// A lent or looked-up job has a result. Returns the job's name.
    pub fn complete(&mut self, number: RuntimeJobId, finished: &Finished) -> Option<String> {
        let (at, _) = self.exchange.complete(number).ok()?;
        self.set(&at, State::Done(finished.clone()));
        Some(at.name)
    }

    /// A lent or looked-up job is open again, before all others: it is older.
    pub fn requeue(&mut self, number: RuntimeJobId, again: Again) -> Option<JobSpec> {
        let at = self.exchange.requeue(number, again, Among::Oldest).ok()?.place;
        let spec = self.exchange.open().next()?.spec.clone();
        let node = self.node(&at)?;
        (node.state, node.spec) = (State::Open, spec.clone());
        Some(spec)
    }

    /// Drops a task, and what is below it.
    pub fn abort(&mut self, held: HeldId) -> Option<(String, Vec<Notice>)> {
        let task = self.tasks.remove(&held)?;
        self.exchange.release(held);
        self.exchange.withdraw_all(held);
        for node in task.nodes.values() {
            if let State::Away(number) = node.state {
                self.exchange.give_up(number);
            }
        }
        Some((task.name, self.notices()))
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
        let every = Duration::from_millis(RECORD_EVERY_MS.into());
        let least_ns = RunSpec::recorded_work_min(every).as_nanos() as u64;
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
                    self.exchange.record(&node.spec, finished.work_ns, least_ns, || finished.clone());
                }
            }
        }
        self.notices()
    }
}
