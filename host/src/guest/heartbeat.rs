//! The heartbeat: every millisecond or every fourth (see the scheduler's `tempo`), in each computing guest, and
//! whenever guests must be notified at once.
//!
//! The heartbeat lets a guest yield to one that waited for any of several jobs, one of which has finished: a guest that
//! is notified late cannot abort soon. It stops a guest whose run is over or whose job was aborted, and measures. It
//! raises the alarm when a worker is hungry (Acar, Charguéraud, Guatto, Rainey, Sieczkowski, "Heartbeat scheduling",
//! PLDI 2018), or when finished work must be recorded. It also judges the grain of job kinds (see `grain`).

use std::pin::Pin;

use wasmtime::{AsContextMut, Caller, StoreContextMut};

use super::Guest;
use super::control_words::{sound_alarm, update_lookup_below, update_shield_below};
use super::kinds::{count_jobs, count_last};
use super::news::tell_news;
use super::profile::measure_all;
use crate::scheduler::{Alarm, is_turn_over};

/// A guest that lets others continue first.
type Turn = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Called by the guest when it finds that it was asked to.
pub async fn poll(mut caller: Caller<'_, Guest>) -> wasmtime::Result<()> {
    let signal = caller.data().job.signal().clone();
    signal.begin_answer();
    let turn = heartbeat(caller.as_context_mut())?;
    signal.end_answer();
    if let Some(turn) = turn {
        turn.await;
    }
    Ok(())
}

fn heartbeat(mut store: StoreContextMut<'_, Guest>) -> wasmtime::Result<Option<Turn>> {
    if store.data().job.preparing().is_none() {
        measure_all(store.as_context_mut());
    }
    let guest = store.data_mut();
    // How many heartbeats there are depends on the workers.
    guest.begin_aside();
    if guest.registry.is_paused() || is_turn_over() {
        guest.clock.stop();
        guest.stand_still();
        guest.clock.go_on();
    }
    guest.check().map_err(wasmtime::Error::new)?;
    guest.look_what_is_unsaved();
    let beats = store.data_mut().count_beats();
    sample(&mut store, beats);
    if store.data().job.preparing().is_none() {
        tell_guest(store.as_context_mut());
    }
    store.data_mut().end_aside();
    Ok(store.data_mut().turn_of_others())
}

/// Passes the guest the news, and what it must do.
fn tell_guest(mut store: StoreContextMut<'_, Guest>) {
    tell_news(store.as_context_mut());
    let is_time_to_record = store.data_mut().is_time_to_record();
    let is_told = update_lookup_below(store.as_context_mut());
    update_shield_below(store.as_context_mut());
    let guest = store.data_mut();
    let hungry = guest.alarm();
    // With one job at a time, most work finished in between would not be recorded. The guest offers all latent
    // jobs, and `expose` says when it is enough.
    let alarm = match is_time_to_record {
        true if guest.exposure.is_one_enough() => hungry.or(Some(Alarm::Oldest)),
        true => Some(Alarm::All),
        false => hungry,
    };
    if let Some(alarm) = alarm.or_else(|| is_told.then_some(Alarm::Oldest)) {
        sound_alarm(store.as_context_mut(), alarm);
    }
}

impl Guest {
    /// If others must continue first, lets them.
    fn turn_of_others(&mut self) -> Option<Turn> {
        self.registry.tasks.is_urgent().then(|| self.clock.yield_now())
    }
}

/// The same at an instance's end.
pub fn sample_last(store: &mut StoreContextMut<'_, Guest>) {
    store.data_mut().report_work();
    count_last(store);
}

/// Counts the guest's spawns since the last sample. After some `beats`, kinds change their class.
pub fn sample(store: &mut StoreContextMut<'_, Guest>, beats: u32) {
    store.data_mut().report_work();
    count_jobs(store, beats);
}
