//! Tasks that use shared objects, and wait for them.

use std::collections::BTreeSet;

use sateen_protocol::host::Notice;
use sateen_protocol::shared::{NewBase, ObjectId};
use sateen_protocol::{HeldId, JobSpec};

use super::Portion;
use crate::runtime::objects::{Object, mentioned};
use crate::runtime::task::{Source, TaskId};
use crate::tree::NodeIndex;

impl Portion {
    /// A task that is at a node before its children updates an object, if the node does so.
    pub fn update_objects(&mut self, task: TaskId, node: NodeIndex) {
        let Some(creation) = self.tree.updates(node).and_then(|number| self.mentioned(task, number)) else {
            return;
        };
        let Some((bytes, based)) = self.objects.update(creation, node, &self.tree, &mut self.remarks) else {
            return;
        };
        self.exchange.notify(Notice::Updated { object: creation, bytes });
        self.tell_of_base(creation, based);
    }

    /// A guest has made a base.
    pub(super) fn tell_of_base(&mut self, object: ObjectId, based: Option<NewBase>) {
        if let Some(new) = based {
            self.exchange.notify(Notice::Based { object, new });
        }
    }

    /// A job has arrived that mentions objects, some of which may have been dropped.
    pub(super) fn use_objects(&mut self, spec: &JobSpec) {
        for mention in &spec.objects {
            let object = mention.creation;
            if let Some(place) = self.objects.mention(object, self.tree.object_bytes(), &mut self.remarks) {
                self.exchange.notify(Notice::Opened { object, place });
            }
        }
    }

    /// Drops objects that no job mentions any more, as guests do when their references go.
    pub fn drop_objects(&mut self) {
        if self.objects.is_empty() {
            return;
        }
        let specs = (self.tasks.values().map(|task| &task.spec))
            .chain(self.exchange.open().map(|open| &open.spec))
            .chain(self.exchange.away().map(|(_, _, spec)| spec));
        let mentioned: BTreeSet<ObjectId> =
            specs.flat_map(|spec| &spec.objects).map(|mention| mention.creation).collect();
        for object in self.objects.keep(&mentioned) {
            self.exchange.notify(Notice::Closed { object });
        }
    }

    /// Whether a stolen task must wait before it begins.
    pub fn is_held_back(&mut self, task: TaskId) -> bool {
        if self.waits_for(task).is_none() {
            return false;
        }
        self.tasks.guard(task);
        true
    }

    /// An object has changed: tasks that waited for it continue.
    pub(super) fn free_tasks(&mut self) {
        let free: Vec<TaskId> = self.tasks.guarded().filter(|task| self.waits_for(*task).is_none()).collect();
        free.into_iter().for_each(|id| self.tasks.free(id));
    }

    /// Guards have waited for a while.
    pub fn refetch(&mut self) {
        let waiting: Vec<(ObjectId, HeldId)> = (self.tasks.guarded())
            .filter_map(|id| match self.tasks.get(id)?.source {
                Source::Held(held) => Some((self.waits_for(id)?, held)),
                Source::Local(_) => None,
            })
            .collect();
        for (object, held) in waiting {
            self.exchange.notify(Notice::Refetch { object, held });
        }
    }

    fn mentioned(&self, task: TaskId, number: u32) -> Option<ObjectId> {
        mentioned(&self.tasks.get(task)?.spec.objects, number)
    }

    /// The object that a stolen task must wait for, if any: it uses all objects that it mentions, and its guard
    /// may need more updates.
    fn waits_for(&self, task: TaskId) -> Option<ObjectId> {
        let of = self.tasks.get(task)?;
        let mut creations = of.spec.objects.iter().map(|mention| mention.creation);
        let has_come = |creation: ObjectId| self.objects.get(creation).is_some_and(Object::has_come);
        if let Some(creation) = creations.find(|creation| !has_come(*creation)) {
            return Some(creation);
        }
        let (wanted, number) = self.tree.guard(self.node_of(&of.spec)?)?;
        let creation = self.mentioned(task, number)?;
        let is_there = self.objects.get(creation).is_some_and(|object| object.has_update_of(wanted));
        (!is_there).then_some(creation)
    }
}
