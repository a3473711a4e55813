//! Since when a host works without the coordinator's knowledge.

use sateen_protocol::Time;

/// The time for which a host has been absent, as only the simulator knows.
#[derive(Debug, Default)]
pub struct Absence {
    /// When the coordinator gave it up, until it knows.
    gone_since: Option<Time>,
    /// The time since which a crashed coordinator has not received its reports.
    unheard_since: Option<Time>,
}

impl Absence {
    /// The coordinator gives it up: what it has done unheard was lost, too.
    pub fn begin(&mut self, now: Time) {
        let since = self.unheard_since.take().unwrap_or(now);
        self.gone_since.get_or_insert(since);
    }

    /// The coordinator has crashed.
    pub fn begin_unheard(&mut self, now: Time) {
        self.unheard_since.get_or_insert(now);
    }

    /// The coordinator receives its reports again.
    pub fn end_unheard(&mut self) {
        self.unheard_since = None;
    }

    /// It has ended, or knows that it was given up.
    pub fn end(&mut self) {
        *self = Self::default();
    }

    /// It was stopped, and continues: what it did before was counted then.
    pub fn begin_again(&mut self, now: Time) {
        (self.gone_since.iter_mut()).chain(&mut self.unheard_since).for_each(|since| *since = now);
    }

    /// The time since which its work may be unreported.
    pub fn since(&self) -> Option<Time> {
        self.gone_since.or(self.unheard_since)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_that_is_given_up_was_absent_since_the_coordinator_crashed() {
        let mut absence = Absence::default();
        absence.begin_again(Time(1));
        assert_eq!(absence.since(), None);
        absence.begin_unheard(Time(2));
        absence.begin_unheard(Time(3));
        absence.begin(Time(4));
        absence.end_unheard();
        assert_eq!(absence.since(), Some(Time(2)));
        absence.begin_again(Time(5));
        assert_eq!(absence.since(), Some(Time(5)));
        absence.end();
        assert_eq!(absence.since(), None);
    }
}
