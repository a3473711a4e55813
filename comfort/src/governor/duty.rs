//! A share that is held by turns: guests compute until they have used what they may, and stand still until they may again.
//!
//! What they have used is measured, not assumed: how soon guests stop and continue, and how many of them there are, makes no
//! difference on average. What they do not use is lost, so that they do not compute for long after a time without jobs.

use std::time::{Duration, Instant};

use crate::preferences::Percent;

/// Time in which guests compute once and stand still once.
const PERIOD: Duration = Duration::from_millis(100);
/// Bounds of the time between two looks.
const WAIT_MIN: Duration = Duration::from_millis(2);
const WAIT_MAX: Duration = Duration::from_millis(25);
/// Guests that are let go too late by this time lose nothing.
const LATE: Duration = Duration::from_millis(25);
/// Maximum overdraft, in periods: what cannot be stopped for longer than that is forgotten in the end.
const OVERDRAFT_MAX: f64 = 10.0;

/// An account of processor time.
#[derive(Debug)]
pub struct Duty {
    threads: f64,
    at: Instant,
    used: Duration,
    /// Processor time that guests may use, in seconds.
    balance_s: f64,
    is_held: bool,
}

impl Duty {
    /// The account of this many threads, which have used `used` so far.
    pub fn new(threads: usize, at: Instant, used: Duration) -> Self {
        Self { threads: threads.max(1) as f64, at, used, balance_s: 0.0, is_held: false }
    }

    /// What was used until now does not count: it was used without a limit.
    pub fn skip(&mut self, now: Instant, used: Duration) {
        (self.at, self.used, self.balance_s) = (now, used, 0.0);
    }

    /// Whether guests that may have this share stand still from now on, and when to look again.
    pub fn next(&mut self, share: Percent, now: Instant, used: Duration) -> (bool, Duration) {
        let share = share.ratio().clamp(0.01, 0.99);
        let (gains, costs) = (share * self.threads, (1.0 - share) * self.threads);
        // With this amount, guests compute for their part of a period, and stand still for the rest.
        let enough_s = PERIOD.as_secs_f64() * share * costs;
        let gained_s = now.saturating_duration_since(self.at).as_secs_f64() * gains;
        let used_s = used.saturating_sub(self.used).as_secs_f64();
        let least_s = -OVERDRAFT_MAX * PERIOD.as_secs_f64() * self.threads;
        self.balance_s =
            (self.balance_s + gained_s - used_s).clamp(least_s, enough_s + LATE.as_secs_f64() * gains);
        (self.at, self.used) = (now, used);
        // Looks are never quite on time.
        let is_enough = self.balance_s >= enough_s * 0.98;
        self.is_held = if self.is_held { !is_enough } else { self.balance_s <= 0.0 };
        let wait_s = match self.is_held {
            true => (enough_s - self.balance_s) / gains,
            false => self.balance_s / costs,
        };
        let wait = Duration::try_from_secs_f64(wait_s).unwrap_or(WAIT_MAX);
        (self.is_held, wait.clamp(WAIT_MIN, WAIT_MAX))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Computes with `busy` of `threads` for `seconds`; guests react after `lag`. Returns the share that they had, and the
    /// number of changes.
    fn simulate(share: u8, threads: usize, busy: usize, lag: Duration, seconds: u64) -> (f64, u32) {
        let start = Instant::now();
        let mut duty = Duty::new(threads, start, Duration::ZERO);
        let (mut now, mut used) = (Duration::ZERO, Duration::ZERO);
        let (mut computes, mut changes) = (true, 0);
        while now < Duration::from_secs(seconds) {
            let (held, wait) = duty.next(Percent::of(share), start + now, used);
            let lags = if held == computes { lag.min(wait) } else { Duration::ZERO };
            changes += u32::from(held == computes);
            let computed = if held { lags } else { wait - lags };
            used += computed * u32::try_from(busy).expect("few");
            now += wait;
            computes = !held;
        }
        (used.as_secs_f64() / now.as_secs_f64() / threads as f64, changes)
    }

    #[test]
    fn shares_are_held_whatever_guests_need_to_stop() {
        for (threads, lag_ms) in [(1, 0), (2, 4), (8, 12)] {
            for share in [5, 25, 50, 75, 95] {
                let (had, changes) = simulate(share, threads, threads, Duration::from_millis(lag_ms), 30);
                let off = (had * 100.0 - f64::from(share)).abs();
                assert!(off < 0.5, "{share} % of {threads} threads, {lag_ms} ms: {had}");
                // About twenty a second: a period is long compared with what a change costs.
                assert!((30..30 * 22).contains(&changes), "{share} %: {changes}");
            }
        }
    }

    #[test]
    fn guests_that_need_less_are_not_held() {
        let (had, changes) = simulate(50, 4, 1, Duration::from_millis(4), 10);
        // At the beginning, they have not saved anything yet.
        assert!(changes <= 2, "{changes}");
        assert!((had - 0.25).abs() < 0.01, "{had}");
    }

    #[test]
    fn what_was_not_used_is_lost() {
        let start = Instant::now();
        let mut duty = Duty::new(2, start, Duration::ZERO);
        assert!(duty.next(Percent::of(50), start, Duration::ZERO).0);
        let hour = start + Duration::from_secs(3600);
        assert!(!duty.next(Percent::of(50), hour, Duration::ZERO).0);
        // They saved what they need for one turn, and no more.
        let (held, _) = duty.next(Percent::of(50), hour + PERIOD, 2 * PERIOD);
        assert!(held);
    }

    #[test]
    fn what_was_used_without_a_limit_is_not_paid_for() {
        let start = Instant::now();
        let mut duty = Duty::new(2, start, Duration::ZERO);
        let (hour, used) = (start + Duration::from_secs(3600), Duration::from_secs(7200));
        duty.skip(hour, used);
        let (held, wait) = duty.next(Percent::of(25), hour, used);
        assert!(held && wait <= WAIT_MAX);
        assert!(!duty.next(Percent::of(25), hour + PERIOD, used).0);
    }

    proptest! {
        #[test]
        fn guests_never_get_much_more_than_their_share(
            share in 1..=99u8,
            threads in 1..64usize,
            lag_ms in 0..30u64,
        ) {
            let (had, _) = simulate(share, threads, threads, Duration::from_millis(lag_ms), 20);
            // A share so small that guests take longer to stop than it lasts is exceeded by no more than that.
            prop_assert!(had * 100.0 <= f64::from(share) + 1.5, "{} instead of {}", had, share);
        }
    }
}
