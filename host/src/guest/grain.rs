//! The grain of a job kind: whether each of its spawns is exposed, or only as many as hungry workers ask for.
//!
//! A job of a kind that is spawned seldom may run for a long time without reaching a spawn or sync, where it
//! would notice that a worker is hungry. So the kind is *coarse*: each spawn of it is exposed. Spawns are rare,
//! so this is cheap, unless the parameters are very large.

use std::time::Duration;

/// This many spawns in each beat make a kind fine at once: exposing each would cost several percent. A beat is a
/// millisecond here; calm heartbeats count as several.
const FINE_SPAWNS_A_BEAT: u64 = 16;
/// A fine kind is judged again after this many beats,
const WINDOW_BEATS: u32 = 32;
/// and is coarse if it was spawned at least once, but fewer times than this.
const COARSE_SPAWNS_A_WINDOW: u64 = 32;
/// Maximum cost of exposing a kind's jobs in this many beats: 3 percent of them.
const COST_MAX_NS: u64 = 1_000_000;
/// Additional cost allowed at first and after a rest: the time that it takes to see whether they are spawned
/// all the time.
const BURST_NS: u64 = 16_000_000;
/// Approximate cost of exposing a job,
const EXPOSURE_NS: u64 = 1_000;
/// and of each byte of its parameters, which is written, copied and usually read again.
const BYTE_NS: u64 = 2;

/// Approximate cost of exposing a job with this many bytes of parameters.
pub fn exposure_cost(bytes: usize) -> Duration {
    Duration::from_nanos(exposure_ns(bytes as u64))
}

fn exposure_ns(bytes: u64) -> u64 {
    EXPOSURE_NS.saturating_add(BYTE_NS.saturating_mul(bytes))
}

/// A guest's measurements of one kind of job.
#[derive(Debug)]
pub struct Grain {
    is_coarse: bool,
    /// The last known cost of exposing one of its jobs.
    exposure_ns: u64,
    /// Of this window: spawns,
    spawned: u64,
    /// beats,
    beats: u32,
    /// of these, with spawns,
    busy_beats: u32,
    /// jobs that were exposed, and the bytes of their parameters.
    exposed: u64,
    exposed_bytes: u64,
    /// The remaining budget for exposing its jobs at every spawn.
    burst_left_ns: u64,
}

impl Grain {
    /// A kind with this grain, as far as is known.
    pub fn new(is_coarse: bool) -> Self {
        Self {
            is_coarse,
            exposure_ns: EXPOSURE_NS,
            spawned: 0,
            beats: 0,
            busy_beats: 0,
            exposed: 0,
            exposed_bytes: 0,
            burst_left_ns: BURST_NS,
        }
    }

    /// Whether each of its spawns is exposed.
    pub fn is_coarse(&self) -> bool {
        self.is_coarse
    }

    /// Counts a job that was exposed; `bytes` is the length of its parameters.
    pub fn count_exposed(&mut self, bytes: usize) {
        self.exposed += 1;
        self.exposed_bytes += bytes as u64;
        if self.is_coarse {
            self.burst_left_ns = self.burst_left_ns.saturating_sub(exposure_ns(bytes as u64));
        }
    }

    /// Judges the kind after this many beats, at least one, with this many spawns in all. Returns whether it was
    /// found to be fine.
    pub fn judge(&mut self, spawned: u64, beats: u32) -> bool {
        self.spawned += spawned;
        self.beats += beats;
        self.busy_beats += if spawned > 0 { beats } else { 0 };
        let is_frequent = spawned >= FINE_SPAWNS_A_BEAT * u64::from(beats);
        let mut is_fine = is_frequent || self.is_coarse && self.burst_left_ns == 0;
        let earned_ns = COST_MAX_NS * u64::from(beats) / u64::from(WINDOW_BEATS);
        self.burst_left_ns = BURST_NS.min(self.burst_left_ns + earned_ns);
        if self.beats >= WINDOW_BEATS {
            is_fine |= self.end_window();
        }
        if is_fine {
            self.is_coarse = false;
        }
        is_fine
    }

    fn end_window(&mut self) -> bool {
        if let Some(bytes) = self.exposed_bytes.checked_div(self.exposed) {
            self.exposure_ns = exposure_ns(bytes);
        }
        let is_seldom = (1..COARSE_SPAWNS_A_WINDOW).contains(&self.spawned);
        let is_dear = self.spawned.saturating_mul(self.exposure_ns) > COST_MAX_NS;
        // A guest that spawns all the time soon notices hungry workers.
        let is_steady = self.busy_beats * 4 >= self.beats * 3;
        let is_coarse = self.is_coarse || is_seldom && !is_dear;
        let Self { exposure_ns, burst_left_ns, .. } = *self;
        *self = Self { exposure_ns, burst_left_ns, ..Self::new(is_coarse) };
        is_dear && is_steady
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `count` beats with `spawned` spawns each, all exposed while the kind is coarse.
    fn beats(grain: &mut Grain, count: u32, spawned: u64, bytes: usize) {
        for _ in 0..count {
            for _ in 0..if grain.is_coarse() { spawned } else { 0 } {
                grain.count_exposed(bytes);
            }
            grain.judge(spawned, 1);
        }
    }

    #[test]
    fn many_spawns_make_a_kind_fine_at_once_and_few_make_it_coarse_again() {
        let mut grain = Grain::new(true);
        beats(&mut grain, 1, FINE_SPAWNS_A_BEAT, 8);
        assert!(!grain.is_coarse());
        beats(&mut grain, WINDOW_BEATS - 1, 1, 8);
        // A window begins here: with many, with none, with just not few enough.
        for spawned in [2, 0, 1] {
            beats(&mut grain, WINDOW_BEATS, spawned, 8);
            assert!(!grain.is_coarse(), "{spawned} a beat");
        }
        beats(&mut grain, WINDOW_BEATS - 1, 1, 8);
        beats(&mut grain, 1, 0, 8);
        assert!(grain.is_coarse());
    }

    #[test]
    fn calm_heartbeats_judge_as_quick_ones_do() {
        let mut grain = Grain::new(true);
        assert!(!grain.judge(4 * FINE_SPAWNS_A_BEAT - 1, 4));
        assert!(grain.judge(4 * FINE_SPAWNS_A_BEAT, 4));
        // A window, and the whole of the next, in which few were spawned.
        for _ in 0..WINDOW_BEATS / 4 - 2 {
            grain.judge(0, 4);
        }
        for spawned in std::iter::once(1).chain(std::iter::repeat_n(0, WINDOW_BEATS as usize / 4 - 1)) {
            assert!(!grain.is_coarse());
            grain.judge(spawned, 4);
        }
        assert!(grain.is_coarse());
    }

    #[test]
    fn small_parameters_are_exposed_at_every_spawn_of_a_kind_that_is_neither_fine_nor_seldom() {
        let mut grain = Grain::new(true);
        beats(&mut grain, 10 * WINDOW_BEATS, FINE_SPAWNS_A_BEAT - 1, 64);
        assert!(grain.is_coarse());
    }

    #[test]
    fn large_parameters_are_not_and_do_not_become_so_again() {
        let mut grain = Grain::new(true);
        beats(&mut grain, WINDOW_BEATS, 7, 640_000);
        assert!(!grain.is_coarse());
        // Seldom, and too dear all the same.
        for _ in 0..10 {
            beats(&mut grain, 1, 1, 640_000);
            beats(&mut grain, WINDOW_BEATS - 1, 0, 640_000);
            assert!(!grain.is_coarse());
        }
    }

    #[test]
    fn a_guest_that_spawns_large_jobs_and_then_computes_long_exposes_them() {
        let mut grain = Grain::new(true);
        beats(&mut grain, 4, 2, 900_000);
        assert!(grain.is_coarse());
        beats(&mut grain, 16 * WINDOW_BEATS, 0, 900_000);
        assert!(grain.is_coarse());
        // And again, after that rest; but not much more.
        beats(&mut grain, 4, 2, 900_000);
        assert!(grain.is_coarse());
        beats(&mut grain, 2, 2, 900_000);
        assert!(!grain.is_coarse());
    }
}
