//! Work that hosts could cause the coordinator for a few bytes, or for nothing at all.

use std::time::Duration;

use super::tests::{Grid, spec};
use super::*;
use crate::limits::{
    INLINE_RESULT_BYTES_MAX, INTRODUCTIONS_AT_ONCE_MAX, RUNS_ACTIVE_MAX, SHARERS_PER_MESSAGE_MAX,
    TABLES_TOGETHER_MAX, UNPAUSE_EVERY, UNPAUSES_AT_ONCE_MAX, UNREADY_REST_MAX, UNREADY_TURN_MAX,
};
use crate::message::ToCoordinator;
use crate::{Entry, EntryState, Finished, JobKey, JobTag, Lineage, Outcome};

fn starts(grid: &Grid, link: LinkId, run: Option<RunId>) -> usize {
    let said = grid.said.get(&link).into_iter().flatten();
    let is_such = |message: &&ToHost| matches!(message, ToHost::StartRun { run: started, .. } if run.is_none_or(|run| run == *started));
    said.filter(is_such).count()
}

#[test]
fn a_host_that_pauses_and_resumes_endlessly_is_given_runs_at_intervals() {
    let mut grid = Grid::new();
    let (link, (host, ..)) = grid.join();
    for run in 0..RUNS_ACTIVE_MAX as u64 {
        grid.submit(RunId(run));
    }
    let before = starts(&grid, link, None);
    let toggle = |grid: &mut Grid| {
        for reason in [Some("at work".to_owned()), None] {
            grid.tell(link, ToCoordinator::Paused { reason });
        }
    };
    (0..1000).for_each(|_| toggle(&mut grid));
    let most = UNPAUSES_AT_ONCE_MAX as usize * RUNS_ACTIVE_MAX;
    assert_eq!(starts(&grid, link, None) - before, most);
    assert!(!grid.machine.working.contains(host) && grid.machine.working.resuming_len(Time(u64::MAX)) == 1);
    // Its last message wins in the end.
    grid.advance(UNPAUSE_EVERY.as_millis() as u64, &[link]);
    assert!(grid.machine.working.contains(host) && grid.machine.working.next_resuming().is_none());
    assert_eq!(starts(&grid, link, None) - before, most + RUNS_ACTIVE_MAX);
    toggle(&mut grid);
    grid.tell(link, ToCoordinator::Paused { reason: Some("at work".to_owned()) });
    grid.advance(2 * UNPAUSE_EVERY.as_millis() as u64, &[link]);
    assert!(!grid.machine.working.contains(host) && grid.machine.working.next_resuming().is_none());
    // Nothing is left of a host that leaves meanwhile.
    toggle(&mut grid);
    (0..1000).for_each(|_| toggle(&mut grid));
    grid.tell(link, ToCoordinator::Leaving);
    assert!(grid.machine.working.next_resuming().is_none());
}

#[test]
fn a_host_is_introduced_to_a_bounded_number_of_others_at_once() {
    let mut grid = Grid::new();
    let (link, (host, ..)) = grid.join();
    let known = |grid: &Grid| grid.machine.circle(host).count();
    let others: Vec<HostId> = (0..1300).map(|_| grid.join().1.0).collect();
    let all: Vec<LinkId> = grid.said.keys().copied().collect();
    grid.advance(1, &all);
    let before = known(&grid);
    let meet = |grid: &mut Grid| {
        for others in others.chunks(SHARERS_PER_MESSAGE_MAX) {
            grid.tell(link, ToCoordinator::Meet { hosts: others.to_vec() });
        }
    };
    let waiting = grid.machine.chores.slices().len();
    meet(&mut grid);
    assert!(grid.machine.chores.slices().len() - waiting <= 8, "a message is one slice");
    grid.advance(1, &all);
    let at_once = INTRODUCTIONS_AT_ONCE_MAX as usize;
    let met = known(&grid) - before;
    assert!(met <= at_once && met > at_once / 4, "{met}");
    (0..10).for_each(|_| meet(&mut grid));
    grid.advance(1, &all);
    assert!(known(&grid) - before <= at_once + 1);
}

#[test]
fn one_silent_host_does_not_keep_all_turns() {
    for are_others_waiting in [true, false] {
        let mut grid = Grid::new();
        let (unable, silent) = (grid.join().0, grid.join().0);
        let links = [unable, silent];
        let runs = RUNS_ACTIVE_MAX as u64 + u64::from(are_others_waiting);
        for run in 1..=runs {
            grid.submit(RunId(run));
        }
        let last = RunId(runs);
        for run in 1..=RUNS_ACTIVE_MAX as u64 {
            grid.tell(unable, ToCoordinator::Unready { run: RunId(run), reason: "no memory".to_owned() });
        }
        let first = RunId(1);
        assert_eq!(starts(&grid, unable, Some(last)), usize::from(!are_others_waiting));
        grid.advance(UNREADY_TURN_MAX.as_millis() as u64 - 1_000, &links);
        assert!(grid.machine.runs.active_ids().contains(&first), "it has its time");
        grid.advance(2_000, &links);
        assert_eq!(grid.machine.runs.active_ids().contains(&first), !are_others_waiting);
        assert_eq!(starts(&grid, unable, Some(last)), 1);
        if !are_others_waiting {
            continue;
        }
        assert!(grid.machine.run(first).expect("it is not over").turns_given_up() > 0);
        // The silent host has finally loaded it.
        grid.tell(silent, ToCoordinator::Ready { run: first });
        assert!(grid.machine.runs.active_ids().contains(&first), "there is room");
        grid.tell(silent, ToCoordinator::Ready { run: first });
        grid.advance(3_000, &links);
        assert_eq!(grid.root(silent).map(|claim| claim.run), Some(first));
        // A run that is never loaded is tried again forever.
        let second = RunId(2);
        let before = starts(&grid, unable, Some(second));
        grid.advance(2 * UNREADY_REST_MAX.as_millis() as u64, &links);
        assert!(starts(&grid, unable, Some(second)) > before);
    }
}

fn entry(number: u64, ancestors: u64) -> Entry {
    let mut key = [0; 32];
    key[..8].copy_from_slice(&number.to_be_bytes());
    let outcome = Outcome::Done(vec![0; INLINE_RESULT_BYTES_MAX].into());
    let finished = Finished { outcome, work_ns: 1 + number, span_ns: 1 };
    let lineage = Lineage((0..ancestors).map(|tag| JobTag(number * 100 + tag)).collect());
    Entry { key: JobKey(key), depth: 1, lineage, state: EntryState::Done(finished), is_earlier: false }
}

#[test]
fn the_tables_of_all_runs_together_are_bounded() {
    let mut grid = Grid::new();
    let table_bytes_max = 1 << 20;
    grid.machine.config.table_bytes_max = table_bytes_max;
    let (link, _) = grid.join();
    let runs = RUNS_ACTIVE_MAX as u64;
    for run in 1..=runs {
        grid.machine.submit(grid.now, RunId(run), Default::default(), spec());
        grid.tell(link, ToCoordinator::Ready { run: RunId(run) });
    }
    let mut most = 0;
    for number in 0..400 {
        for run in 1..=runs {
            let entries = (0..8).map(|more| entry(number * 8 + more, 40)).collect();
            grid.tell(link, ToCoordinator::Entries { run: RunId(run), entries });
            most = most.max(grid.machine.runs.tables_bytes());
        }
    }
    let bound = TABLES_TOGETHER_MAX * table_bytes_max;
    assert!(most <= bound + bound / 4 && most > bound / 2, "{most}");
    // All have a share.
    for view in grid.machine.runs() {
        assert!(view.table().1 > bound / (4 * runs as usize), "{}: {:?}", view.run, view.table());
    }
    for run in 1..=runs {
        grid.machine.cancel(grid.now, RunId(run)).expect("it is not over");
    }
    grid.advance(Duration::from_secs(60).as_millis() as u64, &[link]);
    assert_eq!(grid.machine.runs.tables_bytes(), 0);
}

#[test]
fn entries_with_too_many_ancestors_or_too_large_results_are_misbehaviour() {
    let fits = entry(1, crate::limits::LINEAGE_LENGTH_MAX as u64);
    let deep = entry(1, crate::limits::LINEAGE_LENGTH_MAX as u64 + 1);
    let outcome = Outcome::Done(vec![0; INLINE_RESULT_BYTES_MAX + 1].into());
    let large =
        Entry { state: EntryState::Done(Finished { outcome, work_ns: 1, span_ns: 1 }), ..fits.clone() };
    for (entry, is_allowed) in [(fits, true), (deep, false), (large, false)] {
        let mut grid = Grid::new();
        let (link, _) = grid.join();
        grid.submit(RunId(1));
        grid.tell(link, ToCoordinator::Entries { run: RunId(1), entries: vec![entry] });
        assert_eq!(grid.is_closed(link), !is_allowed);
    }
}
