//! Disks: slow, full, lost, rolled back, with records that cannot be read.

use std::collections::VecDeque;

use sateen_protocol::coordinator::LinkId;
use sateen_protocol::message::ToHost;
use sateen_protocol::{Random, RunEnd, RunId, RunState, Time};

use crate::event::{Event, ProcessIndex, Undo};
use crate::process::Process;
use crate::world::World;

/// A fault of a disk.
#[derive(Debug, Clone)]
pub enum Disk {
    /// A host crashes, and starts again with a part of its saved entries, in percent.
    Host {
        /// Draws the host, and the lost entries.
        draw: u64,
        /// The remaining part.
        left_percent: usize,
        /// The time of its restart.
        back_ns: u64,
    },
    /// The coordinator crashes, and starts again with a part of its entries, in percent.
    Coordinator {
        /// Draws the lost entries.
        draw: u64,
        /// The remaining part.
        left_percent: usize,
        /// The time of its restart.
        back_ns: u64,
    },
    /// The coordinator crashes, and starts again on an earlier state of its disk.
    RolledBack {
        /// The age of that state.
        age_ns: u64,
        /// The time of its restart.
        back_ns: u64,
    },
    /// A host or all hosts crash, and start again on earlier states of their disks.
    HostRolledBack {
        /// Draws the host.
        draw: u64,
        /// Whether it is all hosts.
        is_all: bool,
        /// The age of that state.
        age_ns: u64,
        /// The time of their restart.
        back_ns: u64,
    },
    /// Saving at a host, or at all hosts, is slow or impossible.
    HostSlow {
        /// Draws the hosts.
        draw: u64,
        /// The time of each save; `None` if it is impossible.
        each_ns: Option<u64>,
        /// The duration of the fault.
        for_ns: u64,
    },
    /// Saving at the coordinator is slow.
    Slow {
        /// Draws the run that is suspended meanwhile.
        draw: u64,
        /// The time of each save.
        each_ns: u64,
        /// The duration of the fault.
        for_ns: u64,
    },
    /// The coordinator cannot save anything.
    Full {
        /// Draws the run that is suspended meanwhile.
        draw: u64,
        /// The duration of the fault.
        for_ns: u64,
    },
}

impl Disk {
    /// The time until its consequences are over.
    pub fn takes_ns(&self) -> u64 {
        match self {
            Self::RolledBack { age_ns, back_ns } | Self::HostRolledBack { age_ns, back_ns, .. } => {
                age_ns + back_ns + 1_000_000_000
            }
            _ => 0,
        }
    }
}

pub(crate) fn draw(random: &mut Random) -> Disk {
    let ms = |random: &mut Random, most: usize| (1 + random.below(most) as u64) * 1_000_000;
    let draw = random.next_u64();
    let left_percent = [0, 50, 90][random.below(3)];
    // From another stream, so that the other faults stay the same.
    let mut choices = Random::new(draw ^ 0xd15c);
    let choice = choices.below(10);
    match choice {
        0..2 => {
            let age_ns = 500_000_000 + choices.below(9_500) as u64 * 1_000_000;
            return Disk::RolledBack { age_ns, back_ns: ms(&mut choices, 3_000) };
        }
        2..4 => {
            let each_ns = (choices.below(2) == 0).then(|| ms(&mut choices, 2_000));
            return Disk::HostSlow { draw, each_ns, for_ns: ms(&mut choices, 20_000) };
        }
        _ => {}
    }
    let disk = match random.below(6) {
        0 => Disk::Host { draw, left_percent, back_ns: ms(random, 3_000) },
        1 => Disk::Coordinator { draw, left_percent, back_ns: ms(random, 3_000) },
        2..4 => Disk::Slow { draw, each_ns: ms(random, 2_000), for_ns: ms(random, 8_000) },
        _ => Disk::Full { draw, for_ns: ms(random, 8_000) },
    };
    // In place of another fault, so that the next draws stay the same, too.
    if (4..6).contains(&choice) {
        let age_ns = 500_000_000 + choices.below(9_500) as u64 * 1_000_000;
        let is_all = choices.below(4) == 0;
        return Disk::HostRolledBack { draw, is_all, age_ns, back_ns: ms(&mut choices, 3_000) };
    }
    disk
}

/// A change of a run that is not on the disk yet.
#[derive(Debug, Clone)]
pub enum Change {
    /// Its state.
    State(RunId, RunState),
    /// Its end.
    End(RunId, RunEnd),
}

impl Change {
    fn run(&self) -> RunId {
        match self {
            Self::State(run, _) | Self::End(run, ..) => *run,
        }
    }
}

/// The coordinator's disk, and the changes and messages that wait for it.
#[derive(Debug, Default)]
pub struct Behind {
    /// The time of each change.
    pub each_ns: u64,
    /// Nothing can be saved.
    pub is_full: bool,
    changes: VecDeque<(Time, Change)>,
    held: Vec<(LinkId, ToHost)>,
}

impl Behind {
    /// Unsaved changes are lost with the process.
    pub fn crash(&mut self) {
        self.changes.clear();
        self.held.clear();
    }

    /// Whether a change of the run is not saved.
    pub fn is_behind_with(&self, run: RunId) -> bool {
        self.changes.iter().any(|(_, change)| change.run() == run)
    }

    /// Holds a message back that depends on an unsaved change.
    pub fn hold(&mut self, link: LinkId, message: ToHost) -> Option<ToHost> {
        let run = match &message {
            ToHost::StartRun { run, .. }
            | ToHost::Master { run, .. }
            | ToHost::StopRun { run }
            | ToHost::SuspendRun { run }
            | ToHost::Assign { run, .. }
            | ToHost::Acknowledged { run, .. } => *run,
            _ => return Some(message),
        };
        if !self.is_behind_with(run) {
            return Some(message);
        }
        self.held.push((link, message));
        None
    }
}

impl World {
    pub(crate) fn spoil_disk(&mut self, disk: &Disk) {
        let later = |ns: u64| Time(self.now.0 + ns);
        match *disk {
            Disk::Host { draw, left_percent, back_ns } => {
                let Some(process) = self.draw_with_records(draw) else { return };
                self.crash(process, false, Some(back_ns));
                let store = &mut self.processes[process as usize].store;
                if store.damage(&mut Random::new(draw), left_percent) > 0 {
                    self.sometimes.hit("a host started on a disk that had lost something");
                }
            }
            Disk::Coordinator { draw, left_percent, back_ns } => {
                let at = later(back_ns);
                self.crash_coordinator();
                if self.server.damage(&mut Random::new(draw), left_percent) > 0 {
                    self.sometimes.hit("the coordinator started on a disk that had lost something");
                }
                self.queue.push(at, Event::Undo(Undo::RestartCoordinator));
            }
            Disk::RolledBack { age_ns, back_ns } => {
                let at = later(age_ns);
                self.server.keep_copy();
                self.queue.push(at, Event::Undo(Undo::RollBack(back_ns)));
            }
            Disk::HostRolledBack { draw, is_all, age_ns, back_ns } => {
                let at = later(age_ns);
                for process in self.draw_one_or_all(draw, is_all) {
                    let Process { store, place, .. } = &mut self.processes[process as usize];
                    store.keep_copy(self.now);
                    self.queue.push(at, Event::Undo(Undo::RollBackHost(*place, back_ns)));
                }
            }
            Disk::HostSlow { draw, each_ns, for_ns } => {
                let at = later(for_ns);
                for process in self.draw_one_or_all(draw, (draw >> 32).is_multiple_of(2)) {
                    let store = &mut self.processes[process as usize].store;
                    (store.each_ns, store.is_full) = (each_ns.unwrap_or(0), each_ns.is_none());
                    self.queue.push(at, Event::Undo(Undo::HostDiskGood(process)));
                }
            }
            Disk::Slow { draw, each_ns, for_ns } => {
                let at = later(for_ns);
                self.server.behind.each_ns = each_ns;
                self.queue.push(at, Event::Undo(Undo::DiskGood));
                self.save_something(draw, for_ns);
            }
            Disk::Full { draw, for_ns } => {
                let at = later(for_ns);
                self.server.behind.is_full = true;
                self.queue.push(at, Event::Undo(Undo::DiskGood));
                self.save_something(draw, for_ns);
            }
        }
        self.disturb();
    }

    /// A process with records on its disk, if there is any.
    fn draw_with_records(&self, draw: u64) -> Option<ProcessIndex> {
        let has_records = |index: &ProcessIndex| {
            self.is_up(*index) && self.processes[*index as usize].store.has_records(self.now)
        };
        let with_records: Vec<ProcessIndex> =
            self.alive().map(|(index, _)| index).filter(has_records).collect();
        match with_records.len() {
            0 => self.draw(draw),
            count => Some(with_records[(draw % count as u64) as usize]),
        }
    }

    fn draw_one_or_all(&self, draw: u64, is_all: bool) -> Vec<ProcessIndex> {
        match is_all {
            true => self.alive().map(|(index, _)| index).collect(),
            false => Vec::from_iter(self.draw(draw)),
        }
    }

    /// The host at a place crashes, and starts again on the copy of its disk. A host that is not up keeps its disk.
    pub(crate) fn roll_back_host(&mut self, place: usize, back_ns: u64) {
        let at_place = self.alive().find(|(index, process)| process.place == place && self.is_up(*index));
        let Some((process, _)) = at_place else { return };
        self.crash(process, false, Some(back_ns));
        if self.processes[process as usize].store.roll_back() {
            self.sometimes.hit("a host started on an old state");
        }
        self.disturb();
    }

    /// The coordinator crashes, and starts again on the copy of its disk. Runs that are suspended in it are resumed.
    pub(crate) fn roll_back(&mut self, back_ns: u64) {
        self.crash_coordinator();
        if self.server.roll_back() {
            self.sometimes.hit("the coordinator started on an old state");
        }
        let at = Time(self.now.0 + back_ns);
        self.queue.push(at, Event::Undo(Undo::RestartCoordinator));
        for run in self.server.suspended() {
            self.queue.push(at, Event::Undo(Undo::Resume(run)));
        }
        self.disturb();
    }

    pub(crate) fn mend_host_disk(&mut self, process: ProcessIndex) {
        let store = &mut self.processes[process as usize].store;
        (store.each_ns, store.is_full) = (0, false);
    }

    /// Mostly suspends a run, since otherwise few changes are saved.
    fn save_something(&mut self, draw: u64, for_ns: u64) {
        if (draw >> 32).is_multiple_of(4) {
            return;
        }
        let runs = self.server.machine.iter().flat_map(|machine| machine.runs());
        let running: Vec<RunId> =
            runs.filter(|view| view.state() == RunState::Running).map(|view| view.run).collect();
        if let Some(run) = running.get((draw % running.len().max(1) as u64) as usize) {
            self.suspend_run(*run, for_ns / 2);
        }
    }

    /// Saves a change, or puts it off.
    pub(crate) fn save(&mut self, change: Change) {
        let behind = &mut self.server.behind;
        if behind.each_ns == 0 && !behind.is_full && behind.changes.is_empty() {
            return self.write_change(change);
        }
        let name = if behind.is_full { "the disk was full" } else { "the disk was slow" };
        let due = Time(self.now.0 + behind.each_ns);
        behind.changes.push_back((due, change));
        self.queue.push(due, Event::Undo(Undo::Saved));
        self.sometimes.hit(name);
    }

    fn write_change(&mut self, change: Change) {
        match change {
            Change::State(run, state) => self.server.save_state(run, state),
            Change::End(run, end) => {
                if !self.server.save_end(self.now, run, end) {
                    self.violations.push(format!("run {run} ended twice"));
                }
            }
        }
    }

    /// Completes due saves, and sends the messages that waited for them.
    pub(crate) fn catch_up(&mut self) {
        while !self.server.behind.is_full
            && self.server.behind.changes.front().is_some_and(|(due, _)| *due <= self.now)
        {
            let Some((_, change)) = self.server.behind.changes.pop_front() else { break };
            self.write_change(change);
        }
        for (link, message) in std::mem::take(&mut self.server.behind.held) {
            if self.network.link(link).open_at_coordinator {
                self.send_down_if_saved(link, message);
            }
        }
    }

    /// Sends a message of the machine, unless it depends on an unsaved change.
    pub(crate) fn send_down_if_saved(&mut self, link: LinkId, message: ToHost) {
        if let Some(message) = self.server.behind.hold(link, message) {
            self.send_down(link, message);
        }
    }

    /// The coordinator's disk works again.
    pub(crate) fn mend_disk(&mut self) {
        let behind = &mut self.server.behind;
        (behind.each_ns, behind.is_full) = (0, false);
        for (due, _) in &mut behind.changes {
            *due = self.now;
        }
        self.catch_up();
        self.disturb();
    }
}
