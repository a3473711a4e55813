//! Hosts that cannot load an app, or cannot continue a run, or whose guests' process ends.

use sateen_protocol::host::Notice;
use sateen_protocol::{Random, RunId};

use crate::event::ProcessIndex;
use crate::process::{HostPlan, Input};
use crate::runtime::Dropping;
use crate::world::World;

/// The reason of guests that crash. A host with the root job gives it back for this reason, and takes part again.
pub const KILLED: &str = "somebody killed it";

/// A host cannot handle a run as others can.
#[derive(Debug, Clone)]
pub struct Unable {
    draw: u64,
    run: RunId,
    /// Every present host.
    is_all: bool,
    /// The run's guests end, and begin anew.
    is_crash: bool,
}

pub(crate) fn draw(runs: u64, random: &mut Random) -> Unable {
    let run = RunId(1 + random.below(runs as usize) as u64);
    let (draw, is_all) = (random.next_u64(), random.below(4) == 0);
    Unable { draw, run, is_all, is_crash: random.below(2) == 0 }
}

impl World {
    pub(crate) fn make_unable(&mut self, fault: &Unable) {
        let hosts = match fault.is_all {
            true => self.alive().map(|(index, _)| index).filter(|index| self.is_up(*index)).collect(),
            false => Vec::from_iter(self.draw(fault.draw)),
        };
        for index in hosts {
            if fault.is_crash {
                self.crash_guests(index, fault.run);
                continue;
            }
            let state = &mut self.processes[index as usize];
            if !state.apps.forbid(fault.run) {
                continue;
            }
            self.disturbances.upset(state.plan.workers_by_speed());
            // A run that is still being loaded will not load; a running one stops.
            if state.runtime.portions.contains_key(&fault.run) {
                self.sometimes.hit("a host could not continue with a run");
                let notice = Notice::Unable("memory cannot be mapped".to_owned());
                state.inputs.push_back(Input::Notice(fault.run, notice));
                self.settle_host(index);
            }
            self.disturb();
        }
    }

    /// The guests of a run end on a host, and nothing that they have not said is known of them.
    fn crash_guests(&mut self, index: ProcessIndex, run: RunId) {
        let now = self.now;
        let state = &mut self.processes[index as usize];
        if state.runtime.stop(now, run, Dropping::Departed).is_none() {
            return;
        }
        self.sometimes.hit("the guests of a run crashed");
        self.disturbances.upset(state.plan.workers_by_speed());
        state.inputs.push_back(Input::Notice(run, Notice::Crashed(KILLED.to_owned())));
        self.settle_host(index);
        self.disturb();
    }

    /// Whether a host keeps loading a run, and does not finish until all faults end. Some of the hosts that cannot
    /// load it say so instead.
    pub(crate) fn is_loading_for_ever(&mut self, process: ProcessIndex, run: RunId) -> bool {
        let Some(draw) = self.faults.unloadable else { return false };
        if Random::new(draw ^ run.0).below(8) == 0 {
            return false;
        }
        let state = &mut self.processes[process as usize];
        if Random::new(draw ^ run.0 ^ (u64::from(process) << 32)).below(2) == 0 {
            state.apps.forbid(run);
            return false;
        }
        if state.apps.is_loading(run) {
            let view = self.server.machine.as_ref().and_then(|machine| machine.run(run));
            if view.is_some_and(|view| view.turns_given_up() > 0) {
                self.sometimes.hit("a run gave its turn up while a host was loading it");
            }
            return true;
        }
        false
    }

    /// Ensures that some host can run each unfinished run.
    pub(crate) fn see_to_ability(&mut self) {
        let stuck = self.server.runs.iter().any(|(run, stored)| {
            let is_able =
                |process: &crate::process::Process| !process.host.is_leaving() && process.apps.allow(*run);
            stored.end.is_none() && !self.alive().any(|(_, process)| is_able(process))
        });
        if stuck {
            self.add_host(HostPlan { site: 0, workers: 1, speed_percent: 100 });
        }
    }
}
