//! A coordinator with many hosts, which are only messages.

use std::collections::BTreeMap;

use sateen_protocol::coordinator::{Coordinator, LinkId};
use sateen_protocol::message::{ToCoordinator, ToHost};
use sateen_protocol::{AssignmentId, HostId, RunId, Time, limits};

use super::fixtures::config;
use super::times::{Clock, Times};
use crate::experiments::{RUN, S};

/// Interval at which hosts are heard, in nanoseconds.
const HEARD_EVERY: u64 = S;

/// A coordinator and its surroundings.
pub struct Grid {
    /// The machine.
    pub machine: Coordinator,
    /// The events' times.
    pub times: Times,
    /// Now.
    pub now: Time,
    /// Its hosts, and their links.
    pub hosts: Vec<(HostId, LinkId)>,
    /// The host at the end of each link, as the coordinator said last.
    pub identities: BTreeMap<LinkId, (HostId, u64)>,
    /// The root job's host and number.
    pub root: Option<(LinkId, AssignmentId)>,
    /// Hosts that must answer a departure.
    pub to_recover: Vec<(LinkId, u64)>,
    /// The largest run.
    pub run: RunId,
    /// The restarted coordinator, kept to be freed at the end.
    pub restarted: Option<Coordinator>,
    /// The last time at which all hosts were heard.
    heard: Time,
}

impl Grid {
    /// A new coordinator without hosts.
    pub fn new(clock: Clock) -> Self {
        Self {
            machine: Coordinator::new(config(), Vec::new(), Time(0)),
            identities: BTreeMap::new(),
            times: Times::new(clock),
            now: Time(0),
            hosts: Vec::new(),
            root: None,
            to_recover: Vec::new(),
            run: RUN,
            restarted: None,
            heard: Time(0),
        }
    }

    /// Drains the machine's commands, which is not measured.
    fn drain(&mut self) {
        while let Some((link, message)) = self.machine.poll_transmit() {
            match message {
                ToHost::Welcome { host, secret, complete: true, .. } => {
                    self.hosts.push((host, link));
                    self.identities.insert(link, (host, secret));
                }
                ToHost::Assign { number, .. } => self.root = Some((link, number)),
                ToHost::Hosts { epoch, gone, .. } if !gone.is_empty() => self.to_recover.push((link, epoch)),
                ToHost::Present { epoch, .. } => self.to_recover.push((link, epoch)),
                _ => {}
            }
        }
        while self.machine.poll_command().is_some() {}
        while self.machine.poll_event().is_some() {}
    }

    /// A message arrives over a link.
    pub fn say(&mut self, kind: &'static str, link: LinkId, message: ToCoordinator) {
        let (machine, now) = (&mut self.machine, self.now);
        self.times.take(kind, || machine.handle_message(now, link, message));
        self.drain();
    }

    /// Lets time pass, with all timers. Hosts are heard now and then.
    pub fn pass(&mut self, kind: &'static str, ns: u64) {
        self.now = Time(self.now.0 + ns);
        if self.now.0 >= self.heard.0 + HEARD_EVERY {
            self.hear_all();
        }
        loop {
            let machine = &self.machine;
            let next = self.times.take("poll_timeout", || machine.poll_timeout());
            if next.is_none_or(|(when, _)| when > self.now) {
                break;
            }
            let (machine, now) = (&mut self.machine, self.now);
            self.times.take(kind, || machine.handle_timeout(now));
            self.drain();
        }
    }

    /// A user's command.
    pub fn order<T>(&mut self, kind: &'static str, order: impl FnOnce(&mut Coordinator, Time) -> T) -> T {
        let (machine, now) = (&mut self.machine, self.now);
        let done = self.times.take(kind, || order(machine, now));
        self.drain();
        self.pass("timeout: broadcast", 1);
        done
    }

    /// All hosts are heard.
    pub fn hear_all(&mut self) {
        self.heard = self.now;
        for (host, _) in self.hosts.clone() {
            self.machine.handle_heard(self.now, host);
        }
    }

    /// Checks that no host was given up wrongly.
    pub fn expect_all(&self) {
        assert_eq!(self.machine.hosts().count(), self.hosts.len());
    }

    /// The last hosts' links are closed, and they are given up.
    pub fn leave(&mut self, kind: &'static str, count: usize) {
        self.hear_all();
        for (_, link) in self.hosts.split_off(self.hosts.len() - count) {
            let (machine, now) = (&mut self.machine, self.now);
            self.times.take("link closed", || machine.handle_closed(now, link));
            self.drain();
        }
        self.pass(kind, limits::RECONNECT_GRACE.as_nanos() as u64);
        self.pass(kind, limits::NEWS.as_nanos() as u64);
    }

    /// All hosts that must answer a departure do so.
    pub fn recover(&mut self) {
        for (link, epoch) in std::mem::take(&mut self.to_recover) {
            self.say("Recovered", link, ToCoordinator::Recovered { epoch });
        }
    }
}
