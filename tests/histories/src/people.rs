//! The coordinator that users see, in parallel with the machine that hosts talk to.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use sateen_contradictions::{Asked, contradictions, samples};
use sateen_coordinator::StoreError;
use sateen_coordinator::simulated::{Simulated, standings};
use sateen_protocol::coordinator::Coordinator;
use sateen_protocol::{Counts, HostId, RunId, RunState, Time};
use sateen_simulator::recorded::{Record, Told};
use sateen_simulator::world::World;
use serde_json::Value;

use crate::History;

/// A history ends after this number of contradictions.
const CONTRADICTIONS_MAX: usize = 20;

/// A simulated grid, and its coordinator as users see it.
pub struct People {
    world: World,
    record: Record,
    folder: PathBuf,
    /// `None` while it is down.
    coordinator: Option<Simulated>,
    has_answered: bool,
    history: History,
}

impl People {
    /// Begins.
    pub fn new(mut world: World, folder: PathBuf) -> Self {
        let record = world.server.record(world.now);
        let mut people = Self {
            world,
            record,
            folder,
            coordinator: None,
            has_answered: false,
            history: History::default(),
        };
        people.follow();
        people
    }

    /// The time.
    pub fn now(&self) -> Time {
        self.world.now
    }

    /// Continues until a moment, or until `is_enough`; false if something failed before.
    pub fn go_on(&mut self, until: Time, is_enough: impl Fn(&World) -> bool) -> bool {
        while !is_enough(&self.world) {
            if self.history.contradictions.len() >= CONTRADICTIONS_MAX {
                return false;
            }
            let next = self.world.queue.next_at().filter(|at| *at <= until);
            self.pass(next.unwrap_or(until));
            if next.is_none() {
                self.world.now = self.world.now.max(until);
                break;
            }
            self.world.step();
            self.follow();
        }
        true
    }

    fn pass(&mut self, until: Time) {
        let is_held_up = self.world.server.waiting.is_some();
        match &mut self.coordinator {
            Some(coordinator) if is_held_up => coordinator.hold_up(until),
            Some(coordinator) => coordinator.pass(until),
            None => {}
        }
    }

    /// Passes the machine's inputs to the coordinator.
    fn follow(&mut self) {
        let told = std::mem::take(&mut *self.record.borrow_mut());
        for (now, told) in told {
            self.write(now, || format!("input of the coordinator: {told:?}"));
            if let Err(error) = self.tell(now, told) {
                self.say(format!("the coordinator's folder cannot be used: {error}"));
            }
        }
    }

    fn tell(&mut self, now: Time, told: Told) -> Result<(), StoreError> {
        let told = match told {
            Told::Started(config, stored) => {
                self.coordinator = Some(Simulated::start(&self.folder, now, config, stored)?);
                self.history.starts += 1;
                return Ok(());
            }
            Told::Crashed => {
                self.coordinator = None;
                self.world.server.standings = standings(&self.folder, now)?.into_iter().collect();
                return Ok(());
            }
            told => told,
        };
        let Some(coordinator) = &mut self.coordinator else {
            self.say("a coordinator that is down received an input".to_owned());
            return Ok(());
        };
        match told {
            Told::Started(..) | Told::Crashed => {}
            Told::Submitted(run, submitter, spec) => {
                let is_it = coordinator.submit(now, submitter, *spec) == Some(run);
                self.history.runs += 1;
                if !is_it {
                    self.say(format!("run {run} has a different number for users"));
                }
            }
            Told::Cancelled(run) => coordinator.cancel(now, run),
            Told::Suspended(run) => coordinator.suspend(now, run),
            Told::Resumed(run) => coordinator.resume(now, run),
            Told::Message(link, message) => coordinator.message(now, link, *message),
            Told::Misbehaved(link, reason) => coordinator.misbehaved(now, link, reason),
            Told::Closed(link) => coordinator.closed(now, link),
            Told::Heard(when, host) => coordinator.heard(now, when, host),
            Told::TimedOut => coordinator.timed_out(now),
            Told::Stalled => coordinator.stalled(now),
        }
        Ok(())
    }

    /// Compares all published numbers with one another.
    pub fn look(&mut self) {
        self.check_machines();
        self.has_answered = false;
        let found = contradictions(self);
        self.history.looks += usize::from(self.has_answered);
        for contradiction in found {
            self.say(contradiction);
        }
    }

    /// Both machines must have reached the same state; otherwise users see a different history than the hosts.
    fn check_machines(&mut self) {
        let (Some(coordinator), Some(machine)) = (&self.coordinator, &self.world.server.machine) else {
            return;
        };
        let (seen, real) = (standing(coordinator.machine()), standing(machine));
        if seen != real {
            self.say(format!("users see {seen:?}, and hosts see {real:?}"));
        }
    }

    fn say(&mut self, what: String) {
        let at_s = self.world.now.0 as f64 / 1e9;
        self.write(self.world.now, || format!("users see: {what}"));
        self.history.contradictions.push(format!("{what} (at {at_s:.3} s)"));
    }

    fn write(&mut self, at: Time, line: impl FnOnce() -> String) {
        self.world.trace.write(at, line);
    }

    /// The outcome, and the log.
    pub fn end(mut self) -> (History, Vec<String>) {
        self.history.end_s = self.world.now.0 as f64 / 1e9;
        (self.history, self.world.trace.into_log())
    }
}

type Standing = (Vec<(RunId, RunState, Option<HostId>, Counts)>, BTreeSet<HostId>);

fn standing(machine: &Coordinator) -> Standing {
    let runs = machine.runs().map(|view| (view.run, view.state(), view.root_host(), view.counts()));
    (runs.collect(), machine.hosts().map(|host| host.id).collect())
}

impl Asked for People {
    fn json(&mut self, path: &str) -> Option<Value> {
        match self.get(path)? {
            (200, body) => serde_json::from_str(&body).ok(),
            _ => None,
        }
    }

    fn metrics(&mut self) -> Option<BTreeMap<String, f64>> {
        self.get("/metrics").map(|(_, body)| samples(&body))
    }

    fn wait(&mut self, time: Duration) {
        self.go_on(self.world.now + time, |_| false);
    }

    fn now(&mut self) -> Duration {
        Duration::from_nanos(self.world.now.0)
    }
}

impl People {
    /// There is no answer while the coordinator is down or stalled.
    fn get(&mut self, path: &str) -> Option<(u16, String)> {
        if self.world.server.waiting.is_some() {
            return None;
        }
        let answer = self.coordinator.as_mut()?.get(self.world.now, path);
        self.has_answered |= answer.is_some();
        answer
    }
}
