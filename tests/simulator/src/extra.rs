//! A seed's part that depends on the families of faults, drawn from a separate stream: with other families, the rest
//! of the seed stays the same.

use sateen_protocol::{Random, Time};

use crate::families::Family;
use crate::faults::bandwidth::{self, Narrow};
use crate::faults::rests;
use crate::schedule::Fault;

/// Faults of the families are numbered from here.
const FIRST_NUMBER: u32 = 1000;
/// Breaks of links from here.
const FIRST_BREAK: u32 = 2000;
/// One in this number of seeds has narrow links, if there are many families.
const NARROW_OF_MAX: usize = 12;
/// Additional runs in a crowd.
const RUNS: (u64, usize) = (7, 8);
/// Minimum additional runs for others to wait.
const UNLOADABLE_RUNS_MIN: u64 = 12;
/// Time by which all runs that no host can load have had a turn.
const UNLOADABLE_UNTIL: Time = Time(100_000_000_000);
/// The smallest bounds on result tables, in bytes.
const TABLE_BYTES: [usize; 3] = [0, 2_000, 20_000];
/// The largest updates of shared objects, in bytes.
const UPDATE_BYTES: [usize; 3] = [0, 100_000, 400_000];
/// Arguments that make a run too long for a frame.
const ARGUMENT_BYTES: usize = 600_000;
/// Drift of clocks.
const CLOCKS_OFF_PPM: [u64; 3] = [100, 10_000, 50_000];

/// The additional part of a seed.
pub struct Extra {
    /// The random stream of this part.
    pub random: Random,
    /// Further runs, which are short.
    pub runs: u64,
    /// The bound on result tables.
    pub table_bytes_max: Option<usize>,
    /// Drift of clocks.
    pub clocks_off_ppm: u64,
    /// Runs that no host can load until all faults end: some hosts say so, and others load for ever.
    pub unloadable: Option<u64>,
    /// Jobs that fail.
    pub failing_per_mille: u32,
    /// Runs have shared objects, with updates of up to this many bytes, and are long.
    pub update_bytes_max: Option<usize>,
    /// The arguments of runs, in bytes.
    pub argument_bytes: usize,
    /// Links have little bandwidth, and many transfers are large.
    pub narrow: Option<Narrow>,
    /// Runs use results of earlier runs, drawn from this.
    pub earlier: Option<Random>,
    families: Vec<Family>,
    is_alone: bool,
}

impl Extra {
    /// Draws the part of a seed.
    pub fn draw(seed: u64, families: &[Family]) -> Self {
        let mut random = Random::new(seed ^ 0xfa_0170);
        let mut has = |family, of: usize| random.below(of) == 0 && families.contains(&family);
        let (is_crowd, is_tight) = (has(Family::Crowds, 16), has(Family::Tables, 8));
        let (is_wrong, fails) = (has(Family::Sleep, 4), has(Family::Failures, 4));
        let is_alone = random.below(3) == 0;
        // From another stream, so that the rest of the seed stays the same.
        let mut choices = Random::new(seed ^ 0x0b1e_c75e);
        let has_objects = choices.below(5) == 0 && families.contains(&Family::Objects);
        let mut widths = Random::new(seed ^ 0xba2d_71d7);
        let is_narrow = widths.below(families.len().clamp(1, NARROW_OF_MAX)) == 0;
        let narrow = (is_narrow && families.contains(&Family::Bandwidth)).then(|| Narrow::draw(&mut widths));
        let mut loads = Random::new(seed ^ 0x10ad_1e55);
        let is_unloadable = is_crowd && loads.below(4) > 0;
        let has_earlier = families.contains(&Family::Earlier);
        let families = families.iter().copied().filter(|family| !family.is_set_up()).collect();
        let (runs, bytes) = (RUNS.0 + random.below(RUNS.1) as u64, TABLE_BYTES[random.below(3)]);
        let (off_ppm, failing) = (CLOCKS_OFF_PPM[random.below(3)], [10, 100][random.below(2)]);
        Self {
            runs: match is_crowd {
                true if is_unloadable => runs.max(UNLOADABLE_RUNS_MIN),
                true => runs,
                false => 0,
            },
            table_bytes_max: is_tight.then_some(bytes),
            clocks_off_ppm: if is_wrong { off_ppm } else { 0 },
            unloadable: is_unloadable.then(|| loads.next_u64()),
            failing_per_mille: if fails { failing } else { 0 },
            argument_bytes: if Random::new(seed ^ 0xa46).below(8) == 0 { ARGUMENT_BYTES } else { 0 },
            update_bytes_max: has_objects.then(|| UPDATE_BYTES[choices.below(3)]),
            narrow,
            earlier: has_earlier.then(|| Random::new(seed ^ 0xea_211e_2000)),
            families,
            is_alone,
            random,
        }
    }

    /// Adds faults to a seed's steps, or replaces its usual ones; returns the time when all are over.
    pub fn disturb(&mut self, calm_at: Time, runs: u64, steps: &mut Vec<(Time, Fault)>) -> Time {
        let over_at = self.disturb_usually(calm_at, runs, steps);
        let Some(draw) = self.unloadable else { return over_at };
        steps.push((Time(0), Fault::Unloadable(draw)));
        over_at.max(UNLOADABLE_UNTIL)
    }

    fn disturb_usually(&mut self, calm_at: Time, runs: u64, steps: &mut Vec<(Time, Fault)>) -> Time {
        if self.families.is_empty() && self.update_bytes_max.is_none() && self.narrow.is_none() {
            return calm_at;
        }
        if self.is_alone {
            steps.clear();
        }
        if self.update_bytes_max.is_some() {
            for _ in 0..2 + self.random.below(6) {
                let at = Time(self.random.below(calm_at.0 as usize) as u64);
                steps.push((at, Fault::Rest(rests::draw(&mut self.random))));
            }
        }
        if self.narrow.is_some() {
            for number in 0..1 + self.random.below(5) as u32 {
                let at = Time(self.random.below(calm_at.0 as usize) as u64);
                steps.push((at, bandwidth::draw(FIRST_BREAK + number, calm_at, &mut self.random)));
            }
        }
        if self.families.is_empty() {
            return calm_at;
        }
        let mut over_at = calm_at;
        for number in 0..1 + self.random.below(5) as u32 {
            let family = self.families[self.random.below(self.families.len())];
            let at = Time(self.random.below(calm_at.0 as usize) as u64);
            let Some(fault) = family.draw(FIRST_NUMBER + number, runs, &mut self.random) else { continue };
            let takes_ns = match &fault {
                Fault::Sleep(sleep) => sleep.takes_ns(),
                Fault::Disk(disk) => disk.takes_ns(),
                _ => 0,
            };
            over_at = over_at.max(Time(at.0 + takes_ns));
            steps.push((at, fault));
        }
        over_at
    }
}
