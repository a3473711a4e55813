//! What happens at each event.

use std::rc::Rc;

use sateen_protocol::coordinator::LinkId;
use sateen_protocol::message::{PeerMessage, ToCoordinator, ToHost};
use sateen_protocol::{HostId, RunId, RunSpec, Time};

use super::{AUDIT_EVERY_NS, World};
use crate::event::{Event, ProcessIndex, Route};
use crate::network::Way;
use crate::pipes::Pipe;
use crate::process::{BACKOFF_MIN_NS, Input};

/// Interval at which a host that loads for ever checks whether all faults have ended.
const LOAD_AGAIN_NS: u64 = 1_000_000_000;

impl World {
    /// Processes the next event.
    pub fn step(&mut self) {
        let Some((at, event)) = self.queue.pop() else { return };
        self.now = at;
        self.trace.begin_event(at);
        let Some(event) = self.wait_for_coordinator(event) else { return };
        if let Some(process) = target(&event) {
            self.trace.add(u64::from(process));
            let process = &mut self.processes[process as usize];
            if !process.is_alive {
                return;
            }
            if let Some(waiting) = &mut process.frozen {
                waiting.push_back(event);
                return;
            }
        }
        self.happen(event);
    }

    /// Lets an event have its effects.
    pub(crate) fn happen(&mut self, event: Event) {
        if !matches!(
            event,
            Event::Worker { .. } | Event::HostTimer(_) | Event::CoordinatorTimer | Event::Audit
        ) {
            self.write(|| format!("{event:?}"));
        }
        match event {
            Event::Worker { process, worker, generation } => {
                let runtime = &mut self.processes[process as usize].runtime;
                if runtime.stretch_over(self.now, worker, generation) {
                    self.settle_host(process);
                }
            }
            Event::HostTimer(process) => self.fire_host_timer(process),
            Event::CoordinatorTimer => self.fire_coordinator_timer(),
            Event::ToHost(process, link, message) => self.arrive_at_host(process, link, *message),
            Event::ToCoordinator(link, message) => self.arrive_at_coordinator(link, *message),
            Event::Relay(link, to, message) => self.relay(link, to, message),
            Event::Peer(process, from, route, message) => {
                self.arrive_from_peer(process, from, route, *message);
            }
            Event::Dial(process) => self.dial(process),
            Event::Opened(process, link) => self.opened(process, link),
            Event::HostClosed(process, link) => self.closed_at_host(process, link),
            Event::CoordinatorClosed(link) => self.closed_at_coordinator(link),
            Event::Loaded(process, run) => self.loaded(process, run),
            Event::Pump(pipe) => self.pump_on(pipe),
            Event::RouteLost(process, peer) => {
                let state = &mut self.processes[process as usize];
                state.host.handle_route_lost(state.clock.read(self.now), peer);
                self.settle_host(process);
            }
            Event::Fault(step) => self.take_step(step),
            Event::Stranger(stranger) => self.dial_as_stranger(stranger),
            Event::Undo(undo) => self.undo(undo),
            Event::Audit => {
                self.break_stalled_links();
                self.hang_up_on_silence();
                crate::invariants::audit(self);
                self.queue.push(Time(self.now.0 + AUDIT_EVERY_NS), Event::Audit);
            }
        }
    }

    // ---- timers ----

    fn fire_host_timer(&mut self, process: ProcessIndex) {
        let state = &mut self.processes[process as usize];
        if state.timer_at <= self.now {
            state.timer_at = Time::NEVER;
        }
        let local = state.clock.read(self.now);
        if state.host.poll_timeout().is_some_and(|(at, _)| at <= local) {
            if state.clock.is_off() {
                self.sometimes.hit("a clock that was a hundredth off fired a timer");
            }
            state.host.handle_timeout(local);
        }
        self.settle_host(process);
    }

    fn fire_coordinator_timer(&mut self) {
        let now = self.now;
        if self.server.timer_at <= now {
            self.server.timer_at = Time::NEVER;
        }
        let Some(machine) = &mut self.server.machine else { return };
        if machine.poll_timeout().is_some_and(|(at, _)| at <= now) {
            // The driver sees bytes that the machine does not see.
            for (host, link) in machine.silent(now) {
                machine.handle_heard(now, self.network.link(link).heard, host);
            }
            machine.handle_timeout(now);
        }
        self.settle_coordinator();
    }

    // ---- messages ----

    fn arrive_at_host(&mut self, process: ProcessIndex, link: LinkId, message: ToHost) {
        if !self.arrives(link, Way::Down) || !self.understands(link, &message) {
            return;
        }
        let state = &mut self.processes[process as usize];
        if state.uplink.uses(link) {
            self.faults.parcels.told_host(&message, &mut self.sometimes);
            state.host.handle_from_coordinator(state.clock.read(self.now), message);
            self.settle_host(process);
        }
    }

    fn arrive_at_coordinator(&mut self, link: LinkId, message: ToCoordinator) {
        if !self.arrives(link, Way::Up) || !self.is_understood(link, &message) {
            return;
        }
        let now = self.now;
        let state = self.network.link(link);
        if state.open_at_coordinator {
            if let Some(host) = state.host {
                self.faults.parcels.told_coordinator(link, host, &message, now, &mut self.sometimes);
            }
            self.with_coordinator(|machine| machine.handle_message(now, link, message));
        }
    }

    fn arrive_from_peer(&mut self, process: ProcessIndex, from: HostId, route: Route, message: PeerMessage) {
        if let Route::Relay(link) = route {
            self.arrives(link, Way::Down);
        }
        let state = &self.processes[process as usize];
        let is_open = match route {
            Route::Direct(to) => state.host.id() == Some(to),
            Route::Relay(link) => state.uplink.uses(link) && !self.network.link(link).is_dead,
        };
        if !is_open {
            self.sometimes.hit("a peer message was lost");
            return;
        }
        let now = self.now;
        self.observe_peer_message(process, from, &message);
        self.faults.parcels.arrived((process, from), route, &message, now, &mut self.sometimes);
        let state = &mut self.processes[process as usize];
        state.acquaintances.heard_from(now, from);
        state.host.handle_from_peer(state.clock.read(now), from, message);
        self.settle_host(process);
    }

    /// Bytes arrive at the end of a link; returns whether they do, and are not lost with a reset link.
    fn arrives(&mut self, link: LinkId, way: Way) -> bool {
        let state = self.network.link_mut(link);
        if state.is_dead {
            self.sometimes.hit("a message was lost with a link that was reset");
            return false;
        }
        match way {
            Way::Up => state.heard = self.now,
            Way::Down => state.heard_by_host = self.now,
        }
        true
    }

    // ---- links ----

    fn dial(&mut self, process: ProcessIndex) {
        let state = &mut self.processes[process as usize];
        if state.uplink.link().is_some() {
            return;
        }
        let is_reachable = self.server.machine.is_some() && !self.network.is_cut_off(process);
        if is_reachable {
            let link = self.network.open(process, self.now);
            self.network.link_mut(link).version = self.processes[process as usize].uplink.version();
            let site = self.processes[process as usize].plan.site;
            let latencies = &self.network.config.latency_to_coordinator_ns;
            let round = 2 * latencies[site.min(latencies.len() - 1)];
            self.queue.push(Time(self.now.0 + round), Event::Opened(process, link));
        } else {
            let pause = state.uplink.back_off(&mut self.random);
            self.queue.push(Time(self.now.0 + pause), Event::Dial(process));
        }
    }

    fn opened(&mut self, process: ProcessIndex, link: LinkId) {
        if !self.network.link(link).open_at_coordinator {
            self.queue.push(self.now, Event::Dial(process));
            return;
        }
        let state = self.network.link_mut(link);
        state.open_at_host = true;
        state.heard_by_host = self.now;
        let state = &mut self.processes[process as usize];
        state.uplink.open(link);
        state.host.handle_connected(state.clock.read(self.now));
        self.settle_host(process);
    }

    fn closed_at_host(&mut self, process: ProcessIndex, link: LinkId) {
        let state = &mut self.processes[process as usize];
        if state.uplink.uses(link) {
            state.uplink.close();
            self.network.pipes.drop_all(Pipe::Up(link));
            self.network.link_mut(link).open_at_host = false;
            self.sometimes.hit("a link broke");
            state.host.handle_disconnected(state.clock.read(self.now));
            self.settle_host(process);
            let pause = self.random.below(BACKOFF_MIN_NS as usize) as u64;
            self.queue.push(Time(self.now.0 + pause), Event::Dial(process));
        }
    }

    fn closed_at_coordinator(&mut self, link: LinkId) {
        let now = self.now;
        let state = self.network.link_mut(link);
        if std::mem::take(&mut state.open_at_coordinator) {
            if let Some(host) = state.host
                && self.server.links.get(host) == Some(link)
            {
                self.server.links.remove(host);
            }
            self.network.pipes.drop_all(Pipe::Down(link));
            self.with_coordinator(|machine| machine.handle_closed(now, link));
        }
    }

    // ---- apps ----

    fn loaded(&mut self, process: ProcessIndex, run: RunId) {
        if self.is_loading_for_ever(process, run) {
            self.queue.push(Time(self.now.0 + LOAD_AGAIN_NS), Event::Loaded(process, run));
            return;
        }
        let state = &mut self.processes[process as usize];
        // A host that checks jobs of a run does so in a run of its own.
        let by_app = |spec: &RunSpec| self.trees.values().find(|tree| tree.app() == spec.app);
        let spec = state.apps.take(run);
        let tree = self.trees.get(&run).or_else(|| by_app(spec.as_ref()?));
        if let (Some(spec), Some(tree)) = (spec, tree) {
            let entries = state.store.entries(self.now, run);
            let was_here = state.runtime.executed(self.now).contains_key(&run);
            if !entries.is_empty() && !was_here {
                self.sometimes.hit("an app was loaded after a restart");
            }
            let origin = state.host.id().unwrap_or(HostId(0));
            state.runtime.start(self.now, (run, origin), spec, Rc::clone(tree));
            state.inputs.push_back(Input::Loaded(run, entries));
            self.settle_host(process);
        }
    }
}

/// The process that an event is for, if any.
fn target(event: &Event) -> Option<ProcessIndex> {
    match event {
        Event::Worker { process, .. }
        | Event::HostTimer(process)
        | Event::ToHost(process, ..)
        | Event::Peer(process, ..)
        | Event::Dial(process)
        | Event::Opened(process, _)
        | Event::HostClosed(process, _)
        | Event::RouteLost(process, _)
        | Event::Loaded(process, _) => Some(*process),
        _ => None,
    }
}
