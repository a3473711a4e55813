//! What waits to be sent to one host: bounded in messages and bytes, and fair to other hosts.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use sateen_protocol::coordinator::LinkId;
use sateen_protocol::message::ToHost;
use tokio::sync::Notify;

use crate::limits::{LINK_QUEUE_BYTES_MAX, LINK_QUEUE_BYTES_PER_SENDER_MAX, LINK_QUEUE_MESSAGES_MAX};

/// A message that does not fit any more, and whose fault that is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Full {
    /// The receiver takes too little of what it is sent.
    Receiver,
    /// The sender sends it more than is allowed to be under way.
    Sender,
}

/// Messages for one host.
#[derive(Debug, Default)]
pub struct Queue {
    waiting: Mutex<Waiting>,
    more: Notify,
}

#[derive(Debug, Default)]
struct Waiting {
    messages: VecDeque<(Option<LinkId>, ToHost)>,
    bytes: usize,
    bytes_by_sender: HashMap<LinkId, usize>,
}

impl Queue {
    /// Adds a message; `from` another host's link if it is relayed.
    pub fn push(&self, from: Option<LinkId>, message: ToHost) -> Result<(), Full> {
        let bytes = bytes_of(&message);
        let was_empty = {
            let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            // A message alone always fits.
            if !waiting.messages.is_empty() {
                if let Some(from) = from
                    && waiting.bytes_by_sender.get(&from).copied().unwrap_or(0) + bytes
                        > LINK_QUEUE_BYTES_PER_SENDER_MAX
                {
                    return Err(Full::Sender);
                }
                if waiting.bytes + bytes > LINK_QUEUE_BYTES_MAX
                    || waiting.messages.len() >= LINK_QUEUE_MESSAGES_MAX
                {
                    return Err(Full::Receiver);
                }
            }
            waiting.bytes += bytes;
            if let Some(from) = from {
                *waiting.bytes_by_sender.entry(from).or_default() += bytes;
            }
            waiting.messages.push_back((from, message));
            waiting.messages.len() == 1
        };
        if was_empty {
            self.more.notify_one();
        }
        Ok(())
    }

    /// Takes messages of about `bytes_max` out; none when there are none.
    pub fn take(&self, bytes_max: usize, into: &mut Vec<ToHost>) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let mut taken = 0;
        while taken < bytes_max
            && let Some((from, message)) = waiting.messages.pop_front()
        {
            let bytes = bytes_of(&message);
            taken += bytes;
            waiting.bytes -= bytes;
            if let Some(from) = from
                && let Some(of_sender) = waiting.bytes_by_sender.get_mut(&from)
            {
                *of_sender -= bytes;
                if *of_sender == 0 {
                    waiting.bytes_by_sender.remove(&from);
                }
            }
            into.push(message);
        }
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).messages.is_empty()
    }

    /// Waits until there may be something.
    pub async fn more(&self) {
        self.more.notified().await;
    }
}

/// About what a message takes in memory.
fn bytes_of(message: &ToHost) -> usize {
    const FIXED: usize = 128;
    FIXED
        + match message {
            ToHost::Relayed { frame, .. } => frame.len(),
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
}
