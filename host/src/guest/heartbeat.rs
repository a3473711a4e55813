//! The heartbeat: every millisecond or every fourth (see the scheduler's `tempo`), in each guest that computes, and
//! whenever something comes of which guests are to hear at once.
//!
//! It lets a guest make room for one that waits for any of several jobs, one of which has come: who hears
//! late cannot abort soon. It stops a guest whose run is over or whose job was aborted, measures, and sounds the alarm when
//! somebody is hungry (Acar, Charguéraud, Guatto, Rainey, Sieczkowski, "Heartbeat scheduling",
//! PLDI 2018), or when it is time that finished work be recorded. It also has the grain of job kinds
//! judged (see `grain`).

use wasmtime::{AsContextMut, StoreContextMut, UpdateDeadline};

use super::Guest;
use super::control_words::{sound_alarm, update_lookup_below, update_shield_below};
use super::kinds::count_jobs;
use super::objects::tell_news;
use super::profile::measure_all;
use crate::scheduler::{Alarm, is_turn_over};

/// Called by the engine when the epoch has moved.
pub fn heartbeat(mut store: StoreContextMut<'_, Guest>) -> wasmtime::Result<UpdateDeadline> {
    let guest = store.data_mut();
    if guest.registry.is_paused() || is_turn_over() {
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
        true if guest.exposure.is_one_enough() => hungry.or(Some(Alarm::Oldest)),
        true => Some(Alarm::All),
        false => hungry,
    };
    if let Some(alarm) = alarm.or_else(|| is_told.then_some(Alarm::Oldest)) {
        sound_alarm(store.as_context_mut(), alarm);
    }
    let guest = store.data_mut();
    if guest.registry.tasks.is_urgent() {
        return Ok(UpdateDeadline::YieldCustom(1, guest.clock.yield_now()));
    }
    Ok(UpdateDeadline::Continue(1))
}

/// Counts what the guest did since it was sampled last. After some `beats`, kinds change their class.
pub fn sample(store: &mut StoreContextMut<'_, Guest>, beats: u32) {
    store.data_mut().report_work();
    count_jobs(store, beats);
}
