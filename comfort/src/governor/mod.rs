//! The governor: a thread of its own that carries out what is decided.
//!
//! While guests compute, it looks every [`LOOK`] whether the user is back; a guest is off the processor at its next
//! heartbeat after that. A share of less than everything is held by a quota of the system where guests have a cgroup of
//! their own, and otherwise by letting them compute and stand still in turns ([`Duty`]).
//!
//! A short pause leaves all jobs where they are and costs no work. A pause that lasts hands them over: guests may compute
//! for a moment, in which they expose and record what they have, and then other hosts have their jobs.

mod brakes;
mod duty;
mod quota;
#[cfg(test)]
mod tests;

use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use jiff::Zoned;
use parking_lot::{Condvar, Mutex};
use serde::{Deserialize, Serialize};

use crate::decision::{Memory, State, decide};
use crate::preferences::{Percent, Preferences};
use crate::sense::{Place, Senses};

pub use brakes::{Brake, Brakes};
pub use duty::Duty;

/// Interval of looks at the user while guests compute.
pub const LOOK: Duration = Duration::from_millis(15);
/// The same while guests stand still.
const LOOK_HELD: Duration = Duration::from_millis(500);
/// The same while there are none.
const LOOK_IDLE: Duration = Duration::from_secs(5);
/// Maximum time for which guests compute to hand over their jobs: a little more than they need to come to rest.
pub const HAND_OVER_MAX: Duration = Duration::from_secs(3);
/// A reason whose figures change is reported again after this time.
const REPORT_EVERY: Duration = Duration::from_secs(10);

/// Returns the bytes that a host has sent and received today.
pub type Transferred = Box<dyn FnMut() -> u64 + Send>;

/// What a governor needs.
pub struct Options {
    /// What the owner allows.
    pub preferences: Preferences,
    /// Threads that compute at once: all of them all the time is a share of 100 %.
    pub threads: usize,
    /// The machine.
    pub place: Place,
    /// Bytes that the host has sent and received today, if it counts them.
    pub transferred: Option<Transferred>,
    /// Called on the governor's thread when something has changed. It must return at once.
    pub on_change: Box<dyn Fn(Change) + Send>,
}

/// What has become of the guests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// They compute.
    Computes,
    /// They stand still, and keep their jobs.
    Holds,
    /// Their jobs are to go to other hosts.
    HandsOver,
}

/// A change that is reported to the driver, and by the driver to users and the coordinator.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// What was decided.
    pub state: State,
    /// What follows.
    pub phase: Phase,
    /// The senses that are missing.
    pub missing: Vec<String>,
}

/// A running governor; it ends when this is dropped.
pub struct Governor {
    signal: Arc<Signal>,
    thread: Option<JoinHandle<()>>,
}

impl Governor {
    /// Starts to govern everything that is added to `brakes`.
    ///
    /// # Errors
    /// If its thread cannot be started.
    pub fn start(options: Options, brakes: Brakes) -> io::Result<Self> {
        let signal = brakes.signal();
        let thread = std::thread::Builder::new().name("sateen-governor".to_owned());
        let thread = thread.spawn(move || Loop::new(options, brakes).run())?;
        Ok(Self { signal, thread: Some(thread) })
    }

    /// The owner allows this from now on. `transferred` is used if the governor does not count already.
    pub fn change(&self, preferences: Preferences, transferred: Option<Transferred>) {
        self.signal.change(preferences, transferred);
    }
}

impl Drop for Governor {
    fn drop(&mut self) {
        self.signal.end();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Wakes the governor.
#[derive(Default)]
pub(crate) struct Signal {
    state: Mutex<(bool, bool)>,
    changed: Condvar,
    /// What the owner allows now, until the governor has taken it.
    preferences: Mutex<Option<(Preferences, Option<Transferred>)>>,
}

impl Signal {
    /// There is news.
    pub fn wake(&self) {
        self.state.lock().0 = true;
        self.changed.notify_all();
    }

    fn change(&self, preferences: Preferences, transferred: Option<Transferred>) {
        *self.preferences.lock() = Some((preferences, transferred));
        self.wake();
    }

    fn end(&self) {
        self.state.lock().1 = true;
        self.changed.notify_all();
    }

    /// Waits for news, at most this long; returns false at the end.
    fn wait(&self, most: Duration) -> bool {
        let until = Instant::now() + most;
        let mut state = self.state.lock();
        while !state.0 && !state.1 && !self.changed.wait_until(&mut state, until).timed_out() {}
        state.0 = false;
        !state.1
    }
}

struct Loop {
    options: Options,
    brakes: Brakes,
    senses: Senses,
    memory: Memory,
    duty: Duty,
    state: State,
    /// Since when the state is a pause.
    paused_since: Option<Instant>,
    /// Since when jobs are to go to other hosts.
    hands_over_since: Option<Instant>,
    /// What was last reported, and when.
    reported: Option<(Change, Instant)>,
    /// When senses were last read.
    looked: Option<Instant>,
}

impl Loop {
    fn new(options: Options, brakes: Brakes) -> Self {
        let signal = brakes.signal();
        let senses = Senses::start(&options.place, Arc::new(move || signal.wake()));
        let duty = Duty::new(options.threads, Instant::now(), brakes.used());
        Self {
            options,
            brakes,
            senses,
            memory: Memory::default(),
            duty,
            state: State::Compute { share: Percent::ALL, in_use: false },
            paused_since: None,
            hands_over_since: None,
            reported: None,
            looked: None,
        }
    }

    fn run(mut self) {
        let signal = self.brakes.signal();
        loop {
            let has_guests = self.brakes.count() > 0;
            let now = Instant::now();
            let until_look =
                self.looked.map_or(Duration::ZERO, |looked| (looked + LOOK).saturating_duration_since(now));
            if until_look.is_zero() {
                self.looked = Some(now);
                self.look(now);
            }
            let phase = self.phase(now);
            self.senses.set_computing(has_guests && phase == Phase::Computes);
            let wait = self.act(phase, has_guests, now);
            self.report(phase, now);
            // What it was woken for may have come a moment after the last look.
            let wait = if until_look.is_zero() { wait } else { wait.min(until_look) };
            if !signal.wait(wait) {
                break;
            }
        }
        // What still computes is its driver's business.
        self.brakes.set_quota(Percent::ALL, self.options.threads);
        self.brakes.hold(false);
    }

    /// Decides anew.
    fn look(&mut self, now: Instant) {
        if let Some((preferences, transferred)) = self.brakes.signal().preferences.lock().take() {
            self.options.preferences = preferences;
            self.options.transferred = self.options.transferred.take().or(transferred);
        }
        let mut readings = self.senses.readings();
        readings.transferred_bytes = self.options.transferred.as_mut().map(|transferred| transferred());
        let (state, memory) = decide(&self.options.preferences, &self.memory, &readings, &Zoned::now());
        self.memory = memory;
        self.paused_since = match (&state, self.paused_since) {
            (State::Compute { .. }, _) => None,
            (State::Paused { .. }, since) => Some(since.unwrap_or(now)),
        };
        self.state = state;
    }

    fn phase(&mut self, now: Instant) -> Phase {
        let Some(since) = self.paused_since else {
            self.hands_over_since = None;
            return Phase::Computes;
        };
        let is_long = now - since >= self.options.preferences.hand_over_after;
        if self.hands_over_since.is_none() && (self.state.is_lasting() || is_long) {
            self.hands_over_since = Some(now);
        }
        if self.hands_over_since.is_some() { Phase::HandsOver } else { Phase::Holds }
    }

    /// Holds guests or lets them go; returns the time until that must be looked at again.
    fn act(&mut self, phase: Phase, has_guests: bool, now: Instant) -> Duration {
        let share = self.state.share();
        // A hand-over is not to be slow.
        let quota = if phase == Phase::Computes { share } else { Percent::ALL };
        let is_by_quota = self.brakes.set_quota(quota, self.options.threads);
        if phase != Phase::Computes || share == Percent::ALL {
            self.duty.skip(now, self.brakes.used());
        }
        match phase {
            Phase::Computes if share == Percent::ALL || is_by_quota || !has_guests => {
                self.brakes.hold(false);
                // Without guests, it is shown a little late whether the user comes or goes.
                if has_guests { LOOK } else { LOOK_IDLE }
            }
            Phase::Computes => {
                let (held, wait) = self.duty.next(share, now, self.brakes.used());
                self.brakes.hold(held);
                wait.min(LOOK)
            }
            Phase::Holds => {
                self.brakes.hold(true);
                let since = self.paused_since.map_or(Duration::ZERO, |since| now - since);
                let until_long = self.options.preferences.hand_over_after.saturating_sub(since);
                let look = if has_guests { LOOK_HELD } else { LOOK_IDLE };
                look.min(until_long).max(LOOK)
            }
            Phase::HandsOver => {
                let since = self.hands_over_since.map_or(Duration::ZERO, |since| now - since);
                let rest = HAND_OVER_MAX.saturating_sub(since);
                self.brakes.hold(rest.is_zero());
                match (has_guests, rest.is_zero()) {
                    (false, _) => LOOK_IDLE,
                    (true, true) => LOOK_HELD,
                    (true, false) => rest.min(LOOK_HELD),
                }
            }
        }
    }

    fn report(&mut self, phase: Phase, now: Instant) {
        let missing = self.senses.missing();
        let is_due = match &self.reported {
            None => true,
            Some((last, at)) => {
                let is_new = last.phase != phase
                    || last.missing != missing
                    || kinds(&last.state) != kinds(&self.state);
                is_new || last.state != self.state && now - *at >= REPORT_EVERY
            }
        };
        if is_due {
            let change = Change { state: self.state.clone(), phase, missing };
            (self.options.on_change)(change.clone());
            self.reported = Some((change, now));
        }
    }
}

/// What kind of state it is, without figures that change all the time.
fn kinds(state: &State) -> Vec<std::mem::Discriminant<crate::decision::Reason>> {
    match state {
        State::Compute { .. } => Vec::new(),
        State::Paused { reasons } => reasons.iter().map(std::mem::discriminant).collect(),
    }
}
