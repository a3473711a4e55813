//! Nothing is left of departed hosts and finished runs; and what is reported to hosts about others that change.

use std::collections::BTreeSet;

use super::run::{CoordinatorRun, Suspending};
use super::tests::{Grid, Identity, spec};
use super::*;
use crate::limits::{CIRCLE, DEPARTURE_ANSWER_MAX, IDENTITY_KEPT, RECONNECT_GRACE};
use crate::message::{HostReport, ToCoordinator};
use crate::parcel::{Contents, ParcelId};
use crate::{
    AssignmentId, Counts, Entry, EntryState, Finished, JobKey, Lineage, Outcome, RunSpec, RunState, Stealing,
    Table,
};

const RUN: RunId = RunId(1);

fn key(job: u8) -> JobKey {
    JobKey([job; 32])
}

fn running(job: u8) -> Entry {
    Entry {
        key: key(job),
        depth: 1,
        lineage: Lineage::default(),
        state: EntryState::Running(HostId(9)),
        is_earlier: false,
    }
}

#[test]
fn a_finished_run_is_freed_in_parts() {
    let hosts = || (1..=7).map(HostId);
    let counts = Counts { work_ns: 1, ..Counts::default() };
    let fillers: [fn(&mut CoordinatorRun, u8); 6] = [
        |coordinator_run, job| {
            assert!(coordinator_run.ledger.record(&running(job), HostId(9), None).is_some());
        },
        |coordinator_run, job| coordinator_run.ledger.save_later(Time::default(), vec![running(job)]),
        |coordinator_run, job| coordinator_run.ledger.subscribe(HostId(1), key(job).tag()),
        |coordinator_run, job| coordinator_run.readiness.set_ready(HostId(job.into())),
        |coordinator_run, job| coordinator_run.readiness.set_unready(HostId(job.into()), "why".to_owned()),
        |coordinator_run, job| {
            coordinator_run.tally.count(HostId(job.into()), 1, Counts::default());
        },
    ];
    let new = || {
        CoordinatorRun::new(Default::default(), spec(), RunState::Done, Table::new(1 << 20), Time::default())
    };
    let mut runs: Vec<CoordinatorRun> = (fillers.into_iter())
        .map(|fill| {
            let mut coordinator_run = new();
            (1..=7).for_each(|job| fill(&mut coordinator_run, job));
            coordinator_run
        })
        .collect();
    let mut suspending = new();
    suspending.suspending = Some(Suspending {
        hosts: hosts().collect(),
        is_asking: false,
        until: Time::default(),
        gives_way: false,
    });
    let (mut sums, mut anew) = (new(), new());
    sums.tally = tally::Tally::restore(hosts().map(|host| (host, counts)).collect(), Vec::new(), 0);
    anew.tally = tally::Tally::restore(Vec::new(), hosts().map(|host| (host, counts, counts)).collect(), 0);
    runs.extend([suspending, sums, anew]);
    for (case, mut coordinator_run) in runs.into_iter().enumerate() {
        let is_left: Vec<bool> = (0..4).map(|_| coordinator_run.shrink(3)).collect();
        assert_eq!(is_left, [true, true, false, false], "case {case}");
        let lists = [
            coordinator_run.ledger.size().0,
            coordinator_run.ledger.unsaved_len(),
            coordinator_run.ledger.subscriptions_len(),
            coordinator_run.tally.rows_from(HostId(0)).count(),
        ];
        assert_eq!(lists, [0; 4], "case {case}");
        assert!(
            coordinator_run.readiness.ready().is_empty() && coordinator_run.readiness.unready().is_empty(),
            "case {case}"
        );
        assert!(
            coordinator_run.suspending.is_none_or(|suspending| suspending.hosts.is_empty()),
            "case {case}"
        );
    }
}

#[test]
fn nothing_is_left_of_departed_hosts() {
    let goodbyes: [fn(&mut Grid, LinkId); 3] = [
        |grid, link| grid.cut(link),
        |grid, link| grid.tell(link, ToCoordinator::Leaving),
        |grid, link| {
            grid.tell(link, ToCoordinator::Paused { reason: Some("its user works".to_owned()) });
            grid.tell(link, ToCoordinator::Leaving);
        },
    ];
    for (case, goodbye) in goodbyes.into_iter().enumerate() {
        let mut grid = Grid::new();
        grid.submit(RUN);
        let (stays, _) = grid.join();
        grid.tell(stays, ToCoordinator::Ready { run: RUN });
        grid.advance(2_000, &[stays]);
        let before = grid.machine.sizes();
        assert_eq!((before.hosts, before.links, before.readiness, before.claims), (1, 1, 1, 1));
        let (goes, identity) = grid.join();
        grid.tell(goes, ToCoordinator::Ready { run: RUN });
        let root = grid.machine.runs.get(&RUN).expect("the run").root.spec().key;
        grid.tell(goes, ToCoordinator::Find { run: RUN, key: root });
        assert_eq!(grid.machine.sizes().subscribers, 1);
        goodbye(&mut grid, goes);
        grid.cut(goes);
        // The remaining host does not answer departures.
        let patience = IDENTITY_KEPT.max(DEPARTURE_ANSWER_MAX);
        grid.advance((RECONNECT_GRACE + patience).as_millis() as u64 + 1, &[stays]);
        assert_eq!(grid.machine.sizes(), before, "case {case}");
        assert_eq!(grid.machine.circle(identity.0).count(), 0, "case {case}");
        assert!(grid.machine.missing.is_empty() && grid.machine.missing.next().is_none(), "case {case}");
        assert_eq!(grid.machine.hosts().map(|host| host.id).collect::<Vec<_>>(), [grid.identity(stays).0]);
    }
}

#[test]
fn a_host_that_pauses_or_leaves_paused_is_assigned_no_root() {
    let mut grid = Grid::new();
    let (pauses, _) = grid.join();
    grid.submit(RUN);
    grid.tell(pauses, ToCoordinator::Paused { reason: Some("its user works".to_owned()) });
    assert_eq!(grid.machine.sizes().readiness, 0);
    grid.tell(pauses, ToCoordinator::Ready { run: RUN });
    assert!(grid.root(pauses).is_none());
    grid.tell(pauses, ToCoordinator::Paused { reason: None });
    grid.tell(pauses, ToCoordinator::Ready { run: RUN });
    assert!(grid.root(pauses).is_some());
    assert_eq!(grid.machine.sizes().readiness, 1);
    // The departure of a host without acquaintances is reported to no one.
    grid.tell(pauses, ToCoordinator::Paused { reason: Some("its user works".to_owned()) });
    let epoch = grid.machine.newsroom.epoch();
    grid.tell(pauses, ToCoordinator::Leaving);
    assert_eq!(grid.machine.newsroom.epoch(), epoch);
    let (works, _) = grid.join();
    grid.tell(works, ToCoordinator::Leaving);
    assert_eq!(grid.machine.newsroom.epoch(), epoch + 1);
}

fn hello_as(grid: &mut Grid, link: u64, was: Identity, site: &str, paused: Option<&str>) -> LinkId {
    let link = LinkId(link);
    let report = HostReport {
        name: "one".to_owned(),
        site: site.to_owned(),
        threads: 1,
        version: "0".to_owned(),
        direct: None,
        key: Default::default(),
    };
    let paused = paused.map(str::to_owned);
    grid.tell(
        link,
        ToCoordinator::Hello { report, was: Some(was), incarnation: 0, roots: Vec::new(), paused },
    );
    link
}

#[test]
fn others_are_notified_of_a_returning_host_only_if_it_has_changed() {
    for (site, paused, is_told) in [("here", None, false), ("there", None, true)] {
        let mut grid = Grid::new();
        let (other, _) = grid.join();
        let (link, identity) = grid.join();
        grid.advance(50, &[other, link]);
        grid.said.clear();
        grid.cut(link);
        hello_as(&mut grid, 100, identity, site, paused);
        grid.advance(50, &[other]);
        let told: BTreeSet<String> = (grid.said.get(&other).into_iter().flatten())
            .filter_map(|message| match message {
                ToHost::Hosts { joined, .. } => Some(joined.iter().map(|info| info.report.site.clone())),
                _ => None,
            })
            .flatten()
            .collect();
        assert_eq!(told.contains(site), is_told, "{site}: {told:?}");
    }
}

#[test]
fn sizes_count_what_their_names_say() {
    let mut grid = Grid::new();
    for run in [1, 2] {
        grid.submit(RunId(run));
    }
    let links: Vec<LinkId> = (0..3).map(|_| grid.join().0).collect();
    grid.tell(links[0], ToCoordinator::Ready { run: RUN });
    grid.tell(links[1], ToCoordinator::Ready { run: RUN });
    grid.tell(links[2], ToCoordinator::Unready { run: RUN, reason: "no room".to_owned() });
    grid.tell(links[1], ToCoordinator::Ready { run: RunId(2) });
    grid.tell(links[1], ToCoordinator::Entries { run: RUN, entries: vec![running_at(&grid, links[1])] });
    let epoch = grid.machine.newsroom.epoch();
    grid.machine.newsroom.hold(grid.now, epoch);
    for job in 1..=2 {
        grid.tell(links[0], ToCoordinator::Find { run: RUN, key: key(job) });
    }
    let run = grid.machine.runs.get_mut(&RUN).expect("the run");
    run.ledger.subscribe(HostId(1), key(1).tag());
    grid.machine.lookups.answers().push(HostId(1), Time(u64::MAX), answers::Answer::to_search(RUN, key(3)));
    grid.cut(links[2]);
    grid.machine.handle_misbehaviour(grid.now, links[1], "it lies".to_owned());
    let host = |number: u64| HostId(1_000 + number);
    let circles = &mut grid.machine.circles;
    circles.ask_to_part(host(1), host(2)).expect("they are not parting");
    let contents = Contents::RootFinished { run: RUN, number: AssignmentId(1) };
    grid.machine.incoming.announce(grid.now, host(1), ParcelId(1), contents, 70_000).expect("it is sound");
    let expected = Sizes {
        unpolled: 2,
        hosts: 3,
        links: 2,
        closing: 1,
        down: 1,
        searches: 3,
        runs: 2,
        over: (0, 0),
        claims: 2,
        subscribers: 1,
        readiness: 4,
        unsaved: 1,
        slices: 0,
        partings: 1,
        news: 0,
        owed: 1,
        missing: 0,
        rows: 0,
        incoming: (1, 0),
    };
    assert_eq!(grid.machine.sizes(), expected);
}

fn running_at(grid: &Grid, link: LinkId) -> Entry {
    Entry { state: EntryState::Running(grid.identity(link).0), ..running(5) }
}

#[test]
fn a_host_that_steals_from_the_master_only_is_introduced_to_it() {
    for stealing in [Stealing::MasterWorker, Stealing::ClusterAware] {
        let mut grid = Grid::new();
        let few = Circle { near_all: 0, near_drawn: 2, far_all: 0, far_drawn: 0, ..CIRCLE };
        grid.machine.circles = Circles::new(few, 1);
        let links: Vec<LinkId> = (0..40).map(|_| grid.join().0).collect();
        grid.machine.submit(grid.now, RUN, Default::default(), RunSpec { stealing, ..spec() });
        grid.drain();
        grid.tell(links[0], ToCoordinator::Ready { run: RUN });
        grid.advance(500, &links);
        assert!(grid.root(links[0]).is_some());
        let known = grid.machine.circle(grid.identity(links[0]).0).count();
        assert_eq!(known == links.len() - 1, stealing == Stealing::MasterWorker, "{known} know the master");
    }
}

#[test]
fn a_link_that_was_closed_is_forgotten_when_it_is() {
    let mut grid = Grid::new();
    let (link, _) = grid.join();
    grid.tell(link, ToCoordinator::Leaving);
    assert!(grid.is_closed(link));
    assert_eq!(grid.machine.sizes().closing, 1);
    grid.cut(link);
    assert_eq!(grid.machine.sizes().closing, 0);
}

#[test]
fn a_host_that_runs_an_orphan_is_sent_the_result_that_is_known() {
    let mut grid = Grid::new();
    grid.submit(RUN);
    let links: Vec<LinkId> = (0..2).map(|_| grid.join().0).collect();
    for link in &links {
        grid.tell(*link, ToCoordinator::Ready { run: RUN });
    }
    let outcome = Outcome::Done(vec![1].into());
    let done = Entry { state: EntryState::Done(Finished { outcome, work_ns: 1, span_ns: 1 }), ..running(5) };
    grid.tell(links[0], ToCoordinator::Entries { run: RUN, entries: vec![done.clone()] });
    let orphans = vec![running_at(&grid, links[1]), Entry { key: key(6), ..running_at(&grid, links[1]) }];
    grid.tell(links[1], ToCoordinator::Entries { run: RUN, entries: orphans });
    let told = |link: &LinkId| -> Vec<Entry> {
        let said = grid.said.get(link).into_iter().flatten();
        said.filter_map(|message| match message {
            ToHost::Entries { entries, .. } => Some(entries.clone()),
            _ => None,
        })
        .flatten()
        .collect()
    };
    assert_eq!(told(&links[1]), [done]);
}
