//! Hostile, unlucky and returning hosts.

use std::collections::BTreeMap;

use super::*;
use crate::limits::{CIRCLE, COORDINATOR_TABLE_BYTES_MAX, PLACE_KEPT_MIN};
use crate::message::{HostReport, RootClaim, ToCoordinator};
use crate::{AssignmentId, BlobHash, Finished, GridId, JobFailure, Outcome, RunEnd, RunSpec, RunState};

const RUN: RunId = RunId(1);

pub fn spec() -> RunSpec {
    RunSpec { record_every_ms: 100, ..RunSpec::new(BlobHash([7; 32])) }
}

/// A coordinator, what it has sent on each link, and how runs ended.
pub struct Grid {
    pub machine: Coordinator,
    pub now: Time,
    pub said: BTreeMap<LinkId, Vec<ToHost>>,
    pub ends: Vec<(RunId, RunEnd)>,
    pub closed: Vec<(LinkId, String)>,
    links: u64,
}

/// What was reported to a host about itself.
pub type Identity = (HostId, u64, GridId);

impl Grid {
    pub fn new() -> Self {
        Self::of(false, Vec::new())
    }

    pub fn of(restarted: bool, runs: Vec<StoredRun>) -> Self {
        let config = CoordinatorConfig {
            grid: GridId(7),
            secret: [7; 32],
            seed: 3 + u64::from(restarted),
            table_bytes_max: COORDINATOR_TABLE_BYTES_MAX,
            circle: CIRCLE,
            place_kept: PLACE_KEPT_MIN,
            restarted,
        };
        let now = Time::default();
        let mut grid = Self {
            machine: Coordinator::new(config, runs, now),
            now,
            said: BTreeMap::new(),
            ends: Vec::new(),
            closed: Vec::new(),
            links: 0,
        };
        grid.drain();
        grid
    }

    pub fn drain(&mut self) {
        while let Some((link, message)) = self.machine.poll_transmit() {
            self.said.entry(link).or_default().push(message);
        }
        while let Some(command) = self.machine.poll_command() {
            match command {
                Command::SaveEnd { run, end, .. } => self.ends.push((run, end)),
                Command::Close { link, reason } => self.closed.push((link, reason)),
                _ => {}
            }
        }
        while self.machine.poll_event().is_some() {}
    }

    pub fn submit(&mut self, run: RunId) {
        self.machine.submit(self.now, run, Submitter::default(), spec());
        self.drain();
    }

    /// A host opens a link and says hello.
    pub fn hello(&mut self, was: Option<Identity>, roots: Vec<RootClaim>) -> LinkId {
        self.links += 1;
        let link = LinkId(self.links);
        let [name, site, version] = ["one", "here", "0"].map(str::to_owned);
        let report = HostReport { name, site, threads: 1, version, direct: None, key: Default::default() };
        self.tell(link, ToCoordinator::Hello { report, was, incarnation: 0, roots, paused: None });
        link
    }

    /// A new host joins.
    pub fn join(&mut self) -> (LinkId, Identity) {
        let link = self.hello(None, Vec::new());
        (link, self.identity(link))
    }

    pub fn identity(&self, link: LinkId) -> Identity {
        let welcome = self.last(link, |message| match message {
            ToHost::Welcome { host, secret, grid, .. } => Some((*host, *secret, *grid)),
            _ => None,
        });
        welcome.expect("a welcome")
    }

    pub fn last<T>(&self, link: LinkId, pick: impl Fn(&ToHost) -> Option<T>) -> Option<T> {
        self.said.get(&link).into_iter().flatten().rev().find_map(pick)
    }

    /// The root job that was given on this link.
    pub fn root(&self, link: LinkId) -> Option<RootClaim> {
        self.last(link, |message| match message {
            ToHost::Assign { run, number, proof, .. } => {
                Some(RootClaim { run: *run, number: *number, proof: *proof })
            }
            _ => None,
        })
    }

    pub fn tell(&mut self, link: LinkId, message: ToCoordinator) {
        self.machine.handle_message(self.now, link, message);
        self.drain();
    }

    pub fn cut(&mut self, link: LinkId) {
        self.machine.handle_closed(self.now, link);
        self.drain();
    }

    /// Lets time pass. Hosts answer pings.
    pub fn advance(&mut self, milliseconds: u64, answering: &[LinkId]) {
        /// More events than any test needs.
        const EVENTS_MAX: usize = 1_000_000;
        let until = Time(self.now.0 + milliseconds * 1_000_000);
        let mut events = 0;
        while let Some((next, _)) = self.machine.poll_timeout().filter(|(next, _)| *next <= until) {
            self.now = self.now.max(next);
            for link in answering {
                self.machine.handle_message(self.now, *link, ToCoordinator::Pong { ping: 0 });
            }
            self.machine.handle_timeout(self.now);
            self.drain();
            events += 1;
            assert!(events < EVENTS_MAX, "something is due without end: {:?}", self.machine.poll_timeout());
        }
        self.now = until;
    }

    pub fn is_closed(&self, link: LinkId) -> bool {
        self.closed.iter().any(|(closed, _)| *closed == link)
    }
}

fn finished() -> Finished {
    Finished { outcome: Outcome::Done(vec![0, 0].into()), work_ns: 1, span_ns: 1 }
}

fn failure() -> JobFailure {
    JobFailure { job: "main".to_owned(), message: "no".to_owned(), backtrace: Vec::new() }
}

#[test]
fn a_root_is_claimed_only_with_the_coordinators_proof() {
    let mut grid = Grid::new();
    grid.submit(RUN);
    let (link, identity) = grid.join();
    grid.tell(link, ToCoordinator::Ready { run: RUN });
    let root = grid.root(link).expect("the root");

    // Somebody else claims it with numbers of its own choosing, or with one that it has seen.
    for (number, proof) in [(root.number, 0), (AssignmentId(999), 1), (AssignmentId(0), root.proof)] {
        let (first, evil) = grid.join();
        grid.cut(first);
        let link = grid.hello(Some(evil), vec![RootClaim { run: RUN, number, proof }]);
        assert!(grid.is_closed(link), "{number:?} was claimed");
        grid.tell(link, ToCoordinator::RootFinished { run: RUN, number, finished: finished() });
    }
    let (evil, _) = grid.join();
    grid.tell(evil, ToCoordinator::RootFinished { run: RUN, number: root.number, finished: finished() });
    assert!(grid.is_closed(evil));
    assert_eq!(grid.ends, []);

    // Its host comes back with it, and ends the run.
    grid.cut(link);
    let link = grid.hello(Some(identity), vec![root]);
    grid.tell(link, ToCoordinator::RootFinished { run: RUN, number: root.number, finished: finished() });
    assert_eq!(grid.ends.len(), 1);
}

#[test]
fn a_claim_holds_after_a_restart_and_for_a_host_that_was_given_up() {
    let mut grid = Grid::new();
    grid.submit(RUN);
    let (link, identity) = grid.join();
    grid.tell(link, ToCoordinator::Ready { run: RUN });
    let root = grid.root(link).expect("the root");
    grid.cut(link);
    grid.advance(60_000, &[]);
    let reborn = grid.hello(Some(identity), vec![root]);
    assert!(!grid.is_closed(reborn));
    assert_ne!(grid.identity(reborn).0, identity.0);
    assert_eq!(grid.machine.run(RUN).and_then(|run| run.root_host()), Some(grid.identity(reborn).0));

    let mut standing = grid.machine.run(RUN).expect("the run").standing();
    let rows = grid.machine.take_changed(RUN, None, usize::MAX).into_iter();
    standing.by_host = rows.filter_map(|(host, row)| Some((host, row?.sum))).collect();
    let (state, submitter) = (RunState::Running, Submitter(0));
    let stored = StoredRun { run: RUN, submitter, spec: spec(), state, entries: vec![], standing };
    let identity = grid.identity(reborn);
    let mut grid = Grid::of(true, vec![stored]);
    let link = grid.hello(Some(identity), vec![root]);
    grid.tell(link, ToCoordinator::RootFinished { run: RUN, number: root.number, finished: finished() });
    assert_eq!(grid.ends.len(), 1);
}

#[test]
fn a_grid_with_another_secret_ignores_hosts_claims() {
    let mut grid = Grid::new();
    grid.submit(RUN);
    let root = RootClaim { run: RUN, number: AssignmentId(1), proof: 5 };
    let link = grid.hello(Some((HostId(1), 2, GridId(8))), vec![root]);
    assert!(!grid.is_closed(link));
    assert_eq!(grid.machine.run(RUN).and_then(|run| run.root_host()), None);
}

#[test]
fn only_participants_end_a_run() {
    let limit = || ToCoordinator::Limit { run: RUN, reason: "memory".to_owned() };
    let failed = || ToCoordinator::Failed { run: RUN, failure: failure() };
    for verdict in [limit, failed] {
        let mut grid = Grid::new();
        grid.submit(RUN);
        let (evil, _) = grid.join();
        grid.tell(evil, verdict());
        assert_eq!(grid.ends, []);
        // It could be ready, but takes no work.
        grid.tell(evil, ToCoordinator::Paused { reason: Some("its user works".to_owned()) });
        grid.tell(evil, ToCoordinator::Ready { run: RUN });
        grid.tell(evil, verdict());
        assert_eq!(grid.ends, []);
        let (honest, _) = grid.join();
        grid.tell(honest, ToCoordinator::Ready { run: RUN });
        grid.tell(honest, verdict());
        assert_eq!(grid.ends.len(), 1);
    }
}

#[test]
fn a_host_that_has_the_root_of_a_suspended_run_may_end_it() {
    let mut grid = Grid::new();
    grid.submit(RUN);
    let (link, identity) = grid.join();
    grid.tell(link, ToCoordinator::Ready { run: RUN });
    let root = grid.root(link).expect("the root");
    grid.cut(link);
    grid.machine.suspend(grid.now, RUN).expect("it runs");
    grid.drain();
    let link = grid.hello(Some(identity), vec![root]);
    grid.tell(link, ToCoordinator::Failed { run: RUN, failure: failure() });
    assert_eq!(grid.ends.len(), 1);
}

/// A host's counts.
fn counts(series: u64, executed: u64) -> ToCoordinator {
    let jobs = crate::Jobs { spawned: executed, executed, ..crate::Jobs::default() };
    let counts = Box::new(crate::Counts { jobs, busy: 1, ..crate::Counts::default() });
    let (progress, ahead_ns, notes, notes_dropped, workers) = (None, None, Vec::new(), 0, Vec::new());
    ToCoordinator::Counts { run: RUN, series, counts, progress, ahead_ns, notes, notes_dropped, workers }
}

fn executed(grid: &Grid) -> u64 {
    grid.machine.run(RUN).expect("the run").counts().jobs.executed
}

#[test]
fn a_host_has_no_more_busy_workers_than_threads_while_its_runs_take_turns() {
    let mut grid = Grid::new();
    let other = RunId(2);
    grid.submit(RUN);
    grid.submit(other);
    let (link, _) = grid.join();
    let mut of_other = counts(1, 1);
    if let ToCoordinator::Counts { run, .. } = &mut of_other {
        *run = other;
    }
    for run in [RUN, other] {
        grid.tell(link, ToCoordinator::Ready { run });
    }
    grid.tell(link, counts(1, 1));
    grid.tell(link, of_other);
    let host = grid.machine.hosts().next().expect("a host");
    assert_eq!((host.counts.jobs.executed, host.report.threads, host.counts.busy), (2, 1, 1));
}

#[test]
fn the_counts_of_a_process_move_to_its_new_id() {
    let mut grid = Grid::new();
    grid.submit(RUN);
    let (link, identity) = grid.join();
    grid.tell(link, ToCoordinator::Ready { run: RUN });
    grid.tell(link, counts(1, 34));
    for was_away_ms in [100, 2_000, 20_000] {
        let link = LinkId(grid.links);
        let was = grid.identity(link);
        grid.cut(link);
        grid.advance(was_away_ms, &[]);
        let link = grid.hello(Some(was), Vec::new());
        assert_eq!(executed(&grid), 34);
        grid.tell(link, counts(1, 34));
        assert_eq!(executed(&grid), 34);
        let rows: Vec<_> = grid.machine.run(RUN).expect("the run").by_host().collect();
        assert_eq!((rows.len(), rows[0].0, rows[0].1), (1, grid.identity(link).0, true));
        assert_eq!(grid.machine.hosts().next().expect("a host").counts.jobs.executed, 34);
    }
    // It pauses: it leaves, and comes back as another that begins anew.
    let link = LinkId(grid.links);
    assert_ne!(grid.identity(link).0, identity.0);
    let was = grid.identity(link);
    grid.tell(link, ToCoordinator::Leaving);
    let link = grid.hello(Some(was), Vec::new());
    grid.tell(link, counts(2, 50));
    assert_eq!(executed(&grid), 84);
    assert_eq!(grid.machine.run(RUN).expect("the run").by_host().count(), 1);
}

/// What is reported to other hosts about a host, in order: its arrivals, with incarnations, and departures.
fn told_of(grid: &Grid, link: LinkId, host: HostId) -> Vec<Option<u32>> {
    let mut told = Vec::new();
    for message in grid.said.get(&link).into_iter().flatten() {
        if let ToHost::Hosts { joined, gone, .. } = message {
            let came: Vec<_> = joined.iter().filter(|info| info.id == host).collect();
            let went = gone.iter().any(|(gone, _)| *gone == host);
            assert!(came.is_empty() || !went, "one message says that it came and went");
            told.extend(came.iter().map(|info| Some(info.incarnation)));
            told.extend(went.then_some(None));
        }
    }
    told
}

fn incarnation(grid: &Grid, link: LinkId) -> u32 {
    let welcome = grid.last(link, |message| match message {
        ToHost::Welcome { incarnation, .. } => Some(*incarnation),
        _ => None,
    });
    welcome.expect("a welcome")
}

#[test]
fn a_host_that_is_back_within_seconds_is_the_same_and_a_new_incarnation() {
    let mut grid = Grid::new();
    let (other, _) = grid.join();
    let (link, identity) = grid.join();
    grid.cut(link);
    grid.advance(200, &[other]);
    let link = grid.hello(Some(identity), Vec::new());
    assert_eq!((grid.identity(link), incarnation(&grid, link)), (identity, 0));
    assert_eq!(told_of(&grid, other, identity.0), [Some(0)]);

    grid.cut(link);
    grid.advance(4_900, &[other]);
    assert_eq!(told_of(&grid, other, identity.0), [Some(0), None]);
    let link = grid.hello(Some(identity), Vec::new());
    assert_eq!((grid.identity(link), incarnation(&grid, link)), (identity, 1));
    grid.advance(100, &[other, link]);
    assert_eq!(told_of(&grid, other, identity.0), [Some(0), None, Some(1)]);

    // Nobody takes its place in the meantime.
    grid.cut(link);
    grid.advance(1_000, &[other]);
    let thief = grid.hello(Some((identity.0, identity.1 ^ 1, identity.2)), Vec::new());
    assert!(grid.is_closed(thief));

    grid.advance(6_000, &[other]);
    let link = grid.hello(Some(identity), Vec::new());
    assert_ne!(grid.identity(link).0, identity.0);
}

#[test]
fn a_welcome_that_is_lost_is_made_up_for() {
    let mut grid = Grid::new();
    let (link, identity) = grid.join();
    grid.cut(link);
    grid.advance(1_000, &[]);
    // The welcome that would notify it that it was given up does not arrive.
    let lost = grid.hello(Some(identity), Vec::new());
    grid.cut(lost);
    let link = grid.hello(Some(identity), Vec::new());
    assert_eq!((grid.identity(link), incarnation(&grid, link)), (identity, 1));
}

#[test]
fn leaving_and_coming_back_at_once_is_notified_in_order() {
    let mut grid = Grid::new();
    let (other, _) = grid.join();
    let (link, identity) = grid.join();
    grid.cut(link);
    grid.advance(299, &[other]);
    // There is more news than fits, so the rest has to wait.
    for _ in 0..100 {
        grid.join();
    }
    while !grid.machine.missing.contains(identity.0) {
        let (next, _) = grid.machine.poll_timeout().expect("it is given up");
        grid.now = next;
        grid.machine.handle_timeout(next);
    }
    assert_eq!(told_of(&grid, other, identity.0), [Some(0)], "it is to be notified in a moment");
    grid.hello(Some(identity), Vec::new());
    grid.advance(4_000, &[other]);
    assert_eq!(told_of(&grid, other, identity.0), [Some(0), None, Some(1)]);
}

#[test]
fn the_number_of_missing_hosts_is_bounded() {
    let mut grid = Grid::new();
    let (link, identity) = grid.join();
    grid.submit(RUN);
    let key = grid.machine.runs.get(&RUN).expect("the run").root.spec().key;
    grid.tell(link, ToCoordinator::Find { run: RUN, key });
    grid.cut(link);
    grid.advance(1_000, &[]);
    assert!(grid.machine.missing.contains(identity.0));
    assert_eq!(grid.machine.runs.get(&RUN).expect("the run").ledger.subscriptions_len(), 1);
    grid.advance(5_000, &[]);
    assert!(!grid.machine.missing.contains(identity.0));
    assert_eq!(grid.machine.runs.get(&RUN).expect("the run").ledger.subscriptions_len(), 0);
}

fn unready(run: RunId) -> ToCoordinator {
    ToCoordinator::Unready { run, reason: "it needs more memory".to_owned() }
}

/// How often a host was asked to load a run, and to drop it.
fn loads(grid: &Grid, link: LinkId, run: RunId) -> (usize, usize) {
    let said = || grid.said.get(&link).into_iter().flatten();
    let starts = said().filter(|message| matches!(message, ToHost::StartRun { run: of, .. } if *of == run));
    let drops = said().filter(|message| matches!(message, ToHost::SuspendRun { run: of } if *of == run));
    (starts.count(), drops.count())
}

#[test]
fn runs_that_no_host_can_load_starve_no_other() {
    let mut grid = Grid::new();
    let (link, _) = grid.join();
    let unloadable = crate::limits::RUNS_ACTIVE_MAX as u64;
    for run in 1..=unloadable + 1 {
        grid.submit(RunId(run));
    }
    let good = RunId(unloadable + 1);
    assert_eq!(loads(&grid, link, good), (0, 0));
    for run in 1..=unloadable {
        grid.tell(link, unready(RunId(run)));
    }
    grid.advance(2_000, &[link]);
    assert_eq!(loads(&grid, link, good), (1, 0));
    grid.tell(link, ToCoordinator::Ready { run: good });
    assert_eq!(grid.root(link).map(|root| root.run), Some(good));
    let reason = grid.machine.run(RUN).and_then(|run| run.waiting_for).unwrap_or_default();
    assert!(reason.starts_with("no host can run it; one says: it needs more memory"), "{reason}");
}

#[test]
fn a_run_that_no_host_can_load_is_tried_again_less_and_less_often() {
    let mut grid = Grid::new();
    let (link, _) = grid.join();
    grid.submit(RUN);
    grid.tell(link, unready(RUN));
    let mut tries = Vec::new();
    for minute in 0..60 {
        for _ in 0..30 {
            let before = loads(&grid, link, RUN).0;
            grid.advance(2_000, &[link]);
            if loads(&grid, link, RUN).0 > before {
                tries.push(minute);
                grid.tell(link, ToCoordinator::Suspended { run: RUN });
                grid.tell(link, unready(RUN));
            }
        }
    }
    assert!((6..=14).contains(&tries.len()), "tried at minutes {tries:?}");
}

#[test]
fn a_new_host_is_asked_at_once_and_the_others_are_left_alone() {
    let mut grid = Grid::new();
    let (one, _) = grid.join();
    grid.submit(RUN);
    grid.tell(one, unready(RUN));
    grid.advance(2_000, &[one]);
    let before = loads(&grid, one, RUN);
    let (two, _) = grid.join();
    assert_eq!((loads(&grid, one, RUN), loads(&grid, two, RUN)), (before, (1, 0)));
    grid.tell(two, ToCoordinator::Ready { run: RUN });
    assert!(grid.root(two).is_some());
}

#[test]
fn a_run_waits_when_the_only_host_that_can_load_it_goes() {
    let mut grid = Grid::new();
    let (unable, _) = grid.join();
    let (able, _) = grid.join();
    grid.submit(RUN);
    grid.tell(unable, unready(RUN));
    grid.tell(able, ToCoordinator::Ready { run: RUN });
    grid.cut(able);
    grid.advance(3_000, &[unable]);
    let reason = grid.machine.run(RUN).and_then(|run| run.waiting_for).unwrap_or_default();
    assert!(reason.starts_with("no host can run it"), "{reason}");
    // It has its turn again when such a host comes.
    let (able, _) = grid.join();
    grid.tell(able, ToCoordinator::Ready { run: RUN });
    grid.advance(1_000, &[unable, able]);
    assert!(grid.root(able).is_some());
}

#[test]
fn the_end_of_a_run_lets_the_next_begin() {
    let mut grid = Grid::new();
    let (link, _) = grid.join();
    let active = crate::limits::RUNS_ACTIVE_MAX as u64;
    for run in 1..=active + 1 {
        grid.submit(RunId(run));
    }
    let last = RunId(active + 1);
    assert_eq!(loads(&grid, link, last), (0, 0));
    grid.machine.cancel(grid.now, RUN).expect("it is there");
    grid.drain();
    assert_eq!(loads(&grid, link, last), (1, 0));
}
