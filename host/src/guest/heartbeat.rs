//! The heartbeat: every millisecond or every fourth (see the scheduler's `tempo`), in each guest that computes, and
//! whenever something comes of which guests are to hear at once.
//!
//! It lets a guest make room for one that waits for any of several jobs, one of which has come: who hears
//! late cannot abort soon. It stops a guest whose run is over or whose job was aborted, measures, and sounds the alarm when
//! somebody is hungry (Acar, Charguéraud, Guatto, Rainey, Sieczkowski, "Heartbeat scheduling",
//! PLDI 2018), or when it is time that finished work be recorded. It also has the grain of job kinds
//! judged (see `grain`).

use std::sync::atomic::Ordering::Relaxed;

use wasmtime::{AsContextMut, StoreContextMut, UpdateDeadline};

use super::objects::tell_news;
use super::profile::measure_all;
use super::state::{Guest, sound_alarm, update_lookup_below, update_shield_below};
use crate::scheduler::{Alarm, is_turn_over};

/// Where the words of a kind's record are; see the SDK's `wasm/latent/`.
const SPAWNED: usize = 8;
const DROPPED: usize = 16;
pub const KIND_BYTES: usize = 24;

/// Called by the engine when the epoch has moved.
pub fn heartbeat(mut store: StoreContextMut<'_, Guest>) -> wasmtime::Result<UpdateDeadline> {
    let guest = store.data_mut();
    if guest.shared.is_paused() || is_turn_over() {
        guest.clock.stop();
        guest.stand_still();
        guest.clock.go_on();
    }
    guest.check().map_err(wasmtime::Error::new)?;
    guest.look_what_is_unsaved();
    let beats = store.data_mut().count_beats();
    sample(&mut store, beats);
    tell_news(store.as_context_mut());
    let is_time_to_record = store.data_mut().is_time_to_record();
    let is_told = update_lookup_below(store.as_context_mut());
    update_shield_below(store.as_context_mut());
    measure_all(store.as_context_mut());
    let guest = store.data_mut();
    let hungry = guest.alarm();
    // One job a time would leave most of what is finished in between unrecorded. The guest offers all that is
    // latent, and `expose` says when it is enough.
    let alarm = match is_time_to_record {
        true if guest.pace.is_one_enough() => hungry.or(Some(Alarm::Oldest)),
        true => Some(Alarm::All),
        false => hungry,
    };
    if let Some(alarm) = alarm.or_else(|| is_told.then_some(Alarm::Oldest)) {
        sound_alarm(store.as_context_mut(), alarm);
    }
    let guest = store.data_mut();
    if guest.shared.is_urgent() {
        return Ok(UpdateDeadline::YieldCustom(1, guest.clock.yield_now()));
    }
    Ok(UpdateDeadline::Continue(1))
}

/// Counts what the guest did since it was sampled last. After some `beats`, kinds change their class.
pub fn sample(store: &mut StoreContextMut<'_, Guest>, beats: u32) {
    store.data_mut().report_work();
    count_jobs(store, beats);
}

/// Counts the jobs that the guest spawned and dropped since that was done last.
pub fn count_jobs(store: &mut StoreContextMut<'_, Guest>, beats: u32) {
    let Some(memory) = store.data().memory else { return };
    let (data, guest) = memory.data_and_store_mut(store);
    let shared = guest.shared.clone();
    for live in &mut guest.kinds {
        let address = live.address as usize;
        let Some(record) = data.get_mut(address..address + KIND_BYTES) else { continue };
        let spawned = word(record, SPAWNED);
        let dropped = word(record, DROPPED);
        let delta = difference(live.spawned, spawned);
        shared.counters.spawned.fetch_add(delta, Relaxed);
        shared.counters.aborted.fetch_add(difference(live.dropped, dropped), Relaxed);
        live.spawned = spawned;
        live.dropped = dropped;
        live.unjudged = live.unjudged.saturating_add(delta);
        if beats > 0 && shared.exposes() {
            if live.grain.judge(std::mem::take(&mut live.unjudged), beats) {
                shared.fine_kinds[live.kind].store(true, Relaxed);
            }
            record[..4].copy_from_slice(&u32::from(live.grain.is_coarse()).to_le_bytes());
        }
    }
}

/// How far a counter moved. The guest may write anything there, and must not make a run's figures
/// overflow; no guest can honestly move it further in the time between two samples.
fn difference(before: u64, now: u64) -> u64 {
    now.wrapping_sub(before).min(u64::from(u32::MAX))
}

fn word(record: &[u8], offset: usize) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&record[offset..offset + 8]);
    u64::from_le_bytes(bytes)
}
