//! The kinds of jobs that an instance spawns, and their records in its memory, in which the guest counts.

use std::sync::atomic::Ordering::Relaxed;

use sateen_abi::kind::{BYTES, COARSE, DROPPED, SPAWNED};
use wasmtime::{Caller, StoreContextMut};

use super::Guest;
use super::control_words::depth;
use super::grain::Grain;
use super::latent::Latent;
use super::memory::{read, write};
use super::outlook::{Outlook, Sight};

/// The kinds that an instance has registered, and the jobs that only it knows.
#[derive(Default)]
pub struct Kinds {
    live: Vec<LiveKind>,
    pub latent: Latent,
    /// How much work the instance expects.
    pub outlook: Outlook,
    /// Jobs spawned and dropped since the latent ones were counted last.
    since: Since,
}

#[derive(Default)]
struct Since {
    spawned: u64,
    dropped: u64,
}

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
        self.live.len()
    }

    /// Counts a job of this kind that was exposed; `bytes` is the length of its parameters.
    pub fn count_exposed(&mut self, kind: usize, bytes: usize) {
        if let Some(live) = self.live.iter_mut().find(|live| live.kind == kind) {
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
    caller.data_mut().kinds.live.push(LiveKind {
        kind,
        address,
        spawned: 0,
        dropped: 0,
        unjudged: 0,
        grain: Grain::new(coarse),
    });
    Ok(())
}

/// The guest shows its stack of latent jobs.
pub fn show_latent(mut caller: Caller<'_, Guest>, words: u32, length_at: u32) -> wasmtime::Result<()> {
    let guest = caller.data_mut();
    guest.refuse_while_preparing("latent")?;
    guest.kinds.latent.show(words, length_at);
    Ok(())
}

/// Counts the jobs that the guest spawned and dropped since the last call. Those that are latent have not begun.
pub fn count_jobs(store: &mut StoreContextMut<'_, Guest>, beats: u32) {
    let Some(memory) = store.data().exports.memory() else { return };
    let (data, guest) = memory.data_and_store_mut(&mut *store);
    let registry = guest.registry.clone();
    let Kinds { live, latent, since, .. } = &mut guest.kinds;
    for live in live {
        let address = live.address as usize;
        let Some(record) = data.get_mut(address..address + BYTES) else { continue };
        let spawned = word(record, SPAWNED);
        let dropped = word(record, DROPPED);
        let delta = difference(live.spawned, spawned);
        since.spawned = since.spawned.saturating_add(delta);
        since.dropped = since.dropped.saturating_add(difference(live.dropped, dropped));
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
    if let Some(before) = latent.count_if_due(data) {
        let Since { spawned, dropped } = std::mem::take(since);
        registry.counters.count(spawned, dropped, before, latent.count());
        look_ahead(store);
    }
}

/// Estimates how much work the instance still expects.
fn look_ahead(store: &mut StoreContextMut<'_, Guest>) {
    let depth = depth(&*store) as usize;
    let guest = store.data_mut();
    if !guest.kinds.latent.is_shown() {
        if guest.kinds.count() > 0 {
            guest.registry.counters.forecast.note_blind();
        }
        return;
    }
    if !guest.kinds.outlook.is_due(guest.children.numbers()) {
        return;
    }
    let (exposed, open) = guest.children.by_depth();
    let latent = *guest.kinds.latent.by_depth();
    let sight = Sight { latent, exposed, open, depth, work: guest.clock.own_work() };
    guest.kinds.outlook.look(&sight, guest.job.depth_below_root(), &guest.registry.counters.forecast);
}

/// The same, however long it takes to count the latent jobs.
pub fn count_now(store: &mut StoreContextMut<'_, Guest>) {
    store.data_mut().kinds.latent.be_due();
    count_jobs(store, 0);
}

/// A job is about to be exposed: at any time, it counts as spawned before it counts as exposed.
pub fn count_before_exposure(store: &mut StoreContextMut<'_, Guest>) {
    if store.data().kinds.latent.count() == 0 {
        count_now(store);
    }
}

impl Guest {
    /// A job is open.
    pub fn count_exposure(&mut self) {
        if self.kinds.latent.expose() {
            self.registry.counters.latent.fetch_sub(1, Relaxed);
        }
    }
}

/// The instance has ended: what is latent will not be run.
pub fn count_last(store: &mut StoreContextMut<'_, Guest>) {
    count_now(store);
    let guest = store.data_mut();
    let left = guest.kinds.latent.end();
    guest.kinds.outlook.end(&guest.registry.counters.forecast);
    guest.registry.counters.count(0, left, left, 0);
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
