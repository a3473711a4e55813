//! Links: latency, loss, reordering, partitions. Their bandwidth is in [`pipes`](crate::pipes).

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use sateen_protocol::codec::PROTOCOL_VERSION;
use sateen_protocol::coordinator::LinkId;
use sateen_protocol::{HostId, Random, Time};

use crate::event::{Event, ProcessIndex};
use crate::faults::routes::Dead;
use crate::pipes::Pipes;

/// Latencies of messages, all one way.
#[derive(Debug, Clone)]
pub struct NetworkConfig {
    /// Between hosts of a site, in nanoseconds.
    pub latency_in_site_ns: u64,
    /// Between a host and the coordinator, by site.
    pub latency_to_coordinator_ns: Vec<u64>,
    /// Between hosts of different sites that reach each other directly; `None`: through the relay.
    pub latency_wide_ns: Option<u64>,
    /// Maximum random addition, for messages of peers during reordering, and for a link's
    /// messages always.
    pub jitter_ns: u64,
    /// Bandwidth of each link, each way; 0 is unlimited.
    pub bytes_per_second: u64,
    /// Hosts of a site reach one another directly.
    pub is_direct_in_site: bool,
}

impl Default for NetworkConfig {
    fn default() -> Self {
        Self {
            latency_in_site_ns: 100_000,
            latency_to_coordinator_ns: vec![1_000_000],
            latency_wide_ns: None,
            jitter_ns: 0,
            bytes_per_second: 0,
            is_direct_in_site: true,
        }
    }
}

/// Disturbances of messages between peers, which may be lost for good. Those on a link to the
/// coordinator arrive in order or the link breaks.
#[derive(Debug, Clone, Copy, Default)]
pub struct Weather {
    /// Lost messages per million.
    pub loss_per_million: u32,
    /// Late messages per million, which so arrive out of order.
    pub late_per_million: u32,
    /// Maximum delay.
    pub late_ns_max: u64,
    /// Messages per million that arrive twice, the second time late.
    pub doubled_per_million: u32,
}

/// An end of a link: a process, or the coordinator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Node {
    /// The coordinator.
    Coordinator,
    /// A host's process.
    Host(ProcessIndex),
}

/// A partition: nothing passes between two sets.
#[derive(Debug, Clone)]
pub struct Partition {
    /// One side.
    pub here: BTreeSet<Node>,
    /// The other side.
    pub there: BTreeSet<Node>,
    /// Whether only messages from here to there are stopped.
    pub is_one_way: bool,
    /// When it began.
    pub since: Time,
}

impl Partition {
    fn cuts(&self, from: Node, to: Node) -> bool {
        self.here.contains(&from) && self.there.contains(&to)
            || !self.is_one_way && self.here.contains(&to) && self.there.contains(&from)
    }
}

/// A websocket between a host and the coordinator.
#[derive(Debug)]
pub struct Link {
    /// The host's process.
    pub process: ProcessIndex,
    /// The host's id, as assigned by the coordinator.
    pub host: Option<HostId>,
    /// Whether the host believes it to be open.
    pub open_at_host: bool,
    /// Whether the coordinator believes it to be open.
    pub open_at_coordinator: bool,
    /// Whether it was reset: nothing passes any more, although an end may not have noticed.
    pub is_dead: bool,
    /// Last arrival at the coordinator.
    pub heard: Time,
    /// Last arrival at the host.
    pub heard_by_host: Time,
    /// The time since which the host considers the coordinator silent.
    pub silent_since: Option<Time>,
    /// The version of the protocol that the host speaks.
    pub version: u8,
    up: Lane,
    down: Lane,
}

/// One direction of a link.
#[derive(Debug)]
struct Lane {
    /// Arrival of the last message.
    last: Time,
    /// Events that wait for a partition to heal.
    stalled: VecDeque<Event>,
    /// The time since which events wait.
    stalled_since: Option<Time>,
}

impl Lane {
    fn new(now: Time) -> Self {
        Self { last: now, stalled: VecDeque::new(), stalled_since: None }
    }
}

impl Link {
    /// The time since which events wait on it, in the direction that has waited longest.
    pub fn stalled_since(&self) -> Option<Time> {
        self.up.stalled_since.into_iter().chain(self.down.stalled_since).min()
    }

    fn lane(&mut self, way: Way) -> &mut Lane {
        match way {
            Way::Up => &mut self.up,
            Way::Down => &mut self.down,
        }
    }
}

/// The direction of a message over a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// To the coordinator.
    Up,
    /// To the host.
    Down,
}

/// All links.
#[derive(Debug)]
pub struct Network {
    /// Latencies.
    pub config: NetworkConfig,
    /// Present disturbances of messages of peers.
    pub weather: Weather,
    /// Partitions, by their numbers.
    pub partitions: BTreeMap<u32, Partition>,
    /// Direct paths on which nothing passes, by their numbers.
    pub dead_paths: BTreeMap<u32, Dead>,
    /// Messages that wait to be written, if links have a bandwidth.
    pub pipes: Pipes,
    /// The sites of all processes.
    pub sites: Vec<usize>,
    links: Vec<Link>,
    random: Random,
}

impl Network {
    /// A network without links.
    pub fn new(config: NetworkConfig, seed: u64) -> Self {
        Self {
            pipes: Pipes::new(config.bytes_per_second),
            sites: Vec::new(),
            config,
            weather: Weather::default(),
            partitions: BTreeMap::new(),
            dead_paths: BTreeMap::new(),
            links: Vec::new(),
            random: Random::new(seed),
        }
    }

    /// Whether a link was reset without both ends having noticed.
    pub fn has_half_open(&self) -> bool {
        self.links.iter().any(|link| link.is_dead && (link.open_at_host || link.open_at_coordinator))
    }

    /// Whether the direct path between two hosts is dead; if so, whether they have noticed.
    pub fn dead_between(&self, now: Time, one: ProcessIndex, other: ProcessIndex) -> Option<bool> {
        self.dead_paths.values().find_map(|dead| dead.between(now, one, other))
    }

    /// A new link.
    pub fn open(&mut self, process: ProcessIndex, now: Time) -> LinkId {
        self.links.push(Link {
            process,
            host: None,
            open_at_host: false,
            open_at_coordinator: true,
            is_dead: false,
            heard: now,
            heard_by_host: now,
            silent_since: None,
            version: PROTOCOL_VERSION,
            up: Lane::new(now),
            down: Lane::new(now),
        });
        LinkId(self.links.len() as u64 - 1)
    }

    /// A link.
    pub fn link(&self, link: LinkId) -> &Link {
        &self.links[link.0 as usize]
    }

    /// A link.
    pub fn link_mut(&mut self, link: LinkId) -> &mut Link {
        &mut self.links[link.0 as usize]
    }

    /// All links, open or not.
    pub fn links(&self) -> impl Iterator<Item = (LinkId, &Link)> {
        self.links.iter().enumerate().map(|(index, link)| (LinkId(index as u64), link))
    }

    /// Whether a partition stops messages from one to the other.
    pub fn is_cut(&self, from: Node, to: Node) -> bool {
        self.partitions.values().any(|partition| partition.cuts(from, to))
    }

    /// Whether a partition stops messages from one to the other, but not back.
    pub fn is_cut_one_way(&self, from: Node, to: Node) -> bool {
        self.is_cut(from, to) && !self.is_cut(to, from)
    }

    /// The sender and the receiver of a message over a link.
    pub fn ends(&self, link: LinkId, way: Way) -> (Node, Node) {
        let host = Node::Host(self.link(link).process);
        if way == Way::Up { (host, Node::Coordinator) } else { (Node::Coordinator, host) }
    }

    /// Whether a partition stops anything between the coordinator and a process.
    pub fn is_cut_off(&self, process: ProcessIndex) -> bool {
        let host = Node::Host(process);
        self.is_cut(Node::Coordinator, host) || self.is_cut(host, Node::Coordinator)
    }

    /// Whether messages written to a link now pass without waiting for a partition to heal.
    pub fn passes(&mut self, now: Time, link: LinkId, way: Way) -> bool {
        let (from, to) = self.ends(link, way);
        let waits = !self.partitions.is_empty()
            && (self.link_mut(link).lane(way).stalled_since.is_some() || self.is_cut(from, to));
        if waits {
            self.link_mut(link).lane(way).stalled_since.get_or_insert(now);
        }
        !waits
    }

    /// The arrival of a message sent over a link now; `None` if it waits for a partition to heal.
    pub fn over(&mut self, now: Time, link: LinkId, way: Way) -> Option<Time> {
        if !self.passes(now, link, way) {
            return None;
        }
        let site = self.sites[self.link(link).process as usize];
        let latencies = &self.config.latency_to_coordinator_ns;
        let mut latency_ns = latencies[site.min(latencies.len() - 1)];
        if self.config.jitter_ns > 0 {
            latency_ns += self.random.below(self.config.jitter_ns as usize) as u64;
        }
        let last = &mut self.links[link.0 as usize].lane(way).last;
        *last = (*last).max(Time(now.0 + latency_ns));
        Some(*last)
    }

    /// The latency of the direct path between two processes, if there is one.
    pub fn direct_ns(&self, one: ProcessIndex, other: ProcessIndex) -> Option<u64> {
        match self.sites[one as usize] == self.sites[other as usize] {
            true => self.config.is_direct_in_site.then_some(self.config.latency_in_site_ns),
            false => self.config.latency_wide_ns,
        }
    }

    /// Keeps an event that cannot pass now.
    pub fn stall(&mut self, link: LinkId, event: Event) {
        let way = event.way();
        self.link_mut(link).lane(way).stalled.push_back(event);
    }

    /// Takes the events that waited on a link, in order: all if `is_all`, or only those that no partition stops any
    /// more.
    pub fn take_stalled(&mut self, link: LinkId, is_all: bool) -> VecDeque<Event> {
        let host = Node::Host(self.link(link).process);
        let mut free = VecDeque::new();
        for (way, from, to) in [(Way::Up, host, Node::Coordinator), (Way::Down, Node::Coordinator, host)] {
            if is_all || !self.is_cut(from, to) {
                let lane = self.link_mut(link).lane(way);
                lane.stalled_since = None;
                free.append(&mut lane.stalled);
            }
        }
        free
    }

    /// The arrival of a message between peers that need no relay; `None` if it is lost.
    pub fn between(&mut self, now: Time, from: Node, to: Node, latency_ns: u64) -> Option<Time> {
        if !self.partitions.is_empty() && self.is_cut(from, to) {
            return None;
        }
        Some(Time(now.0 + latency_ns) + std::time::Duration::from_nanos(self.delay()?))
    }

    /// Whether messages of peers are lost or late.
    pub fn has_weather(&self) -> bool {
        self.weather.loss_per_million > 0 || self.weather.late_per_million > 0
    }

    /// The delay of a second copy of a peer's message, if there is one.
    pub fn again(&mut self) -> Option<u64> {
        let weather = self.weather;
        (weather.doubled_per_million > 0 && self.chance(weather.doubled_per_million))
            .then(|| self.random.below(weather.late_ns_max.max(1) as usize) as u64)
    }

    /// The disturbance of a peer's message: a delay, or `None` if it is lost.
    pub fn delay(&mut self) -> Option<u64> {
        let weather = self.weather;
        if weather.loss_per_million > 0 && self.chance(weather.loss_per_million) {
            return None;
        }
        if weather.late_per_million > 0 && self.chance(weather.late_per_million) {
            return Some(self.random.below(weather.late_ns_max.max(1) as usize) as u64);
        }
        Some(0)
    }

    fn chance(&mut self, per_million: u32) -> bool {
        self.random.below(1_000_000) < per_million as usize
    }
}
