//! The decision: a pure function from preferences, readings and what was decided before to a state.
//!
//! Each cause of a pause is judged by itself. A cause that fluctuates must hold for a while before it counts, and must be
//! gone by a margin and for a while before it counts no more, so that a host does not pause and resume all the time.

mod reason;
mod trip;

#[cfg(test)]
mod tests;

use jiff::Zoned;

use crate::preferences::{Percent, Preferences};
use crate::sense::Readings;

pub use reason::Reason;
use trip::{Level, Trip};

/// Degrees by which a machine must have cooled down before guests compute again.
const COOLER_C: f32 = 10.0;
/// Charge that a battery must have gained, in per cent.
const CHARGED_MORE: u8 = 5;
/// The load of others must have fallen to this part of the limit.
const LOAD_GONE: f32 = 0.75;
/// The power must have fallen to this part of the limit before the share grows again.
const POWER_LOW: f32 = 0.9;
/// Seconds between two changes of the share because of power.
const POWER_STEP_S: i64 = 2;
/// A host that saves power pauses if it would get less than this share, in per cent, and for how many seconds.
const POWER_SHARE_MIN: u8 = 5;
const POWER_PAUSE_S: i64 = 60;

const HOT: Level = Level { trips_after_s: 0, clears_after_s: 20 };
const LOADED: Level = Level { trips_after_s: 10, clears_after_s: 30 };

/// What a host does.
#[derive(Debug, Clone, PartialEq)]
pub enum State {
    /// Guests compute with this share of the processors.
    Compute {
        /// The share; more than 0.
        share: Percent,
        /// Whether somebody uses the machine.
        in_use: bool,
    },
    /// No guest computes.
    Paused {
        /// Why not; at least one reason, the one that is shown first.
        reasons: Vec<Reason>,
    },
}

impl State {
    /// The share of the processors that guests have.
    pub fn share(&self) -> Percent {
        match self {
            Self::Compute { share, .. } => *share,
            Self::Paused { .. } => Percent::NONE,
        }
    }

    /// Why no guest computes: all reasons in a sentence.
    pub fn reason(&self) -> Option<String> {
        match self {
            Self::Compute { .. } => None,
            Self::Paused { reasons } => {
                Some(reasons.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
            }
        }
    }

    /// Whether the pause is known to last, so that jobs need not wait here.
    pub fn is_lasting(&self) -> bool {
        matches!(self, Self::Paused { reasons } if reasons.iter().any(Reason::is_lasting))
    }
}

/// What has to be remembered from one decision to the next.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Memory {
    battery_since_s: Option<i64>,
    is_low: bool,
    hot: Trip,
    loaded: Trip,
    power: Power,
}

/// The share that keeps the machine's power below its limit.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Power {
    share: u8,
    changed_s: i64,
    paused_since_s: Option<i64>,
}

impl Default for Power {
    fn default() -> Self {
        Self { share: 100, changed_s: 0, paused_since_s: None }
    }
}

/// Decides what a host does now, by the machine's own clock. Without a reading, its cause does not count. Returns what to
/// remember for the next decision.
pub fn decide(
    preferences: &Preferences,
    memory: &Memory,
    readings: &Readings,
    now: &Zoned,
) -> (State, Memory) {
    let mut memory = memory.clone();
    let now_s = now.timestamp().as_second();
    let in_use = readings.idle.is_some_and(|idle| idle < preferences.share.idle_after);
    let base = if in_use { preferences.share.in_use } else { preferences.share.idle };
    let mut reasons = Vec::new();
    if !preferences.hours.allow(now) {
        reasons
            .push(Reason::OutsideHours { until: preferences.hours.next(now).map(|next| next.timestamp()) });
    }
    reasons.extend(transfer(preferences, readings, now));
    reasons.extend(battery(preferences, &mut memory, readings, now_s));
    reasons.extend(heat(preferences, &mut memory, readings, now_s));
    if base == Percent::NONE {
        reasons.push(if in_use { Reason::InUse } else { Reason::NoShare });
    }
    reasons.extend(load(preferences, &mut memory, readings, now_s));
    let power = power(preferences, &mut memory, readings, now_s);
    let share = match power {
        Ok(most) => base.min(most),
        Err(reason) => {
            reasons.push(reason);
            Percent::NONE
        }
    };
    let state = match reasons.is_empty() {
        true => State::Compute { share, in_use },
        false => State::Paused { reasons },
    };
    (state, memory)
}

fn transfer(preferences: &Preferences, readings: &Readings, now: &Zoned) -> Option<Reason> {
    let most = preferences.limits.daily_transfer_bytes?;
    let until = now.tomorrow().ok()?.start_of_day().ok()?.timestamp();
    (readings.transferred_bytes? >= most).then_some(Reason::Transferred { most, until })
}

fn battery(
    preferences: &Preferences,
    memory: &mut Memory,
    readings: &Readings,
    now_s: i64,
) -> Option<Reason> {
    let battery = readings.battery.filter(|battery| battery.is_discharging);
    let Some(battery) = battery else {
        (memory.battery_since_s, memory.is_low) = (None, false);
        return None;
    };
    let since_s = *memory.battery_since_s.get_or_insert(now_s);
    if !preferences.battery.on_battery {
        return Some(Reason::OnBattery { since_s });
    }
    let least = preferences.battery.battery_min;
    let enough = least.get().saturating_add(if memory.is_low { CHARGED_MORE } else { 0 }).min(100);
    memory.is_low = battery.charge.get() < enough;
    memory.is_low.then_some(Reason::BatteryLow { charge: battery.charge, least })
}

fn heat(preferences: &Preferences, memory: &mut Memory, readings: &Readings, now_s: i64) -> Option<Reason> {
    let (Some(most), Some(celsius)) = (preferences.machine.temperature_max_c, readings.temperature_c) else {
        memory.hot = Trip::default();
        return None;
    };
    let limit = f32::from(most);
    memory.hot = memory.hot.next(HOT, celsius > limit, celsius < limit - COOLER_C, now_s);
    memory.hot.is_on().then_some(Reason::Hot { celsius: celsius.round() as i16, most })
}

fn load(preferences: &Preferences, memory: &mut Memory, readings: &Readings, now_s: i64) -> Option<Reason> {
    let (Some(most), Some(percent)) = (preferences.machine.others_load_max, readings.others_load_percent)
    else {
        memory.loaded = Trip::default();
        return None;
    };
    let limit = f32::from(most.get());
    memory.loaded = memory.loaded.next(LOADED, percent > limit, percent <= limit * LOAD_GONE, now_s);
    memory.loaded.is_on().then_some(Reason::Loaded { percent: percent.round() as u16, most })
}

/// The largest share that keeps to the limit of power: it falls quickly and grows slowly.
fn power(
    preferences: &Preferences,
    memory: &mut Memory,
    readings: &Readings,
    now_s: i64,
) -> Result<Percent, Reason> {
    let (Some(most), Some(watts)) = (preferences.machine.watts_max, readings.watts) else {
        memory.power = Power::default();
        return Ok(Percent::ALL);
    };
    let power = &mut memory.power;
    if let Some(since_s) = power.paused_since_s {
        // A clock that was set back does not make the pause longer.
        if (0..POWER_PAUSE_S).contains(&(now_s - since_s)) {
            return Err(Reason::Power { watts: watts.round() as u16, most });
        }
        *power = Power { share: 2 * POWER_SHARE_MIN, changed_s: now_s, paused_since_s: None };
    }
    if !(0..POWER_STEP_S).contains(&(now_s - power.changed_s)) {
        let limit = f32::from(most);
        let share = match watts {
            watts if watts > limit => power.share - power.share.div_ceil(5).min(power.share),
            watts if watts < limit * POWER_LOW => (power.share + power.share / 10 + 1).min(100),
            _ => power.share,
        };
        (power.share, power.changed_s) = (share, now_s);
        if share < POWER_SHARE_MIN {
            power.paused_since_s = Some(now_s);
            return Err(Reason::Power { watts: watts.round() as u16, most });
        }
    }
    Ok(Percent::of(power.share))
}
