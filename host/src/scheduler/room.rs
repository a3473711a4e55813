//! Whether there is memory for another instance; see [`crate::memory`].

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use crate::memory::HostMemory;

/// What a run's guests share with those of others, and what each of them takes of it.
pub struct Room {
    /// If it is bounded.
    memory: Option<HostMemory>,
    /// What an instance of the app begins with, in bytes.
    bytes_min: usize,
    /// What an instance takes, in bytes, as far as is known.
    instance_bytes: AtomicUsize,
}

impl Room {
    pub fn new(memory: Option<HostMemory>, bytes_min: usize) -> Self {
        Self { memory, bytes_min, instance_bytes: AtomicUsize::new(0) }
    }

    /// The host's memory, if it is bounded.
    pub fn memory(&self) -> Option<&HostMemory> {
        self.memory.as_ref()
    }

    /// Whether another instance may begin.
    pub fn may_begin(&self) -> bool {
        self.memory().is_none_or(|memory| memory.may_begin(self.instance_bytes()))
    }

    /// Whether there is room for another instance.
    pub fn is_left(&self) -> bool {
        self.memory().is_none_or(|memory| memory.has_room_for(self.instance_bytes()))
    }

    /// An instance has ended that had so much memory.
    pub fn note_size(&self, bytes: usize) {
        // The mean of the last few; a race loses one of them.
        let mean = self.instance_bytes.load(SeqCst);
        let next = if mean == 0 { bytes } else { mean - mean / 8 + bytes / 8 };
        self.instance_bytes.store(next, SeqCst);
    }

    /// What an instance will take of memory, as far as can be told.
    fn instance_bytes(&self) -> usize {
        self.instance_bytes.load(SeqCst).max(self.bytes_min)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instance_is_expected_to_take_what_the_last_ones_took() {
        let room = Room::new(None, 100);
        assert_eq!(room.instance_bytes(), 100);
        room.note_size(800);
        assert_eq!(room.instance_bytes(), 800);
        room.note_size(1600);
        assert_eq!(room.instance_bytes(), 900);
        (0..100).for_each(|_| room.note_size(0));
        assert_eq!(room.instance_bytes(), 100, "no less than it begins with");
        assert!(room.may_begin() && room.is_left());
    }
}
