//! The shared objects of a host's part of a run: an object is the set of nodes that have updated it.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sateen_protocol::host::Notice;
use sateen_protocol::shared::{Catchup, Digest, ObjectId, Replica, SharedReplica, Versions, Writer};
use sateen_protocol::{Bytes, HeldId, JobSpec, Mention};

use super::portion::Portion;
use super::task::{Doing, Source, TaskId};
use crate::digest::mix;
use crate::tree::{NodeIndex, filled, is_filled};

/// Number of updates after which a new base is made.
const FOLDED: usize = 8;
/// Word that pads a large base.
const PADDING: u64 = 0x9add_1e60;

/// An object's value for guests: the nodes that have updated it, and the number of updates by each host.
pub type Value = (BTreeSet<NodeIndex>, BTreeMap<Writer, u64>);

/// An object at this host's guests.
#[derive(Debug)]
pub struct Object {
    /// The replica shared with the machine.
    pub replica: Arc<SharedReplica>,
    value: Value,
    /// Minimum bytes of a base.
    bytes: usize,
    position: u64,
    applied: usize,
    was_replaced: bool,
}

impl Object {
    /// An object whose replica may come later.
    pub fn new(replica: Arc<SharedReplica>, bytes: usize) -> Self {
        Self { replica, bytes, value: Value::default(), position: 0, applied: 0, was_replaced: false }
    }

    /// Its updates, their digest, and the guests' value.
    pub fn content(&self) -> Option<(Versions, Digest, &Value)> {
        self.replica.with(|place| {
            let replica = place.as_ref().filter(|replica| replica.end() == self.position)?;
            Some((replica.versions().clone(), replica.digest(), &self.value))
        })
    }

    /// Applies new updates; reports updates that are out of their hosts' order, repeated or missing.
    fn catch_up(&mut self) -> Result<(), String> {
        let Some((catchup, position)) =
            self.replica.with(|place| place.as_ref().map(|replica| replica.since(self.position)))
        else {
            return Ok(());
        };
        let updates = match catchup {
            Catchup::Nothing => return Ok(()),
            Catchup::Updates(updates) => updates,
            Catchup::Whole(base, updates) => {
                self.was_replaced |= self.position > 0;
                let (value, padding) =
                    postcard::take_from_bytes(&base).map_err(|error| format!("a base: {error}"))?;
                if !is_filled(padding, PADDING) || base.len() < self.bytes {
                    return Err("a base is not what it was".to_owned());
                }
                self.value = value;
                updates
            }
        };
        self.position = position;
        self.applied += updates.len();
        for update in updates {
            let (writer, seq, node): (Writer, u64, NodeIndex) =
                postcard::from_bytes(&update).map_err(|error| format!("an update: {error}"))?;
            let next = self.value.1.entry(writer).or_default();
            if *next != seq {
                return Err(format!("update {seq} of {writer} was applied where {next} was due"));
            }
            *next += 1;
            self.value.0.insert(node);
        }
        if self.applied >= FOLDED {
            self.applied = 0;
            let base = padded(&self.value, self.bytes);
            self.replica.with(|place| place.as_mut().map(|replica| replica.set_base(position, base)));
        }
        Ok(())
    }
}

/// A base of at least `bytes` bytes.
fn padded(value: &Value, bytes: usize) -> Bytes {
    filled(&postcard::to_allocvec(value).unwrap_or_default(), PADDING, bytes).into()
}

impl Portion {
    /// The root creates its objects, different ones each time that it is run.
    pub fn create_objects(&mut self) -> Vec<Mention> {
        (0..self.tree.shared_objects())
            .map(|number| {
                self.created += 1;
                let draw = mix(self.origin.0 ^ mix(self.uniqueness ^ mix(self.created)));
                let (object, creation) = (named(u64::from(number)), named(draw));
                let bytes = self.tree.object_bytes();
                let replica = Replica::new(padded(&Value::default(), bytes));
                let replica = Arc::new(SharedReplica::new(replica));
                self.objects.insert(creation, Object::new(replica.clone(), bytes));
                self.exchange.notify(Notice::Shared { object: creation, replica });
                Mention { object, creation }
            })
            .collect()
    }

    /// A task that is at a node before its children updates an object, if the node does so.
    pub fn update_objects(&mut self, task: TaskId, node: NodeIndex) {
        let Some(creation) = self.tree.updates(node).and_then(|number| self.mentioned(task, number)) else {
            return;
        };
        let (origin, padding) = (self.origin, self.tree.update_padding(node));
        let Some(object) = self.objects.get_mut(&creation) else { return };
        let made = object.replica.with(|place| {
            let replica = place.as_mut()?;
            let (writer, seq) = replica.next_local(origin);
            let mut bytes = postcard::to_allocvec(&(writer, seq, node)).unwrap_or_default();
            bytes.resize(bytes.len() + padding, 0);
            let bytes = Bytes::from(bytes);
            Some((replica.append_local(origin, bytes.clone())?, bytes))
        });
        let caught_up = object.catch_up();
        self.complaints.extend(caught_up.err());
        if let Some(((writer, seq), bytes)) = made {
            let is_known = self.made.insert((creation, writer), seq + 1).is_some();
            if is_known && self.dropped.remove(&creation) {
                self.rare.push("a host went on with its log of updates");
            }
            self.exchange.notify(Notice::Updated { object: creation, writer, seq, bytes });
        }
    }

    /// Some updates of an object were given up. Updates made here that are missing from its replica are lost.
    pub fn forget_lost_updates(&mut self, creation: ObjectId) {
        let object = self.objects.get(&creation);
        let here =
            object.and_then(|object| object.replica.with(|place| Some(place.as_ref()?.versions().clone())));
        for ((of, writer), count) in &mut self.made {
            if *of == creation {
                *count = here.as_ref().map_or(0, |here| here.of(*writer)).min(*count);
            }
        }
    }

    /// A job has arrived that mentions objects, some of which may have been dropped.
    pub fn use_objects(&mut self, spec: &JobSpec) {
        for mention in &spec.objects {
            let creation = mention.creation;
            if let Entry::Vacant(place) = self.objects.entry(creation) {
                let replica = Arc::<SharedReplica>::default();
                place.insert(Object::new(replica.clone(), self.tree.object_bytes()));
                self.exchange.notify(Notice::Opened { object: creation, replica });
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
        let dropped = &mut self.dropped;
        self.objects.retain(|creation, _| {
            let stays = mentioned.contains(creation);
            if !stays {
                dropped.insert(*creation);
            }
            stays
        });
    }

    fn mentioned(&self, task: TaskId, number: u32) -> Option<ObjectId> {
        let mentions = &self.tasks.get(&task)?.spec.objects;
        mentions.iter().find(|mention| mention.object == named(u64::from(number))).map(|found| found.creation)
    }

    /// The object that a stolen task must wait for, if any: it uses all objects that it mentions, and its guard
    /// may need more updates.
    fn waits_for(&self, task: TaskId) -> Option<ObjectId> {
        let of = self.tasks.get(&task)?;
        let has_come = |creation: &ObjectId| {
            self.objects.get(creation).is_some_and(|object| object.replica.with(|place| place.is_some()))
        };
        let mut creations = of.spec.objects.iter().map(|mention| mention.creation);
        if let Some(creation) = creations.find(|creation| !has_come(creation)) {
            return Some(creation);
        }
        let (wanted, number) = self.tree.guard(self.node_of(&of.spec)?)?;
        let creation = self.mentioned(task, number)?;
        let is_there = self.objects.get(&creation).is_some_and(|object| object.value.0.contains(&wanted));
        (!is_there).then_some(creation)
    }

    /// Whether a stolen task must wait before it begins.
    pub fn is_held_back(&mut self, task: TaskId) -> bool {
        if self.waits_for(task).is_none() {
            return false;
        }
        if let Some(task) = self.tasks.get_mut(&task) {
            task.doing = Doing::Guarded;
        }
        self.guarded.insert(task);
        true
    }

    /// An object has changed: tasks that waited for it continue.
    pub fn object_changed(&mut self, creation: ObjectId) {
        let Some(object) = self.objects.get_mut(&creation) else { return };
        let caught_up = object.catch_up();
        if std::mem::take(&mut object.was_replaced) {
            self.rare.push("a replica was replaced");
        }
        self.complaints.extend(caught_up.err());
        let free: Vec<TaskId> =
            self.guarded.iter().copied().filter(|task| self.waits_for(*task).is_none()).collect();
        for id in free {
            self.guarded.remove(&id);
            if let Some(task) = self.tasks.get_mut(&id) {
                task.doing = Doing::Ready;
                self.resumed.push_back(id);
            }
        }
    }

    /// Guards have waited for a while.
    pub fn refetch(&mut self) {
        let waiting: Vec<(ObjectId, HeldId)> = (self.guarded.iter())
            .filter_map(|id| match self.tasks.get(id)?.source {
                Source::Held(held) => Some((self.waits_for(*id)?, held)),
                Source::Local(_) => None,
            })
            .collect();
        for (object, held) in waiting {
            self.exchange.notify(Notice::Refetch { object, held });
        }
    }
}

/// An id from a number.
fn named(number: u64) -> ObjectId {
    let mut id = [0; 16];
    id[..8].copy_from_slice(&mix(number).to_le_bytes());
    ObjectId(id)
}
