//! Why nothing happens with a run, for people.

use crate::limits::RUNS_ACTIVE_MAX;
use crate::parcel::Contents;
use crate::{RunId, RunState};

use super::run::CoordinatorRun;
use super::{Coordinator, Waiting};

impl Coordinator {
    /// Why nothing happens with a run, for people, with details.
    pub(super) fn reason_to_wait(&self, run: RunId) -> Option<(String, Option<Waiting>)> {
        let is_result =
            |contents: &Contents| matches!(contents, Contents::RootFinished { run: of, .. } if *of == run);
        if let Some((from, bytes, total)) = self.incoming.find(is_result) {
            let why = "its result is on its way to the coordinator".to_owned();
            return Some((why, Some(Waiting::Result { from, bytes, total })));
        }
        let coordinator_run = self.runs.get(&run)?;
        if let Some(why) = self.reason_to_check(coordinator_run) {
            return Some((why, None));
        }
        if !matches!(coordinator_run.state, RunState::Queued | RunState::Running)
            || coordinator_run.root.assigned().is_some()
        {
            return None;
        }
        if self.missing.is_awaiting() {
            let why = "the coordinator was started again and waits for its hosts".to_owned();
            return Some((why, None));
        }
        if let Some(why) = self.reason_to_rest(run) {
            return Some((why, None));
        }
        if !coordinator_run.turn.is_active() {
            let why = format!(
                "{RUNS_ACTIVE_MAX} other runs are under way, the most at a time, and this one waits its turn"
            );
            return Some((why, Some(Waiting::Turn)));
        }
        Some((self.reason_of_hosts(run, coordinator_run), None))
    }

    /// Why no host has begun a run that was given to all.
    fn reason_of_hosts(&self, run: RunId, coordinator_run: &CoordinatorRun) -> String {
        let Some(host) = self.hosts.values().next() else {
            return "no host is connected; start one with `sateen-host`".to_owned();
        };
        if self.working.is_empty() {
            let reason = host.paused.clone().unwrap_or_default();
            return format!("all hosts are paused ({} says: {reason})", host.report.name);
        }
        match self.why_unable(run) {
            Some(why) => why,
            None if !coordinator_run.readiness.ready().is_empty() => {
                "hosts report what they still have of the run before it begins again".to_owned()
            }
            None => "hosts load the app".to_owned(),
        }
    }
}
