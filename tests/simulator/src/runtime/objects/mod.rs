//! The shared objects of a host's part of a run: an object is the set of nodes that have updated it.

mod object;

use std::cell::Cell;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use sateen_protocol::host::Notice;
use sateen_protocol::shared::{Change, NewBase, ObjectId, Versions, Writer};
use sateen_protocol::{Bytes, HostId, Mention};

use super::portion::Remarks;
use crate::digest::mix;
use crate::tree::{NodeIndex, Tree};

use object::Maker;
pub use object::Object;

/// What distinguishes a portion from all others.
#[derive(Debug, Clone)]
pub struct Uniqueness {
    /// The host's id at its beginning.
    origin: HostId,
    /// Its number among those of the process.
    portion: u64,
    /// The number of makers of updates in the process so far.
    makers: Rc<Cell<u64>>,
}

impl Uniqueness {
    /// That of the portion with this number at a host.
    pub fn new(origin: HostId, portion: u64, makers: Rc<Cell<u64>>) -> Self {
        Self { origin, portion, makers }
    }

    /// A maker of updates that there has never been.
    fn new_maker(&self) -> Maker {
        let maker = (self.origin, self.makers.get());
        self.makers.set(maker.1 + 1);
        maker
    }
}

/// Shared objects, by their creation.
#[derive(Debug)]
pub struct Objects {
    of: BTreeMap<ObjectId, Object>,
    uniqueness: Uniqueness,
    /// The number of objects created here.
    created: u64,
    /// The number of places that objects have had here.
    places: u64,
    /// The number of updates made here, by the log that the machine has added them to.
    made: BTreeMap<(ObjectId, Writer), u64>,
    /// Objects that were used here before, and may have been forgotten.
    dropped: BTreeSet<ObjectId>,
}

impl Objects {
    /// No objects, in this portion.
    pub fn new(uniqueness: Uniqueness) -> Self {
        Self {
            of: BTreeMap::new(),
            uniqueness,
            created: 0,
            places: 0,
            made: BTreeMap::new(),
            dropped: BTreeSet::new(),
        }
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
                let Uniqueness { origin: HostId(origin), portion, .. } = self.uniqueness;
                let draw = mix(origin ^ mix(portion ^ mix(self.created)));
                let (object, creation) = (named(u64::from(number)), named(draw));
                let (new, initial) =
                    Object::create(self.places, self.uniqueness.new_maker(), tree.object_bytes());
                notify(Notice::Shared { object: creation, place: self.places, initial });
                self.places += 1;
                self.of.insert(creation, new);
                Mention { object, creation }
            })
            .collect()
    }

    /// A guest updates an object at a node: the update, and a new base if it has made one.
    pub fn update(
        &mut self,
        creation: ObjectId,
        node: NodeIndex,
        tree: &Tree,
        remarks: &mut Remarks,
    ) -> Option<(Bytes, Option<NewBase>)> {
        let object = self.of.get_mut(&creation)?;
        let bytes = object.update(node, tree.update_padding(node))?;
        Some((bytes, object.catch_up(remarks)))
    }

    /// The machine has added an update made here to this log, which has this number of updates now.
    pub fn note_log(&mut self, creation: ObjectId, (writer, count): (Writer, u64), remarks: &mut Remarks) {
        let is_known = self.made.insert((creation, writer), count).is_some();
        if is_known && self.dropped.remove(&creation) {
            remarks.hit("a host continued its log of updates");
        }
    }

    /// Some updates of an object were given up; its replica has these. Updates made here that it lacks are lost.
    pub fn forget_lost_updates(&mut self, creation: ObjectId, here: Option<&Versions>) {
        for ((of, writer), count) in &mut self.made {
            if *of == creation {
                *count = here.map_or(0, |here| here.of(*writer)).min(*count);
            }
        }
    }

    /// A job that has arrived mentions an object: the number of its place, of which the machine must hear, if the object
    /// had none.
    pub fn mention(&mut self, creation: ObjectId, bytes: usize, remarks: &mut Remarks) -> Option<u64> {
        let Entry::Vacant(vacant) = self.of.entry(creation) else { return None };
        if self.dropped.contains(&creation) {
            remarks.hit("a forgotten object was used again");
        }
        let place = self.places;
        vacant.insert(Object::new(place, self.uniqueness.new_maker(), bytes));
        self.places += 1;
        Some(place)
    }

    /// The machine reports a change of an object, if its place is still this one. Returns a base that a guest then makes.
    pub fn change(
        &mut self,
        (creation, place): (ObjectId, u64),
        change: Change,
        remarks: &mut Remarks,
    ) -> Option<NewBase> {
        let object = self.of.get_mut(&creation).filter(|object| object.place() == place)?;
        if matches!(change, Change::Whole { .. }) {
            // Some of the updates made here may be lost.
            object.begin_anew(self.uniqueness.new_maker());
        }
        object.change(change);
        let based = object.catch_up(remarks);
        if object.take_replaced() {
            remarks.hit("a replica was replaced");
        }
        based
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.of.is_empty()
    }

    /// Drops objects that no job mentions any more, as guests do when their references go; returns them.
    pub fn keep(&mut self, mentioned: &BTreeSet<ObjectId>) -> Vec<ObjectId> {
        let dropped: Vec<ObjectId> =
            self.of.keys().filter(|creation| !mentioned.contains(creation)).copied().collect();
        for creation in &dropped {
            self.of.remove(creation);
            self.dropped.insert(*creation);
        }
        dropped
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
        let (mut objects, mut remarks) =
            (Objects::new(Uniqueness::new(HostId(1), 1, Rc::default())), Remarks::default());
        let object = named(7);
        let first = objects.mention(object, 0, &mut remarks).expect("it is not known");
        assert_eq!(objects.mention(object, 0, &mut remarks), None, "it is known");
        assert_eq!(objects.keep(&BTreeSet::from([object])), []);
        assert!(!objects.is_empty());
        assert_eq!(objects.keep(&BTreeSet::new()), [object]);
        assert!(objects.is_empty());
        assert_eq!(remarks.take_rare(), [""; 0]);
        let second = objects.mention(object, 0, &mut remarks).expect("it was dropped");
        assert_eq!(remarks.take_rare(), ["a forgotten object was used again"]);
        // What was sent to the first place comes too late.
        let (_, base) = Object::create(0, (HostId(2), 0), 0);
        for (place, has_come) in [(first, false), (second, true)] {
            let change = Change::Whole { base: base.clone(), updates: Vec::new(), own: 0 };
            objects.change((object, place), change, &mut remarks);
            assert_eq!(objects.get(object).map(Object::has_come), Some(has_come));
        }
    }

    #[test]
    fn jobs_name_an_object_by_its_number() {
        let mention = Mention { object: named(2), creation: named(9) };
        assert_eq!((mentioned(&[mention], 2), mentioned(&[mention], 3)), (Some(named(9)), None));
    }
}
