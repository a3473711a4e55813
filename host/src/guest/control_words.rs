//! The words in a guest's memory with which the host interrupts and notifies the guest; see `sateen_abi::word`.

use sateen_abi::word::{
    ALARM, ALL, CLOSED, DEPTH, LIMIT, LOOKUP_BELOW, MEASURE_ALL, MEASURE_BELOW, NEWS, OLDEST, SHIELD_BELOW,
};
use wasmtime::{AsContext, AsContextMut, StoreContextMut};

use super::Guest;
use crate::scheduler::{Alarm, GuestGrid};

/// The two words of an alarm, or of closed paths: `limit`, and the `floor` that goes with it.
const fn limit_and_floor(limit: u32, floor: u32) -> [u8; 8] {
    (limit as u64 | (floor as u64) << 32).to_le_bytes()
}

/// The address of a guest's control words, and their last values.
#[derive(Default)]
pub struct ControlWords {
    /// The address of the first word, once the guest has reported it.
    address: Option<u32>,
    /// The depth to which its spawns are looked up.
    lookup_below: u32,
    /// The depth to which jobs are long.
    shield_below: u32,
}

impl ControlWords {
    /// The guest reports their address.
    pub fn attach(&mut self, address: u32) {
        self.address = Some(address);
    }

    /// Spawns from less than this depth are looked up, as far as the guest was notified.
    pub fn lookup_below(&self) -> u32 {
        self.lookup_below
    }
}

/// Makes the guest take the slow path at its next spawn or sync.
pub fn sound_alarm(store: StoreContextMut<'_, Guest>, alarm: Alarm) {
    let words = match alarm {
        Alarm::Oldest => limit_and_floor(ALARM, OLDEST),
        Alarm::All => limit_and_floor(ALARM, ALL),
    };
    write(store, LIMIT, &words);
}

/// Notifies the guest of the depth to which its spawns are looked up, if that has changed; returns whether it
/// has.
pub fn update_lookup_below(mut store: StoreContextMut<'_, Guest>) -> bool {
    let guest = store.data_mut();
    let looks_up = guest.registry.grid.looks_up();
    let below = if looks_up { guest.recordings.lookup_bound() } else { 0 };
    if below == guest.control.lookup_below {
        return false;
    }
    guest.control.lookup_below = below;
    write(store, LOOKUP_BELOW, &below.to_le_bytes());
    true
}

/// Notifies the guest of the depth down to which it must ask before it calls jobs of its sets in place.
pub fn update_shield_below(mut store: StoreContextMut<'_, Guest>) {
    let guest = store.data_mut();
    let registry = &guest.registry;
    if !registry.app.0.has_sets || !registry.exposes() {
        return;
    }
    let below = registry.grains.long_levels(guest.job.depth_below_root());
    if below != guest.control.shield_below {
        guest.control.shield_below = below;
        write(store, SHIELD_BELOW, &below.to_le_bytes());
    }
}

/// Notifies the guest that an object has changed: any other number than before means that.
pub fn write_news(store: StoreContextMut<'_, Guest>, word: u32) {
    write(store, NEWS, &word.to_le_bytes());
}

/// Makes a profiled guest report everything that it does from here on.
pub fn measure_all(mut store: StoreContextMut<'_, Guest>) {
    let Some(limit) = read(&store, LIMIT) else { return };
    write(store.as_context_mut(), MEASURE_BELOW, &MEASURE_ALL.to_le_bytes());
    // An alarm is not overwritten: the guest closes the paths itself when it answers it.
    if limit != ALARM {
        write(store, LIMIT, &limit_and_floor(CLOSED, OLDEST));
    }
}

/// The depth of in-place calls that the guest reports. It has made none before it has reported its control
/// words.
pub fn depth(store: &impl AsContext<Data = Guest>) -> u32 {
    read(store, DEPTH).unwrap_or(0)
}

/// One word, if it is in the guest's memory.
fn read(store: &impl AsContext<Data = Guest>, offset: usize) -> Option<u32> {
    let store = store.as_context();
    let guest = store.data();
    let at = guest.control.address? as usize + offset;
    let word = guest.exports.memory()?.data(&store).get(at..at + 4)?;
    word.first_chunk().map(|word| u32::from_le_bytes(*word))
}

/// If the word is outside the guest's memory, only the guest suffers.
fn write(mut store: StoreContextMut<'_, Guest>, offset: usize, words: &[u8]) {
    let guest = store.data();
    let (Some(memory), Some(control)) = (guest.exports.memory(), guest.control.address) else { return };
    let at = control as usize + offset;
    if let Some(room) = memory.data_mut(&mut store).get_mut(at..at + words.len()) {
        room.copy_from_slice(words);
    }
}
