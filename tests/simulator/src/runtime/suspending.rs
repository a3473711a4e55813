//! What a host's runtime loses as runs are suspended.

use sateen_protocol::host::RunCommand;
use sateen_protocol::{JobSpec, RunId, RuntimeJobId, Time};

use super::{Runtime, Suspended, Worker};

impl Runtime {
    /// Passes a command to the part of a run that is being suspended. Hosts drop it one after the other, and a job is aborted if its owner
    /// was faster: what it loses is lost by the suspension.
    pub fn handle_at_rest(
        &mut self,
        now: Time,
        run: RunId,
        command: RunCommand,
    ) -> Vec<(RuntimeJobId, JobSpec)> {
        let before_ns = self.unsaved_ns(now, run);
        let offered = self.handle(now, run, command);
        let lost_ns = before_ns.saturating_sub(self.unsaved_ns(now, run));
        self.dropped.note_suspended(run, lost_ns);
        offered
    }

    /// The work of a run that was suspended.
    pub fn suspended(&self, run: RunId) -> Suspended {
        self.dropped.suspended(run)
    }

    /// The work done here for a run that is part of no recorded result, with that of unfinished stretches.
    pub(super) fn unsaved_ns(&self, now: Time, run: RunId) -> u64 {
        let of_run = |worker: &&Worker| worker.running.is_some_and(|(other, _)| other == run);
        let stretches = self.workers.iter().filter(of_run).filter_map(|worker| worker.stretch);
        let under_way_ns: u64 = stretches.map(|stretch| self.done_of(stretch, self.stops.until(now))).sum();
        under_way_ns + self.portions.get(&run).map_or(0, |portion| portion.unsaved_ns())
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use sateen_protocol::{HeldId, HostId, JobSpec, ROOT_KIND, RunSpec};

    use super::super::Dropping;
    use super::*;
    use crate::tree::{Tree, TreePlan};

    const RUN: RunId = RunId(1);
    const HELD: HeldId = HeldId(1);

    /// A runtime that has run a root for a while, and how much it has done.
    fn under_way(now: Time) -> (Runtime, u64) {
        let plan = TreePlan { seed: 7, jobs: 100, work_ns: 1_000_000_000, ..TreePlan::default() };
        let tree = Rc::new(Tree::new(&plan));
        let mut runtime = Runtime::new(1, 100, 0);
        runtime.start(Time(0), (RUN, HostId(1)), RunSpec::new(tree.app()), Rc::clone(&tree));
        let spec = JobSpec::new(tree.keys().key(&[]), ROOT_KIND, Vec::new());
        runtime.handle(Time(0), RUN, RunCommand::Inject { held: HELD, spec, was_begun: false });
        runtime.dispatch(Time(0));
        let done_ns = runtime.executed(now)[&RUN];
        assert!(done_ns > 0);
        (runtime, done_ns)
    }

    #[test]
    fn a_job_that_is_aborted_as_its_owner_was_suspended_before_is_lost_by_that() {
        let now = Time(1_000);
        for is_aborted in [false, true] {
            let (mut runtime, done_ns) = under_way(now);
            if is_aborted {
                runtime.handle_at_rest(now, RUN, RunCommand::Abort { held: HELD });
            }
            runtime.stop(now, RUN, Dropping::Suspended);
            let all = Suspended { executed_ns: done_ns, unsaved_ns: done_ns };
            assert_eq!(runtime.suspended(RUN), all, "{is_aborted}");
        }
    }
}
