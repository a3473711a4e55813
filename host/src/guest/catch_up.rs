//! What of an instance's work is done for the second time.
//!
//! A job that was lost with its host begins anew. What was recorded below it is found; what lies in between is
//! repeated, until the instance is where the lost one was. Nobody knows where that is. But a crash loses hardly more of
//! a worker's finished work than what it does between two recordings. So an instance repeats until it has computed for
//! as long as that without finding anything. All that comes later is new, however long it takes: it would have been
//! computed without the crash as well. Where nothing is recorded, all counts as repeated.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

use sateen_protocol::message::NoteKind;

use super::Guest;
use super::state::Recording;
use crate::scheduler::{Ancestry, Doing, Job, LateKey, own_index};

/// Whether an instance repeats what was lost, and until when.
#[derive(Debug)]
pub struct CatchUp {
    /// How often finished work is recorded; `None` if it is not.
    every: Option<Duration>,
    /// Processor time of the instance up to which it repeats; `None` if it does not.
    until: Option<Duration>,
    /// The same for the worker that goes on with the instance after a wait.
    repeats: Arc<AtomicBool>,
}

/// What is as it was before, once a call in place that repeats has ended.
#[derive(Debug)]
pub struct Before {
    until: Option<Duration>,
    /// The job of the call, if the run's tree has it as a lost one.
    noted: Option<Ancestry>,
}

impl CatchUp {
    /// Of a new instance, whose job was lost if `repeats` is set.
    pub fn new(every: Option<Duration>, repeats: Arc<AtomicBool>) -> Self {
        let mut catch_up = Self { every, until: None, repeats };
        if catch_up.is_on() {
            catch_up.begin(Duration::ZERO);
        }
        catch_up
    }

    fn is_on(&self) -> bool {
        self.repeats.load(SeqCst)
    }

    fn set(&mut self, until: Option<Duration>) {
        self.until = until;
        self.repeats.store(until.is_some(), SeqCst);
    }

    fn later(&self, work: Duration) -> Duration {
        self.every.map_or(Duration::MAX, |every| work.saturating_add(every))
    }

    /// A job that was lost begins, when the instance has computed for `work`.
    fn begin(&mut self, work: Duration) {
        self.set(Some(self.later(work)));
    }

    /// The result of a job below was known: the lost instance was here, too.
    pub fn found(&mut self, work: Duration) {
        if self.until.is_some_and(|until| work < until) {
            self.begin(work);
        }
    }

    /// What of the work from one moment to another is repeated. At the later one, repeating may be over.
    fn repeated(&mut self, from: Duration, to: Duration) -> Duration {
        let Some(until) = self.until else { return Duration::ZERO };
        if until <= to {
            self.set(None);
        }
        until.min(to).saturating_sub(from)
    }
}

impl Guest {
    /// Reports the work since this was done last, and what of it is repeated.
    pub fn report_work(&mut self) {
        let was_on = self.catch_up.is_on();
        let work = self.clock.unreported_work();
        let now = self.clock.own_work();
        let repeated = self.catch_up.repeated(now.saturating_sub(work), now);
        self.shared.report_work(work, repeated);
        self.show_doing(was_on);
    }

    fn show_doing(&self, was_on: bool) {
        let is_on = self.catch_up.is_on();
        if let Some(remote) = self.shared.remote.as_ref().filter(|_| is_on != was_on) {
            let doing = if is_on { Doing::Recover } else { Doing::Work };
            remote.activity.begin(own_index().unwrap_or(usize::MAX), doing);
        }
    }

    /// A redone job is called in place. If it was begun before, it repeats that; the run's tree is told if the job was
    /// lost itself, as it has no instance of its own this time.
    pub fn begin_repeating(&mut self, job: &Job, key: &LateKey) -> Option<Before> {
        let (remote, place) = (self.shared.remote.as_ref()?, job.place.as_ref()?);
        let is_lost = place.is_lost.load(SeqCst);
        if !remote.was_begun(is_lost, || key.get().tag()) {
            return None;
        }
        let noted = is_lost.then(|| place.ancestry(|| key.get()));
        if let Some(ancestry) = &noted {
            let worker = own_index().and_then(|worker| u32::try_from(worker).ok()).unwrap_or(0);
            let begun = NoteKind::Begun { victim: None, redone: true, worker };
            remote.note(job, ancestry, begun, Some(key.parameters()));
        }
        self.report_work();
        let before = Before { until: self.catch_up.until, noted };
        let was_on = self.catch_up.is_on();
        self.catch_up.begin(self.clock.own_work());
        self.show_doing(was_on);
        Some(before)
    }

    /// The call has come to its end.
    pub fn end_repeating(&mut self, recording: &Recording, what: fn(work_ns: u64) -> NoteKind) {
        let Some(before) = &recording.before else { return };
        self.report_work();
        let was_on = self.catch_up.is_on();
        // What it was within goes on with what it repeats, and with what that has found.
        let until = before.until.max(self.catch_up.until).filter(|_| before.until.is_some());
        self.catch_up.set(until.filter(|until| *until > self.clock.own_work()));
        self.show_doing(was_on);
        if let (Some(remote), Some(ancestry)) = (&self.shared.remote, &before.noted) {
            let (work, _) = self.clock.total_work_and_span();
            let work = work.saturating_sub(recording.work);
            let work_ns = u64::try_from(work.as_nanos()).unwrap_or(u64::MAX);
            remote.note(&recording.job, ancestry, what(work_ns), None);
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
        CatchUp::new(every, Arc::new(AtomicBool::new(true)))
    }

    /// What is repeated of work that is looked at every 4 ms, in which something is found at these times.
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
        // An orphan's result that comes much later: the instance has long been where nobody was.
        let mut catch_up = of_lost_job(Some(ms(250)));
        assert_eq!(repeated(&mut catch_up, 60_000, &[100, 30_000]), ms(350));
        assert!(!catch_up.is_on());
        assert_eq!(repeated(&mut of_lost_job(Some(ms(250))), 120, &[]), ms(120));
    }

    #[test]
    fn new_jobs_repeat_nothing_and_without_recordings_all_is_repeated() {
        let mut new = CatchUp::new(Some(ms(250)), Arc::default());
        assert_eq!(repeated(&mut new, 1_000, &[100]), Duration::ZERO);
        assert_eq!(repeated(&mut of_lost_job(None), 60_000, &[100]), ms(60_000));
    }

    #[test]
    fn the_worker_is_told() {
        let repeats = Arc::new(AtomicBool::new(true));
        let mut catch_up = CatchUp::new(Some(ms(250)), repeats.clone());
        catch_up.repeated(ms(0), ms(249));
        assert!(repeats.load(SeqCst));
        catch_up.repeated(ms(249), ms(251));
        assert!(!repeats.load(SeqCst));
    }
}
