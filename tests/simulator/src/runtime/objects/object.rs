//! An object as a host's guests see it.

use std::collections::{BTreeMap, BTreeSet};

use sateen_protocol::shared::{Catchup, Change, NewBase, View};
use sateen_protocol::{Bytes, HostId};

use crate::runtime::portion::Remarks;
use crate::tree::{NodeIndex, filled, is_filled};

/// Number of updates after which a new base is made.
const FOLDED: usize = 8;
/// Word that pads a large base.
const PADDING: u64 = 0x9add_1e60;

/// Those that make updates: the guests of a host that have an object, from one time that it gets a place or is replaced
/// there to the next, by a number that no others have.
pub type Maker = (HostId, u64);

/// An object's value for guests: the nodes that have updated it, and the number of updates by each maker.
pub type Value = (BTreeSet<NodeIndex>, BTreeMap<Maker, u64>);

/// An object at this host's guests.
#[derive(Debug)]
pub struct Object {
    /// `None` until its replica has come.
    view: Option<View>,
    place: u64,
    value: Value,
    /// Those that make updates here at present, and how many they have made.
    maker: Maker,
    made: u64,
    /// Minimum bytes of a base.
    bytes: usize,
    position: u64,
    applied: usize,
    was_replaced: bool,
}

impl Object {
    /// A new object, which has no updates, and its first base.
    pub fn create(place: u64, maker: Maker, bytes: usize) -> (Self, Bytes) {
        let initial = padded(&Value::default(), bytes);
        let view = Some(View::new(initial.clone()));
        (Self { view, ..Self::new(place, maker, bytes) }, initial)
    }

    /// An object whose replica may come later.
    pub fn new(place: u64, maker: Maker, bytes: usize) -> Self {
        Self {
            view: None,
            place,
            value: Value::default(),
            maker,
            made: 0,
            bytes,
            position: 0,
            applied: 0,
            was_replaced: false,
        }
    }

    /// The guests' value.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// The number of updates that guests see.
    pub fn updates(&self) -> u64 {
        self.value.1.values().sum()
    }

    /// The number of its place.
    pub fn place(&self) -> u64 {
        self.place
    }

    /// Whether its replica has come.
    pub fn has_come(&self) -> bool {
        self.view.is_some()
    }

    /// Whether guests see the update of a node.
    pub fn has_update_of(&self, node: NodeIndex) -> bool {
        self.value.0.contains(&node)
    }

    /// A guest updates the object at a node. Without a replica, the update is lost.
    pub fn update(&mut self, node: NodeIndex, padding: usize) -> Option<Bytes> {
        let view = self.view.as_mut()?;
        let mut bytes = postcard::to_allocvec(&(self.maker, self.made, node)).unwrap_or_default();
        self.made += 1;
        bytes.resize(bytes.len() + padding, 0);
        let bytes = Bytes::from(bytes);
        view.append(bytes.clone());
        Some(bytes)
    }

    /// Updates made here have another maker from now on.
    pub fn begin_anew(&mut self, maker: Maker) {
        (self.maker, self.made) = (maker, 0);
    }

    /// The machine reports a change.
    pub fn change(&mut self, change: Change) {
        View::change(&mut self.view, change);
    }

    /// Whether its replica was replaced since this was last asked.
    pub fn take_replaced(&mut self) -> bool {
        std::mem::take(&mut self.was_replaced)
    }

    /// Applies new updates; remarks on updates that are out of their makers' order, repeated or missing. Returns the new
    /// base, if it makes one.
    pub fn catch_up(&mut self, remarks: &mut Remarks) -> Option<NewBase> {
        let based = self.try_to_catch_up();
        let (new, is) = based.map_or_else(|complaint| (None, Err(complaint)), |new| (new, Ok(())));
        remarks.expect(is);
        new
    }

    fn try_to_catch_up(&mut self) -> Result<Option<NewBase>, String> {
        let Some(view) = &mut self.view else { return Ok(None) };
        let (catchup, position) = view.since(self.position);
        let updates = match catchup {
            Catchup::Nothing => return Ok(None),
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
            let ((maker, number, node), _): ((Maker, u64, NodeIndex), _) =
                postcard::take_from_bytes(&update).map_err(|error| format!("an update: {error}"))?;
            let next = self.value.1.entry(maker).or_default();
            if *next != number {
                return Err(format!("update {number} of {maker:?} was applied where {next} was due"));
            }
            *next += 1;
            self.value.0.insert(node);
        }
        if self.applied < FOLDED {
            return Ok(None);
        }
        self.applied = 0;
        Ok(view.set_base(position, padded(&self.value, self.bytes)))
    }
}

/// A base of at least `bytes` bytes.
fn padded(value: &Value, bytes: usize) -> Bytes {
    filled(&postcard::to_allocvec(value).unwrap_or_default(), PADDING, bytes).into()
}
