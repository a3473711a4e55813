//! The part of an instance's work that repeats earlier work.
//!
//! A job that was lost with its host begins again. Recorded results below it are found; the work between them is
//! repeated, until the instance has reached the point at which the lost one was. That point is not known. But a crash
//! loses hardly more of a worker's finished work than it does between two recordings. So an instance counts as
//! repeating until it has computed for that long without finding a result. All later work is new, however long it
//! takes: it would have been computed without the crash as well. If nothing is recorded, all work counts as repeated.
//!
//! A host that leaves first records all its finished work, and one without memory for a job has recorded some. So the new
//! instance repeats only until it has found the last of these results. Results that were recorded later, by this instance
//! or of an equal job elsewhere, say nothing of how far the earlier instance was.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

use sateen_protocol::message::NoteKind;

use super::Guest;
use crate::scheduler::{Ancestry, Doing, Grid, GuestGrid, Job, LazyKey, own_index};

/// Whether an instance repeats what was lost, and until when. All times are processor time of the instance.
#[derive(Debug)]
pub struct CatchUp {
    /// How often finished work is recorded; `None` if it is not.
    every: Option<Duration>,
    mode: Mode,
    /// Whether it repeats lost work, for the worker that continues with the instance after a wait.
    repeats: Arc<AtomicBool>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// All work is new.
    New,
    /// It repeats lost work.
    Lost { until: Duration },
    /// It looks for results of a job that a host gave back; work before each result found is repeated.
    GivenBack { until: Duration, since: Duration, found: Duration },
}

/// The state to restore when a call in place that repeats has ended.
#[derive(Debug)]
pub struct Before {
    mode: Mode,
    /// The job of the call, if the run's tree has it as a lost one.
    noted: Option<Ancestry>,
}

impl CatchUp {
    /// The state of a new instance, whose job was lost if `repeats` is set. Otherwise it may have been begun
    /// and given back.
    pub fn new(every: Option<Duration>, repeats: Arc<AtomicBool>, is_given_back: bool) -> Self {
        let is_lost = repeats.load(SeqCst);
        let mut catch_up = Self { every, mode: Mode::New, repeats };
        if is_lost || is_given_back {
            catch_up.begin(Duration::ZERO, is_given_back && !is_lost);
        }
        catch_up
    }

    fn is_on(&self) -> bool {
        self.repeats.load(SeqCst)
    }

    fn set(&mut self, mode: Mode) {
        self.mode = mode;
        self.repeats.store(matches!(mode, Mode::Lost { .. }), SeqCst);
    }

    fn later(&self, work: Duration) -> Duration {
        self.every.map_or(Duration::MAX, |every| work.saturating_add(every))
    }

    /// A job that was begun before begins, when the instance has computed for `work`.
    fn begin(&mut self, work: Duration, is_given_back: bool) {
        let until = self.later(work);
        // If nothing is recorded, nothing can be found.
        self.set(if is_given_back && self.every.is_some() {
            Mode::GivenBack { until, since: work, found: work }
        } else {
            Mode::Lost { until }
        });
    }

    /// The result of a job below was known before this instance began: the earlier one had reached this point as
    /// well.
    pub fn found(&mut self, work: Duration) {
        let later = self.later(work);
        match &mut self.mode {
            Mode::Lost { until } if work < *until => *until = later,
            Mode::GivenBack { until, found, .. } if work < *until => (*until, *found) = (later, work),
            _ => {}
        }
    }

    /// The repeated part of the work from one moment to another, and of earlier work, if that is known only now. At
    /// the later moment, repeating may be over.
    fn repeated(&mut self, from: Duration, to: Duration) -> Duration {
        match &mut self.mode {
            Mode::New => Duration::ZERO,
            Mode::Lost { until } => {
                let until = *until;
                if until <= to {
                    self.set(Mode::New);
                }
                until.min(to).saturating_sub(from)
            }
            Mode::GivenBack { until, since, found } => {
                let repeated = found.saturating_sub(*since);
                *since = *found;
                if *until <= to {
                    self.set(Mode::New);
                }
                repeated
            }
        }
    }

    /// A call in place that repeats is over at `work`: the enclosing job continues with its own state, and with the
    /// results found.
    fn end(&mut self, before: Mode, work: Duration) {
        let mode = match (before, self.mode) {
            (Mode::Lost { until }, Mode::Lost { until: later }) => Mode::Lost { until: until.max(later) },
            // Results found from here on belong to the call.
            (Mode::GivenBack { until, .. }, _) => Mode::GivenBack { until, since: work, found: work },
            (before, _) => before,
        };
        let is_over = match mode {
            Mode::New => true,
            Mode::Lost { until } | Mode::GivenBack { until, .. } => until <= work,
        };
        self.set(if is_over { Mode::New } else { mode });
    }
}

impl Guest {
    /// Reports the work since the last call, and the repeated part of it.
    pub fn report_work(&mut self) {
        let was_on = self.catch_up.is_on();
        let work = self.clock.unreported_work();
        let now = self.clock.own_work();
        let repeated = self.catch_up.repeated(now.saturating_sub(work), now);
        self.registry.counters.report_work(work, repeated);
        self.show_doing(was_on);
    }

    fn show_doing(&self, was_on: bool) {
        let is_on = self.catch_up.is_on();
        if is_on != was_on {
            let doing = if is_on { Doing::Recover } else { Doing::Work };
            self.registry.grid.begin_doing(doing);
        }
    }

    /// A redone job is called in place. If it was begun before, it repeats that work. The run's tree is notified if
    /// the job was lost itself, because it has no instance of its own this time.
    pub fn begin_repeating(&mut self, job: &Job, key: &LazyKey) -> Option<Before> {
        let (grid, place) = (&self.registry.grid, job.place.as_ref()?);
        let is_lost = place.is_lost.load(SeqCst);
        if !grid.was_begun(is_lost, || key.get().tag()) {
            return None;
        }
        let noted = is_lost.then(|| place.ancestry(|| key.get()));
        if let Some(ancestry) = &noted {
            let worker = own_index().and_then(|worker| u32::try_from(worker).ok()).unwrap_or(0);
            let begun = NoteKind::Begun { victim: None, redone: !ancestry.given_back, worker };
            grid.note(job, ancestry, begun, Some(key.parameters()));
        }
        self.report_work();
        let before = Before { mode: self.catch_up.mode, noted };
        let was_on = self.catch_up.is_on();
        let work = self.clock.own_work();
        self.catch_up.begin(work, place.given_back.load(SeqCst));
        self.show_doing(was_on);
        Some(before)
    }

    /// A call of a job that repeated has ended; the clock's work was `since` when it began.
    pub fn end_repeating(
        &mut self,
        job: &Job,
        before: &Before,
        since: Duration,
        what: fn(work_ns: u64) -> NoteKind,
    ) {
        self.report_work();
        let was_on = self.catch_up.is_on();
        let work = self.clock.own_work();
        self.catch_up.end(before.mode, work);
        self.show_doing(was_on);
        if let Some(ancestry) = &before.noted {
            let (work, _) = self.clock.total_work_and_span();
            let work = work.saturating_sub(since);
            let work_ns = u64::try_from(work.as_nanos()).unwrap_or(u64::MAX);
            self.registry.grid.note(job, ancestry, what(work_ns), None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn of_lost_job(every: Option<Duration>) -> CatchUp {
        CatchUp::new(every, Arc::new(AtomicBool::new(true)), false)
    }

    fn of_job_given_back() -> CatchUp {
        CatchUp::new(Some(ms(250)), Arc::default(), true)
    }

    /// The repeated part of work that is checked every 4 ms, in which results are found at these times.
    fn repeated(catch_up: &mut CatchUp, work_ms: u64, found_ms: &[u64]) -> Duration {
        (0..work_ms / 4)
            .map(|step| {
                let (from, to) = (4 * step, 4 * step + 4);
                found_ms.iter().filter(|at| (from..to).contains(*at)).for_each(|at| catch_up.found(ms(*at)));
                catch_up.repeated(ms(from), ms(to))
            })
            .sum()
    }

    #[test]
    fn an_instance_repeats_until_it_finds_nothing_more() {
        assert_eq!(repeated(&mut of_lost_job(Some(ms(250))), 60_000, &[]), ms(250));
        assert_eq!(repeated(&mut of_lost_job(Some(ms(250))), 60_000, &[100, 300, 301]), ms(551));
        // An orphan's result that comes much later: the instance is long past the point that the lost one had reached.
        let mut catch_up = of_lost_job(Some(ms(250)));
        assert_eq!(repeated(&mut catch_up, 60_000, &[100, 30_000]), ms(350));
        assert!(!catch_up.is_on());
        assert_eq!(repeated(&mut of_lost_job(Some(ms(250))), 120, &[]), ms(120));
    }

    #[test]
    fn new_jobs_repeat_nothing_and_without_recordings_all_is_repeated() {
        let mut new = CatchUp::new(Some(ms(250)), Arc::default(), false);
        assert_eq!(repeated(&mut new, 1_000, &[100]), Duration::ZERO);
        assert_eq!(repeated(&mut of_lost_job(None), 60_000, &[100]), ms(60_000));
    }

    #[test]
    fn work_given_back_is_repeated_up_to_the_last_result_found() {
        assert_eq!(repeated(&mut of_job_given_back(), 60_000, &[]), Duration::ZERO);
        assert_eq!(repeated(&mut of_job_given_back(), 60_000, &[100, 301, 30_000]), ms(301));
        let mut nothing_recorded = CatchUp::new(None, Arc::default(), true);
        assert_eq!(repeated(&mut nothing_recorded, 60_000, &[]), ms(60_000));
    }

    #[test]
    fn a_call_that_repeats_takes_nothing_from_what_it_is_within() {
        let mut within = of_job_given_back();
        let before = within.mode;
        within.begin(ms(10), false);
        assert_eq!(within.repeated(ms(10), ms(90)), ms(80), "that one was lost");
        within.end(before, ms(90));
        within.found(ms(100));
        assert_eq!(within.repeated(ms(90), ms(110)), ms(10));

        let mut new = CatchUp::new(Some(ms(250)), Arc::default(), false);
        let before = new.mode;
        new.begin(ms(10), false);
        new.end(before, ms(20));
        assert_eq!(new.repeated(ms(20), ms(400)), Duration::ZERO);
    }

    #[test]
    fn the_worker_is_notified() {
        let repeats = Arc::new(AtomicBool::new(true));
        let mut catch_up = CatchUp::new(Some(ms(250)), repeats.clone(), false);
        catch_up.repeated(ms(0), ms(249));
        assert!(repeats.load(SeqCst));
        catch_up.repeated(ms(249), ms(251));
        assert!(!repeats.load(SeqCst));
    }
}
