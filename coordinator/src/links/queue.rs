//! The queue of messages to one host: bounded in messages and bytes, and fair to other hosts. Relayed messages
//! are bounded for each sender and together; beyond, those of the sender with the most are dropped,
//! since they are sent again. A host is cut off only because of the coordinator's own messages. Chunks of
//! parcels are bulk: all else overtakes them.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sateen_protocol::coordinator::LinkId;
use sateen_protocol::message::ToHost;
use tokio::sync::Notify;

use crate::limits::{
    LINK_BULK_BYTES_MAX, LINK_BULK_BYTES_PER_SENDER_MAX, LINK_QUEUE_BYTES_MAX,
    LINK_QUEUE_BYTES_PER_SENDER_MAX, LINK_QUEUE_MESSAGES_MAX, LINK_QUEUE_MESSAGES_PER_SENDER_MAX,
    LINK_RELAYED_BYTES_MAX, LINK_RELAYED_MESSAGES_MAX, WRITE_BULK_BATCH_BYTES,
};

/// A message does not fit: whose fault that is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Full {
    /// The receiver takes too little of the coordinator's own messages.
    Receiver,
    /// The sender has more queued for the receiver than is allowed.
    Sender,
    /// Nobody's: the message is dropped, and will be sent again.
    Dropped,
}

/// Messages for one host.
#[derive(Debug, Default)]
pub struct Queue {
    waiting: Mutex<Waiting>,
    more: Notify,
    /// Bytes queued on all links.
    all_bytes: Arc<AtomicUsize>,
}

#[derive(Debug, Default)]
struct Waiting {
    control: Lane,
    bulk: Lane,
}

/// A number of messages, and their memory.
#[derive(Debug, Clone, Copy, Default)]
struct Amount {
    bytes: usize,
    messages: usize,
}

impl Amount {
    fn add(&mut self, bytes: usize) {
        self.bytes += bytes;
        self.messages += 1;
    }

    fn take(&mut self, bytes: usize) {
        self.bytes -= bytes;
        self.messages -= 1;
    }

    /// Whether there is room for one more message of this size.
    fn has_room(self, bytes: usize, most: Self) -> bool {
        self.bytes + bytes <= most.bytes && self.messages < most.messages
    }
}

/// Messages of one class.
#[derive(Debug, Default)]
struct Lane {
    messages: VecDeque<(Option<LinkId>, ToHost)>,
    /// The coordinator's own messages.
    own: Amount,
    /// Messages of other hosts, in all and by sender.
    relayed: Amount,
    by_sender: HashMap<LinkId, Amount>,
}

impl Lane {
    fn bytes(&self) -> usize {
        self.own.bytes + self.relayed.bytes
    }

    fn push(&mut self, from: Option<LinkId>, message: ToHost, bytes: usize) {
        match from {
            None => self.own.add(bytes),
            Some(sender) => {
                self.relayed.add(bytes);
                self.by_sender.entry(sender).or_default().add(bytes);
            }
        }
        self.messages.push_back((from, message));
    }

    /// A message was removed.
    fn account(&mut self, from: Option<LinkId>, bytes: usize) {
        let Some(sender) = from else { return self.own.take(bytes) };
        self.relayed.take(bytes);
        if let Some(of_sender) = self.by_sender.get_mut(&sender) {
            of_sender.take(bytes);
            if of_sender.messages == 0 {
                self.by_sender.remove(&sender);
            }
        }
    }

    /// Takes messages of about `bytes_max` out; returns their memory.
    fn take(&mut self, bytes_max: usize, into: &mut Vec<ToHost>) -> usize {
        let mut taken = 0;
        while taken < bytes_max
            && let Some((from, message)) = self.messages.pop_front()
        {
            let bytes = bytes_of(&message);
            taken += bytes;
            self.account(from, bytes);
            into.push(message);
        }
        taken
    }

    /// Makes room for a relayed message at the expense of senders that have more here than its own. Returns the bytes
    /// that were dropped for it; as an error if there is still no room.
    fn make_room(&mut self, sender: LinkId, bytes: usize, most: Amount) -> Result<usize, usize> {
        let mut dropped = 0;
        while !self.relayed.has_room(bytes, most) {
            let size = |amount: &Amount| amount.bytes.max(amount.messages * (most.bytes / most.messages));
            let largest = self.by_sender.iter().max_by_key(|(_, amount)| size(amount));
            let Some((largest, amount)) = largest.map(|(sender, amount)| (*sender, size(amount))) else {
                return Ok(dropped);
            };
            if largest == sender || amount <= self.by_sender.get(&sender).map_or(0, size) {
                return Err(dropped);
            }
            dropped += self.drop_senders(&HashSet::from([largest]));
        }
        Ok(dropped)
    }

    /// Drops the messages of these senders; returns their memory.
    fn drop_senders(&mut self, senders: &HashSet<LinkId>) -> usize {
        if !self.by_sender.keys().any(|sender| senders.contains(sender)) {
            return 0;
        }
        let before = self.relayed.bytes;
        let is_dropped = |from: &Option<LinkId>| from.is_some_and(|from| senders.contains(&from));
        let (dropped, kept) =
            std::mem::take(&mut self.messages).into_iter().partition(|(from, _)| is_dropped(from));
        self.messages = kept;
        let dropped: VecDeque<(Option<LinkId>, ToHost)> = dropped;
        for (from, message) in dropped {
            self.account(from, bytes_of(&message));
        }
        before - self.relayed.bytes
    }
}

/// Maximum for the messages of other hosts besides bulk.
const RELAYED_MAX: Amount = Amount { bytes: LINK_RELAYED_BYTES_MAX, messages: LINK_RELAYED_MESSAGES_MAX };
const PER_SENDER_MAX: Amount =
    Amount { bytes: LINK_QUEUE_BYTES_PER_SENDER_MAX, messages: LINK_QUEUE_MESSAGES_PER_SENDER_MAX };
const OWN_MAX: Amount = Amount { bytes: LINK_QUEUE_BYTES_MAX, messages: LINK_QUEUE_MESSAGES_MAX };
const BULK_MAX: Amount = Amount { bytes: LINK_BULK_BYTES_MAX, messages: LINK_QUEUE_MESSAGES_MAX };
const BULK_PER_SENDER_MAX: Amount =
    Amount { bytes: LINK_BULK_BYTES_PER_SENDER_MAX, messages: LINK_QUEUE_MESSAGES_PER_SENDER_MAX };

impl Queue {
    /// An empty queue; its messages count in `all_bytes` as well.
    pub fn new(all_bytes: Arc<AtomicUsize>) -> Self {
        Self { waiting: Mutex::default(), more: Notify::new(), all_bytes }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Approximate memory of the coordinator's own messages.
    pub fn own_bytes(&self) -> usize {
        let waiting = self.waiting();
        waiting.control.own.bytes + waiting.bulk.own.bytes
    }

    /// Bytes queued on all links.
    pub fn all_bytes(&self) -> usize {
        self.all_bytes.load(Relaxed)
    }

    /// Drops all messages.
    pub fn clear(&self) {
        let waiting = std::mem::take(&mut *self.waiting());
        self.all_bytes.fetch_sub(waiting.control.bytes() + waiting.bulk.bytes(), Relaxed);
    }

    /// Adds the bytes that each sender has here.
    pub fn add_relayed(&self, bytes_by_sender: &mut HashMap<LinkId, usize>) {
        let waiting = self.waiting();
        for (sender, amount) in waiting.control.by_sender.iter().chain(&waiting.bulk.by_sender) {
            *bytes_by_sender.entry(*sender).or_default() += amount.bytes;
        }
    }

    /// Drops the messages of these senders.
    pub fn drop_senders(&self, senders: &HashSet<LinkId>) {
        let mut waiting = self.waiting();
        let dropped = waiting.control.drop_senders(senders) + waiting.bulk.drop_senders(senders);
        self.all_bytes.fetch_sub(dropped, Relaxed);
    }

    /// Adds a message; `from` another host's link if it is relayed.
    pub fn push(&self, from: Option<LinkId>, message: ToHost) -> Result<(), Full> {
        let bytes = bytes_of(&message);
        let is_bulk = matches!(message, ToHost::RelayedBulk { .. });
        let was_empty = {
            let mut waiting = self.waiting();
            let was_empty = waiting.control.messages.is_empty() && waiting.bulk.messages.is_empty();
            let Waiting { control, bulk } = &mut *waiting;
            let (lane, most, per_sender_max, blamed) = match is_bulk {
                true => (bulk, BULK_MAX, BULK_PER_SENDER_MAX, Full::Dropped),
                false => (control, RELAYED_MAX, PER_SENDER_MAX, Full::Sender),
            };
            match from {
                // A message alone always fits.
                _ if lane.messages.is_empty() => {}
                None if !lane.own.has_room(bytes, OWN_MAX) => return Err(Full::Receiver),
                None => {}
                Some(sender) => {
                    let of_sender = lane.by_sender.get(&sender).copied().unwrap_or_default();
                    if of_sender.messages > 0 && !of_sender.has_room(bytes, per_sender_max) {
                        return Err(blamed);
                    }
                    let made = lane.make_room(sender, bytes, most);
                    self.all_bytes.fetch_sub(made.unwrap_or_else(|dropped| dropped), Relaxed);
                    made.map_err(|_| Full::Dropped)?;
                }
            }
            lane.push(from, message, bytes);
            self.all_bytes.fetch_add(bytes, Relaxed);
            was_empty
        };
        if was_empty {
            self.more.notify_one();
        }
        Ok(())
    }

    /// Takes messages of about `bytes_max` out; none if there are none. Bulk only if there are no others.
    pub fn take(&self, bytes_max: usize, into: &mut Vec<ToHost>) {
        let mut waiting = self.waiting();
        let mut taken = waiting.control.take(bytes_max, into);
        if taken == 0 {
            taken = waiting.bulk.take(bytes_max.min(WRITE_BULK_BATCH_BYTES), into);
        }
        self.all_bytes.fetch_sub(taken, Relaxed);
    }

    /// Whether the queue is empty.
    pub fn is_empty(&self) -> bool {
        let waiting = self.waiting();
        waiting.control.messages.is_empty() && waiting.bulk.messages.is_empty()
    }

    /// Waits until there may be a message.
    pub async fn more(&self) {
        self.more.notified().await;
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Approximate memory of a message.
fn bytes_of(message: &ToHost) -> usize {
    const FIXED: usize = 128;
    FIXED
        + match message {
            ToHost::Relayed { frame, .. } | ToHost::RelayedBulk { frame, .. } => frame.len(),
            ToHost::Assign { spec, .. } => spec.parameters.len() + 8 * spec.lineage.0.len(),
            ToHost::Entries { entries, .. } => entries.iter().map(bytes_of_entry).sum(),
            ToHost::Welcome { hosts, .. } => hosts.len() * 256,
            ToHost::Hosts { joined, gone, .. } => joined.len() * 256 + gone.len() * 16,
            ToHost::StartRun { spec, .. } => {
                spec.arguments.iter().map(|argument| argument.len() + 24).sum::<usize>()
                    + spec.inputs.len() * 96
            }
            _ => 0,
        }
}

fn bytes_of_entry(entry: &sateen_protocol::Entry) -> usize {
    let result = match &entry.state {
        sateen_protocol::EntryState::Done(finished) => finished.outcome.bytes().len(),
        _ => 0,
    };
    128 + 8 * entry.lineage.0.len() + result
}

#[cfg(test)]
mod tests;
