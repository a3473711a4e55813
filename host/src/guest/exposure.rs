//! Which jobs an instance exposes, and when it is asked for them.

use std::time::Duration;

use super::Guest;
use super::grain::exposure_cost;
use super::pace::Pace;
use crate::scheduler::{Alarm, CALM, GuestGrid};

/// If a guest has offered a job that is too short for others, it is not asked again for this number of beats.
const QUIET_BEATS: u32 = 8;

/// Jobs that cost more to expose are not kept ready for workers that will want them: most of the cost would be for nothing.
/// It is that of some 25 kB of parameters.
const AHEAD_COST_MAX: Duration = Duration::from_micros(50);

/// When an instance is asked for jobs.
#[derive(Default)]
pub struct Exposure {
    /// When jobs are exposed beyond the needs of hungry workers.
    pace: Pace,
    /// The beats of the run that the instance has counted.
    beats: u64,
    /// Beats until it may be asked for jobs again.
    quiet_beats: u32,
    /// Whether the last job cost too much to be exposed before it is wanted.
    is_dear: bool,
}

impl Exposure {
    /// The state of an instance that begins now; `beats` is the number of beats of the run so far.
    pub fn new(beats: u64) -> Self {
        Self { beats, ..Self::default() }
    }

    /// Whether jobs are so expensive that the guest should not even offer more than one at a time.
    pub fn is_one_enough(&self) -> bool {
        self.pace.is_one_enough()
    }

    /// Counts a job that was exposed; `bytes` is the length of its parameters.
    pub fn count_exposed(&mut self, bytes: usize) {
        self.is_dear = exposure_cost(bytes) > AHEAD_COST_MAX;
        self.pace.count_exposed(bytes);
    }
}

impl Guest {
    /// Whether this instance has computed for so long that it should expose jobs in order to record their
    /// results.
    pub fn is_time_to_record(&mut self) -> bool {
        let Some(every) = self.record_every() else { return false };
        let keeps_results = self.registry.grid.keeps_results();
        let work = self.clock.own_work();
        self.exposure.pace.is_time(every, work, keeps_results)
    }

    /// Whether another exposed job is welcome.
    pub fn exposes_more(&mut self) -> bool {
        if self.children.outstanding() >= self.registry.limits().exposed_jobs_max {
            return false;
        }
        match self.exposure.pace.takes_more() {
            _ if self.registry.is_draining() => true,
            Some(false) if self.are_jobs_wanted() => self.registry.takes_more(),
            Some(false) => {
                self.exposure.pace.end();
                false
            }
            Some(true) => true,
            None => self.registry.takes_more(),
        }
    }

    /// The beats since they were last counted: none if guests were only interrupted. Beats in which it waited do not
    /// count.
    pub fn count_beats(&mut self) -> u32 {
        let now = self.registry.tempo.beats();
        let exposure = &mut self.exposure;
        let beats = now.saturating_sub(std::mem::replace(&mut exposure.beats, now)).min(CALM) as u32;
        exposure.quiet_beats = exposure.quiet_beats.saturating_sub(beats.max(1));
        beats
    }

    /// The jobs that it is asked to expose now.
    pub fn alarm(&self) -> Option<Alarm> {
        let may_ask =
            |alarm: &Alarm| self.exposure.quiet_beats == 0 && self.are_jobs_wanted() || *alarm == Alarm::All;
        self.registry.alarm().filter(may_ask)
    }

    /// Whether more jobs of this instance should be open, for workers that have no work or, if that costs little, will soon
    /// have none.
    fn are_jobs_wanted(&self) -> bool {
        if self.exposure.is_dear { self.registry.is_anybody_starving() } else { self.registry.is_hungry() }
    }

    /// Whether a job that was spawned at `depth`, with parameters of `bytes` bytes, is too short for others. If so, the
    /// guest is not asked for a while, because it writes the parameters of each job that it offers.
    pub fn turns_down(&mut self, kind: usize, depth: u32, bytes: usize) -> bool {
        let is_too_short = !self.registry.is_draining()
            && !self.registry.is_pristine()
            && self.registry.grains.turns_down(kind, self.job.depth_of(depth), exposure_cost(bytes));
        if is_too_short {
            self.exposure.quiet_beats = QUIET_BEATS;
        }
        is_too_short
    }
}
