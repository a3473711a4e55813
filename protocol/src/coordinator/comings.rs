//! When a host joined, and when it returned.

use crate::Time;

/// A host's joining and returns.
#[derive(Debug)]
pub struct Comings {
    incarnation: u32,
    /// It has returned, and no host has been notified.
    is_untold: bool,
    back_since: Option<Time>,
    was_elsewhere: bool,
}

impl Comings {
    /// The host joined for the first time, as far as is known, in this incarnation.
    pub fn first(incarnation: u32) -> Self {
        Self { incarnation, is_untold: false, back_since: None, was_elsewhere: false }
    }

    /// The host was given up, and has returned.
    pub fn come_back(&mut self, now: Time) {
        self.incarnation = self.incarnation.wrapping_add(1);
        self.is_untold = true;
        self.back_since = Some(now);
    }

    /// Says whether it was here under another id, or before the coordinator was started again.
    pub fn set_elsewhere(&mut self, was_elsewhere: bool) {
        self.was_elsewhere = was_elsewhere;
    }

    /// Whether it was.
    pub fn was_elsewhere(&self) -> bool {
        self.was_elsewhere
    }

    /// How often it was given up and came back.
    pub fn incarnation(&self) -> u32 {
        self.incarnation
    }

    /// When it came back the last time.
    pub fn back_since(&self) -> Option<Time> {
        self.back_since
    }

    /// Whether it has come back and no host has been notified; from now on they have.
    pub fn take_untold(&mut self) -> bool {
        std::mem::take(&mut self.is_untold)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_that_comes_back_is_another_incarnation_and_notified_once() {
        let mut comings = Comings::first(u32::MAX);
        assert_eq!((comings.take_untold(), comings.back_since()), (false, None));
        comings.come_back(Time(7));
        assert_eq!((comings.incarnation(), comings.back_since()), (0, Some(Time(7))));
        assert_eq!([comings.take_untold(), comings.take_untold()], [true, false]);
        comings.set_elsewhere(true);
        assert!(comings.was_elsewhere());
    }
}
