//! Hosts that sleep, or are cut off, for minutes, and clocks that differ.

use sateen_protocol::{Random, Time};

use crate::event::{Event, Undo};
use crate::world::World;

/// The shortest and the longest sleep.
const SLEEP_S: (u64, u64) = (20, 300);

/// A host sleeps.
#[derive(Debug, Clone)]
pub struct Sleep {
    draw: u64,
    for_ns: u64,
    /// The number of the partition, if some nodes are cut off from others instead.
    cut: Option<u32>,
}

impl Sleep {
    /// The time until its consequences are over.
    pub fn takes_ns(&self) -> u64 {
        self.for_ns + 1_000_000_000
    }
}

pub(crate) fn draw(number: u32, random: &mut Random) -> Sleep {
    let span_s = SLEEP_S.0 + random.below((SLEEP_S.1 - SLEEP_S.0) as usize) as u64;
    let cut = (random.below(3) == 0).then_some(number);
    Sleep { draw: random.next_u64(), for_ns: span_s * 1_000_000_000, cut }
}

impl World {
    pub(crate) fn send_to_sleep(&mut self, sleep: &Sleep) {
        if let Some(number) = sleep.cut {
            let (here, there) = self.divide(sleep.draw);
            self.cut(number, &here, &there);
            self.queue.push(Time(self.now.0 + sleep.for_ns), Event::Undo(Undo::Heal(number)));
            return;
        }
        let Some(process) = self.draw(sleep.draw) else { return };
        self.freeze(process);
        self.queue.push(Time(self.now.0 + sleep.for_ns), Event::Undo(Undo::Thaw(process)));
    }
}

/// A host's clock: it shows time since its own start, faster or slower than others.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    /// Ticks per million.
    rate_ppm: u64,
}

impl Default for Clock {
    fn default() -> Self {
        Self { rate_ppm: MILLION }
    }
}

const MILLION: u64 = 1_000_000;

impl Clock {
    /// Draws a clock with a drift of up to `off_ppm_max` parts per million.
    pub fn drawn(random: &mut Random, off_ppm_max: u64) -> Self {
        Self { rate_ppm: MILLION - off_ppm_max + random.below(2 * off_ppm_max as usize + 1) as u64 }
    }

    /// Whether its drift is at least a hundredth.
    pub fn is_off(&self) -> bool {
        self.rate_ppm.abs_diff(MILLION) >= MILLION / 100
    }

    /// The time that it shows now.
    pub fn read(&self, now: Time) -> Time {
        Time((u128::from(now.0) * u128::from(self.rate_ppm) / u128::from(MILLION)) as u64)
    }

    /// The first moment at which it shows `shown`.
    pub fn when(&self, shown: Time) -> Time {
        if shown == Time::NEVER {
            return shown;
        }
        let moment = (u128::from(shown.0) * u128::from(MILLION)).div_ceil(u128::from(self.rate_ppm));
        Time(u64::try_from(moment).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_shows_at_least_the_awaited_time() {
        let mut random = Random::new(1);
        for _ in 0..1000 {
            let clock = Clock::drawn(&mut random, 50_000);
            let shown = Time(random.below(1 << 40) as u64);
            let at = clock.when(shown);
            assert!(clock.read(at) >= shown && clock.read(Time(at.0.saturating_sub(2))) < shown.max(Time(1)));
        }
        assert_eq!(Clock::default().read(Time(7)), Time(7));
    }
}
