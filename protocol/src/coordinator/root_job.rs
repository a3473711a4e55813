//! The first job of a run, and which hosts have it.

use std::collections::BTreeSet;

use crate::limits::SOUGHT_CHECKED_AT_ONCE_MAX;
use crate::message::{JobNote, NoteKind};
use crate::{AssignmentId, HostId, JobSpec, RunSpec, Table, Time, root_job};

use super::Standing;

/// Which host had the root job when the coordinator was stopped, until that host is back with it, or it is lost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RootBefore {
    /// None, or the root's fate is known.
    #[default]
    Nobody,
    /// This host.
    Host(HostId),
    /// Possibly an unknown host: the coordinator was stopped before it had saved the run's standing.
    Unknown,
}

impl RootBefore {
    /// According to what was saved of a run under way.
    pub fn of(standing: &Standing) -> Self {
        match standing.root_host {
            Some(host) => Self::Host(host),
            None if *standing == Standing::default() => Self::Unknown,
            None => Self::Nobody,
        }
    }

    /// The host, if it is known.
    pub fn host(self) -> Option<HostId> {
        match self {
            Self::Host(host) => Some(host),
            Self::Nobody | Self::Unknown => None,
        }
    }
}

/// A run's root job: which host has it, and which had it before and may still finish it.
pub struct RootJob {
    spec: JobSpec,
    /// The host that has it, and the number of the assignment.
    assigned: Option<(HostId, AssignmentId)>,
    /// Whether that host is known to have begun it: until then the message may be under way, or lost.
    is_begun: bool,
    /// The host that came back without it and was not known to have begun it. It may report that later.
    came_without: Option<HostId>,
    /// The host that had it when the coordinator was stopped.
    before: RootBefore,
    /// All hosts whose result counts.
    claims: BTreeSet<(HostId, AssignmentId)>,
    /// Hosts whose result counted before the run was suspended.
    outdated: BTreeSet<(HostId, AssignmentId)>,
    /// Hosts from which it was withdrawn because an earlier host came back with it.
    withdrawn: BTreeSet<(HostId, AssignmentId)>,
    next_number: u64,
    losses: u32,
    /// It is not assigned again before all hosts have recovered from this epoch, or before this time.
    settles: (u64, Time),
}

impl RootJob {
    /// Of a run that no host has begun.
    pub fn new(spec: &RunSpec, now: Time) -> Self {
        Self {
            spec: root_job(spec),
            assigned: None,
            is_begun: false,
            came_without: None,
            before: RootBefore::Nobody,
            claims: BTreeSet::new(),
            outdated: BTreeSet::new(),
            withdrawn: BTreeSet::new(),
            next_number: 0,
            losses: 0,
            settles: (0, now),
        }
    }

    /// Of a run from before a restart of the coordinator: which host had it, and how often it was lost.
    pub fn restore(&mut self, before: RootBefore, losses: u32) {
        (self.before, self.losses) = (before, losses);
    }

    // ---- getters ----

    /// The job.
    pub fn spec(&self) -> &JobSpec {
        &self.spec
    }

    /// The host that has it, and the number of the assignment.
    pub fn assigned(&self) -> Option<(HostId, AssignmentId)> {
        self.assigned
    }

    /// The host that has it.
    pub fn host(&self) -> Option<HostId> {
        self.assigned.map(|(host, _)| host)
    }

    /// Whether its host, or its last one, is known to have begun it.
    pub fn is_begun(&self) -> bool {
        self.is_begun
    }

    /// The host that has it, or had it when the coordinator was stopped.
    pub fn known_host(&self) -> Option<HostId> {
        self.host().or(self.before.host())
    }

    /// How often it was lost with its host.
    pub fn losses(&self) -> u32 {
        self.losses
    }

    /// Whether this host was assigned it, or came back with it and proved that.
    pub fn is_claimed_by(&self, host: HostId) -> bool {
        let first = self.claims.range((host, AssignmentId(0))..).next();
        first.is_some_and(|(claimant, _)| *claimant == host)
    }

    /// Whether a host's result under this number counts.
    pub fn is_claimed(&self, host: HostId, number: AssignmentId) -> bool {
        self.claims.contains(&(host, number))
    }

    /// The number of results that count, or have counted once.
    pub fn claims_len(&self) -> usize {
        self.claims.len() + self.outdated.len()
    }

    /// Whether a host was asked not to continue it under this number.
    pub fn is_withdrawn(&self, host: HostId, number: AssignmentId) -> bool {
        self.withdrawn.contains(&(host, number))
    }

    // ---- its hosts ----

    /// It is assigned to a host under a new number; returns that, and what is sent. The `table` has what was done before.
    pub fn assign(&mut self, host: HostId, table: &Table) -> (AssignmentId, JobSpec) {
        self.next_number += 1;
        let number = AssignmentId(self.next_number);
        self.assigned = Some((host, number));
        self.is_begun = false;
        self.claims.insert((host, number));
        if !self.spec.redone && !table.is_empty() {
            self.spec.redone = true;
            self.spec.given_back =
                table.iter().take(SOUGHT_CHECKED_AT_ONCE_MAX).all(|entry| entry.is_earlier);
        }
        (number, self.spec.clone())
    }

    /// A host came back with it and has proved that: its result counts.
    pub fn claim(&mut self, host: HostId, number: AssignmentId) {
        self.claims.insert((host, number));
        self.outdated.remove(&(host, number));
        self.next_number = self.next_number.max(number.0);
    }

    /// A host came back without it: a result of it does not count.
    pub fn disclaim(&mut self, host: HostId, number: AssignmentId) {
        self.claims.remove(&(host, number));
        self.came_without = (!self.is_begun).then_some(host);
    }

    /// A host that came back with it continues it.
    pub fn keep(&mut self, host: HostId, number: AssignmentId) {
        self.assigned = Some((host, number));
        self.is_begun = true;
        self.before = RootBefore::Nobody;
    }

    /// A host must not continue it: an earlier host has it.
    pub fn withdraw(&mut self, host: HostId, number: AssignmentId) {
        self.withdrawn.insert((host, number));
    }

    /// A host reports what happened to jobs: whether it has begun the root, or has stolen a job of the root from the host
    /// that has it. Returns the host that, as it turns out, had begun the root before it came back without it.
    pub fn hear(&mut self, host: HostId, notes: &[JobNote]) -> Option<HostId> {
        let root = self.spec.key.tag();
        let had_begun = |note: &JobNote| match note.what {
            NoteKind::Begun { victim: None, .. } if note.job == root => Some(host),
            NoteKind::Begun { victim, .. } if note.parent == Some(root) => victim,
            _ => None,
        };
        let mut gave_back = None;
        for begun in notes.iter().filter_map(had_begun) {
            if self.host() == Some(begun) {
                self.is_begun = true;
            } else if self.came_without == Some(begun) {
                gave_back = self.came_without.take();
            }
        }
        gave_back
    }

    /// Its host does not continue it; returns that host.
    pub fn take(&mut self) -> Option<HostId> {
        self.assigned.take().map(|(host, _)| host)
    }

    /// The host that had it when the coordinator was stopped, if it has not come back; from now on, none counts as that.
    pub fn take_before(&mut self) -> RootBefore {
        std::mem::take(&mut self.before)
    }

    /// It was lost with its host.
    pub fn lose(&mut self) {
        self.losses = self.losses.saturating_add(1);
    }

    /// The next host begins it again. `given_back`: its last host has saved what was finished.
    pub fn begin_again(&mut self, given_back: bool) {
        self.spec.redone = true;
        self.spec.given_back = given_back;
    }

    /// Results of it do not count any longer.
    pub fn forget_claims(&mut self) {
        self.outdate_claims();
        self.outdated.clear();
    }

    /// Results of it do not count any longer, but may still come, over links that are slow.
    pub fn outdate_claims(&mut self) {
        self.outdated.append(&mut self.claims);
        self.withdrawn.clear();
    }

    /// Whether a host's result under this number has counted once, and does not any longer.
    pub fn is_outdated(&self, host: HostId, number: AssignmentId) -> bool {
        self.outdated.contains(&(host, number))
    }

    // ---- when it is assigned again ----

    /// It is held back until all hosts have recovered from this epoch, but not beyond this time.
    pub fn hold_back(&mut self, epoch: u64, until: Time) {
        self.settles = (epoch, until);
    }

    /// Another host is gone, under which there may be some of it: if it is held back, then from this epoch on.
    pub fn hold_back_further(&mut self, epoch: u64) {
        if self.is_held_back() {
            self.settles.0 = epoch;
        }
    }

    /// It has been held back for long enough.
    pub fn time_out(&mut self, now: Time) {
        if now >= self.settles.1 {
            self.settles.0 = 0;
        }
    }

    /// Whether no host has it, and it is not assigned before hosts have recovered.
    pub fn is_held_back(&self) -> bool {
        self.assigned.is_none() && self.settles.0 != 0
    }

    /// When it is assigned even if hosts have not recovered.
    pub fn held_back_until(&self, has_settled: impl Fn(u64) -> bool) -> Option<Time> {
        let (epoch, until) = self.settles;
        (self.is_held_back() && !has_settled(epoch)).then_some(until)
    }

    /// Whether no host has it, and it can be assigned to one.
    pub fn is_free(&self, now: Time, has_settled: impl Fn(u64) -> bool) -> bool {
        let (epoch, until) = self.settles;
        self.assigned.is_none() && (epoch == 0 || has_settled(epoch) || now >= until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::JobTag;
    use crate::coordinator::tests::spec;

    const ONE: HostId = HostId(1);
    const OTHER: HostId = HostId(2);

    fn new() -> RootJob {
        RootJob::new(&spec(), Time(0))
    }

    #[test]
    fn results_of_all_that_have_or_had_it_count() {
        let mut root = new();
        assert_eq!((root.known_host(), root.is_claimed_by(ONE), root.claims_len()), (None, false, 0));
        let (first, begun) = root.assign(ONE, &Table::new(0));
        assert_eq!((first, begun.redone, begun.given_back), (AssignmentId(1), false, false));
        assert_eq!((root.take(), root.take()), (Some(ONE), None));
        root.begin_again(true);
        let (second, again) = root.assign(OTHER, &Table::new(0));
        assert_eq!((second, again.redone, again.given_back), (AssignmentId(2), true, true));
        assert!(root.is_claimed(ONE, first) && root.is_claimed(OTHER, second));
        assert!(root.is_claimed_by(ONE) && !root.is_claimed(ONE, second));
        root.disclaim(ONE, first);
        assert!(!root.is_claimed_by(ONE) && root.is_claimed_by(OTHER));
        root.withdraw(OTHER, second);
        assert!(root.is_withdrawn(OTHER, second));
        root.outdate_claims();
        assert!(!root.is_claimed_by(OTHER) && !root.is_withdrawn(OTHER, second));
        assert!(root.is_outdated(OTHER, second) && !root.is_outdated(ONE, first));
        root.claim(OTHER, second);
        assert!(!root.is_outdated(OTHER, second), "it came back with it");
        root.forget_claims();
        assert_eq!((root.claims_len(), root.is_outdated(OTHER, second)), (0, false));
        assert_eq!(root.assigned(), Some((OTHER, second)), "it is still known");
    }

    /// It came back without the root, and reports later what it did before its link broke; or a thief of it does.
    #[test]
    fn a_host_whose_report_arrives_late_had_begun_it() {
        let tag = new().spec().key.tag();
        let note = |job, parent, victim| {
            let (what, parameters) = (NoteKind::Begun { victim, redone: false, worker: 0 }, None);
            JobNote { job, parent, kind: 0, depth: 0, what, ago_ms: 0, parameters, shares: false }
        };
        let own = (ONE, note(tag, None, None));
        let of_its_thief = (OTHER, note(JobTag(3), Some(tag), Some(ONE)));
        for (host, note) in [own, of_its_thief] {
            let notes = [note];
            let mut root = new();
            let (number, _) = root.assign(ONE, &Table::new(0));
            assert_eq!((root.hear(host, &notes), root.is_begun()), (None, true));
            root.take();
            root.assign(ONE, &Table::new(0));
            assert!(!root.is_begun(), "this message may be lost");
            root.disclaim(ONE, number);
            root.take();
            root.assign(OTHER, &Table::new(0));
            assert_eq!((root.hear(host, &notes), root.hear(host, &notes)), (Some(ONE), None), "once");
            assert!(!root.is_begun(), "the other has not begun it");
        }
    }

    #[test]
    fn numbers_follow_those_that_hosts_come_back_with() {
        let mut root = new();
        root.claim(ONE, AssignmentId(7));
        root.claim(OTHER, AssignmentId(3));
        root.keep(ONE, AssignmentId(7));
        assert_eq!(root.assigned(), Some((ONE, AssignmentId(7))));
        assert_eq!(root.assign(OTHER, &Table::new(0)).0, AssignmentId(8));
    }

    #[test]
    fn the_host_from_before_a_restart_is_known_until_it_is_back_or_lost() {
        let had = |root_host| Standing { root_host, under_way_ms: 1, ..Standing::default() };
        let cases = [
            (had(Some(ONE)), RootBefore::Host(ONE)),
            (had(None), RootBefore::Nobody),
            (Standing::default(), RootBefore::Unknown),
        ];
        for (standing, expected) in cases {
            let before = RootBefore::of(&standing);
            assert_eq!(before, expected);
            let mut root = new();
            root.restore(before, 4);
            assert_eq!((root.host(), root.known_host()), (None, before.host()));
            assert_eq!((root.take_before(), root.take_before()), (before, RootBefore::Nobody));
            root.lose();
            assert_eq!((root.losses(), root.known_host()), (5, None));
            root.restore(before, u32::MAX);
            root.keep(OTHER, AssignmentId(1));
            root.lose();
            assert_eq!((root.take_before(), root.known_host()), (RootBefore::Nobody, Some(OTHER)));
            assert_eq!(root.losses(), u32::MAX);
        }
    }

    #[test]
    fn it_is_held_back_until_hosts_have_recovered_or_had_their_time() {
        let (never, always) = (|_| false, |_| true);
        let mut root = new();
        root.hold_back_further(3);
        assert!(!root.is_held_back() && root.is_free(Time(0), never), "nothing went before it was begun");
        root.hold_back(2, Time(9));
        assert_eq!((root.is_free(Time(8), never), root.is_free(Time(8), always)), (false, true));
        assert_eq!((root.held_back_until(never), root.held_back_until(always)), (Some(Time(9)), None));
        root.hold_back_further(5);
        assert!(root.is_free(Time(8), |epoch| epoch == 5) && root.is_free(Time(9), never));
        root.time_out(Time(8));
        assert!(root.is_held_back());
        root.time_out(Time(9));
        assert!(!root.is_held_back() && root.held_back_until(never).is_none());
        root.hold_back(6, Time(20));
        root.assign(ONE, &Table::new(0));
        root.hold_back_further(7);
        assert!(!root.is_held_back() && !root.is_free(Time(30), always), "a host has it");
    }
}
