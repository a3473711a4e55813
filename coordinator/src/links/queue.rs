//! What waits to be sent to one host: bounded in messages and bytes, and fair to other hosts. Chunks of parcels
//! are bulk: all else overtakes them, and those that do not fit are dropped, for their receivers ask again.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use sateen_protocol::coordinator::LinkId;
use sateen_protocol::message::ToHost;
use tokio::sync::Notify;

use crate::limits::{
    LINK_BULK_BYTES_MAX, LINK_BULK_BYTES_PER_SENDER_MAX, LINK_QUEUE_BYTES_MAX,
    LINK_QUEUE_BYTES_PER_SENDER_MAX, LINK_QUEUE_MESSAGES_MAX, WRITE_BULK_BATCH_BYTES,
};

/// A message that does not fit any more, and whose fault that is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Full {
    /// The receiver takes too little of what it is sent.
    Receiver,
    /// The sender sends it more than is allowed to be under way.
    Sender,
    /// It is bulk, and need not fit.
    Bulk,
}

/// Messages for one host.
#[derive(Debug, Default)]
pub struct Queue {
    waiting: Mutex<Waiting>,
    more: Notify,
    /// What waits on all links, in bytes.
    all_bytes: Arc<AtomicUsize>,
}

#[derive(Debug, Default)]
struct Waiting {
    control: Lane,
    bulk: Lane,
}

impl Waiting {
    fn bytes(&self) -> usize {
        self.control.bytes + self.bulk.bytes
    }
}

/// Messages of one class.
#[derive(Debug, Default)]
struct Lane {
    messages: VecDeque<(Option<LinkId>, ToHost)>,
    bytes: usize,
    bytes_by_sender: HashMap<LinkId, usize>,
}

impl Lane {
    fn of_sender(&self, from: LinkId) -> usize {
        self.bytes_by_sender.get(&from).copied().unwrap_or(0)
    }

    fn push(&mut self, from: Option<LinkId>, message: ToHost, bytes: usize) {
        self.bytes += bytes;
        if let Some(from) = from {
            *self.bytes_by_sender.entry(from).or_default() += bytes;
        }
        self.messages.push_back((from, message));
    }

    /// Takes messages of about `bytes_max` out; what they come to.
    fn take(&mut self, bytes_max: usize, into: &mut Vec<ToHost>) -> usize {
        let mut taken = 0;
        while taken < bytes_max
            && let Some((from, message)) = self.messages.pop_front()
        {
            let bytes = bytes_of(&message);
            taken += bytes;
            self.bytes -= bytes;
            if let Some(from) = from
                && let Some(of_sender) = self.bytes_by_sender.get_mut(&from)
            {
                *of_sender -= bytes;
                if *of_sender == 0 {
                    self.bytes_by_sender.remove(&from);
                }
            }
            into.push(message);
        }
        taken
    }
}

impl Queue {
    /// Empty; what is added counts in `all_bytes` as well.
    pub fn new(all_bytes: Arc<AtomicUsize>) -> Self {
        Self { waiting: Mutex::default(), more: Notify::new(), all_bytes }
    }

    /// About what it takes in memory.
    pub fn bytes(&self) -> usize {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).bytes()
    }

    /// What waits on all links.
    pub fn all_bytes(&self) -> usize {
        self.all_bytes.load(Relaxed)
    }

    /// Throws away what waits.
    pub fn clear(&self) {
        let waiting = std::mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner));
        self.all_bytes.fetch_sub(waiting.bytes(), Relaxed);
    }

    /// Adds a message; `from` another host's link if it is relayed.
    pub fn push(&self, from: Option<LinkId>, message: ToHost) -> Result<(), Full> {
        let bytes = bytes_of(&message);
        let is_bulk = matches!(message, ToHost::RelayedBulk { .. });
        let was_empty = {
            let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            let was_empty = waiting.control.messages.is_empty() && waiting.bulk.messages.is_empty();
            let Waiting { control, bulk } = &mut *waiting;
            if is_bulk {
                if bulk.bytes + bytes > LINK_BULK_BYTES_MAX
                    || from.is_some_and(|from| bulk.of_sender(from) + bytes > LINK_BULK_BYTES_PER_SENDER_MAX)
                {
                    return Err(Full::Bulk);
                }
                bulk.push(from, message, bytes);
            } else {
                // A message alone always fits.
                if !control.messages.is_empty() {
                    if from
                        .is_some_and(|from| control.of_sender(from) + bytes > LINK_QUEUE_BYTES_PER_SENDER_MAX)
                    {
                        return Err(Full::Sender);
                    }
                    if control.bytes + bytes > LINK_QUEUE_BYTES_MAX
                        || control.messages.len() >= LINK_QUEUE_MESSAGES_MAX
                    {
                        return Err(Full::Receiver);
                    }
                }
                control.push(from, message, bytes);
            }
            self.all_bytes.fetch_add(bytes, Relaxed);
            was_empty
        };
        if was_empty {
            self.more.notify_one();
        }
        Ok(())
    }

    /// Takes messages of about `bytes_max` out; none when there are none. Bulk only if nothing else waits.
    pub fn take(&self, bytes_max: usize, into: &mut Vec<ToHost>) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let mut taken = waiting.control.take(bytes_max, into);
        if taken == 0 {
            taken = waiting.bulk.take(bytes_max.min(WRITE_BULK_BATCH_BYTES), into);
        }
        self.all_bytes.fetch_sub(taken, Relaxed);
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.control.messages.is_empty() && waiting.bulk.messages.is_empty()
    }

    /// Waits until there may be something.
    pub async fn more(&self) {
        self.more.notified().await;
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        self.clear();
    }
}

/// About what a message takes in memory.
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
mod tests {
    use super::*;
    use sateen_protocol::HostId;

    fn relayed(bytes: usize) -> ToHost {
        ToHost::Relayed { from: HostId(1), frame: vec![0; bytes] }
    }

    #[test]
    fn a_sender_that_floods_is_told_from_a_receiver_that_is_slow() {
        let queue = Queue::default();
        let frame = LINK_QUEUE_BYTES_PER_SENDER_MAX / 4;
        let mut pushes = 0;
        while queue.push(Some(LinkId(1)), relayed(frame)).is_ok() {
            pushes += 1;
        }
        assert_eq!(pushes, 3);
        assert_eq!(queue.push(Some(LinkId(1)), relayed(frame)), Err(Full::Sender));
        assert_eq!(queue.push(Some(LinkId(2)), relayed(frame)), Ok(()));
        assert_eq!(queue.push(None, relayed(2 * LINK_QUEUE_BYTES_PER_SENDER_MAX)), Err(Full::Receiver));
    }

    #[test]
    fn what_was_taken_makes_room() {
        let queue = Queue::default();
        let all = LINK_QUEUE_BYTES_MAX;
        assert_eq!(queue.push(None, relayed(all)), Ok(()));
        assert_eq!(queue.push(None, ToHost::Farewell), Err(Full::Receiver));
        let mut taken = Vec::new();
        queue.take(1, &mut taken);
        assert_eq!(taken.len(), 1);
        assert!(queue.is_empty());
        assert_eq!(queue.push(None, relayed(all)), Ok(()));
    }

    #[test]
    fn what_waits_on_all_links_is_known() {
        let all = Arc::new(AtomicUsize::new(0));
        let queues: Vec<Queue> = (0..3).map(|_| Queue::new(Arc::clone(&all))).collect();
        queues.iter().for_each(|queue| queue.push(None, relayed(1000)).expect("room"));
        assert_eq!(queues[0].all_bytes(), 3 * queues[0].bytes());
        queues[1].take(1, &mut Vec::new());
        queues[2].clear();
        assert_eq!(all.load(Relaxed), queues[0].bytes());
        drop(queues);
        assert_eq!(all.load(Relaxed), 0);
    }

    #[test]
    fn all_else_overtakes_bulk_and_bulk_that_does_not_fit_is_nobodys_fault() {
        let queue = Queue::default();
        let chunk = || ToHost::RelayedBulk { from: HostId(1), frame: vec![0; WRITE_BULK_BATCH_BYTES] };
        let mut pushes = 0;
        while queue.push(Some(LinkId(1)), chunk()).is_ok() {
            pushes += 1;
        }
        assert!(pushes >= 2 << 20 >> 15, "{pushes}: less than two windows");
        assert_eq!(queue.push(Some(LinkId(1)), chunk()), Err(Full::Bulk));
        assert_eq!(queue.push(Some(LinkId(2)), chunk()), Ok(()));
        assert_eq!(queue.push(None, ToHost::Ping { ping: 1 }), Ok(()));
        let mut taken = Vec::new();
        queue.take(usize::MAX, &mut taken);
        assert_eq!(taken, [ToHost::Ping { ping: 1 }]);
        queue.take(usize::MAX, &mut taken);
        assert_eq!(taken.len(), 2, "a chunk at a time");
        assert!(!queue.is_empty());
    }
}
