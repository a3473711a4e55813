//! What can be done to a grid.

use std::collections::VecDeque;

use sateen_protocol::{RunId, Time};

use crate::event::{Event, ProcessIndex, Undo};
use crate::network::{Node, Partition, Way};
use crate::world::World;

/// A host's disk has what was saved so long ago.
const STORE_FLUSH_NS: u64 = 100_000_000;
/// Both ends give a link up on which nothing has passed for so long.
const STALL_MAX_NS: u64 = 10_000_000_000;

impl World {
    /// Something is not as it should be.
    pub fn disturb(&mut self) {
        self.disturbed_at = self.now;
    }

    /// Kills a host's process. Silently: the machine lost power, and nobody closes its links.
    pub fn kill(&mut self, process: ProcessIndex, is_silent: bool) {
        let state = &mut self.processes[process as usize];
        if !state.is_alive {
            return;
        }
        state.store.flush(Time(self.now.0.saturating_sub(STORE_FLUSH_NS)));
        state.store.lose_unsaved();
        self.sometimes.hit(if is_silent { "a host crashed silently" } else { "a host crashed" });
        if self.crashes.last().is_some_and(|last| self.now.0 - last.0 < 1_000_000_000 && *last != self.now) {
            self.sometimes.hit("two hosts crashed within a second");
        }
        self.crashes.push(self.now);
        let link = self.processes[process as usize].link;
        if let Some(link) = link
            && !is_silent
        {
            self.hang_up(process, link);
        }
        self.end_process(process);
        self.disturb();
    }

    /// Starts a new process at the place and on the store of one that has ended.
    pub fn restart(&mut self, process: ProcessIndex) -> ProcessIndex {
        let old = &self.processes[process as usize];
        let (plan, place, store) = (old.plan.clone(), old.place, old.store.clone());
        let index = self.start_process(plan, place);
        self.processes[index as usize].store = store;
        self.disturb();
        index
    }

    /// Tells a host to leave.
    pub fn leave(&mut self, process: ProcessIndex) {
        if self.is_up(process) {
            self.sometimes.hit("a host left");
            self.processes[process as usize].host.leave(self.now);
            self.settle_host(process);
            self.disturb();
        }
    }

    /// Stops a process; time passes it by.
    pub fn freeze(&mut self, process: ProcessIndex) {
        if self.is_up(process) {
            self.sometimes.hit("a host froze");
            let state = &mut self.processes[process as usize];
            state.frozen = Some(VecDeque::new());
            state.runtime.freeze(self.now);
            self.disturb();
        }
    }

    /// It goes on, with all that has come meanwhile.
    pub fn thaw(&mut self, process: ProcessIndex) {
        let state = &mut self.processes[process as usize];
        let Some(waiting) = state.frozen.take() else { return };
        state.runtime.thaw(self.now);
        for event in waiting {
            if self.processes[process as usize].is_alive {
                self.happen(event);
            }
        }
        if self.processes[process as usize].is_alive {
            self.settle_host(process);
        }
        self.disturb();
    }

    /// Kills the coordinator.
    pub fn crash_coordinator(&mut self) {
        if self.server.machine.is_none() {
            return;
        }
        self.sometimes.hit("the coordinator crashed");
        if self.crashes.last().is_some_and(|last| self.now.0 - last.0 < 1_000_000_000) {
            self.sometimes.hit("a coordinator crashed within a second of a host");
        }
        self.server.crash(self.now);
        let open: Vec<_> = (self.network.links())
            .filter(|(_, link)| link.open_at_coordinator)
            .map(|(id, link)| (id, link.process))
            .collect();
        for (link, process) in open {
            self.network.link_mut(link).open_at_coordinator = false;
            self.network.take_stalled(link);
            let site = self.processes[process as usize].plan.site;
            let event = Event::HostClosed(process, link);
            match self.network.over(self.now, link, Way::Down, site, 0) {
                Some(at) => self.queue.push(at, event),
                None => self.network.stall(link, event),
            }
        }
        self.disturb();
    }

    /// Starts the coordinator again on what it saved.
    pub fn restart_coordinator(&mut self) {
        if self.server.machine.is_none() {
            self.server.start(self.now);
            self.settle_coordinator();
            self.disturb();
        }
    }

    /// Cuts the net in two.
    pub fn cut(&mut self, number: u32, here: &[Node], there: &[Node]) {
        let partition =
            Partition { here: here.iter().copied().collect(), there: there.iter().copied().collect() };
        self.network.partitions.insert(number, partition);
        self.disturb();
    }

    /// Heals a partition; what waited for that goes out.
    pub fn heal(&mut self, number: u32) {
        let Some(_) = self.network.partitions.remove(&number) else { return };
        self.disturb();
        let free: Vec<_> = (self.network.links())
            .filter(|(_, link)| link.stalled_since.is_some())
            .filter(|(_, link)| !self.network.is_cut(Node::Coordinator, Node::Host(link.process)))
            .map(|(id, link)| (id, link.open_at_coordinator && link.open_at_host))
            .collect();
        for (link, is_open) in free {
            if is_open {
                self.sometimes.hit("a partition healed before anybody was given up");
            }
            let process = self.network.link(link).process;
            let site = self.processes[process as usize].plan.site;
            for event in self.network.take_stalled(link) {
                let way = match event {
                    Event::ToCoordinator(..) | Event::Relay(..) | Event::CoordinatorClosed(_) => Way::Up,
                    _ => Way::Down,
                };
                match self.network.over(self.now, link, way, site, 0) {
                    Some(at) => self.queue.push(at, event),
                    None => self.network.stall(link, event),
                }
            }
        }
        self.disturb();
    }

    /// Both ends give up links that have been dead for long.
    pub(crate) fn break_stalled_links(&mut self) {
        let limit = self.now.0.saturating_sub(STALL_MAX_NS);
        let dead: Vec<_> = (self.network.links())
            .filter(|(_, link)| link.stalled_since.is_some_and(|since| since.0 < limit))
            .map(|(id, link)| (id, link.process))
            .collect();
        for (link, process) in dead {
            self.network.take_stalled(link);
            self.queue.push(self.now, Event::HostClosed(process, link));
            self.queue.push(self.now, Event::CoordinatorClosed(link));
        }
    }

    /// Ends a fault.
    pub(crate) fn undo(&mut self, undo: Undo) {
        match undo {
            Undo::Thaw(process) => self.thaw(process),
            Undo::Restart(process) => {
                self.restart(process);
            }
            Undo::Heal(number) => self.heal(number),
            Undo::RestartCoordinator => self.restart_coordinator(),
            Undo::Resume(run) => self.resume(run),
        }
    }

    /// Resumes a run, or tries again soon if it cannot be now.
    fn resume(&mut self, run: RunId) {
        let now = self.now;
        let is_over = self.server.runs.get(&run).is_none_or(|stored| stored.end.is_some());
        if !is_over && !matches!(self.with_coordinator(|machine| machine.resume(now, run)), Some(Ok(()))) {
            self.queue.push(Time(now.0 + 500_000_000), Event::Undo(Undo::Resume(run)));
        }
    }
}
