//! The driver's clock and its alarm.
//!
//! Both continue while the machine sleeps: a laptop that was closed for an hour must notice that. The alarm is
//! a kernel timer, because tokio's own timers round up to whole milliseconds, and a steal takes some tens of
//! microseconds.

use std::io;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, clock_gettime};
use sateen_protocol::Time;

#[cfg(target_os = "linux")]
const CLOCK: ClockId = ClockId::Boottime;
#[cfg(not(target_os = "linux"))]
const CLOCK: ClockId = ClockId::Monotonic;

/// Nanoseconds since it was made.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    start_ns: u64,
}

/// The time of the machine's clock, in nanoseconds. It is the same in all processes.
pub fn now_ns() -> u64 {
    let now = clock_gettime(CLOCK);
    u64::try_from(now.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(now.tv_nsec).unwrap_or(0)
}

impl Clock {
    pub fn start() -> Self {
        Self { start_ns: now_ns() }
    }

    pub fn now(&self) -> Time {
        Time(now_ns() - self.start_ns)
    }
}

/// The time after this duration, in seconds since 1970.
pub fn unix_s(later: Duration) -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    (now + later).as_secs()
}

/// Wakes the driver at a moment of its clock.
pub struct Alarm {
    clock: Clock,
    /// The moment at which the timer fires. It is not set anew for a later one, as each event brings another deadline.
    set_for: Option<Time>,
    #[cfg(target_os = "linux")]
    timer: tokio::io::unix::AsyncFd<std::os::fd::OwnedFd>,
}

impl Alarm {
    #[cfg(target_os = "linux")]
    pub fn new(clock: Clock) -> io::Result<Self> {
        use rustix::time::{TimerfdClockId, TimerfdFlags, timerfd_create};
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = timerfd_create(TimerfdClockId::Boottime, flags)?;
        // SAFETY: an `OwnedFd` owns its descriptor and closes it only when it is dropped, so the descriptor stays valid
        // as long as it is registered.
        #[allow(unsafe_code)]
        let timer = unsafe { tokio::io::unix::AsyncFd::register(timer)? };
        Ok(Self { clock, set_for: None, timer })
    }

    #[cfg(not(target_os = "linux"))]
    pub fn new(clock: Clock) -> io::Result<Self> {
        Ok(Self { clock, set_for: None })
    }

    /// Waits for the moment. Dropping the future and waiting again for the same moment costs nothing.
    #[cfg(target_os = "linux")]
    pub async fn wait_until(&mut self, moment: Time) {
        while self.clock.now() < moment {
            if self.set_for.is_none_or(|set_for| set_for > moment) && self.set(moment).is_err() {
                return tokio::time::sleep(Duration::from_millis(1)).await;
            }
            let Ok(mut ready) = self.timer.readable().await else {
                return tokio::time::sleep(Duration::from_millis(1)).await;
            };
            let fired = ready
                .try_io(|timer| rustix::io::read(timer.get_ref(), &mut [0_u8; 8]).map_err(io::Error::from));
            if fired.is_ok() {
                self.set_for = None;
            }
        }
    }

    #[cfg(target_os = "linux")]
    fn set(&mut self, moment: Time) -> rustix::io::Result<()> {
        use rustix::time::{Itimerspec, TimerfdTimerFlags, Timespec, timerfd_settime};
        let at_ns = self.clock.start_ns.saturating_add(moment.0).max(1);
        let at = Timespec {
            tv_sec: i64::try_from(at_ns / 1_000_000_000).unwrap_or(i64::MAX),
            tv_nsec: (at_ns % 1_000_000_000) as _,
        };
        let once = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: at };
        timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &once)?;
        self.set_for = Some(moment);
        Ok(())
    }

    /// Waits for the moment.
    #[cfg(not(target_os = "linux"))]
    pub async fn wait_until(&mut self, moment: Time) {
        tokio::time::sleep(moment.since(self.clock.now())).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_alarm_is_finer_than_a_millisecond() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let clock = Clock::start();
            let mut alarm = Alarm::new(clock).expect("a timer");
            let mut best = Duration::MAX;
            for _ in 0..20 {
                let asked = clock.now() + Duration::from_micros(200);
                alarm.wait_until(asked).await;
                let woke = clock.now();
                assert!(woke >= asked);
                best = best.min(woke.since(asked));
            }
            assert!(best < Duration::from_micros(700), "{best:?}");
        });
    }

    #[test]
    fn a_moment_that_has_passed_is_not_waited_for() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let clock = Clock::start();
            let mut alarm = Alarm::new(clock).expect("a timer");
            alarm.wait_until(Time(0)).await;
            alarm.wait_until(clock.now()).await;
        });
    }
}
