//! The host's state of one instance.

use std::sync::Arc;
use std::time::Duration;

use sateen_protocol::JobTag;

use super::catch_up::CatchUp;
use super::children::Children;
use super::clock::Clock;
use super::control_words::ControlWords;
use super::exposure::Exposure;
use super::kinds::Kinds;
use super::limiter::Limiter;
use super::memory::Exports;
use super::objects::GuestObjects;
use super::offered::Offered;
use super::own_job::{Assignment, OwnJob};
use super::processor;
use super::profile::Profile;
use super::recordings::Recordings;
use super::stopped::Failures;
use crate::failure::Stop;
use crate::memory::Claim;
use crate::module::Words;
use crate::scheduler::{Doing, Grid, GuestGrid, Registry, Signal, Task, end_turn};

/// A job that took less shares its instance with the next: an instance of its own costs up to 100 µs.
const REUSED_WORK_MAX: Duration = Duration::from_millis(10);

/// A line that a guest wrote to its run's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLine {
    /// The job that the instance runs.
    pub job: String,
    /// The job in the run's tree, if the run is spread over hosts.
    pub tag: Option<JobTag>,
    /// The text.
    pub text: String,
}

/// The data of an instance's store.
pub struct Guest {
    pub registry: Arc<Registry>,
    pub job: OwnJob,
    /// The jobs that it has exposed and not synced.
    pub children: Children,
    /// The jobs that it calls in place and will report.
    pub recordings: Recordings,
    pub exposure: Exposure,
    pub exports: Exports,
    pub control: ControlWords,
    pub kinds: Kinds,
    pub offered: Offered,
    pub objects: GuestObjects,
    pub failures: Failures,
    pub clock: Clock,
    /// The repeated part of its work.
    pub catch_up: CatchUp,
    /// In a run that is profiled.
    pub profile: Option<Profile>,
    pub limiter: Limiter,
}

impl Guest {
    pub fn new(registry: Arc<Registry>, task: Task, assignment: Assignment, words: Arc<Words>) -> Self {
        let profile = registry.profiler().map(|_| Profile::new());
        let mut clock = Clock::start();
        if profile.is_some() {
            clock.be_exact();
        }
        let ancestry = task.ancestry.as_ref();
        let is_given_back = ancestry.is_some_and(|ancestry| registry.grid.was_given_back(ancestry));
        let every = registry.grid.record_every();
        let claim = registry.room.memory().map(|memory| memory.claim(&registry, task.id));
        let limiter = Limiter::new(registry.limits(), claim);
        let rings = registry.tempo.signals.rings();
        let signal = Signal::new(words, assignment.record().cloned(), limiter.eviction(), rings);
        let job = OwnJob::new(task.id, assignment, task.ancestry, task.is_urgent, signal);
        Self {
            catch_up: CatchUp::new(every, task.repeats, is_given_back),
            job,
            children: Children::default(),
            recordings: Recordings::default(),
            exposure: Exposure::new(registry.tempo.beats()),
            exports: Exports::default(),
            control: ControlWords::default(),
            kinds: Kinds::default(),
            offered: Offered::Owned(task.parameters),
            objects: GuestObjects::default(),
            failures: Failures::default(),
            clock,
            profile,
            limiter,
            registry,
        }
    }

    /// The state for another job in the same instance: what belongs to the instance stays.
    pub fn begin_again(&mut self, task: Task, assignment: Assignment) {
        self.kinds.outlook.end(&self.registry.counters.forecast);
        let words = self.job.signal().words().clone();
        let mut next = Self::new(self.registry.clone(), task, assignment, words);
        std::mem::swap(&mut next.exports, &mut self.exports);
        std::mem::swap(&mut next.control, &mut self.control);
        std::mem::swap(&mut next.kinds, &mut self.kinds);
        std::mem::swap(&mut next.limiter, &mut self.limiter);
        *self = next;
    }

    /// Whether another job of the same parent may run in this instance, after one that took `work`. An instance that
    /// has seen shared objects has copies of them, one in which a call has trapped may still be panicking, and a claim
    /// on memory is for one job.
    pub fn is_reusable(&self, work: Duration) -> bool {
        work < REUSED_WORK_MAX
            && self.registry.settings.may_share_instances
            && self.profile.is_none()
            && self.registry.room.memory().is_none()
            && self.children.outstanding() == 0
            && self.job.ancestry().is_none_or(|ancestry| !ancestry.redone)
            && self.objects.is_unused()
            && !self.failures.has_caught()
    }

    /// The job that this instance runs.
    pub fn job_name(&self) -> &str {
        match self.job.assignment() {
            Assignment::Root { name, .. } => name,
            Assignment::Job(job) => self.registry.job_name(job.kind),
        }
    }

    /// Notifies the driver that its job has begun, if the job belongs to another host.
    pub fn announce_begun(&self) {
        if let Some(held) = self.job.held() {
            self.registry.grid.announce_begun(held);
        }
    }

    /// Sleeps, with its worker, while the portion is paused or others have their turn.
    pub fn stand_still(&self) {
        processor::forget();
        let grid = &self.registry.grid;
        // Noted before the turn ends: the next worker may take this core.
        let stands = if self.registry.is_paused() { Doing::Nothing } else { Doing::Others };
        let did = grid.begin_doing(stands);
        end_turn();
        grid.wait_for_pause(|| self.check().is_err());
        self.registry.begin_turn(|| self.check().is_err());
        if let Some(did) = did {
            grid.begin_doing(did);
        }
    }

    /// How often finished work is recorded.
    pub fn record_every(&self) -> Option<Duration> {
        self.registry.grid.record_every()
    }

    /// Spawns from less than this depth are looked up now, as far as the guest knows.
    pub fn looks_up_below(&self) -> u32 {
        self.recordings.lookup_bound().min(self.control.lookup_below())
    }

    /// Whether this instance must stop.
    pub fn check(&self) -> Result<(), Stop> {
        if self.registry.is_stopping() {
            return Err(Stop::Stopped);
        }
        if self.limiter.is_evicted() || self.job.signal().is_given_back() {
            return Err(Stop::Evicted);
        }
        if self.job.is_aborted() {
            return Err(Stop::Aborted);
        }
        Ok(())
    }

    /// Notes the instance's size, and gives its claim away, if it has one.
    pub fn take_claim(&mut self) -> Option<Claim> {
        let claim = self.limiter.take_claim()?;
        self.registry.room.note_size(claim.bytes());
        Some(claim)
    }
}

impl Drop for Guest {
    /// The jobs that an instance spawned are useless when it is gone.
    fn drop(&mut self) {
        self.kinds.outlook.end(&self.registry.counters.forecast);
        for job in self.children.take_all() {
            self.registry.abandon(&job);
        }
        self.abort_recordings();
        drop(self.take_claim());
    }
}
