//! Lost jobs whose fate is unknown, and the other work to do after hosts are gone.

use std::collections::{BTreeMap, BTreeSet};

use crate::limits::EARLY_WANTS_MAX;
use crate::{HostId, JobKey, JobSpec, RuntimeJobId, Time};

use super::lookups::Lookups;

/// A lost or looked-up job of the runtime whose fate is unknown.
#[derive(Debug)]
pub struct Unresolved {
    pub spec: JobSpec,
    pub since: Time,
    /// The host that was asked for its result; `None` while the coordinator searches for entries.
    pub wanted_from: Option<HostId>,
    /// The host that had the job when it was lost. If that host was only cut off, it still runs the job.
    pub thief: Option<HostId>,
}

impl Unresolved {
    /// A job for whose entries the coordinator searches; it was lost with this host, or is looked up.
    pub fn searched(now: Time, spec: JobSpec, thief: Option<HostId>) -> Self {
        Self { spec, since: now, wanted_from: None, thief }
    }
}

/// How far a host has got with announcing its entries again.
#[derive(Debug, Clone, Copy)]
pub struct Announced {
    /// The work and the key of the last announced entry.
    pub place: Option<(u64, JobKey)>,
    pub count: usize,
}

/// The work to do in one run after hosts are gone.
#[derive(Debug)]
pub struct Recovery {
    /// The key of the root job, which can be computed from what all hosts know.
    root: JobKey,
    /// By the runtime's numbers.
    unresolved: BTreeMap<RuntimeJobId, Unresolved>,
    /// Those of jobs whose thieves are there and have given this host up: nothing is lost unless they are redone.
    doubted: BTreeSet<RuntimeJobId>,
    /// Hosts that are gone and that entries in the table may still name.
    forgetting: BTreeSet<HostId>,
    /// How far the host has got with announcing its entries again, while it does so.
    announced: Option<Announced>,
    /// Results for which hosts have asked while this host loads the run, and with it those that it has saved.
    wanted_early: BTreeSet<(HostId, JobKey)>,
    /// The entries that jobs that are run again may find.
    pub lookups: Lookups,
}

impl Recovery {
    /// Of a run with this root job.
    pub fn new(root: JobKey) -> Self {
        Self {
            root,
            unresolved: BTreeMap::new(),
            doubted: BTreeSet::new(),
            forgetting: BTreeSet::new(),
            announced: None,
            wanted_early: BTreeSet::new(),
            lookups: Lookups::default(),
        }
    }

    /// Whether this is the root job. Only the coordinator says what has become of it: its result is that of the run.
    pub fn is_root(&self, key: &JobKey) -> bool {
        *key == self.root
    }

    // ---- jobs whose fate is unknown ----

    /// A job is lost or looked up, and a host or the coordinator was asked for its fate.
    pub fn begin(&mut self, number: RuntimeJobId, unresolved: Unresolved) {
        self.unresolved.insert(number, unresolved);
    }

    /// The fate of a job is known, or no longer matters.
    pub fn end(&mut self, number: RuntimeJobId) -> Option<Unresolved> {
        self.unresolved.remove(&number)
    }

    /// The fate of all jobs no longer matters.
    pub fn end_all(&mut self) {
        self.unresolved.clear();
        self.doubted.clear();
    }

    /// The thief of this job is there, and does not know any more whose job it is.
    pub fn doubt(&mut self, number: RuntimeJobId) {
        self.doubted.insert(number);
    }

    /// The fate of a job is known, or no longer matters. Returns whether it was doubted.
    pub fn end_doubt(&mut self, number: RuntimeJobId) -> bool {
        self.doubted.remove(&number)
    }

    /// The number of unresolved jobs.
    pub fn unresolved_len(&self) -> usize {
        self.unresolved.len()
    }

    /// All unresolved jobs.
    pub fn unresolved(&self) -> impl Iterator<Item = (RuntimeJobId, &Unresolved)> {
        self.unresolved.iter().map(|(number, unresolved)| (*number, unresolved))
    }

    /// The unresolved jobs about which this host was asked, or for `None` the coordinator.
    pub fn wanted_from(&self, host: Option<HostId>) -> impl Iterator<Item = (RuntimeJobId, &Unresolved)> {
        self.unresolved().filter(move |(_, unresolved)| unresolved.wanted_from == host)
    }

    /// The numbers of those among them that are equal to the job `key`.
    pub fn wanted_of(&self, host: Option<HostId>, key: JobKey) -> impl Iterator<Item = RuntimeJobId> {
        let equal = self.wanted_from(host).filter(move |(_, unresolved)| unresolved.spec.key == key);
        equal.map(|(number, _)| number)
    }

    // ---- results for which others ask ----

    /// A host asks for a result while the run is being loaded. Returns false if too many wait for an answer.
    pub fn want_early(&mut self, host: HostId, job: JobKey) -> bool {
        if self.wanted_early.len() >= EARLY_WANTS_MAX {
            return false;
        }
        self.wanted_early.insert((host, job));
        true
    }

    /// Those that wait for an answer, which they get now.
    pub fn take_wanted_early(&mut self) -> BTreeSet<(HostId, JobKey)> {
        std::mem::take(&mut self.wanted_early)
    }

    /// How many there are.
    pub fn wanted_early_len(&self) -> usize {
        self.wanted_early.len()
    }

    // ---- entries of hosts that are gone ----

    /// A host is gone, and the table may have more entries that name it.
    pub fn forget_later(&mut self, host: HostId) {
        self.forgetting.insert(host);
    }

    /// The next such host.
    pub fn next_to_forget(&self) -> Option<HostId> {
        self.forgetting.first().copied()
    }

    /// No entry names that host any more, or it is back.
    pub fn stop_forgetting(&mut self, host: HostId) {
        self.forgetting.remove(&host);
    }

    // ---- entries to announce again ----

    /// How far the host has got with announcing its entries again.
    pub fn announced(&self) -> Option<Announced> {
        self.announced
    }

    /// Records how far the host has got; `None` if it is done.
    pub fn note_announced(&mut self, announced: Option<Announced>) {
        self.announced = announced;
    }

    /// All entries are to be announced again.
    pub fn announce_all(&mut self) {
        self.announced = Some(Announced { place: None, count: 0 });
    }

    /// Whether there is work left for further events.
    pub fn has_more_to_do(&self) -> bool {
        self.announced.is_some() || !self.forgetting.is_empty() || self.lookups.expects_more()
    }
}

#[cfg(test)]
mod tests {
    use super::super::bonds::{job, unresolved};
    use super::*;

    const PEER: HostId = HostId(20);

    #[test]
    fn unresolved_jobs_are_found_by_the_host_that_was_asked() {
        let mut recovery = Recovery::new(job(9).key);
        for (number, of, wanted_from) in [(1, 7, None), (2, 7, Some(PEER)), (3, 8, Some(PEER)), (4, 8, None)]
        {
            recovery.begin(RuntimeJobId(number), unresolved(job(of), wanted_from));
        }
        let numbers =
            |found: &mut dyn Iterator<Item = RuntimeJobId>| found.map(|number| number.0).collect::<Vec<_>>();
        let of_peer = numbers(&mut recovery.wanted_from(Some(PEER)).map(|(number, _)| number));
        assert_eq!(of_peer, [2, 3]);
        assert_eq!(numbers(&mut recovery.wanted_of(Some(PEER), job(7).key)), [2]);
        assert_eq!(numbers(&mut recovery.wanted_of(None, job(8).key)), [4]);
        assert_eq!(recovery.wanted_of(Some(HostId(21)), job(8).key).count(), 0);
        assert_eq!(recovery.end(RuntimeJobId(2)).map(|unresolved| unresolved.spec), Some(job(7)));
        assert!(recovery.end(RuntimeJobId(2)).is_none());
        assert_eq!((recovery.unresolved_len(), recovery.unresolved().count()), (3, 3));
        recovery.end_all();
        assert_eq!(recovery.unresolved_len(), 0);
    }

    #[test]
    fn work_is_left_until_all_of_it_is_done() {
        let mut recovery = Recovery::new(job(9).key);
        assert!(!recovery.has_more_to_do());
        recovery.forget_later(PEER);
        assert!(recovery.has_more_to_do() && recovery.next_to_forget() == Some(PEER));
        recovery.stop_forgetting(PEER);
        assert!(!recovery.has_more_to_do() && recovery.next_to_forget().is_none());
        recovery.announce_all();
        assert!(
            recovery.has_more_to_do() && recovery.announced().is_some_and(|announced| announced.count == 0)
        );
        recovery.note_announced(None);
        assert!(!recovery.has_more_to_do());
        recovery.lookups = Lookups::of(&[], &[], &[job(1).key.tag()]);
        assert!(recovery.has_more_to_do());
    }
}
