//! Whether there is memory for another instance; see [`crate::memory`].

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use crate::memory::HostMemory;

/// The memory that a run's guests share with those of other runs, and how much each guest takes of it.
pub struct Room {
    /// The budget, if memory is limited.
    memory: Option<HostMemory>,
    /// Initial memory of an instance of the app, in bytes.
    bytes_min: usize,
    /// Memory of an instance, in bytes, as far as is known.
    instance_bytes: AtomicUsize,
}

impl Room {
    pub fn new(memory: Option<HostMemory>, bytes_min: usize) -> Self {
        Self { memory, bytes_min, instance_bytes: AtomicUsize::new(0) }
    }

    /// The host's memory, if it is limited.
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

    /// Notes the memory of an instance that has ended.
    pub fn note_size(&self, bytes: usize) {
        // The mean of the last few instances; a race may lose one of them.
        let mean = self.instance_bytes.load(SeqCst);
        let next = if mean == 0 { bytes } else { mean - mean / 8 + bytes / 8 };
        self.instance_bytes.store(next, SeqCst);
    }

    /// The expected memory of an instance.
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
