//! The time: of the state machine, and of the calendar.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, clock_gettime};
use sateen_protocol::Time;

thread_local! {
    /// In a simulation: this thread's time.
    static SIMULATED: RefCell<Option<Simulation>> = const { RefCell::new(None) };
}

/// The time of a simulation, in nanoseconds since 1970, for all threads that share it.
#[derive(Debug, Clone, Default)]
pub struct Simulation(Arc<AtomicU64>);

impl Simulation {
    /// Sets the time.
    pub fn stand_at(&self, unix_ns: u64) {
        self.0.store(unix_ns, Relaxed);
    }

    /// All clocks that this thread reads use this time from now on.
    pub fn follow(&self) {
        SIMULATED.set(Some(self.clone()));
    }

    fn now_ns() -> Option<u64> {
        SIMULATED.with_borrow(|simulated| simulated.as_ref().map(|Self(unix_ns)| unix_ns.load(Relaxed)))
    }
}

/// The state machine's time: nanoseconds since this clock was created, including those of a suspended computer.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    start_ns: u64,
    stands_at: Option<Time>,
}

impl Clock {
    /// A clock that starts now.
    pub fn start() -> Self {
        Self { start_ns: boot_ns(), stands_at: None }
    }

    /// A clock that stands still. Measurements with it give no host up as silent, however long they take.
    pub fn standing() -> Self {
        Self { stands_at: Some(Time(1)), ..Self::start() }
    }

    /// The state machine's time.
    pub fn now(&self) -> Time {
        self.stands_at.unwrap_or_else(|| Time(boot_ns().saturating_sub(self.start_ns)))
    }

    /// The calendar time of a moment of the state machine's, in milliseconds since 1970.
    pub fn unix_ms(&self, moment: Time) -> u64 {
        unix_ms().saturating_sub(self.now().since(moment).as_millis() as u64)
    }
}

/// The time since a past moment. It advances evenly even if the system's calendar is set meanwhile.
#[derive(Debug, Clone, Copy)]
pub struct Since {
    passed_ms: u64,
    made_ns: u64,
}

impl Since {
    /// Since this moment, in milliseconds since 1970.
    pub fn unix_ms(moment_ms: u64) -> Self {
        Self { passed_ms: unix_ms().saturating_sub(moment_ms), made_ns: boot_ns() }
    }

    /// The same moment, or `ms` milliseconds ago if that is earlier.
    pub fn at_least(self, ms: u64) -> Self {
        Self { passed_ms: self.passed_ms.max(ms), ..self }
    }

    /// The time since then, in milliseconds.
    pub fn ms(&self) -> u64 {
        self.passed_ms.saturating_add(boot_ns().saturating_sub(self.made_ns) / 1_000_000)
    }
}

impl Default for Since {
    fn default() -> Self {
        Self::unix_ms(0)
    }
}

/// Milliseconds since 1970.
pub fn unix_ms() -> u64 {
    if let Some(simulated_ns) = Simulation::now_ns() {
        return simulated_ns / 1_000_000;
    }
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

/// RFC 3339, in UTC.
pub fn written(unix_ms: u64) -> String {
    // The calendar ends with the year 9999.
    let moment = UNIX_EPOCH + Duration::from_millis(unix_ms.min(253_402_300_799_000));
    humantime::format_rfc3339_millis(moment).to_string()
}

/// Nanoseconds as seconds.
pub fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

fn boot_ns() -> u64 {
    if let Some(simulated_ns) = Simulation::now_ns() {
        return simulated_ns;
    }
    // Except on Linux, the monotonic clock continues during suspension by itself.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    const CLOCK: ClockId = ClockId::Boottime;
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    const CLOCK: ClockId = ClockId::Monotonic;
    let now = clock_gettime(CLOCK);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_continues_when_the_calendar_is_set_back() {
        let simulation = Simulation::default();
        simulation.stand_at(5_000_000_000);
        simulation.follow();
        let later = Since::unix_ms(9_000);
        assert_eq!(later.ms(), 0, "a moment that is to come");
        assert_eq!(later.at_least(70).ms(), 70);
        simulation.stand_at(5_800_000_000);
        assert_eq!((later.ms(), Since::unix_ms(5_000).ms()), (800, 800));
    }
}
