//! How much work an instance still expects, estimated from the jobs that it has spawned (Knuth, "Estimating the efficiency of
//! backtrack programs", Mathematics of Computation 29, 1975, with measured work in place of counted nodes).
//!
//! At each heartbeat the host sees how many jobs wait at each depth of in-place calls, and how deep the guest is. So it knows when
//! a job at some depth has ended, and what it took. A job that waits is expected to take as long as the mean of those that were
//! spawned from the same depth: those that have ended, and the one that runs, of which the part that is left is estimated in the
//! same way, one level deeper. If the jobs of a depth have taken longer and longer, so will those that wait (`trend`).

use std::time::Duration;

use super::trend::Trend;
use crate::scheduler::{DEPTHS, Forecast};

/// More exposed children are counted less often: their records are all over the memory.
const FEW_CHILDREN: usize = 256;
/// Heartbeats between two such counts.
const HEARTBEATS_BETWEEN: u32 = 32;

/// What a heartbeat sees of an instance.
pub struct Sight {
    /// Latent jobs by the depth of their spawn.
    pub latent: [u32; DEPTHS],
    /// The same for jobs that were exposed and not synced.
    pub exposed: [u32; DEPTHS],
    /// Of these, those that no worker has begun.
    pub open: [u32; DEPTHS],
    /// In-place calls of spawned jobs that the guest is inside.
    pub depth: usize,
    /// Its own work so far.
    pub work: Duration,
}

/// What an instance expects.
#[derive(Default)]
pub struct Outlook {
    /// By depth, down to where the guest is.
    levels: Vec<Level>,
    /// The instance's work when it was seen last.
    seen: Duration,
    /// The depth of the spawn of the exposed job that it waits for.
    awaits: Option<u32>,
    /// What was last reported to the forecast, in nanoseconds.
    told_ns: u64,
    /// Heartbeats since the last look.
    age: u32,
}

/// The jobs that were spawned from one depth of in-place calls.
#[derive(Default)]
struct Level {
    /// Jobs that have not begun in this instance, wherever they may run.
    pending: u64,
    /// Of these, those that wait for a worker of this host.
    waiting: u64,
    /// Whether one runs in place.
    runs: bool,
    /// The work of that one so far, in nanoseconds.
    running_ns: f64,
    /// Jobs that have ended, and their work.
    ended: u64,
    ended_ns: f64,
    trend: Trend,
}

impl Level {
    fn end(&mut self, jobs: u64, work_ns: f64) {
        // Of several that were seen to end together, it is not known which took how long.
        if jobs == 1 {
            self.trend.add(self.ended, work_ns);
        }
        self.ended += jobs;
        self.ended_ns += work_ns;
        self.running_ns = 0.0;
    }

    /// The mean work of its jobs. The one that runs is expected to take `running_ns` in all; `elsewhere_ns` is the mean of jobs of
    /// this depth on this host.
    fn mean_ns(&self, running_ns: Option<f64>, elsewhere_ns: Option<f64>) -> f64 {
        let guesses = running_ns.into_iter().chain(elsewhere_ns);
        let (count, sum) =
            guesses.fold((self.ended, self.ended_ns), |(count, sum), ns| (count + 1, sum + ns));
        if count == 0 { 0.0 } else { sum / count as f64 }
    }

    /// The work of its jobs that wait, which come after the one that runs.
    fn waiting_ns(&self, running_ns: Option<f64>, elsewhere_ns: Option<f64>) -> f64 {
        let of_mean = || self.waiting as f64 * self.mean_ns(running_ns, elsewhere_ns);
        self.trend.next_ns(self.ended + u64::from(self.runs), self.waiting).unwrap_or_else(of_mean)
    }
}

impl Outlook {
    /// Whether to look at this heartbeat, with room for this number of exposed children.
    pub fn is_due(&mut self, children: usize) -> bool {
        self.age += 1;
        children <= FEW_CHILDREN || self.age >= HEARTBEATS_BETWEEN
    }

    /// Notes what is seen. The instance's job has this `depth` below the run's root. If the root spawns more when all jobs that it had
    /// spawned have ended, nobody can tell how often it will do so.
    pub fn look(&mut self, sight: &Sight, depth: u32, forecast: &Forecast) {
        let new_ns = nanoseconds(sight.work.saturating_sub(self.seen));
        (self.seen, self.age) = (sight.work, 0);
        let deepest = sight.depth.min(DEPTHS - 1);
        let mut changed = None;
        for at in 0..=deepest {
            let awaited = u64::from(self.awaits.is_some_and(|awaits| awaits as usize == at));
            let pending = u64::from(sight.latent[at]) + u64::from(sight.exposed[at]) + awaited;
            let waiting = u64::from(sight.latent[at]) + u64::from(sight.open[at]);
            let runs = deepest > at;
            if self.levels.len() == at {
                self.levels.push(Level { pending, waiting, runs, ..Level::default() });
                continue;
            }
            let level = &mut self.levels[at];
            if depth == 0 && at == 0 && level.ended > 0 && level.pending == 0 && pending > 0 {
                forecast.note_blind();
            }
            let begun = level.pending.saturating_sub(pending);
            let ended = u64::from(level.runs) + begun;
            let ended = ended.saturating_sub(u64::from(runs));
            if changed.is_none() && (ended > 0 || begun > 0) {
                if ended > 0 {
                    let work_ns = level.running_ns + new_ns;
                    level.end(ended, work_ns);
                    let below = depth.saturating_add(at as u32 + 1);
                    forecast.note(below, ended, Duration::from_nanos(work_ns as u64));
                }
                changed = Some(at);
            } else if runs {
                level.running_ns += new_ns;
            }
            (level.pending, level.waiting, level.runs) = (pending, waiting, runs);
            if changed == Some(at) {
                // Whatever is deeper belongs to another job.
                self.levels.truncate(at + 1);
            }
        }
        self.levels.truncate(deepest + 1);
        self.tell(depth, forecast);
    }

    /// The instance waits for an exposed job that was spawned from `at`.
    pub fn wait(&mut self, at: u32) {
        self.awaits = Some(at);
    }

    /// It waits no longer: it calls the job in place.
    pub fn call(&mut self) {
        self.awaits = None;
    }

    /// It has the result of an exposed job that was spawned from `at` and ran elsewhere, for this long.
    pub fn take(&mut self, at: u32, work: Duration) {
        self.awaits = None;
        if let Some(level) = self.levels.get_mut(at as usize) {
            level.pending = level.pending.saturating_sub(1);
            (level.ended, level.ended_ns) = (level.ended + 1, level.ended_ns + nanoseconds(work));
        }
    }

    /// The instance is gone.
    pub fn end(&mut self, forecast: &Forecast) {
        forecast.expect(self.told_ns, 0);
        *self = Self::default();
    }

    fn tell(&mut self, depth: u32, forecast: &Forecast) {
        let ahead_ns = self.ahead_ns(depth, forecast) as u64;
        forecast.expect(self.told_ns, ahead_ns);
        self.told_ns = ahead_ns;
    }

    fn ahead_ns(&self, depth: u32, forecast: &Forecast) -> f64 {
        let has_spawned = |level: &Level| level.pending > 0 || level.runs || level.ended > 0;
        if !self.levels.iter().any(has_spawned) {
            // As long as others of its depth.
            let all_ns = forecast.mean_ns(depth).unwrap_or(0.0);
            return (all_ns - nanoseconds(self.seen)).max(0.0);
        }
        // Of the job that runs one level deeper.
        let mut left_ns = 0.0;
        for (at, level) in self.levels.iter().enumerate().rev() {
            let running_ns = level.runs.then_some(level.running_ns + left_ns);
            let elsewhere_ns = forecast.mean_ns(depth.saturating_add(at as u32 + 1));
            left_ns += level.waiting_ns(running_ns, elsewhere_ns);
        }
        left_ns
    }
}

fn nanoseconds(time: Duration) -> f64 {
    time.as_nanos() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// A guest after `work_ms` of work. `latent` has its latent jobs at each depth.
    fn sight(latent: &[u32], depth: usize, work_ms: u32) -> Sight {
        let mut all = [0; DEPTHS];
        all[..latent.len()].copy_from_slice(latent);
        Sight { latent: all, exposed: [0; DEPTHS], open: [0; DEPTHS], depth, work: MS * work_ms }
    }

    fn ahead_ms(forecast: &Forecast) -> f64 {
        forecast.ahead_ns().expect("it is known") as f64 / 1e6
    }

    #[test]
    fn jobs_that_wait_take_as_long_as_those_that_have_ended() {
        let (mut outlook, forecast) = (Outlook::default(), Forecast::default());
        // Ten jobs of 4 ms each, seen every millisecond. None of them spawns.
        for work_ms in 0..40 {
            outlook.look(&sight(&[9 - work_ms / 4], 1, work_ms), 0, &forecast);
        }
        outlook.look(&sight(&[0], 1, 40), 0, &forecast);
        let (mut outlook, forecast) = (Outlook::default(), Forecast::default());
        for work_ms in 0..=20 {
            outlook.look(&sight(&[9 - work_ms / 4], 1, work_ms), 0, &forecast);
        }
        // Five have ended; four wait, and one has just begun, of which nothing is known.
        assert!((12.0..=20.0).contains(&ahead_ms(&forecast)), "{}", ahead_ms(&forecast));
        outlook.end(&forecast);
        assert_eq!(forecast.ahead_ns(), Some(0));
    }

    /// A tree with two children a job and leaves of 1 ms, from its start to its end, seen every millisecond.
    fn walk(levels: u32, mut see: impl FnMut(u32, Sight)) {
        let all = 1 << levels;
        for leaf in 0..all {
            // At each depth, the second child waits while the first runs.
            let latent: Vec<u32> =
                (0..levels).map(|at| u32::from(leaf >> (levels - 1 - at) & 1 == 0)).collect();
            see(leaf, sight(&latent, levels as usize, leaf));
        }
    }

    #[test]
    fn of_a_regular_tree_the_estimate_is_right_from_the_first_leaves_on() {
        const LEVELS: u32 = 10;
        let (mut outlook, forecast) = (Outlook::default(), Forecast::default());
        let all = 1 << LEVELS;
        walk(LEVELS, |leaf, sight| {
            outlook.look(&sight, 0, &forecast);
            let (ahead, left) = (ahead_ms(&forecast), f64::from(all - leaf));
            let is_near = (0.5 * left - 2.0..=1.5 * left + 2.0).contains(&ahead);
            assert!(leaf < 8 || is_near, "{ahead} of {left} at {leaf}");
        });
    }

    #[test]
    fn jobs_that_take_longer_and_longer_continue_to_do_so() {
        let (mut outlook, forecast) = (Outlook::default(), Forecast::default());
        // Of 8, 16, 32 … 4096 ms.
        let mut work_ms = 0;
        for begun in 0..=6 {
            outlook.look(&sight(&[9 - begun], 1, work_ms), 0, &forecast);
            work_ms += 8 << begun;
        }
        // The seventh has begun.
        let left = f64::from(1024 + 2048 + 4096);
        assert!((0.9 * left..1.1 * left).contains(&ahead_ms(&forecast)), "{} of {left}", ahead_ms(&forecast));
    }

    #[test]
    fn jobs_that_run_elsewhere_are_expected_there() {
        let (mut outlook, forecast) = (Outlook::default(), Forecast::default());
        forecast.note(1, 1, 8 * MS);
        let exposed = |exposed: u32, open: u32, work_ms: u32| {
            let mut sight = sight(&[2], 0, work_ms);
            (sight.exposed[0], sight.open[0]) = (exposed, open);
            sight
        };
        outlook.look(&exposed(3, 2, 0), 0, &forecast);
        assert_eq!(ahead_ms(&forecast), 32.0, "two that are latent, and two that wait");
        outlook.look(&exposed(3, 0, 0), 0, &forecast);
        assert_eq!(ahead_ms(&forecast), 16.0);
        // One comes back after a wait, and has taken longer.
        outlook.wait(0);
        outlook.look(&exposed(2, 0, 0), 0, &forecast);
        outlook.take(0, 24 * MS);
        outlook.look(&exposed(2, 0, 0), 0, &forecast);
        assert_eq!(ahead_ms(&forecast), 2.0 * (24.0 + 8.0) / 2.0);
    }

    #[test]
    fn of_a_root_that_spawns_in_rounds_nothing_is_known() {
        let (mut outlook, forecast) = (Outlook::default(), Forecast::default());
        let see = |outlook: &mut Outlook, depth: u32, work_ms: u32, latent: u32| {
            outlook.look(&sight(&[latent], usize::from(latent < 2), work_ms), depth, &forecast);
            forecast.ahead_ns().is_some()
        };
        let rounds = [2, 1, 0, 2];
        let mut below = Outlook::default();
        for (work_ms, latent) in (0..).zip(rounds) {
            assert!(see(&mut below, 1, work_ms, latent), "below the root, others are the measure");
        }
        let known: Vec<bool> =
            (0..).zip(rounds).map(|(work_ms, latent)| see(&mut outlook, 0, work_ms, latent)).collect();
        assert_eq!(known, [true, true, true, false]);
    }

    #[test]
    fn a_job_without_jobs_takes_as_long_as_others_of_its_depth() {
        let (mut outlook, forecast) = (Outlook::default(), Forecast::default());
        forecast.note(5, 2, 20 * MS);
        outlook.look(&sight(&[], 0, 3), 5, &forecast);
        assert_eq!(ahead_ms(&forecast), 7.0);
        outlook.look(&sight(&[], 0, 30), 5, &forecast);
        assert_eq!(ahead_ms(&forecast), 0.0);
    }

    #[test]
    fn many_children_are_looked_at_now_and_then() {
        let (mut outlook, forecast) = (Outlook::default(), Forecast::default());
        assert!((0..9).all(|_| outlook.is_due(FEW_CHILDREN)));
        outlook.look(&sight(&[1], 0, 1), 0, &forecast);
        let looks = (0..10 * HEARTBEATS_BETWEEN).filter(|_| {
            let is_due = outlook.is_due(FEW_CHILDREN + 1);
            if is_due {
                outlook.look(&sight(&[1], 0, 1), 0, &forecast);
            }
            is_due
        });
        assert_eq!(looks.count(), 10);
    }

    #[test]
    fn whatever_a_guest_shows_is_estimated() {
        let mut random = sateen_protocol::Random::new(17);
        let (mut outlook, forecast) = (Outlook::default(), Forecast::default());
        for _ in 0..10_000 {
            let mut any =
                || std::array::from_fn(|_| (random.next_u64() as u32) >> (random.below(33)).min(31));
            let (latent, exposed, open) = (any(), any(), any());
            let (depth, work) =
                (random.below(100), Duration::from_nanos(random.next_u64() >> random.below(64)));
            outlook.look(&Sight { latent, exposed, open, depth, work }, random.next_u64() as u32, &forecast);
            match random.below(4) {
                0 => outlook.wait(random.below(100) as u32),
                1 => outlook.take(random.below(100) as u32, Duration::from_nanos(random.next_u64())),
                2 => outlook.call(),
                _ => {}
            }
        }
        outlook.end(&forecast);
        assert_eq!(forecast.ahead_ns(), Some(0));
    }
}
