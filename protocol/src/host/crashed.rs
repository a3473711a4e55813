//! The end of a run's runtime that nobody wanted: the process of its guests crashed, say.

use crate::message::ToCoordinator;
use crate::{RunId, Table, Time};

use super::Host;
use super::stage::Stage;

impl Host {
    /// The runtime is gone, and its jobs are lost. Hosts that wait for their results do them again, as do the owners of jobs
    /// that others have of this host; those continue as orphans. The run begins here again with another runtime, which
    /// finds the entries that were saved. Nothing is shared with the runtime before: the state in the run begins anew as if
    /// the run was given to this host again.
    pub(super) fn on_crashed(&mut self, now: Time, run: RunId, reason: String) {
        let Some(host_run) = self.runs.get_mut(&run) else { return };
        match host_run.stage {
            Stage::Unable => return,
            Stage::Draining { .. } | Stage::Drained => {
                self.give_up_jobs(run);
                if let Some(host_run) = self.runs.get_mut(&run) {
                    host_run.stage = Stage::Drained;
                }
                self.flush(now, run);
                self.finish_suspending(now, run);
                return self.say_goodbye(now);
            }
            Stage::Loading | Stage::Ready => {}
        }
        let spec = host_run.spec.clone();
        let has_root = host_run.held.roots().next().is_some();
        self.flush(now, run);
        self.give_up_jobs(run);
        self.report_last(now, run);
        if has_root {
            // The root job is assigned again, perhaps to this host: it holds the job until it has loaded the run.
            self.tell_coordinator(ToCoordinator::Unready { run, reason });
            self.tell_coordinator(ToCoordinator::Ready { run });
        }
        let former = self.runs.get_mut(&run).map(|run| std::mem::replace(&mut run.table, Table::new(0)));
        self.stop_run(run, false);
        self.on_start(now, run, spec);
        if let (Some(host_run), Some(table)) = (self.runs.get_mut(&run), former) {
            host_run.table = table;
        }
    }
}
