//! Paths: one direction dead, a direct path dead while the relay works, messages that arrive twice.

use std::collections::BTreeSet;

use sateen_protocol::{Random, Time};

use crate::event::{Event, ProcessIndex, Undo};
use crate::network::{Node, Weather};
use crate::world::World;

/// Time without messages over a direct link after which a host's driver uses the relay.
const FALLBACK_NS: u64 = 1_000_000_000;

/// Messages pass in one direction only between some nodes and others.
#[derive(Debug, Clone)]
pub struct OneWay {
    draw: u64,
    for_ns: u64,
    number: u32,
}

/// Direct links between some hosts and others are dead, and the relay works.
#[derive(Debug, Clone)]
pub struct DeadPath {
    draw: u64,
    for_ns: u64,
    number: u32,
}

/// Hosts on both sides of a dead path, and the time when it died.
#[derive(Debug)]
pub struct Dead {
    here: BTreeSet<ProcessIndex>,
    there: BTreeSet<ProcessIndex>,
    since: Time,
}

pub(crate) fn draw_one_way(number: u32, random: &mut Random) -> OneWay {
    OneWay { draw: random.next_u64(), for_ns: span_ns(random), number }
}

pub(crate) fn draw_dead_path(number: u32, random: &mut Random) -> DeadPath {
    DeadPath { draw: random.next_u64(), for_ns: span_ns(random), number }
}

pub(crate) fn draw_doubles(random: &mut Random) -> Weather {
    Weather {
        doubled_per_million: [10_000, 100_000, 500_000][random.below(3)],
        late_ns_max: span_ns(random),
        ..Weather::default()
    }
}

fn span_ns(random: &mut Random) -> u64 {
    (50 + random.below(9_000) as u64) * 1_000_000
}

impl World {
    pub(crate) fn cut_one_way(&mut self, fault: &OneWay) {
        let (here, there) = self.divide(fault.draw);
        self.sometimes.hit("messages passed in one direction only");
        self.divide_by(fault.number, &here, &there, true);
        self.queue.push(Time(self.now.0 + fault.for_ns), Event::Undo(Undo::Heal(fault.number)));
    }

    pub(crate) fn kill_path(&mut self, fault: &DeadPath) {
        let (here, there) = self.divide(fault.draw);
        let hosts = |nodes: Vec<Node>| {
            nodes.into_iter().filter_map(|node| match node {
                Node::Host(process) => Some(process),
                Node::Coordinator => None,
            })
        };
        let dead = Dead { here: hosts(here).collect(), there: hosts(there).collect(), since: self.now };
        self.network.dead_paths.insert(fault.number, dead);
        self.queue.push(Time(self.now.0 + fault.for_ns), Event::Undo(Undo::PathBack(fault.number)));
        self.disturb();
    }
}

impl Dead {
    /// A dead path between two hosts whose drivers have noticed already.
    pub fn noticed(one: ProcessIndex, other: ProcessIndex) -> Self {
        Self { here: BTreeSet::from([one]), there: BTreeSet::from([other]), since: Time(0) }
    }

    /// Whether it lies between the two; if so, whether their drivers have noticed.
    pub fn between(&self, now: Time, one: ProcessIndex, other: ProcessIndex) -> Option<bool> {
        let lies_between = self.here.contains(&one) && self.there.contains(&other)
            || self.here.contains(&other) && self.there.contains(&one);
        lies_between.then_some(now.0 >= self.since.0 + FALLBACK_NS)
    }
}
