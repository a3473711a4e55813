//! An object as a host's guests see it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sateen_protocol::shared::{Catchup, Digest, Replica, SharedReplica, Versions, Writer};
use sateen_protocol::{Bytes, HostId};

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
    replica: Arc<SharedReplica>,
    value: Value,
    /// Minimum bytes of a base.
    bytes: usize,
    position: u64,
    applied: usize,
    was_replaced: bool,
}

impl Object {
    /// A new object, which has no updates.
    pub fn create(bytes: usize) -> Self {
        let replica = Replica::new(padded(&Value::default(), bytes));
        Self::new(Arc::new(SharedReplica::new(replica)), bytes)
    }

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

    /// The replica shared with the machine.
    pub fn replica(&self) -> &Arc<SharedReplica> {
        &self.replica
    }

    /// The updates in its replica, if that has come.
    pub fn versions(&self) -> Option<Versions> {
        self.replica.with(|place| Some(place.as_ref()?.versions().clone()))
    }

    /// Whether its replica has come.
    pub fn has_come(&self) -> bool {
        self.replica.with(|place| place.is_some())
    }

    /// Whether guests see the update of a node.
    pub fn has_update_of(&self, node: NodeIndex) -> bool {
        self.value.0.contains(&node)
    }

    /// A guest of the host `origin` updates the object at a node: the update, its writer and its number there. Without
    /// a replica, it is lost.
    pub fn update(
        &mut self,
        origin: HostId,
        node: NodeIndex,
        padding: usize,
    ) -> Option<(Writer, u64, Bytes)> {
        self.replica.with(|place| {
            let replica = place.as_mut()?;
            let (writer, seq) = replica.next_local(origin);
            let mut bytes = postcard::to_allocvec(&(writer, seq, node)).unwrap_or_default();
            bytes.resize(bytes.len() + padding, 0);
            let bytes = Bytes::from(bytes);
            let (writer, seq) = replica.append_local(origin, bytes.clone())?;
            Some((writer, seq, bytes))
        })
    }

    /// Whether its replica was replaced since this was last asked.
    pub fn take_replaced(&mut self) -> bool {
        std::mem::take(&mut self.was_replaced)
    }

    /// Applies new updates; reports updates that are out of their hosts' order, repeated or missing.
    pub fn catch_up(&mut self) -> Result<(), String> {
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
