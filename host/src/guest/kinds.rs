//! The kinds of jobs that an instance spawns, and their records in its memory, in which the guest counts.

use std::sync::atomic::Ordering::Relaxed;

use sateen_abi::kind::{BYTES, COARSE, DROPPED, SPAWNED};
use wasmtime::{Caller, StoreContextMut};

use super::Guest;
use super::grain::Grain;
use super::memory::{read, write};

/// The kinds that an instance has registered.
#[derive(Default)]
pub struct Kinds(Vec<LiveKind>);

/// A job kind as this instance spawns it.
struct LiveKind {
    /// Its number in the app.
    kind: usize,
    /// The address of its record in the guest's memory.
    address: u32,
    /// Spawns already counted, and jobs dropped without a sync.
    spawned: u64,
    dropped: u64,
    /// Spawns since its grain was judged.
    unjudged: u64,
    /// Whether each of its spawns is exposed.
    grain: Grain,
}

impl Kinds {
    /// The number of kinds.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Counts a job of this kind that was exposed; `bytes` is the length of its parameters.
    pub fn count_exposed(&mut self, kind: usize, bytes: usize) {
        if let Some(live) = self.0.iter_mut().find(|live| live.kind == kind) {
            live.grain.count_exposed(bytes);
        }
    }
}

/// The instance spawns jobs of this kind, whose record is at `address`.
///
/// # Errors
/// If the record is not in the guest's memory.
pub fn register(caller: &mut Caller<'_, Guest>, kind: usize, address: u32) -> wasmtime::Result<()> {
    let coarse = caller.data().registry.starts_coarse(kind);
    // The whole record must be in the memory, because the heartbeat reads it.
    read(caller, address, BYTES as u32, BYTES, "a job kind is")?;
    write(caller, address, &u32::from(coarse).to_le_bytes())?;
    caller.data_mut().kinds.0.push(LiveKind {
        kind,
        address,
        spawned: 0,
        dropped: 0,
        unjudged: 0,
        grain: Grain::new(coarse),
    });
    Ok(())
}

/// Counts the jobs that the guest spawned and dropped since the last call.
pub fn count_jobs(store: &mut StoreContextMut<'_, Guest>, beats: u32) {
    let Some(memory) = store.data().exports.memory() else { return };
    let (data, guest) = memory.data_and_store_mut(store);
    let registry = guest.registry.clone();
    for live in &mut guest.kinds.0 {
        let address = live.address as usize;
        let Some(record) = data.get_mut(address..address + BYTES) else { continue };
        let spawned = word(record, SPAWNED);
        let dropped = word(record, DROPPED);
        let delta = difference(live.spawned, spawned);
        registry.counters.spawned.fetch_add(delta, Relaxed);
        registry.counters.aborted.fetch_add(difference(live.dropped, dropped), Relaxed);
        live.spawned = spawned;
        live.dropped = dropped;
        live.unjudged = live.unjudged.saturating_add(delta);
        if beats > 0 && registry.exposes() {
            if live.grain.judge(std::mem::take(&mut live.unjudged), beats) {
                registry.grains.note_fine(live.kind);
            }
            record[COARSE..COARSE + 4].copy_from_slice(&u32::from(live.grain.is_coarse()).to_le_bytes());
        }
    }
}

/// How far a counter moved. The guest may write any number, but must not make a run's figures overflow; no
/// honest guest can move it further between two samples.
fn difference(before: u64, now: u64) -> u64 {
    now.wrapping_sub(before).min(u64::from(u32::MAX))
}

fn word(record: &[u8], offset: usize) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&record[offset..offset + 8]);
    u64::from_le_bytes(bytes)
}
