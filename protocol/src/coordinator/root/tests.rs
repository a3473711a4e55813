use std::collections::BTreeSet;

use super::*;
use crate::coordinator::tests::{Grid, spec};
use crate::coordinator::{Standing, StoredRun};
use crate::message::{JobNote, NoteKind, ToCoordinator, ToHost};
use crate::parcel::{Contents, ParcelId, ParcelMessage};
use crate::{BlobHash, Counts, Entry, GridId, Lineage, RunSpec, root_job};

const RUN: RunId = RunId(1);

/// A restarted coordinator that knows that the root is at this host.
fn restarted(at: HostId) -> Grid {
    let root = root_job(&spec());
    let entry = Entry {
        key: root.key,
        depth: 0,
        lineage: Lineage::default(),
        state: EntryState::Running(at),
        is_earlier: false,
    };
    let run = StoredRun {
        run: RUN,
        submitter: Default::default(),
        spec: spec(),
        state: RunState::Running,
        entries: vec![entry],
        standing: Standing::default(),
    };
    Grid::of(true, vec![run])
}

#[test]
fn a_root_does_not_wait_at_a_host_that_never_comes_back() {
    let mut grid = restarted(HostId(99));
    let (link, _) = grid.join();
    grid.tell(link, ToCoordinator::Knows { hosts: Vec::new() });
    grid.tell(link, ToCoordinator::Ready { run: RUN });
    grid.advance(60_000, &[link]);
    assert_eq!(grid.root(link).map(|claim| claim.run), Some(RUN));
}

#[test]
fn one_root_remains_of_two_that_hosts_come_back_with_after_a_restart() {
    for order in [[1, 2], [2, 1]] {
        let mut grid = restarted(HostId(99));
        let mut links = BTreeMap::new();
        for number in order {
            let (host, number) = (HostId(10 + number), AssignmentId(number));
            let proof = grid.machine.root_proof(RUN, number);
            let was = (host, grid.machine.secret_of(host, &Default::default()), GridId(7));
            let link = grid.hello(Some(was), vec![RootClaim { run: RUN, number, proof }]);
            links.insert(number, link);
        }
        let withdrawn = |grid: &Grid, number: u64| {
            grid.last(links[&AssignmentId(number)], |message| match message {
                ToHost::Withdraw { number, .. } => Some(*number),
                _ => None,
            })
        };
        let of_each = (withdrawn(&grid, 1), withdrawn(&grid, 2));
        assert_eq!(of_each, (None, Some(AssignmentId(2))), "they came in the order {order:?}");
        assert_eq!(
            grid.machine.runs.get(&RUN).expect("the run").root.assigned(),
            Some((HostId(11), AssignmentId(1))),
            "{order:?}"
        );
        let all: Vec<_> = links.values().copied().collect();
        grid.advance(10_000, &all);
        assert!(all.iter().all(|link| grid.root(*link).is_none()), "nobody is given another");
    }
}

#[test]
fn a_root_goes_from_a_host_that_cannot_run_it_to_one_that_can() {
    let mut grid = Grid::new();
    let (unable, able) = (grid.join().0, grid.join().0);
    grid.submit(RUN);
    for link in [unable, able] {
        grid.tell(link, ToCoordinator::Ready { run: RUN });
    }
    grid.advance(1_000, &[unable, able]);
    assert!(grid.root(unable).is_some() && grid.root(able).is_none());
    grid.tell(unable, ToCoordinator::Unready { run: RUN, reason: "it has no room".to_owned() });
    grid.advance(30_000, &[unable, able]);
    assert_eq!(grid.root(able).map(|claim| claim.run), Some(RUN));
}

/// The coordinator was killed before it had saved which host had the root, and that host does not come back.
#[test]
fn a_root_whose_host_was_not_saved_yet_is_lost_all_the_same() {
    for (is_saved, losses) in [(false, 1), (true, 0)] {
        // According to the saved state no host had it: it had been given back.
        let standing = Standing { under_way_ms: u64::from(is_saved), ..Standing::default() };
        let (spec, entries) = (spec(), Vec::new());
        let run = StoredRun {
            run: RUN,
            submitter: Default::default(),
            spec,
            state: RunState::Running,
            entries,
            standing,
        };
        let mut grid = Grid::of(true, vec![run]);
        let (link, _) = grid.join();
        grid.tell(link, ToCoordinator::Knows { hosts: Vec::new() });
        grid.tell(link, ToCoordinator::Ready { run: RUN });
        grid.advance(60_000, &[link]);
        assert!(grid.root(link).is_some());
        let view = grid.machine.run(RUN).expect("it is under way");
        assert_eq!(view.root_losses(), losses, "{is_saved}");
    }
}

/// As one whose process was stopped, and that another host had the root job from meanwhile.
#[test]
fn only_the_host_with_the_root_job_reports_its_progress() {
    let mut grid = Grid::new();
    let links = [grid.join().0, grid.join().0];
    grid.submit(RUN);
    links.iter().for_each(|link| grid.tell(*link, ToCoordinator::Ready { run: RUN }));
    grid.advance(1_000, &links);
    let (with, without) =
        if grid.root(links[0]).is_some() { (links[0], links[1]) } else { (links[1], links[0]) };
    let told = |done| {
        let mut counts = counted(5);
        if let ToCoordinator::Counts { progress, .. } = &mut counts {
            *progress = Some((done, 60));
        }
        counts
    };
    for (link, done) in [(with, 32), (without, 14), (with, 33), (without, 14)] {
        grid.tell(link, told(done));
    }
    assert_eq!(grid.machine.run(RUN).expect("it is under way").progress(), Some((33, 60)));
}

/// Jobs below it continue at other hosts, and are adopted although nothing was lost.
#[test]
fn a_root_that_its_host_returns_is_counted() {
    let unready = ToCoordinator::Unready { run: RUN, reason: "it has no room".to_owned() };
    for (last, given_back) in [(Some(unready), 1), (Some(ToCoordinator::Leaving), 1), (None, 0)] {
        let mut grid = Grid::new();
        let (link, _) = grid.join();
        grid.submit(RUN);
        grid.tell(link, ToCoordinator::Ready { run: RUN });
        grid.advance(1_000, &[link]);
        assert!(grid.root(link).is_some());
        grid.tell(link, counted(5));
        match last {
            Some(last) => grid.tell(link, last),
            None => grid.cut(link),
        }
        grid.advance(60_000, &[]);
        let view = grid.machine.run(RUN).expect("it is not over");
        let (counts, losses) = (view.counts(), view.root_losses());
        assert_eq!((counts.jobs.given_back, losses), (given_back, 1 - given_back as u32));
        assert_eq!((counts.work_ns, view.at_work().workers), (5, 1));
    }
}

/// Its link broke before it had said that it cannot continue.
#[test]
fn a_root_that_its_host_comes_back_without_is_counted() {
    for (has_counted, given_back) in [(true, 1), (false, 0)] {
        let mut grid = Grid::new();
        let (link, was) = grid.join();
        grid.submit(RUN);
        grid.tell(link, ToCoordinator::Ready { run: RUN });
        grid.advance(1_000, &[link]);
        assert!(grid.root(link).is_some());
        if has_counted {
            grid.tell(link, counted(5));
        }
        grid.cut(link);
        grid.hello(Some(was), Vec::new());
        let view = grid.machine.run(RUN).expect("it is not over");
        assert_eq!((view.counts().jobs.given_back, view.root_losses()), (given_back, 0));
    }
}

/// It has worked on the run before, but the message that assigned the root to it was lost with its link.
#[test]
fn a_root_that_never_reached_a_host_is_not_given_back_by_it() {
    let mut grid = Grid::new();
    let (link, was) = grid.join();
    grid.submit(RUN);
    grid.tell(link, ToCoordinator::Ready { run: RUN });
    grid.advance(1_000, &[link]);
    assert!(grid.root(link).is_some());
    grid.tell(link, worked(5, Vec::new()));
    grid.cut(link);
    grid.hello(Some(was), Vec::new());
    let view = grid.machine.run(RUN).expect("it is not over");
    assert_eq!((view.counts().jobs.given_back, view.root_losses()), (0, 0));
}

/// The host says that it cannot take part while the message that assigns it the root is under way.
#[test]
fn a_root_that_crosses_a_refusal_is_not_given_back() {
    for is_begun in [true, false] {
        let mut grid = Grid::new();
        let (link, _) = grid.join();
        grid.submit(RUN);
        grid.tell(link, ToCoordinator::Ready { run: RUN });
        grid.advance(1_000, &[link]);
        grid.tell(link, if is_begun { counted(5) } else { worked(5, Vec::new()) });
        grid.tell(link, ToCoordinator::Unready { run: RUN, reason: "it has no room".to_owned() });
        let view = grid.machine.run(RUN).expect("it is not over");
        assert_eq!((view.counts().jobs.given_back, view.root_losses()), (u64::from(is_begun), 0));
    }
}

/// The first report of a host that has begun the root.
fn counted(work_ns: u64) -> ToCoordinator {
    worked(work_ns, vec![begun(NoteKind::Begun { victim: None, redone: false, worker: 0 })])
}

/// What happened to the root job.
fn begun(what: NoteKind) -> JobNote {
    let (kind, parameters) = (crate::ROOT_KIND, None);
    let job = root_job(&spec()).key.tag();
    JobNote { job, parent: None, kind, depth: 0, what, ago_ms: 0, parameters, shares: false }
}

fn worked(work_ns: u64, notes: Vec<JobNote>) -> ToCoordinator {
    ToCoordinator::Counts {
        run: RUN,
        series: 1,
        counts: Box::new(Counts { work_ns, workers: 1, ..Counts::default() }),
        progress: None,
        notes,
        ahead_ns: None,
        notes_dropped: 0,
        workers: Vec::new(),
    }
}

/// The only host resumes, and has not reported which jobs it continues; it cannot be assigned the root yet.
#[test]
fn a_root_that_cannot_be_assigned_waits_without_timers() {
    let mut grid = Grid::new();
    grid.submit(RUN);
    let (first, was) = grid.join();
    grid.tell(first, ToCoordinator::Ready { run: RUN });
    assert!(grid.root(first).is_some());
    grid.tell(first, ToCoordinator::Paused { reason: Some("its owner is back".to_owned()) });
    grid.tell(first, ToCoordinator::Leaving);
    grid.advance(3_000, &[]);
    let back = grid.hello(Some(was), Vec::new());
    grid.tell(back, ToCoordinator::Pong { ping: 0 });
    // `advance` checks that no timer is due forever.
    grid.advance(20_000, &[back]);
}

#[test]
fn inputs_are_part_of_a_roots_identity() {
    let with = |name: &str, byte| RunSpec { inputs: vec![(name.to_owned(), BlobHash([byte; 32]))], ..spec() };
    let specs = [spec(), with("a", 1), with("a", 2), with("b", 1)];
    let keys: BTreeSet<_> = specs.iter().map(|spec| root_job(spec).key).collect();
    assert_eq!(keys.len(), specs.len());
    assert_eq!(spec().salt(), Vec::<u8>::new());
}

/// The run was suspended while the host's link was slow, and its result, or the announcement of a large one, comes late.
#[test]
fn a_result_from_before_a_suspension_is_neither_a_claim_nor_misbehaviour() {
    let finished = Finished { outcome: Outcome::Done(vec![0, 0].into()), work_ns: 1, span_ns: 1 };
    for is_large in [false, true] {
        for has_given_up_root in [false, true] {
            let mut grid = Grid::new();
            grid.submit(RUN);
            let (link, _) = grid.join();
            grid.tell(link, ToCoordinator::Ready { run: RUN });
            let number = grid.root(link).expect("the root").number;
            grid.machine.suspend(grid.now, RUN).expect("it runs");
            grid.drain();
            if has_given_up_root {
                grid.advance(2 * crate::limits::DRAIN_MAX.as_millis() as u64, &[link]);
                grid.machine.resume(grid.now, RUN).expect("it is suspended");
                grid.drain();
            }
            let finished = finished.clone();
            grid.tell(
                link,
                if is_large {
                    let contents = Contents::RootFinished { run: RUN, number };
                    ToCoordinator::Parcel(ParcelMessage::Announce {
                        parcel: ParcelId(1),
                        contents,
                        bytes: 1 << 20,
                    })
                } else {
                    ToCoordinator::RootFinished { run: RUN, number, finished }
                },
            );
            assert!(!grid.is_closed(link));
            assert_eq!(grid.ends.len(), usize::from(!has_given_up_root && !is_large));
            let is_acknowledged = grid.last(link, |message| match message {
                ToHost::Acknowledged { number: of, .. } => Some(*of == number),
                _ => None,
            });
            assert_eq!(is_acknowledged, (has_given_up_root || !is_large).then_some(true));
        }
    }
}
