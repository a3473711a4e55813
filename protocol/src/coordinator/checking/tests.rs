//! What a coordinator makes of units, and of hosts that check them.

mod audits;

use super::*;
use crate::coordinator::tests::{Grid, spec};
use crate::coordinator::{LinkId, Standing, StoredRun};
use crate::limits::{CHECK_LATE_MIN, REFUSALS_MAX, UNIT_CHILDREN_MAX};
use crate::message::{HostReport, ToCoordinator};
use crate::{AssignmentId, BlobHash, Counts, Outcome, PublicKey, RunLimits, UnitChild, root_job};

const RUN: RunId = RunId(1);

fn finished(value: u8) -> Finished {
    // A result of an entry point: its kind, and the length of its text.
    Finished { outcome: Outcome::Done(vec![0, 1, value].into()), work_ns: 1_000, span_ns: 1 }
}

fn unit(value: u8) -> Unit {
    let result = finished(value).outcome.hash();
    Unit { job: root_job(&spec()), result, work_ns: 1_000, children: Vec::new(), outcome: None }
}

/// A host with this key joins.
fn join(grid: &mut Grid, key: u8) -> LinkId {
    let link = LinkId(100 + grid.said.len() as u64);
    let [name, site, version] = ["one", "here", "0"].map(str::to_owned);
    let report = HostReport { name, site, threads: 1, version, direct: None, key: PublicKey([key; 32]) };
    grid.tell(
        link,
        ToCoordinator::Hello { report, was: None, incarnation: 0, roots: Vec::new(), paused: None },
    );
    link
}

/// A grid with a checked run, and hosts with these keys that have loaded it. The first has the root.
fn grid(keys: &[u8]) -> (Grid, Vec<LinkId>) {
    grid_of(Trust::Quorum(2), keys)
}

/// The same of a run with this policy.
fn grid_of(trust: Trust, keys: &[u8]) -> (Grid, Vec<LinkId>) {
    let mut grid = Grid::new();
    let checked = RunSpec { trust, ..spec() };
    grid.machine.submit(grid.now, RUN, Default::default(), checked);
    let mut links = Vec::new();
    for key in keys {
        links.push(join(&mut grid, *key));
        grid.tell(links[links.len() - 1], ToCoordinator::Ready { run: RUN });
    }
    (grid, links)
}

fn finish_root(grid: &mut Grid, link: LinkId, value: u8) {
    let number = grid.root(link).expect("the root").number;
    grid.tell(link, ToCoordinator::Unit { run: RUN, unit: Box::new(unit(value)) });
    grid.tell(link, ToCoordinator::RootFinished { run: RUN, number, finished: finished(value) });
}

/// The run in which a host is to check units.
fn check_of(grid: &Grid, link: LinkId) -> Option<RunId> {
    grid.last(link, |message| match message {
        ToHost::StartRun { run, spec } if *run != RUN => {
            assert_eq!((spec.trust, spec.fault_tolerance), (Trust::Trust, FaultTolerance::RedoOnly));
            Some(*run)
        }
        _ => None,
    })
}

/// The number under which a host is to compute a unit.
fn number_of(grid: &Grid, link: LinkId, check: RunId) -> Option<AssignmentId> {
    grid.last(link, |message| match message {
        ToHost::Assign { run, number, .. } if *run == check => Some(*number),
        _ => None,
    })
}

fn answer(grid: &mut Grid, link: LinkId, value: u8) {
    let check = check_of(grid, link).expect("it is to check");
    grid.tell(link, ToCoordinator::Ready { run: check });
    let number = number_of(grid, link, check).expect("it has a unit");
    grid.tell(link, ToCoordinator::RootFinished { run: check, number, finished: finished(value) });
}

fn waits_for(grid: &Grid) -> String {
    grid.machine.run(RUN).and_then(|view| view.waiting_for).unwrap_or_default()
}

#[test]
fn a_result_is_believed_when_another_owner_has_found_it_too() {
    let (mut grid, links) = grid(&[1, 2]);
    finish_root(&mut grid, links[0], 7);
    assert_eq!((grid.ends.len(), check_of(&grid, links[0])), (0, None), "not by its executor");
    assert!(waits_for(&grid).contains("its result is being checked: 0 of 1 units"), "{}", waits_for(&grid));
    answer(&mut grid, links[1], 7);
    assert_eq!(grid.ends, [(RUN, RunEnd::Finished(finished(7)))]);
    let check = check_of(&grid, links[1]).expect("it has checked");
    let stopped =
        |message: &ToHost| matches!(message, ToHost::StopRun { run } if *run == check).then_some(());
    assert!(grid.last(links[1], stopped).is_some());
    // What comes late is not held against it.
    grid.tell(links[1], ToCoordinator::Stopped { run: check });
    grid.tell(
        links[1],
        ToCoordinator::RootFinished { run: check, number: AssignmentId(1), finished: finished(7) },
    );
    assert!(!grid.is_closed(links[1]));
}

#[test]
fn two_hosts_with_one_key_are_one_owner() {
    let (mut grid, links) = grid(&[1, 1]);
    let with_root = if grid.root(links[0]).is_some() { links[0] } else { links[1] };
    finish_root(&mut grid, with_root, 7);
    assert!(links.iter().all(|link| check_of(&grid, *link).is_none()));
    assert!(waits_for(&grid).contains("2 hosts with different keys must agree"), "{}", waits_for(&grid));
    let other = join(&mut grid, 2);
    answer(&mut grid, other, 7);
    assert_eq!(grid.ends.len(), 1);
}

#[test]
fn a_liar_is_outvoted_and_named() {
    let (mut grid, links) = grid(&[1, 2, 3]);
    finish_root(&mut grid, links[0], 9);
    for _ in 0..2 {
        let checker = links.iter().copied().find(|link| {
            check_of(&grid, *link).is_some_and(|check| number_of(&grid, *link, check).is_none())
        });
        answer(&mut grid, checker.expect("another is asked"), 7);
    }
    assert_eq!(grid.ends, [(RUN, RunEnd::Finished(finished(7)))]);
    let checked = grid.machine.run_over(RUN).and_then(|view| view.checked()).expect("it was checked");
    assert_eq!((checked.units_checked, checked.checks), (1, 2));
    assert_eq!(checked.barred.iter().map(|(_, owner)| owner.0[0]).collect::<Vec<_>>(), [1]);
}

#[test]
fn units_that_nobody_may_report_are_ignored() {
    let (mut grid, links) = grid(&[1, 2]);
    let units =
        |grid: &Grid| grid.machine.run(RUN).and_then(|view| view.checked()).map(|checked| checked.units);
    let other = |key: u8| Unit { job: JobSpec { key: JobKey([key; 32]), ..root_job(&spec()) }, ..unit(1) };
    let child = UnitChild { key: JobKey([9; 32]), depth: 1, result: BlobHash([0; 32]) };
    let many = Unit { children: vec![child; UNIT_CHILDREN_MAX + 1], ..other(5) };
    let stranger = join(&mut grid, 3);
    for (link, run, unit) in
        [(links[0], RunId(99), other(4)), (stranger, RUN, other(4)), (links[0], RUN, many)]
    {
        grid.tell(link, ToCoordinator::Unit { run, unit: Box::new(unit) });
        assert!(!grid.is_closed(link));
    }
    assert_eq!(units(&grid), Some(1), "the root");
    let work =
        |grid: &Grid| grid.machine.run(RUN).and_then(|view| view.checked()).map(|checked| checked.work_ns);
    assert_eq!(work(&grid), Some(0));
    for _ in 0..2 {
        grid.tell(links[0], ToCoordinator::Unit { run: RUN, unit: Box::new(other(4)) });
        assert_eq!(work(&grid), Some(1_000), "once");
    }
    // A run whose hosts are trusted has no units.
    grid.submit(RunId(2));
    grid.tell(links[0], ToCoordinator::Ready { run: RunId(2) });
    grid.tell(links[0], ToCoordinator::Unit { run: RunId(2), unit: Box::new(other(4)) });
    assert!(grid.machine.run(RunId(2)).is_some_and(|view| view.checked().is_none()));
}

#[test]
fn checks_of_hosts_that_go_or_cannot_or_are_slow_are_done_by_others() {
    for how in 0..4 {
        let (mut grid, links) = grid(&[1, 2, 3]);
        finish_root(&mut grid, links[0], 7);
        let first =
            links[1..].iter().copied().find(|link| check_of(&grid, *link).is_some()).expect("one checks");
        let second = links[1..].iter().copied().find(|link| *link != first).expect("another");
        assert_eq!(check_of(&grid, second), None, "one is enough");
        let check = check_of(&grid, first).expect("it checks");
        match how {
            0 => grid.tell(first, ToCoordinator::Leaving),
            1 => grid.tell(first, ToCoordinator::Unready { run: check, reason: "no memory".to_owned() }),
            2 => {
                // It is asked a few times, if it is drawn.
                let mut asked = 0;
                while check_of(&grid, second).is_none() {
                    let check = check_of(&grid, first).expect("it checks");
                    grid.tell(first, ToCoordinator::Ready { run: check });
                    grid.tell(first, ToCoordinator::Unready { run: check, reason: "no such job".to_owned() });
                    asked += 1;
                }
                assert!(asked <= REFUSALS_MAX, "{asked}");
            }
            _ => grid.advance(CHECK_LATE_MIN.as_millis() as u64 + 1_000, &links),
        }
        answer(&mut grid, second, 7);
        assert_eq!(grid.ends.len(), 1, "{how}");
    }
}

#[test]
fn a_host_that_comes_back_is_given_its_checks_again() {
    let (mut grid, links) = grid(&[1, 2]);
    finish_root(&mut grid, links[0], 7);
    let check = check_of(&grid, links[1]).expect("it checks");
    grid.tell(links[1], ToCoordinator::Ready { run: check });
    let was = Some(grid.identity(links[1]));
    grid.cut(links[1]);
    let [name, site, version] = ["one", "here", "0"].map(str::to_owned);
    let report = HostReport { name, site, threads: 1, version, direct: None, key: PublicKey([2; 32]) };
    let link = LinkId(500);
    grid.tell(link, ToCoordinator::Hello { report, was, incarnation: 0, roots: Vec::new(), paused: None });
    let is_listed = |message: &ToHost| match message {
        ToHost::Welcome { runs, .. } => Some(runs.contains(&check)),
        _ => None,
    };
    assert_eq!((grid.last(link, is_listed), check_of(&grid, link)), (Some(true), Some(check)));
    answer(&mut grid, link, 7);
    assert_eq!(grid.ends.len(), 1);
}

#[test]
fn a_host_that_answers_a_check_of_another_is_cut_off() {
    let (mut grid, links) = grid(&[1, 2]);
    finish_root(&mut grid, links[0], 7);
    let check = check_of(&grid, links[1]).expect("it checks");
    let number = AssignmentId(1);
    grid.tell(links[0], ToCoordinator::RootFinished { run: check, number, finished: finished(7) });
    assert!(grid.is_closed(links[0]) && grid.ends.is_empty());
}

#[test]
fn owners_that_never_agree_end_the_run() {
    let (mut grid, links) = grid(&[1, 2, 3, 4, 5]);
    let with_root = links[0];
    finish_root(&mut grid, with_root, 1);
    for value in 2..=5 {
        let checker = links.iter().copied().find(|link| {
            check_of(&grid, *link).is_some_and(|check| number_of(&grid, *link, check).is_none())
        });
        answer(&mut grid, checker.expect("another is asked"), value);
    }
    let [(RUN, RunEnd::Unverified(why))] = grid.ends.as_slice() else { panic!("{:?}", grid.ends) };
    assert!(why.contains("5 hosts computed") && why.contains("found 5 different results"), "{why}");
}

fn count(grid: &mut Grid, link: LinkId, run: RunId, series: u64, work_s: u64) {
    let counts = Box::new(Counts { work_ns: work_s * 1_000_000_000, ..Counts::default() });
    let (progress, ahead_ns, notes, notes_dropped, workers) = (None, None, Vec::new(), 0, Vec::new());
    let message =
        ToCoordinator::Counts { run, series, counts, progress, ahead_ns, notes, notes_dropped, workers };
    grid.tell(link, message);
}

#[test]
fn the_time_of_checks_counts_towards_the_limit_of_the_run() {
    let mut grid = Grid::new();
    let limits = RunLimits { cpu_ms_max: Some(10_000), ..RunLimits::default() };
    let checked = RunSpec { trust: Trust::Quorum(2), limits, ..spec() };
    grid.machine.submit(grid.now, RUN, Default::default(), checked);
    let links = [1, 2, 3].map(|key| join(&mut grid, key));
    links.iter().for_each(|link| grid.tell(*link, ToCoordinator::Ready { run: RUN }));
    let with_root = links.into_iter().find(|link| grid.root(*link).is_some()).expect("one has it");
    count(&mut grid, with_root, RUN, 0, 6);
    finish_root(&mut grid, with_root, 7);
    let checker = links.into_iter().find(|link| check_of(&grid, *link).is_some()).expect("one checks");
    let check = check_of(&grid, checker).expect("it checks");
    grid.tell(checker, ToCoordinator::Ready { run: check });
    count(&mut grid, checker, check, 1, 2);
    count(&mut grid, checker, check, 1, 2);
    // Nobody else counts for it.
    let other = links.into_iter().find(|link| ![with_root, checker].contains(link)).expect("three");
    count(&mut grid, other, check, 1, 50);
    // It began anew, and counts from 0.
    count(&mut grid, checker, check, 2, 1);
    grid.advance(1_500, &links);
    assert_eq!(grid.ends, [], "6 s of the run and 3 s of its checks");
    count(&mut grid, checker, check, 2, 2);
    grid.advance(1_500, &links);
    let [(_, RunEnd::Limit(reason))] = &grid.ends[..] else { panic!("{:?}", grid.ends) };
    assert!(reason.contains("--cpu-limit") && reason.contains("4.0 s of it to check results"), "{reason}");
}

fn count_busy(grid: &mut Grid, link: LinkId, run: RunId, busy: u32, work_s: u64) {
    let counts = Box::new(Counts { busy, workers: 1, work_ns: work_s * 1_000_000_000, ..Counts::default() });
    let (progress, ahead_ns, notes, notes_dropped, workers) = (None, None, Vec::new(), 0, Vec::new());
    let message =
        ToCoordinator::Counts { run, series: 1, counts, progress, ahead_ns, notes, notes_dropped, workers };
    grid.tell(link, message);
}

/// A checked run whose root has a result, the host that had it, and the one that checks that, with its run.
fn being_checked(limits: RunLimits) -> (Grid, [LinkId; 2], RunId) {
    let mut grid = Grid::new();
    let checked = RunSpec { trust: Trust::Quorum(2), limits, ..spec() };
    grid.machine.submit(grid.now, RUN, Default::default(), checked);
    let links = [1, 2].map(|key| join(&mut grid, key));
    for link in links {
        grid.tell(link, ToCoordinator::Ready { run: RUN });
        count_busy(&mut grid, link, RUN, 0, 3);
    }
    let [one, two] = links;
    let (with_root, checker) = if grid.root(one).is_some() { (one, two) } else { (two, one) };
    finish_root(&mut grid, with_root, 7);
    let check = check_of(&grid, checker).expect("it is to check");
    grid.tell(checker, ToCoordinator::Ready { run: check });
    (grid, [with_root, checker], check)
}

/// Workers that compute: of the hosts, of the rows of the run, and of the run.
fn busy(grid: &Grid) -> (Vec<u32>, Vec<u32>, u32) {
    let view = grid.machine.run(RUN).expect("it is under way");
    let (mut hosts, mut rows) = (Vec::new(), Vec::new());
    for (host, _, counts) in view.by_host() {
        hosts.extend(grid.machine.hosts_from(host).next().map(|host| host.counts.busy));
        rows.push(counts.busy);
    }
    (hosts, rows, view.counts().busy)
}

/// It was idle on all pages, for as long as its check took.
#[test]
fn a_host_that_checks_a_unit_is_busy_and_its_work_is_not_work_of_the_run() {
    let (mut grid, [_, checker], check) = being_checked(RunLimits::default());
    assert_eq!(busy(&grid), (vec![0, 0], vec![0, 0], 0));
    count_busy(&mut grid, checker, check, 1, 2);
    let (mut hosts, mut rows, all) = busy(&grid);
    assert_eq!(hosts, rows, "in the same order");
    [&mut hosts, &mut rows].into_iter().for_each(|busy| busy.sort_unstable());
    assert_eq!((hosts, rows, all), (vec![0, 1], vec![0, 1], 1));
    // It says that more workers compute than it has.
    count_busy(&mut grid, checker, check, 9, 2);
    let (hosts, rows, _) = busy(&grid);
    assert!(hosts.iter().chain(&rows).all(|busy| *busy <= 1), "{hosts:?} {rows:?}");
    let view = grid.machine.run(RUN).expect("it is under way");
    let checks_ns = view.checked().map(|checked| checked.checks_work_ns);
    assert_eq!((view.counts().work_ns, checks_ns), (6_000_000_000, Some(2_000_000_000)));
    assert_eq!(view.standing().checks_work_ns, 2_000_000_000);
    count_busy(&mut grid, checker, check, 0, 2);
    assert_eq!(busy(&grid), (vec![0, 0], vec![0, 0], 0));
    // It is given up while it computes.
    count_busy(&mut grid, checker, check, 1, 2);
    grid.tell(checker, ToCoordinator::Leaving);
    assert_eq!(busy(&grid).2, 0);
}

#[test]
fn what_a_checker_counts_after_the_end_belongs_to_the_run() {
    let (mut grid, [_, checker], check) = being_checked(RunLimits::default());
    count_busy(&mut grid, checker, check, 1, 2);
    answer(&mut grid, checker, 7);
    assert_eq!(grid.ends.len(), 1);
    for _ in 0..2 {
        count_busy(&mut grid, checker, check, 0, 5);
    }
    let view = grid.machine.run_over(RUN).expect("its hosts have not said what they counted last");
    assert_eq!(view.checked().map(|checked| checked.checks_work_ns), Some(5_000_000_000));
    assert_eq!((view.counts().busy, grid.machine.checks_work_ns()), (0, 5_000_000_000));
}

#[test]
fn the_time_of_checks_from_before_a_restart_counts() {
    let limits = RunLimits { cpu_ms_max: Some(10_000), ..RunLimits::default() };
    let checked = RunSpec { trust: Trust::Quorum(2), limits, ..spec() };
    let standing = Standing { checks_work_ns: 9_000_000_000, under_way_ms: 1, ..Standing::default() };
    let (submitter, entries) = Default::default();
    let stored =
        StoredRun { run: RUN, submitter, spec: checked, state: RunState::Running, entries, standing };
    let mut grid = Grid::of(true, vec![stored]);
    let checked = grid.machine.run(RUN).and_then(|view| view.checked()).expect("it is checked");
    assert_eq!((checked.checks_work_ns, checked.checks), (9_000_000_000, 0));
    let link = join(&mut grid, 1);
    grid.tell(link, ToCoordinator::Ready { run: RUN });
    count_busy(&mut grid, link, RUN, 1, 1);
    grid.advance(1_500, &[link]);
    let [(_, RunEnd::Limit(reason))] = &grid.ends[..] else { panic!("{:?}", grid.ends) };
    assert!(reason.contains("9.0 s of it to check results"), "{reason}");
}

/// A run whose result waited for its checks continued beyond its limit.
#[test]
fn the_time_in_which_a_result_is_checked_counts_towards_the_time_limit() {
    let limits = RunLimits { time_ms_max: Some(5_000), ..RunLimits::default() };
    let (mut grid, links, _) = being_checked(limits);
    assert!(waits_for(&grid).contains("is being checked"), "{}", waits_for(&grid));
    grid.advance(4_900, &links);
    assert_eq!(grid.ends, []);
    grid.advance(200, &links);
    let [(_, RunEnd::Limit(reason))] = &grid.ends[..] else { panic!("{:?}", grid.ends) };
    assert!(reason.contains("5 s, and its result was still being checked; raise it with"), "{reason}");
}
