//! A seed's schedule of faults: a phase of faults, after which all faults end.

use sateen_protocol::{Random, RunId, Time};

use crate::event::{Event, ProcessIndex, Undo};
use crate::faults::ability::Unable;
use crate::faults::bandwidth::{Break, Congestion};
use crate::faults::disks::Disk;
use crate::faults::ends::End;
use crate::faults::evictions::Eviction;
use crate::faults::links::Reset;
use crate::faults::pauses::Pause;
use crate::faults::rests::Rest;
use crate::faults::routes::{DeadPath, OneWay};
use crate::faults::sleep::Sleep;
use crate::faults::stalls::Stall;
use crate::faults::versions::{Neighbour, Stranger};
use crate::network::{Node, Weather};
use crate::process::HostPlan;
use crate::world::World;

/// One fault. Its victims are drawn when it happens.
#[derive(Debug, Clone)]
pub enum Fault {
    /// A host crashes, silently or not, and perhaps starts again after a time.
    Crash {
        /// Whether its links stay open.
        is_silent: bool,
        /// The time until a new process starts on its store.
        back_ns: Option<u64>,
        /// Draws the host.
        draw: u64,
    },
    /// The host of some run's root crashes.
    CrashRoot,
    /// All hosts of a site crash.
    CrashSite {
        /// Draws the site.
        draw: u64,
        /// The time until they start again.
        back_ns: Option<u64>,
    },
    /// All hosts crash, and start again.
    CrashAll {
        /// The time until then.
        back_ns: u64,
    },
    /// The coordinator crashes, and starts again.
    CrashCoordinator {
        /// The time until then.
        back_ns: u64,
    },
    /// A host leaves.
    Leave {
        /// Draws the host.
        draw: u64,
    },
    /// A host joins.
    Join(HostPlan),
    /// A host is stopped for a while.
    Freeze {
        /// Draws the host.
        draw: u64,
        /// The duration.
        for_ns: u64,
    },
    /// Some nodes cannot reach others.
    Partition {
        /// Draws the sides.
        draw: u64,
        /// The duration.
        for_ns: u64,
        /// The number of the partition.
        number: u32,
    },
    /// Messages of peers are lost, or late.
    Weather(Weather),
    /// A run is suspended, and resumed.
    Suspend {
        /// The run.
        run: RunId,
        /// The duration.
        for_ns: u64,
    },
    /// A run is cancelled.
    Cancel(RunId),
    /// A link is reset.
    Reset(Reset),
    /// Messages pass in one direction only.
    OneWay(OneWay),
    /// The coordinator stalls.
    Stall(Stall),
    /// A disk fails in some way.
    Disk(Disk),
    /// A direct path is dead.
    DeadPath(DeadPath),
    /// A host pauses.
    Pause(Pause),
    /// A host cannot take part in a run.
    Unable(Unable),
    /// Some runs cannot be loaded until all faults end.
    Unloadable(u64),
    /// A host ends a run.
    End(End),
    /// A host sleeps.
    Sleep(Sleep),
    /// A host of another version dials.
    Stranger(Stranger),
    /// A host of a neighbouring version dials, and is updated.
    Neighbour(Neighbour),
    /// A host takes no jobs.
    Rest(Rest),
    /// A host has no memory for stolen jobs.
    Eviction(Eviction),
    /// A link breaks while a parcel is being transferred on it.
    Break(Break),
    /// Links are slower.
    Congestion(Congestion),
    /// All faults end.
    Calm,
}

impl Fault {
    /// Whether all recorded results stay recorded.
    pub fn spares_records(&self) -> bool {
        !matches!(self, Self::Disk(_))
    }

    /// Whether recorded results may be unknown where they are looked up, or arrive there late.
    pub fn delays_records(&self) -> bool {
        matches!(self, Self::Unable(_) | Self::Unloadable(_) | Self::Weather(_))
    }
}

impl World {
    /// Puts the schedule's steps on the heap.
    pub fn plan(&mut self, steps: Vec<(Time, Fault)>) {
        for (at, fault) in steps {
            self.queue.push(at, Event::Fault(self.faults.schedule.len()));
            self.faults.schedule.push(fault);
        }
    }

    pub(crate) fn take_step(&mut self, step: usize) {
        let now = self.now;
        let later = |ns: u64| Time(now.0 + ns);
        match self.faults.schedule[step].clone() {
            Fault::Crash { is_silent, back_ns, draw } => {
                if let Some(process) = self.draw(draw) {
                    self.crash(process, is_silent, back_ns);
                }
            }
            Fault::CrashRoot => {
                let root = { self.server.machine.iter() }
                    .flat_map(|machine| machine.runs())
                    .find_map(|view| view.root_host());
                if let Some(process) = root.and_then(|root| self.directory.get(root)) {
                    self.crash(process, false, None);
                }
            }
            Fault::CrashSite { draw, back_ns } => {
                let Some(site) = self.draw(draw).map(|process| self.processes[process as usize].plan.site)
                else {
                    return;
                };
                self.sometimes.hit("a site crashed");
                let there = |process: &crate::process::Process| process.plan.site == site;
                let hosts: Vec<ProcessIndex> =
                    self.alive().filter(|(_, process)| there(process)).map(|(index, _)| index).collect();
                for process in hosts {
                    self.crash(process, false, back_ns);
                }
            }
            Fault::CrashAll { back_ns } => {
                self.sometimes.hit("all hosts crashed");
                let hosts: Vec<ProcessIndex> = self.alive().map(|(index, _)| index).collect();
                for process in hosts {
                    self.crash(process, false, Some(back_ns));
                }
            }
            Fault::CrashCoordinator { back_ns } => {
                self.crash_coordinator();
                self.queue.push(later(back_ns), Event::Undo(Undo::RestartCoordinator));
            }
            Fault::Leave { draw } => {
                if let Some(process) = self.draw(draw) {
                    self.leave(process);
                }
            }
            Fault::Join(plan) => {
                self.add_host(plan);
            }
            Fault::Freeze { draw, for_ns } => {
                if let Some(process) = self.draw(draw) {
                    self.freeze(process);
                    self.queue.push(later(for_ns), Event::Undo(Undo::Thaw(process)));
                }
            }
            Fault::Partition { draw, for_ns, number } => {
                let (here, there) = self.divide(draw);
                self.cut(number, &here, &there);
                self.queue.push(later(for_ns), Event::Undo(Undo::Heal(number)));
            }
            Fault::Weather(weather) => {
                self.network.weather = weather;
                self.disturb();
            }
            Fault::Suspend { run, for_ns } => self.suspend_run(run, for_ns),
            Fault::Cancel(run) => {
                if matches!(self.with_coordinator(|machine| machine.cancel(now, run)), Some(Ok(()))) {
                    self.sometimes.hit("a run was cancelled");
                    self.disturb();
                }
            }
            Fault::Reset(reset) => self.reset_link(&reset),
            Fault::OneWay(fault) => self.cut_one_way(&fault),
            Fault::Stall(stall) => self.stall_coordinator(&stall),
            Fault::Disk(disk) => self.spoil_disk(&disk),
            Fault::DeadPath(fault) => self.kill_path(&fault),
            Fault::Pause(pause) => self.pause_host(&pause),
            Fault::Unable(fault) => self.make_unable(&fault),
            Fault::Unloadable(draw) => self.faults.unloadable = Some(draw),
            Fault::End(end) => self.end_by_host(&end),
            Fault::Sleep(sleep) => self.send_to_sleep(&sleep),
            Fault::Stranger(stranger) => self.dial_as_stranger(stranger),
            Fault::Neighbour(neighbour) => self.add_neighbour(neighbour),
            Fault::Rest(rest) => self.rest_host(&rest),
            Fault::Eviction(eviction) => self.evict(&eviction),
            Fault::Break(fault) => self.break_busy(&fault, step),
            Fault::Congestion(fault) => self.congest(&fault),
            Fault::Calm => self.calm(),
        }
    }

    pub(crate) fn suspend_run(&mut self, run: RunId, for_ns: u64) {
        let now = self.now;
        if matches!(self.with_coordinator(|machine| machine.suspend(now, run)), Some(Ok(()))) {
            self.sometimes.hit("a run was suspended");
            self.upset_all();
            self.disturb();
            self.queue.push(Time(now.0 + for_ns), Event::Undo(Undo::Resume(run)));
        }
    }

    pub(crate) fn crash(&mut self, process: ProcessIndex, is_silent: bool, back_ns: Option<u64>) {
        self.kill(process, is_silent);
        if let Some(back_ns) = back_ns {
            self.queue.push(Time(self.now.0 + back_ns), Event::Undo(Undo::Restart(process)));
        }
    }

    /// All faults end, and at least one host is running.
    fn calm(&mut self) {
        self.faults.unloadable = None;
        self.network.weather = Weather::default();
        let partitions: Vec<u32> = self.network.partitions.keys().copied().collect();
        for number in partitions {
            self.heal(number);
        }
        self.network.dead_paths.clear();
        self.set_rate(1);
        self.unstall_coordinator();
        self.restart_coordinator();
        self.mend_disk();
        let frozen: Vec<ProcessIndex> =
            self.alive().filter(|(_, process)| process.frozen.is_some()).map(|(index, _)| index).collect();
        for process in frozen {
            self.thaw(process);
        }
        let paused: Vec<ProcessIndex> = self.alive().map(|(index, _)| index).collect();
        for process in paused {
            self.unpause_host(process);
        }
        let quorum = self.server.runs.values().filter_map(|stored| stored.spec.trust.quorum()).max();
        let there = self.alive().filter(|(_, process)| !process.host.is_leaving()).count();
        for _ in there..quorum.unwrap_or(1) {
            let plan = HostPlan { site: 0, workers: 1, speed_percent: 100 };
            self.add_host(plan);
        }
        let all: Vec<ProcessIndex> = self.alive().map(|(index, _)| index).collect();
        for process in all {
            self.end_rest(process);
            self.mend_host_disk(process);
            self.update_host(process);
        }
        self.see_to_ability();
        self.disturb();
    }

    pub(crate) fn draw(&self, draw: u64) -> Option<ProcessIndex> {
        let up: Vec<ProcessIndex> =
            self.alive().map(|(index, _)| index).filter(|index| self.is_up(*index)).collect();
        (!up.is_empty()).then(|| up[(draw % up.len() as u64) as usize])
    }

    /// Some nodes against the others, or one host against the coordinator, or a site against the rest.
    pub(crate) fn divide(&self, draw: u64) -> (Vec<Node>, Vec<Node>) {
        let mut random = Random::new(draw);
        let mut all: Vec<Node> = self.alive().map(|(index, _)| Node::Host(index)).collect();
        let way = random.below(4);
        if way == 0 && !all.is_empty() {
            let one = all[random.below(all.len())];
            return (vec![one], vec![Node::Coordinator]);
        }
        if way == 1
            && let Some(process) = self.draw(random.next_u64())
        {
            let site = self.processes[process as usize].plan.site;
            let is_here = |node: &Node| match node {
                Node::Host(index) => self.processes[*index as usize].plan.site == site,
                Node::Coordinator => false,
            };
            all.push(Node::Coordinator);
            return all.into_iter().partition(is_here);
        }
        all.push(Node::Coordinator);
        all.into_iter().partition(|_| random.below(2) == 0)
    }
}
