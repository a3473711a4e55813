//! The world of a story: a coordinator, hosts, messages in transit between them, and time.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use sateen_protocol::coordinator::{Circle, Coordinator, LinkId, Standing, StoredRun};
use sateen_protocol::host::Host;
use sateen_protocol::limits::CIRCLE;
use sateen_protocol::message::{PeerMessage, ToCoordinator, ToHost};
use sateen_protocol::{BlobHash, Entry, FaultTolerance, HostId, RunId, RunSpec, RunState, Time};
use sateen_protocol_harness::record::Record;
use sateen_protocol_harness::{coordinator, host};

use crate::names::Names;
use crate::runtime::Runtime;
use crate::seeds::Seeds;

/// The one run of a story.
pub const RUN: RunId = RunId(1);
/// How often its finished work is recorded, in milliseconds.
pub const RECORD_EVERY_MS: u32 = 1000;
/// The coordinator's name.
pub const COORDINATOR: &str = "C";

/// A host's process.
pub struct Process {
    pub host: Host,
    pub record: Record,
    /// Its last id, by which peers know it until it is gone.
    pub known_as: Option<HostId>,
    pub link: Option<LinkId>,
    pub runtime: Runtime,
    /// Inputs of runtime and driver for the state machine.
    pub inputs: VecDeque<host::Input>,
    pub is_alive: bool,
    /// Whether the process is stopped while its network is not.
    pub is_frozen: bool,
    /// Why it cannot load the app; `None` if it can.
    pub unable: Option<String>,
    /// Whether it has no worker for the jobs that it gets.
    pub is_busy: bool,
}

impl Process {
    /// Passes an input to the state machine, and records it.
    pub fn tell(&mut self, now: Time, input: host::Input) {
        self.record.tell(now.0, &input);
        input.tell(&mut self.host, now);
    }
}

/// The coordinator's process.
pub struct Server {
    pub machine: Coordinator,
    pub record: Record,
}

impl Server {
    /// Passes an input to the state machine, and records it. Returns the answer to a command.
    pub fn tell(&mut self, now: Time, input: coordinator::Input) -> Result<(), String> {
        self.record.tell(now.0, &input);
        input.tell(&mut self.machine, now)
    }
}

/// A message in transit.
pub enum Wire {
    Up(LinkId, ToCoordinator),
    Down(LinkId, ToHost),
    Peer(HostId, HostId, PeerMessage),
    /// The coordinator closes the link, after all that it has sent.
    Close(LinkId),
}

pub struct Envelope {
    pub from: String,
    pub to: String,
    pub wire: Wire,
    /// The text that was shown when it was sent.
    pub text: String,
}

pub struct World {
    pub now: Time,
    shown_at: Time,
    pub coordinator: Option<Server>,
    pub stored: Option<StoredRun>,
    pub processes: BTreeMap<String, Process>,
    /// The entries that hosts have saved, which outlive their processes.
    pub disks: BTreeMap<String, Vec<Entry>>,
    pub links: BTreeMap<LinkId, String>,
    next_link: u64,
    pub wires: VecDeque<Envelope>,
    /// Routes on which messages move only by the script, by sender and receiver; `*` means all.
    pub held: BTreeSet<(String, String)>,
    pub names: Names,
    /// The jobs and their children.
    pub tree: BTreeMap<String, Vec<String>>,
    /// How often each job was finished.
    pub executed: BTreeMap<String, u32>,
    pub is_over: bool,
    /// Set when runtimes compute on their own; once the run is over, nothing more is shown.
    pub completes: bool,
    pub fault_tolerance: FaultTolerance,
    /// The sizes of circles of acquaintances.
    pub circle: Circle,
    pub is_quiet: bool,
    /// The inputs of state machines that are gone.
    pub seeds: Seeds,
    pub lines: Vec<String>,
}

impl World {
    pub fn new() -> Self {
        Self {
            now: Time::default(),
            shown_at: Time::default(),
            coordinator: None,
            stored: None,
            processes: BTreeMap::new(),
            disks: BTreeMap::new(),
            links: BTreeMap::new(),
            next_link: 0,
            wires: VecDeque::new(),
            held: BTreeSet::new(),
            names: Names::default(),
            tree: BTreeMap::new(),
            executed: BTreeMap::new(),
            is_over: false,
            completes: false,
            fault_tolerance: FaultTolerance::Full,
            circle: CIRCLE,
            is_quiet: false,
            seeds: Seeds::default(),
            lines: Vec::new(),
        }
    }

    /// Adds a line to the output, and the time if it has passed since the last.
    pub fn say(&mut self, line: impl Into<String>) {
        if self.is_quiet {
            return;
        }
        if self.shown_at != self.now {
            self.shown_at = self.now;
            self.lines.push(format!("@ {:.3} s", self.now.0 as f64 / 1e9));
        }
        self.lines.push(line.into());
    }

    // ---- processes ----

    pub fn start_coordinator(&mut self, restarted: bool) {
        let stored = self.stored.iter();
        let runs = stored
            .map(|stored| (stored.run, stored.spec.clone(), stored.state, stored.entries.clone()))
            .collect();
        let start =
            coordinator::Start { seed: 7 + u64::from(restarted), circle: self.circle, restarted, runs };
        let (machine, record) = (start.coordinator(self.now), Record::new(&start));
        self.coordinator = Some(Server { machine, record });
    }

    /// Ends the coordinator's process.
    pub fn stop_coordinator(&mut self) {
        if let Some(server) = self.coordinator.take() {
            self.seeds.coordinators.push(server.record);
        }
        self.wires.retain(|envelope| envelope.from != COORDINATOR && envelope.to != COORDINATOR);
        self.links.clear();
        for process in self.processes.values_mut() {
            if process.link.take().is_some() {
                process.tell(self.now, host::Input::Disconnected);
            }
        }
    }

    /// Starts a host's process, with the disk of the earlier one of the same name.
    pub fn start_host(&mut self, name: &str, site: &str) {
        let seed = name.bytes().fold(self.now.0, |seed, byte| seed * 31 + u64::from(byte));
        let start = host::Start { name: name.to_owned(), site: site.to_owned(), seed };
        self.keep_record(name);
        let process = Process {
            host: start.host(self.now),
            record: Record::new(&start),
            known_as: None,
            link: None,
            runtime: Runtime::default(),
            inputs: VecDeque::new(),
            is_alive: true,
            is_frozen: false,
            unable: None,
            is_busy: false,
        };
        self.processes.insert(name.to_owned(), process);
        self.dial(name);
    }

    /// Keeps the inputs of a state machine that is about to be replaced.
    pub fn keep_record(&mut self, name: &str) {
        self.seeds.hosts.extend(self.processes.remove(name).map(|process| process.record));
    }

    /// Opens a link to the coordinator, if that is running.
    pub fn dial(&mut self, name: &str) {
        let Some(process) = self.processes.get_mut(name) else { return };
        if self.coordinator.is_none() || process.link.is_some() {
            return;
        }
        self.next_link += 1;
        let link = LinkId(self.next_link);
        process.link = Some(link);
        self.links.insert(link, name.to_owned());
        process.tell(self.now, host::Input::Connected);
    }

    /// Closes or breaks a host's link; the host is notified if it is alive.
    pub fn hang_up(&mut self, name: &str) {
        let Some(process) = self.processes.get_mut(name) else { return };
        let Some(link) = process.link.take() else { return };
        if process.is_alive {
            process.tell(self.now, host::Input::Disconnected);
        }
        self.links.remove(&link);
        self.wires.retain(|envelope| !matches!(&envelope.wire, Wire::Up(on, _) | Wire::Down(on, _) | Wire::Close(on) if *on == link));
        if let Some(server) = &mut self.coordinator {
            let _ = server.tell(self.now, coordinator::Input::Closed(link.0));
        }
    }

    /// Ends a host's process after its messages have been sent.
    pub fn end_process(&mut self, name: &str) {
        let Some(process) = self.processes.get_mut(name) else { return };
        process.is_alive = false;
        process.inputs.clear();
        process.runtime = Runtime::default();
        self.wires.retain(|envelope| envelope.to != name);
        self.hang_up(name);
    }

    /// Kills a host's process; its messages that have not arrived are lost.
    pub fn kill(&mut self, name: &str) {
        self.wires.retain(|envelope| envelope.from != name);
        self.end_process(name);
    }

    pub fn submit(&mut self) {
        let spec = RunSpec {
            fault_tolerance: self.fault_tolerance,
            record_every_ms: RECORD_EVERY_MS,
            ..RunSpec::new(BlobHash::of(b"story"))
        };
        let (run, state, entries) = (RUN, RunState::Queued, Vec::new());
        self.stored = Some(StoredRun {
            run,
            submitter: Default::default(),
            spec: spec.clone(),
            state,
            entries,
            standing: Standing::default(),
        });
        if let Some(server) = &mut self.coordinator {
            let _ = server.tell(self.now, coordinator::Input::Submit(RUN, spec));
        }
    }

    // ---- routes ----

    pub fn is_held(&self, from: &str, to: &str) -> bool {
        let is_frozen = self.processes.get(to).is_some_and(|process| process.is_frozen);
        let fits = |pattern: &str, name: &str| pattern == "*" || pattern == name;
        is_frozen || self.held.iter().any(|(a, b)| fits(a, from) && fits(b, to))
    }

    // ---- time ----

    /// Lets time pass, and everything happen that happens meanwhile.
    pub fn advance(&mut self, duration: Duration) {
        // Work that one event leaves over follows at once.
        const AT_ONCE_MAX: u32 = 100;
        let until = self.now + duration;
        let mut at_once = 0;
        self.settle();
        while let Some(next) = self.next_timeout().filter(|next| *next <= until) {
            let before = self.now;
            self.now = self.now.max(next);
            self.time_out();
            self.settle();
            let is_again = self.next_timeout() == Some(next) && before == self.now;
            at_once = if is_again { at_once + 1 } else { 0 };
            assert!(at_once < AT_ONCE_MAX, "a timer at {next:?} is due again and again: {:?}", self.timers());
        }
        self.now = until;
        self.time_out();
        self.settle();
    }

    fn timers(&self) -> Vec<(String, Option<(Time, &'static str)>)> {
        let hosts =
            (self.processes.iter()).map(|(name, process)| (name.clone(), process.host.poll_timeout()));
        let coordinator =
            self.coordinator.iter().map(|server| (COORDINATOR.to_owned(), server.machine.poll_timeout()));
        hosts.chain(coordinator).collect()
    }

    fn next_timeout(&self) -> Option<Time> {
        let hosts = (self.processes.values())
            .filter(|process| process.is_alive && !process.is_frozen)
            .filter_map(|process| process.host.poll_timeout());
        let coordinator = self.coordinator.as_ref().and_then(|server| server.machine.poll_timeout());
        hosts.chain(coordinator).map(|(time, _)| time).min()
    }

    fn time_out(&mut self) {
        let now = self.now;
        let is_due = |timeout: Option<(Time, &str)>| timeout.is_some_and(|(time, _)| time <= now);
        if let Some(server) = &mut self.coordinator
            && is_due(server.machine.poll_timeout())
        {
            let _ = server.tell(now, coordinator::Input::Timeout);
        }
        for process in self.processes.values_mut() {
            if process.is_alive && !process.is_frozen && is_due(process.host.poll_timeout()) {
                process.tell(now, host::Input::Timeout);
            }
        }
    }
}
