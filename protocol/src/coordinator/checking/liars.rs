//! What becomes of owners that are proven to lie.

use crate::message::Departure;
use crate::{HostId, RunId, Time};

use super::super::Coordinator;
use super::super::run::CoordinatorRun;
use super::super::validation::Validation;

impl Coordinator {
    /// The hosts of owners that have been proven to lie since the last call take no further part in the run.
    pub(super) fn cut_liars_off(&mut self, now: Time, run: RunId) {
        let caught = self.validation(run).map(Validation::take_caught);
        for owner in caught.into_iter().flatten() {
            self.over.standings.fall(&owner);
            let is_its = |host: &HostId| self.owner_of(*host) == Some(owner);
            let hosts: Vec<HostId> = self.host_ids().filter(is_its).collect();
            for host in hosts {
                self.cut_off(now, run, host);
            }
        }
    }

    /// Whether the owner of a host is proven to have given a wrong result of a run.
    pub(in crate::coordinator) fn has_lied(&self, host: HostId, run: RunId) -> bool {
        let validation = self.runs.get(&run).and_then(|run| run.validation.as_deref());
        validation.zip(self.owner_of(host)).is_some_and(|(validation, owner)| validation.is_liar(&owner))
    }

    /// A host checks nothing of a run any more. While that is computed, the host counts as crashed, so that others do its jobs and
    /// wait for none of its results, whatever it says. It may come back, and is not given the run.
    fn cut_off(&mut self, now: Time, run: RunId, host: HostId) {
        if let Some((owner, checks, _)) = self.stop_checker(run, host)
            && let Some(validation) = self.validation(run)
        {
            checks.iter().for_each(|unit| validation.end_check(unit, &owner));
        }
        let Some(state) = self.hosts.get(&host) else { return };
        let has_run = state.given.contains_key(&run);
        if !has_run || self.runs.get(&run).is_none_or(CoordinatorRun::is_checking) {
            return;
        }
        if let Some(link) = state.link {
            self.links.forget(link);
            self.close(link, "it gave a wrong result of a job".to_owned());
        }
        self.give_up(now, host, Departure::Crashed);
    }
}
