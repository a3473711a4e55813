//! Runs that stand still because hosts do not answer: those with the jobs that are under way.

use std::collections::BTreeMap;

use sateen_protocol::coordinator::RunView;
use sateen_protocol::{HostId, RunId, RunState, Time};

use super::Driver;
use crate::chronicle::{Chronicle, Silent};

/// The runs that stand still.
#[derive(Debug, Default)]
pub struct Standstills {
    of: BTreeMap<RunId, Standstill>,
}

/// Why a run stands still.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Standstill {
    /// A host that does not answer: the one with the root job, if it is one of them.
    host: HostId,
    has_root: bool,
    /// The number of others that do not answer.
    others: usize,
    /// When its last report came.
    since: Time,
}

/// Hosts of a run that have something to do and do not answer, and how many workers computed there when they last did.
#[derive(Debug, Default)]
pub struct SilentHosts {
    /// The hosts.
    pub all: Vec<Silent>,
    /// Workers.
    pub busy: u32,
}

impl Standstills {
    /// A host reports what it does for a run; returns whether the run no longer stands still.
    pub fn reported(&mut self, run: RunId, host: HostId) -> bool {
        let was_missing = self.of.get(&run).is_some_and(|silence| silence.host == host);
        was_missing && self.of.remove(&run).is_some()
    }

    /// A host has gone.
    pub fn gone(&mut self, host: HostId) {
        self.of.retain(|_, silence| silence.host != host);
    }

    /// The run is over, or begins anew.
    pub fn forget(&mut self, run: RunId) {
        self.of.remove(&run);
    }
}

impl Standstill {
    fn of(host: &Silent, root: Option<HostId>, others: usize, (now, now_ms): (Time, u32)) -> Self {
        let ago_ns = u64::from(now_ms.saturating_sub(host.since_ms)) * 1_000_000;
        let since = Time(now.0.saturating_sub(ago_ns));
        Self { host: host.host, has_root: root == Some(host.host), others, since }
    }

    /// Which hosts are silent, in a sentence that ends with `one` or, for several hosts, with `several`.
    fn sentence(&self, name: &str, one: &str, several: &str) -> String {
        let what = if self.has_root { "which has the root job" } else { "which has jobs that are under way" };
        match self.others {
            0 => format!("host {name}, {what}, {one}"),
            1 => format!("host {name}, {what}, and another host {several}"),
            others => format!("host {name}, {what}, and {others} more hosts {several}"),
        }
    }
}

impl Driver {
    /// Hosts of a run that have something to do and do not answer. None while the coordinator itself could not hear them.
    pub(super) fn silent_hosts(
        &self,
        view: &RunView<'_>,
        chronicle: &Chronicle,
        is_deaf: bool,
    ) -> SilentHosts {
        let mut silent = SilentHosts::default();
        if is_deaf || !matches!(view.state(), RunState::Running | RunState::Suspending) {
            return silent;
        }
        let root = view.root_host();
        for host in chronicle.silent_hosts() {
            // Its workers may compute for other runs, so that it has nothing to report of this one.
            if self.hosts.reports.are_recent(host.host, self.clock.now()) {
                continue;
            }
            let row = view.by_host_from(host.host).next().filter(|(found, ..)| *found == host.host);
            let Some((_, is_there, counts)) = row else { continue };
            silent.busy = silent.busy.saturating_add(counts.busy);
            // It may have begun a job, or waited for others' results, since it last reported.
            let has_jobs = counts.busy > 0 || root == Some(host.host) || chronicle.has_jobs_at(host.host);
            if is_there && has_jobs {
                silent.all.push(host);
            }
        }
        silent
    }

    /// Finds out whether a run stands still because of these hosts, and notes it in its chronicle.
    pub(super) fn note_silent(&mut self, run: RunId, silent: &SilentHosts) {
        let found = self.machine.run(run).and_then(|view| {
            let is_still = view.counts().busy <= silent.busy && view.waiting_for.is_none();
            let root = view.root_host();
            let first = silent.all.iter().max_by_key(|host| root == Some(host.host)).filter(|_| is_still)?;
            let now_ms = crate::locked(&*self.chronicles.get(run)?).now_ms();
            Some(Standstill::of(first, root, silent.all.len() - 1, (self.clock.now(), now_ms)))
        });
        match found {
            Some(standstill) => {
                self.rounds.standstills.of.insert(run, standstill);
            }
            None => self.rounds.standstills.forget(run),
        }
        let still = self.why_still(run).map(|(_, reason)| reason);
        self.record(run, |chronicle| {
            chronicle.note_silent(&silent.all);
            if let Some(reason) = still {
                chronicle.stands_still(&silent.all, &reason);
            }
        });
    }

    /// The name of a host as the run's pages have it: with its id, if the run had another host of that name.
    pub(super) fn label_in(&self, run: RunId, host: HostId) -> String {
        let known = self.chronicles.get(run).and_then(|chronicle| crate::locked(&chronicle).label_of(host));
        known.unwrap_or_else(|| self.hosts.name_of(host).name.clone())
    }

    /// Why a run stands still, if hosts do not answer: with and without the time.
    pub(super) fn why_still(&self, run: RunId) -> Option<(String, String)> {
        let silence = self.rounds.standstills.of.get(&run)?;
        let name = self.label_in(run, silence.host);
        let for_s = self.clock.now().since(silence.since).as_secs();
        let why = silence.sentence(&name, &format!("has not answered for {for_s} s"), "do not answer");
        Some((why, silence.sentence(&name, "does not answer", "do not answer")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_with_the_root_job_is_named_until_it_reports_or_is_gone() {
        let silent = Silent { host: HostId(1), since_ms: 1_000 };
        let of = |root, others| Standstill::of(&silent, root, others, (Time(9_000_000_000), 4_000));
        let root = of(Some(HostId(1)), 0);
        assert_eq!(root.since, Time(6_000_000_000));
        assert_eq!(root.sentence("b", "is silent", ""), "host b, which has the root job, is silent");
        let other = of(Some(HostId(2)), 2);
        let expected = "host b, which has jobs that are under way, and 2 more hosts are silent";
        assert_eq!(other.sentence("b", "", "are silent"), expected);
        let mut standstills = Standstills::default();
        standstills.of.insert(RunId(1), root);
        assert!(!standstills.reported(RunId(1), HostId(2)) && !standstills.reported(RunId(2), HostId(1)));
        standstills.gone(HostId(2));
        assert!(standstills.reported(RunId(1), HostId(1)) && standstills.of.is_empty());
        standstills.of.insert(RunId(1), root);
        standstills.gone(HostId(1));
        assert!(standstills.of.is_empty());
    }
}
