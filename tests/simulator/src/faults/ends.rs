//! Runs that end because of a host's report: a limit was met, or a job failed beyond catching.

use sateen_protocol::host::Notice;
use sateen_protocol::{JobFailure, Random, RunEnd, RunId, Time};

use crate::event::{Event, ProcessIndex};
use crate::process::Input;
use crate::world::World;

/// A host ends a run.
#[derive(Debug, Clone)]
pub struct End {
    draw: u64,
    run: RunId,
    is_limit: bool,
    /// Whether the host's link breaks just before, so that it cannot report the end at once.
    is_cut: bool,
}

/// Time after which the coordinator notices that such a link is broken.
const NOTICED_NS: u64 = 50_000_000;

/// Reports of hosts that end runs.
#[derive(Debug, Default)]
pub struct Said {
    limits: Vec<RunId>,
    failures: Vec<RunId>,
}

impl Said {
    /// Whether a run may end in this way, given the hosts' reports.
    pub fn allows(&self, run: RunId, end: &RunEnd) -> bool {
        match end {
            RunEnd::Limit(_) => self.limits.contains(&run),
            RunEnd::Failed(_) => self.failures.contains(&run),
            _ => false,
        }
    }
}

pub(crate) fn draw(runs: u64, random: &mut Random) -> End {
    let run = RunId(1 + random.below(runs as usize) as u64);
    let draw = random.next_u64();
    End { draw, run, is_limit: random.below(2) == 0, is_cut: (draw >> 32).is_multiple_of(2) }
}

impl World {
    pub(crate) fn end_by_host(&mut self, fault: &End) {
        let Some(index) = self.draw(fault.draw) else { return };
        if !self.processes[index as usize].runtime.portions.contains_key(&fault.run) {
            return;
        }
        if fault.is_cut
            && let Some(link) = self.processes[index as usize].uplink.link()
        {
            self.network.link_mut(link).is_dead = true;
            self.queue.push(Time(self.now.0 + NOTICED_NS), Event::CoordinatorClosed(link));
            self.happen(Event::HostClosed(index, link));
        }
        self.upset(index);
        self.say_end(index, fault.run, fault.is_limit);
        self.disturb();
    }

    /// A host says that a run must end, as a limit was exceeded or a job failed beyond catching.
    pub fn say_end(&mut self, index: ProcessIndex, run: RunId, is_limit: bool) {
        let state = &mut self.processes[index as usize];
        // This host no longer computes the run.
        state.runtime.halt(self.now, run);
        let is_reachable = state.host.is_connected();
        let notice = if is_limit {
            self.sometimes.hit("a run met a limit");
            self.faults.said.limits.push(run);
            Notice::Limit("the time is over".to_owned())
        } else {
            self.sometimes.hit("a job failed beyond catching");
            self.faults.said.failures.push(run);
            let (job, message) = ("job".to_owned(), "it broke the ABI".to_owned());
            Notice::Failed(JobFailure { job, message, backtrace: Vec::new() })
        };
        if !is_reachable {
            self.sometimes.hit("a run's end could not be said at once");
        }
        self.processes[index as usize].inputs.push_back(Input::Notice(run, notice));
        self.settle_host(index);
    }
}
