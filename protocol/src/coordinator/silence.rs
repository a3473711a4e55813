//! Hosts that have been silent for too long.
//!
//! A message only updates the time at which its host was heard; silence is checked at intervals,
//! for a bounded number of hosts at a time.

use std::collections::BTreeSet;

use crate::limits::{GIVEN_UP_AT_ONCE_MAX, LISTEN_AGAIN, RECONNECT_GRACE, SILENCE_CHECKS_MAX, SILENCE_MAX};
use crate::message::Departure;
use crate::{HostId, Time};

use super::{Coordinator, LinkId};

/// When each host is checked next, and when those whose link is down are given up.
#[derive(Default)]
pub struct Silence {
    checks: BTreeSet<(Time, HostId)>,
    /// Hosts whose link is down, in the order in which they will be given up.
    down: BTreeSet<(Time, HostId)>,
    /// Nothing that hosts sent before this time could be received.
    pub deaf_until: Time,
    /// More checks were due than one event may make.
    is_behind: bool,
}

impl Silence {
    /// Schedules a check of a host.
    pub fn check(&mut self, at: Time, host: HostId) {
        self.checks.insert((at, host));
    }

    /// The number of hosts that are to be checked now.
    pub fn due_len(&self, now: Time) -> usize {
        self.checks.iter().take_while(|(at, _)| now >= *at).count()
    }

    /// When the next host is to be checked.
    pub fn next_check(&self) -> Option<Time> {
        self.checks.first().map(|(at, _)| *at)
    }

    /// The remaining due checks are left to the next event.
    pub fn fall_behind(&mut self) {
        self.is_behind = true;
    }

    /// The host is gone.
    pub fn forget(&mut self, at: Time, host: HostId) {
        self.checks.remove(&(at, host));
    }

    /// A host's link broke at this time.
    pub fn break_link(&mut self, since: Time, host: HostId) {
        self.down.insert((since + RECONNECT_GRACE, host));
    }

    /// A host whose link broke then is back on another, or is gone.
    pub fn mend_link(&mut self, since: Time, host: HostId) {
        self.down.remove(&(since + RECONNECT_GRACE, host));
    }

    /// The number of hosts whose link is down.
    pub fn down_len(&self) -> usize {
        self.down.len()
    }

    /// When checks continue that one event could not make.
    pub fn next_silence(&self) -> Option<(Time, &'static str)> {
        let first = self.checks.first().filter(|_| self.is_behind)?;
        Some((first.0, "more hosts are to be checked for silence"))
    }

    /// When a host whose link is down is given up.
    pub fn next_down(&self) -> Option<Time> {
        let (time, _) = self.down.first()?;
        Some((*time).max(self.listening_from()))
    }

    /// Whether hosts that one event could not give up are due now: what they leave behind is not known yet.
    pub fn is_giving_up(&self, now: Time) -> bool {
        self.next_down().is_some_and(|down| now >= down) || self.next_silence().is_some()
    }

    /// Until then, hosts that lost their links while the driver was away may be about to come back.
    fn listening_from(&self) -> Time {
        match self.deaf_until {
            Time(0) => Time(0),
            until => until + LISTEN_AGAIN,
        }
    }
}

impl Coordinator {
    /// Bytes arrived from a host that bypass the machine: relayed frames, or a part of a message.
    pub fn handle_heard(&mut self, when: Time, host: HostId) {
        if let Some(state) = self.hosts.get_mut(&host) {
            state.heard = state.heard.max(when);
        }
    }

    /// The driver was stopped or held up. Messages of that time have not been read, so no host counts as
    /// silent before it has had time to be heard.
    pub fn handle_stall(&mut self, now: Time) {
        self.silence.deaf_until = now;
        self.missing.await_until(now + LISTEN_AGAIN);
        for coordinator_run in self.runs.values_mut() {
            if let Some(suspending) = &mut coordinator_run.suspending {
                suspending.until = suspending.until.max(now + LISTEN_AGAIN);
            }
        }
    }

    /// Hosts that [`handle_timeout`](Self::handle_timeout) would give up now for their silence. A driver that
    /// has heard from one calls [`handle_heard`](Self::handle_heard) first.
    pub fn silent(&self, now: Time) -> Vec<(HostId, LinkId)> {
        (self.silence.checks.iter().take(SILENCE_CHECKS_MAX))
            .take_while(|(at, _)| now >= *at)
            .filter_map(|(_, host)| Some((*host, self.silent_link(now, *host)?)))
            .collect()
    }

    /// The link of a host that is silent.
    fn silent_link(&self, now: Time, host: HostId) -> Option<LinkId> {
        let state = self.hosts.get(&host)?;
        let heard = state.heard.max(self.silence.deaf_until);
        state.link.filter(|_| now >= heard + SILENCE_MAX)
    }

    /// Gives up hosts that are silent or whose link has been down for too long; some now, the others in events that
    /// follow at once.
    pub(super) fn give_up_silent(&mut self, now: Time) {
        let mut silent = Vec::new();
        self.silence.is_behind = true;
        for _ in 0..SILENCE_CHECKS_MAX {
            let Some((at, host)) = self.silence.checks.first().copied().filter(|(at, _)| now >= *at) else {
                self.silence.is_behind = false;
                break;
            };
            if silent.len() >= GIVEN_UP_AT_ONCE_MAX {
                break;
            }
            self.silence.checks.remove(&(at, host));
            let link = self.silent_link(now, host);
            let Some(state) = self.hosts.get_mut(&host) else { continue };
            // A host whose link is down is not silent; it is checked again as if heard now.
            let heard = if state.link.is_some() { state.heard.max(self.silence.deaf_until) } else { now };
            state.checked_at = if link.is_some() { now + SILENCE_MAX } else { heard + SILENCE_MAX };
            self.silence.checks.insert((state.checked_at, host));
            silent.extend(link.map(|link| (host, link)));
        }
        let has_given_up = !silent.is_empty();
        for (host, link) in silent {
            self.links.forget(link);
            self.close(link, "nothing came from it for too long".to_owned());
            self.give_up(now, host, Departure::Crashed);
        }
        if has_given_up || now < self.silence.listening_from() {
            return;
        }
        for _ in 0..GIVEN_UP_AT_ONCE_MAX {
            let Some((_, host)) = self.silence.down.first().copied().filter(|(time, _)| now >= *time) else {
                break;
            };
            self.give_up(now, host, Departure::Crashed);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::GridId;
    use crate::coordinator::{CoordinatorConfig, Event};
    use crate::limits::{CIRCLE, PING, PLACE_KEPT_MIN};
    use crate::message::{HostReport, ToCoordinator};

    const SECOND: u64 = 1_000_000_000;

    /// A grid of hosts on links 1, 2, …; all joined at the start.
    fn grid(hosts: u64) -> Coordinator {
        let config = CoordinatorConfig {
            grid: GridId(1),
            secret: [1; 32],
            seed: 1,
            table_bytes_max: 1 << 20,
            circle: CIRCLE,
            place_kept: PLACE_KEPT_MIN,
            restarted: false,
        };
        let mut grid = Coordinator::new(config, Vec::new(), Time(0));
        for link in 1..=hosts {
            let report = HostReport {
                name: link.to_string(),
                site: String::new(),
                threads: 1,
                version: String::new(),
                direct: None,
            };
            let hello =
                ToCoordinator::Hello { report, was: None, incarnation: 0, roots: Vec::new(), paused: None };
            grid.handle_message(Time(0), LinkId(link), hello);
        }
        grid
    }

    fn pong(grid: &mut Coordinator, now: Time, link: u64) {
        grid.handle_message(now, LinkId(link), ToCoordinator::Pong { ping: 0 });
    }

    /// Handles all due timers; returns the number of hosts that were given up.
    fn time_out(grid: &mut Coordinator, now: Time) -> usize {
        let mut gone = 0;
        while grid.poll_timeout().is_some_and(|(when, _)| when <= now) {
            grid.handle_timeout(now);
            while let Some(event) = grid.poll_event() {
                gone += usize::from(matches!(event, Event::HostGone(..)));
            }
        }
        gone
    }

    #[test]
    fn links_that_are_down_are_given_time_after_a_stall() {
        let (one, other) = (HostId(1), HostId(2));
        let mut silence = Silence::default();
        silence.break_link(Time(5), other);
        silence.break_link(Time(3), one);
        let first = Time(3) + RECONNECT_GRACE;
        assert_eq!((silence.next_down(), silence.down_len()), (Some(first), 2));
        assert!(silence.is_giving_up(first) && !silence.is_giving_up(Time(first.0 - 1)));
        silence.deaf_until = Time(7);
        let listening = (Time(7) + LISTEN_AGAIN).max(first);
        assert_eq!(silence.next_down(), Some(listening));
        silence.mend_link(Time(3), one);
        silence.mend_link(Time(5), other);
        assert_eq!(
            (silence.next_down(), silence.down_len(), silence.is_giving_up(listening)),
            (None, 0, false)
        );
    }

    #[test]
    fn only_silent_hosts_are_given_up() {
        let mut grid = grid(600);
        let mut gone = 0;
        for second in 1..=20 {
            let now = Time(second * SECOND);
            (1..=300).for_each(|link| pong(&mut grid, now, link));
            gone += time_out(&mut grid, now);
            assert_eq!(gone, if second < 5 { 0 } else { 300 }, "after {second} s");
        }
        assert_eq!(grid.hosts().count(), 300);
    }

    #[test]
    fn a_stall_leaves_hosts_time_to_send_messages() {
        let mut grid = grid(3);
        assert_eq!(time_out(&mut grid, Time(SECOND)), 0);
        // Nothing was read for ten seconds: a link had closed, others had said something.
        let after = Time(11 * SECOND);
        grid.handle_stall(after);
        grid.handle_closed(after, LinkId(3));
        let soon = after + RECONNECT_GRACE + PING;
        assert_eq!(time_out(&mut grid, soon), 0, "neither the silent ones nor the one whose link broke");
        pong(&mut grid, soon, 1);
        assert_eq!(time_out(&mut grid, after + LISTEN_AGAIN), 1, "the one that has not come back");
        assert_eq!(time_out(&mut grid, after + SILENCE_MAX), 1, "the one that is still silent");
        assert_eq!(time_out(&mut grid, soon + SILENCE_MAX - Duration::from_nanos(1)), 0);
    }

    #[test]
    fn a_host_whose_messages_arrive_in_another_way_is_not_silent() {
        let mut grid = grid(2);
        let now = Time(5 * SECOND);
        let silent = grid.silent(now);
        assert_eq!(silent.len(), 2);
        let (host, _) = silent[0];
        grid.handle_heard(Time(4 * SECOND), host);
        assert_eq!(grid.silent(now), silent[1..]);
        assert_eq!(time_out(&mut grid, now), 1);
        assert_eq!(grid.host_ids().next(), Some(host));
        assert_eq!(time_out(&mut grid, Time(9 * SECOND)), 1);
    }

    #[test]
    fn each_connected_host_is_checked_and_no_other() {
        let mut grid = grid(3);
        let checked = |grid: &Coordinator| grid.silence.checks.len();
        assert_eq!(checked(&grid), 3);
        grid.handle_message(Time(0), LinkId(1), ToCoordinator::Leaving);
        assert_eq!(checked(&grid), 2);
        time_out(&mut grid, Time(20 * SECOND));
        assert_eq!((checked(&grid), grid.hosts().count()), (0, 0));
    }
}
