//! The times in which a host's process was stopped, which its own time does not have.

use std::time::Duration;

use sateen_protocol::Time;

/// When a process was stopped.
#[derive(Debug, Default)]
pub struct Stops {
    /// The beginning of the present stop.
    since: Option<Time>,
    /// The total of those before.
    before: Duration,
}

impl Stops {
    /// The process is stopped.
    pub fn begin(&mut self, now: Time) {
        self.since = Some(now);
    }

    /// The process continues; the beginning of the stop, if it was stopped.
    pub fn end(&mut self, now: Time) -> Option<Time> {
        let since = self.since.take()?;
        self.before += now.since(since);
        Some(since)
    }

    /// Whether the process is stopped.
    pub fn is_stopped(&self) -> bool {
        self.since.is_some()
    }

    /// The duration of the present stop.
    pub fn lasts(&self, now: Time) -> Duration {
        self.since.map_or(Duration::ZERO, |since| now.since(since))
    }

    /// The last moment until now at which the process was running.
    pub fn until(&self, now: Time) -> Time {
        self.since.unwrap_or(now)
    }

    /// The time, without that in which the process was stopped.
    pub fn own_time(&self, now: Time) -> Time {
        Time(self.until(now).0.saturating_sub(self.before.as_nanos() as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_time_stands_still_while_a_process_is_stopped() {
        let mut stops = Stops::default();
        assert_eq!((stops.end(Time(5)), stops.own_time(Time(10))), (None, Time(10)));
        stops.begin(Time(10));
        assert!(stops.is_stopped());
        assert_eq!((stops.own_time(Time(25)), stops.until(Time(25))), (Time(10), Time(10)));
        assert_eq!(stops.lasts(Time(25)), Duration::from_nanos(15));
        assert_eq!(stops.end(Time(30)), Some(Time(10)));
        assert_eq!((stops.own_time(Time(31)), stops.is_stopped()), (Time(11), false));
    }
}
