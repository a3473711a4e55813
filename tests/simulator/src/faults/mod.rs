//! Faults of a grid: crashes, freezes and partitions are here, each other family in its own
//! file.

pub mod ability;
pub mod bandwidth;
pub mod disks;
pub mod ends;
pub mod evictions;
pub mod links;
pub mod pauses;
pub mod rests;
pub mod routes;
pub mod sleep;
pub mod stalls;
pub mod versions;

use std::collections::VecDeque;
use std::time::Duration;

use sateen_protocol::{RunId, RunState, Time};

use crate::event::{Event, ProcessIndex, Undo};
use crate::network::{Node, Partition, Way};
use crate::pipes::{Load, Pipe};
use crate::process::STORE_FLUSH_NS;
use crate::schedule::Fault;
use crate::world::World;
use bandwidth::Parcels;
use ends::Said;

/// Longer than any wait of hosts or the coordinator.
const LONG: Duration = Duration::from_secs(60);
/// Maximum time without messages before both ends give a link up.
const STALL_MAX_NS: u64 = 10_000_000_000;
/// Crashes within this time happen together.
const TOGETHER_NS: u64 = 1_000_000_000;

/// The faults of a world: those that are planned, and what is known of those under way.
#[derive(Debug, Default)]
pub struct Faults {
    /// The schedule.
    pub schedule: Vec<Fault>,
    /// Draws the runs that cannot be loaded, and the hosts' reports of that.
    pub unloadable: Option<u64>,
    /// Reports of hosts that end runs.
    pub said: Said,
    /// Parcels in transit.
    pub parcels: Parcels,
}

impl Faults {
    /// Makes all hosts that are yet to join equally fast.
    pub(crate) fn even_out(&mut self) {
        for fault in &mut self.schedule {
            if let Fault::Join(plan) = fault {
                plan.speed_percent = 100;
            }
        }
    }
}

impl World {
    /// Kills a host's process. If silently, the machine lost power, and its links are not closed.
    pub fn kill(&mut self, process: ProcessIndex, is_silent: bool) {
        let state = &mut self.processes[process as usize];
        if !state.is_alive {
            return;
        }
        state.store.flush(Time(self.now.0.saturating_sub(STORE_FLUSH_NS)));
        state.store.lose_unsaved();
        self.sometimes.hit(if is_silent { "a host crashed silently" } else { "a host crashed" });
        if self.disturbances.since_crash_ns(self.now).is_some_and(|ns| (1..TOGETHER_NS).contains(&ns)) {
            self.sometimes.hit("two hosts crashed within a second");
        }
        self.disturbances.note_crash(self.now);
        self.drop_written(process, false);
        let link = self.processes[process as usize].uplink.link();
        if let Some(link) = link
            && !is_silent
        {
            self.hang_up(link);
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

    /// Asks a host to leave.
    pub fn leave(&mut self, process: ProcessIndex) {
        if self.is_up(process) {
            self.sometimes.hit("a host left");
            let state = &mut self.processes[process as usize];
            state.host.leave(state.clock.read(self.now));
            self.settle_host(process);
            self.disturb();
        }
    }

    /// Stops a process, while time continues.
    pub fn freeze(&mut self, process: ProcessIndex) {
        if self.is_up(process) {
            self.sometimes.hit("a host froze");
            self.upset(process);
            self.count_away(process);
            let state = &mut self.processes[process as usize];
            state.frozen = Some(VecDeque::new());
            state.runtime.freeze(self.now);
            self.disturb();
        }
    }

    /// Continues it, with all events that have arrived meanwhile.
    pub fn thaw(&mut self, process: ProcessIndex) {
        let state = &mut self.processes[process as usize];
        let Some(waiting) = state.frozen.take() else { return };
        if state.runtime.frozen_for(self.now) >= LONG {
            self.sometimes.hit("a host woke after a minute or longer");
        }
        state.runtime.thaw(self.now);
        state.absence.begin_again(self.now);
        // Messages that peers have sent meanwhile are read, however old they are.
        for event in waiting {
            if self.processes[process as usize].is_alive {
                self.happen(event);
            }
        }
        if self.processes[process as usize].is_alive {
            self.settle_host(process);
        }
        self.pump_all();
        self.disturb();
    }

    /// Kills the coordinator.
    pub fn crash_coordinator(&mut self) {
        if self.server.machine.is_none() {
            return;
        }
        self.sometimes.hit("the coordinator crashed");
        if self.disturbances.since_crash_ns(self.now).is_some_and(|ns| ns < TOGETHER_NS) {
            self.sometimes.hit("a coordinator crashed within a second of a host");
        }
        self.server.crash(self.now);
        self.upset_all();
        let now = self.now;
        for process in self.processes.iter_mut().filter(|process| process.is_alive) {
            process.absence.begin_unheard(now);
        }
        self.drop_waiting();
        let open: Vec<_> = (self.network.links())
            .filter(|(_, link)| link.open_at_coordinator)
            .map(|(id, link)| (id, link.process))
            .collect();
        for (link, process) in open {
            self.network.link_mut(link).open_at_coordinator = false;
            self.network.take_stalled(link, true);
            self.network.pipes.drop_all(Pipe::Down(link));
            self.carry(link, Way::Down, Load::control(0, Event::HostClosed(process, link)));
        }
        self.disturb();
    }

    /// Starts the coordinator again on its saved state.
    pub fn restart_coordinator(&mut self) {
        if self.server.machine.is_none() {
            self.server.start(self.now);
            self.settle_coordinator();
            self.disturb();
        }
    }

    /// Cuts the network in two.
    pub fn cut(&mut self, number: u32, here: &[Node], there: &[Node]) {
        self.divide_by(number, here, there, false);
    }

    /// Stops all messages from here to there, and, unless it is one way, back.
    pub fn divide_by(&mut self, number: u32, here: &[Node], there: &[Node], is_one_way: bool) {
        let (here, there) = (here.iter().copied().collect(), there.iter().copied().collect());
        let partition = Partition { here, there, is_one_way, since: self.now };
        self.network.partitions.insert(number, partition);
        self.disturb();
    }

    /// Heals a partition; waiting messages are sent.
    pub fn heal(&mut self, number: u32) {
        let Some(partition) = self.network.partitions.remove(&number) else { return };
        if self.now.since(partition.since) >= LONG {
            self.sometimes.hit("a partition lasted for a minute or longer");
        }
        self.disturb();
        let stalled: Vec<_> = (self.network.links())
            .filter(|(_, link)| link.stalled_since().is_some())
            .map(|(id, link)| (id, link.open_at_coordinator && link.open_at_host))
            .collect();
        for (link, is_open) in stalled {
            let free = self.network.take_stalled(link, false);
            if is_open && !free.is_empty() {
                self.sometimes.hit("a partition healed before any host was given up");
            }
            for event in free {
                match self.network.over(self.now, link, event.way()) {
                    Some(at) => self.queue.push(at, event),
                    None => self.network.stall(link, event),
                }
            }
        }
        self.pump_all();
        self.disturb();
    }

    /// Both ends give up links that have been dead for long.
    pub(crate) fn break_stalled_links(&mut self) {
        let limit = self.now.0.saturating_sub(STALL_MAX_NS);
        let dead: Vec<_> = (self.network.links())
            .filter(|(_, link)| link.stalled_since().is_some_and(|since| since.0 < limit))
            .map(|(id, link)| (id, link.process))
            .collect();
        for (link, process) in dead {
            self.network.take_stalled(link, true);
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
            Undo::Unstall => self.unstall_coordinator(),
            Undo::PathBack(number) => {
                self.network.dead_paths.remove(&number);
                self.disturb();
            }
            Undo::Unpause(process) => self.unpause_host(process),
            Undo::EndRest(process) => self.end_rest(process),
            Undo::Congested => self.set_rate(1),
            Undo::Saved => self.catch_up(),
            Undo::DiskGood => self.mend_disk(),
            Undo::HostDiskGood(process) => self.mend_host_disk(process),
            Undo::RollBack(back_ns) => self.roll_back(back_ns),
            Undo::RollBackHost(place, back_ns) => self.roll_back_host(place, back_ns),
            Undo::Update(process) => self.update_host(process),
        }
    }

    /// Resumes a run. If this was not possible, or not saved, it is tried again soon.
    fn resume(&mut self, run: RunId) {
        let now = self.now;
        if self.server.runs.get(&run).is_none_or(|stored| stored.end.is_some()) {
            return;
        }
        let is_resumed = self.with_coordinator(|machine| {
            // It may have been resumed already; other refusals are tried again.
            let _ = machine.resume(now, run);
            let state = machine.run(run).map(|view| view.state());
            !matches!(state, Some(RunState::Suspended | RunState::Suspending))
        });
        if is_resumed != Some(true) || self.server.behind.is_behind_with(run) {
            self.queue.push(Time(now.0 + 500_000_000), Event::Undo(Undo::Resume(run)));
        }
    }
}
