//! The shared objects of a host's part of a run: an object is the set of nodes that have updated it.

mod object;

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sateen_protocol::host::Notice;
use sateen_protocol::shared::{ObjectId, SharedReplica, Writer};
use sateen_protocol::{HostId, Mention};

use super::portion::Remarks;
use crate::digest::mix;
use crate::tree::{NodeIndex, Tree};

pub use object::Object;

/// Shared objects, by their creation.
#[derive(Debug)]
pub struct Objects {
    of: BTreeMap<ObjectId, Object>,
    /// This host's writer name in updates.
    origin: HostId,
    /// A number that is unique among this host's portions.
    uniqueness: u64,
    /// The number of objects created here.
    created: u64,
    /// The number of updates made here, by their log.
    made: BTreeMap<(ObjectId, Writer), u64>,
    /// Objects that were used here before, and may have been forgotten.
    dropped: BTreeSet<ObjectId>,
}

impl Objects {
    /// No objects; their portion's number is unique among those of the host.
    pub fn new(uniqueness: u64) -> Self {
        Self {
            of: BTreeMap::new(),
            origin: HostId(0),
            uniqueness,
            created: 0,
            made: BTreeMap::new(),
            dropped: BTreeSet::new(),
        }
    }

    /// Names the writer of this host's updates.
    pub fn identify(&mut self, origin: HostId) {
        self.origin = origin;
    }

    /// All objects.
    pub fn iter(&self) -> impl Iterator<Item = (ObjectId, &Object)> {
        self.of.iter().map(|(creation, object)| (*creation, object))
    }

    /// An object.
    pub fn get(&self, creation: ObjectId) -> Option<&Object> {
        self.of.get(&creation)
    }

    /// The number of updates made here, by their log.
    pub fn made(&self) -> impl Iterator<Item = (ObjectId, Writer, u64)> {
        self.made.iter().map(|((creation, writer), count)| (*creation, *writer, *count))
    }

    /// Creates a root's objects, different ones each time that it is run.
    pub fn create(&mut self, tree: &Tree, mut notify: impl FnMut(Notice)) -> Vec<Mention> {
        (0..tree.shared_objects())
            .map(|number| {
                self.created += 1;
                let draw = mix(self.origin.0 ^ mix(self.uniqueness ^ mix(self.created)));
                let (object, creation) = (named(u64::from(number)), named(draw));
                let new = Object::create(tree.object_bytes());
                notify(Notice::Shared { object: creation, replica: new.replica().clone() });
                self.of.insert(creation, new);
                Mention { object, creation }
            })
            .collect()
    }

    /// A guest updates an object at a node.
    pub fn update(
        &mut self,
        creation: ObjectId,
        node: NodeIndex,
        tree: &Tree,
        remarks: &mut Remarks,
    ) -> Option<Notice> {
        let object = self.of.get_mut(&creation)?;
        let made = object.update(self.origin, node, tree.update_padding(node));
        remarks.expect(object.catch_up());
        let (writer, seq, bytes) = made?;
        let is_known = self.made.insert((creation, writer), seq + 1).is_some();
        if is_known && self.dropped.remove(&creation) {
            remarks.hit("a host continued its log of updates");
        }
        Some(Notice::Updated { object: creation, writer, seq, bytes })
    }

    /// Some updates of an object were given up. Updates made here that are missing from its replica are lost.
    pub fn forget_lost_updates(&mut self, creation: ObjectId) {
        let here = self.get(creation).and_then(Object::versions);
        for ((of, writer), count) in &mut self.made {
            if *of == creation {
                *count = here.as_ref().map_or(0, |here| here.of(*writer)).min(*count);
            }
        }
    }

    /// A job that has arrived mentions an object: its replica, which the machine must open, if the object is not known.
    pub fn mention(&mut self, creation: ObjectId, bytes: usize) -> Option<Arc<SharedReplica>> {
        let Entry::Vacant(place) = self.of.entry(creation) else { return None };
        let replica = Arc::<SharedReplica>::default();
        place.insert(Object::new(replica.clone(), bytes));
        Some(replica)
    }

    /// The machine has an object, with this replica.
    pub fn open(
        &mut self,
        creation: ObjectId,
        replica: Arc<SharedReplica>,
        bytes: usize,
        remarks: &mut Remarks,
    ) {
        if self.dropped.contains(&creation) && replica.with(|place| place.is_none()) {
            remarks.hit("a forgotten object was used again");
        }
        self.of.entry(creation).or_insert_with(|| Object::new(replica, bytes));
    }

    /// An object has changed; returns whether it is known here.
    pub fn catch_up(&mut self, creation: ObjectId, remarks: &mut Remarks) -> bool {
        let Some(object) = self.of.get_mut(&creation) else { return false };
        let caught_up = object.catch_up();
        if object.take_replaced() {
            remarks.hit("a replica was replaced");
        }
        remarks.expect(caught_up);
        true
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.of.is_empty()
    }

    /// Drops objects that no job mentions any more, as guests do when their references go.
    pub fn keep(&mut self, mentioned: &BTreeSet<ObjectId>) {
        let dropped = &mut self.dropped;
        self.of.retain(|creation, _| {
            let stays = mentioned.contains(creation);
            if !stays {
                dropped.insert(*creation);
            }
            stays
        });
    }
}

/// The creation of the run's object with this number, among those that a job mentions.
pub fn mentioned(mentions: &[Mention], number: u32) -> Option<ObjectId> {
    mentions.iter().find(|mention| mention.object == named(u64::from(number))).map(|found| found.creation)
}

/// An id from a number.
fn named(number: u64) -> ObjectId {
    let mut id = [0; 16];
    id[..8].copy_from_slice(&mix(number).to_le_bytes());
    ObjectId(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_that_was_dropped_is_used_again() {
        let (mut objects, mut remarks) = (Objects::new(1), Remarks::default());
        let object = named(7);
        let replica = objects.mention(object, 0).expect("it is not known");
        assert!(objects.mention(object, 0).is_none(), "it is known");
        objects.keep(&BTreeSet::from([object]));
        assert!(!objects.is_empty());
        objects.open(object, replica.clone(), 0, &mut remarks);
        assert_eq!(remarks.take_rare(), [""; 0]);
        objects.keep(&BTreeSet::new());
        assert!(objects.is_empty() && !objects.catch_up(object, &mut remarks));
        objects.open(object, replica, 0, &mut remarks);
        assert_eq!(remarks.take_rare(), ["a forgotten object was used again"]);
        assert!(objects.get(object).is_some_and(|object| !object.has_come()));
    }

    #[test]
    fn jobs_name_an_object_by_its_number() {
        let mention = Mention { object: named(2), creation: named(9) };
        assert_eq!((mentioned(&[mention], 2), mentioned(&[mention], 3)), (Some(named(9)), None));
    }
}
