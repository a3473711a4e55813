//! Links: latency, bandwidth, loss, reordering, partitions.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use sateen_protocol::coordinator::LinkId;
use sateen_protocol::{HostId, Random, Time};

use crate::event::{Event, ProcessIndex};

/// How long messages take. All latencies are one way.
#[derive(Debug, Clone)]
pub struct NetworkConfig {
    /// Between hosts of a site, in nanoseconds.
    pub latency_in_site_ns: u64,
    /// Between a host and the coordinator, by site.
    pub latency_to_coordinator_ns: Vec<u64>,
    /// Between hosts of different sites that reach each other directly; `None`: by the relay.
    pub latency_wide_ns: Option<u64>,
    /// Added at random, up to this, to messages of peers while there is reordering, and to a link's
    /// messages always.
    pub jitter_ns: u64,
    /// Of each host's link to the coordinator, each way; 0 is unlimited.
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
    /// So many messages of a million are lost.
    pub loss_per_million: u32,
    /// So many of a million come late, and so out of order.
    pub late_per_million: u32,
    /// By so much at most.
    pub late_ns_max: u64,
}

/// Who is at an end of a link: a process, or the coordinator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Node {
    /// The coordinator.
    Coordinator,
    /// A host's process.
    Host(ProcessIndex),
}

/// Nothing passes between two sets.
#[derive(Debug, Clone)]
pub struct Partition {
    /// On this side.
    pub here: BTreeSet<Node>,
    /// And on that.
    pub there: BTreeSet<Node>,
}

/// A websocket between a host and the coordinator.
#[derive(Debug)]
pub struct Link {
    /// Whose.
    pub process: ProcessIndex,
    /// Who the coordinator says that it is.
    pub host: Option<HostId>,
    /// The host believes it to be open.
    pub open_at_host: bool,
    /// The coordinator believes it to be open.
    pub open_at_coordinator: bool,
    /// When the last message up arrives, and the last down.
    up: Time,
    down: Time,
    /// What waits for a partition to heal.
    stalled: VecDeque<Event>,
    /// Since when something waits.
    pub stalled_since: Option<Time>,
}

/// Which way a message goes over a link.
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
    /// How long messages take.
    pub config: NetworkConfig,
    /// What happens to messages of peers now.
    pub weather: Weather,
    /// By their numbers.
    pub partitions: BTreeMap<u32, Partition>,
    links: Vec<Link>,
    random: Random,
}

impl Network {
    /// One without links.
    pub fn new(config: NetworkConfig, seed: u64) -> Self {
        Self {
            config,
            weather: Weather::default(),
            partitions: BTreeMap::new(),
            links: Vec::new(),
            random: Random::new(seed),
        }
    }

    /// A new link.
    pub fn open(&mut self, process: ProcessIndex, now: Time) -> LinkId {
        self.links.push(Link {
            process,
            host: None,
            open_at_host: false,
            open_at_coordinator: true,
            up: now,
            down: now,
            stalled: VecDeque::new(),
            stalled_since: None,
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

    /// Whether a partition lies between the two.
    pub fn is_cut(&self, one: Node, other: Node) -> bool {
        self.partitions.values().any(|partition| {
            partition.here.contains(&one) && partition.there.contains(&other)
                || partition.here.contains(&other) && partition.there.contains(&one)
        })
    }

    /// When a message over a link arrives; `None` if it waits for a partition to heal.
    pub fn over(&mut self, now: Time, link: LinkId, way: Way, site: usize, bytes: usize) -> Option<Time> {
        let process = self.link(link).process;
        if !self.partitions.is_empty()
            && (self.link(link).stalled_since.is_some()
                || self.is_cut(Node::Coordinator, Node::Host(process)))
        {
            self.link_mut(link).stalled_since.get_or_insert(now);
            return None;
        }
        let latencies = &self.config.latency_to_coordinator_ns;
        let mut latency_ns = latencies[site.min(latencies.len() - 1)];
        if self.config.jitter_ns > 0 {
            latency_ns += self.random.below(self.config.jitter_ns as usize) as u64;
        }
        let transfer_ns = match self.config.bytes_per_second {
            0 => 0,
            rate => bytes as u64 * 1_000_000_000 / rate,
        };
        let link = &mut self.links[link.0 as usize];
        let last = if way == Way::Up { &mut link.up } else { &mut link.down };
        *last = (*last).max(Time(now.0 + latency_ns)) + std::time::Duration::from_nanos(transfer_ns);
        Some(*last)
    }

    /// Keeps what cannot pass now.
    pub fn stall(&mut self, link: LinkId, event: Event) {
        self.link_mut(link).stalled.push_back(event);
    }

    /// What waited on a link, in order.
    pub fn take_stalled(&mut self, link: LinkId) -> VecDeque<Event> {
        let link = self.link_mut(link);
        link.stalled_since = None;
        std::mem::take(&mut link.stalled)
    }

    /// When a message between peers arrives that need no relay; `None` if it is lost.
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

    /// What the weather does to a message of a peer: a delay, or `None` if it is lost.
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
