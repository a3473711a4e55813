//! Commands for a run in each of its states, and their effects.

use super::tests::{Grid, spec};
use super::*;
use crate::limits::DRAIN_MAX;
use crate::message::ToCoordinator;
use crate::root_job;
use crate::{Entry, EntryState, Finished, Lineage, Outcome, RunEnd, RunState};

const RUN: RunId = RunId(1);

fn state(grid: &Grid) -> Option<RunState> {
    grid.machine.run(RUN).map(|run| run.state())
}

/// The answer of each command now, as text.
fn answers(grid: &mut Grid) -> [Option<String>; 2] {
    let now = grid.now;
    let refused = |result: Result<(), CommandError>| result.err().map(|error| error.to_string());
    [refused(grid.machine.suspend(now, RUN)), refused(grid.machine.resume(now, RUN))]
}

#[test]
fn a_run_is_suspended_and_resumed_only_where_it_can_be() {
    let refused = |what: &str, is: &str| Some(format!("run 1 cannot be {what}: it is {is}"));
    let mut grid = Grid::new();
    let none = Some("there is no run 1".to_owned());
    assert_eq!(answers(&mut grid), [none.clone(), none.clone()]);
    assert_eq!(grid.machine.cancel(grid.now, RUN), Err(CommandError::NoRun(RUN)));

    grid.submit(RUN);
    assert_eq!(
        grid.machine.resume(grid.now, RUN).err().map(|error| error.to_string()),
        refused("resumed", "not suspended")
    );
    assert_eq!(grid.machine.suspend(grid.now, RUN), Ok(()));
    assert_eq!(state(&grid), Some(RunState::Suspended), "there is no host to save anything");
    assert_eq!(answers(&mut grid), [refused("suspended", "suspended already"), None]);
    assert_eq!(state(&grid), Some(RunState::Queued));

    let (link, _) = grid.join();
    grid.tell(link, ToCoordinator::Ready { run: RUN });
    assert_eq!(state(&grid), Some(RunState::Running));
    assert_eq!(grid.machine.suspend(grid.now, RUN), Ok(()));
    grid.drain();
    assert_eq!(state(&grid), Some(RunState::Suspending));
    let soon = "still being suspended; try again in a moment";
    let answered = [refused("suspended", "being suspended already"), refused("resumed", soon)];
    assert_eq!(answers(&mut grid), answered);
    grid.tell(link, ToCoordinator::Suspended { run: RUN });
    assert_eq!(state(&grid), Some(RunState::Suspended));
    assert_eq!(grid.machine.run(RUN).and_then(|run| run.root_host()), None);

    assert_eq!(grid.machine.cancel(grid.now, RUN), Ok(()));
    grid.drain();
    assert_eq!(grid.ends, [(RUN, RunEnd::Cancelled)]);
    assert_eq!(answers(&mut grid), [none.clone(), none]);
}

#[test]
fn hosts_have_a_bounded_time_to_save_their_state() {
    let mut grid = Grid::new();
    grid.submit(RUN);
    let (link, _) = grid.join();
    grid.tell(link, ToCoordinator::Ready { run: RUN });
    assert_eq!(grid.machine.suspend(grid.now, RUN), Ok(()));
    grid.drain();
    let most = 2 * DRAIN_MAX.as_millis() as u64;
    grid.advance(most - 1, &[link]);
    assert_eq!(state(&grid), Some(RunState::Suspending));
    grid.advance(1, &[link]);
    assert_eq!(state(&grid), Some(RunState::Suspended));
}

#[test]
fn a_run_whose_result_was_saved_needs_no_host() {
    let root = root_job(&spec());
    let finished = Finished { outcome: Outcome::Done(vec![0, 0].into()), work_ns: 1, span_ns: 1 };
    let state = EntryState::Done(finished.clone());
    let entries =
        vec![Entry { key: root.key, depth: 0, lineage: Lineage::default(), state, is_earlier: false }];
    let (state, standing) = (RunState::Running, Standing::default());
    let stored =
        StoredRun { run: RUN, submitter: Default::default(), spec: spec(), state, entries, standing };
    let mut grid = Grid::of(true, vec![stored]);
    grid.advance(60_000, &[]);
    assert_eq!(grid.ends, [(RUN, RunEnd::Finished(finished))]);
}

#[test]
fn entries_that_are_too_long_close_the_link() {
    use crate::limits::{ENTRIES_PER_MESSAGE_MAX, INLINE_RESULT_BYTES_MAX, LINEAGE_LENGTH_MAX};
    let tag = root_job(&spec()).key.tag();
    for (lineage, bytes, count, is_taken) in [
        (LINEAGE_LENGTH_MAX, INLINE_RESULT_BYTES_MAX, ENTRIES_PER_MESSAGE_MAX, true),
        (LINEAGE_LENGTH_MAX + 1, 1, 1, false),
        (1, INLINE_RESULT_BYTES_MAX + 1, 1, false),
        (1, 1, ENTRIES_PER_MESSAGE_MAX + 1, false),
    ] {
        let mut grid = Grid::new();
        grid.submit(RUN);
        let (link, _) = grid.join();
        grid.tell(link, ToCoordinator::Ready { run: RUN });
        let entries = (0..count as u8).map(|number| {
            let finished = Finished { outcome: Outcome::Done(vec![0; bytes].into()), work_ns: 1, span_ns: 1 };
            let (key, above) = (crate::JobKey([number; 32]), Lineage(vec![tag; lineage]));
            Entry {
                key,
                depth: lineage as u32,
                lineage: above,
                state: EntryState::Done(finished),
                is_earlier: false,
            }
        });
        grid.tell(link, ToCoordinator::Entries { run: RUN, entries: entries.collect() });
        let found = grid.machine.run(RUN).map_or(0, |run| run.table().0);
        assert_eq!((found, grid.is_closed(link)), if is_taken { (count, false) } else { (0, true) });
    }
}

#[test]
fn a_link_that_breaks_the_rules_is_closed_once_and_ignored_afterwards() {
    let mut grid = Grid::new();
    grid.submit(RUN);
    let (link, _) = grid.join();
    for reason in ["its frames break the rules", "again"] {
        grid.machine.handle_misbehaviour(grid.now, link, reason.to_owned());
        grid.drain();
    }
    grid.tell(link, ToCoordinator::Ready { run: RUN });
    assert_eq!(grid.closed, [(link, "its frames break the rules".to_owned())]);
    let refusals = grid.said[&link].iter().filter(|message| matches!(message, ToHost::Refused { .. }));
    assert_eq!(refusals.count(), 1);
    assert!(grid.root(link).is_none());
}

#[test]
fn a_run_is_done_only_if_its_entry_point_returned_a_result() {
    for (outcome, end) in [
        (Outcome::Done(vec![0, 0].into()), RunState::Done),
        (Outcome::Done(vec![1].into()), RunState::Done),
        (Outcome::Done(vec![2].into()), RunState::Failed),
        (Outcome::Done(Vec::new().into()), RunState::Failed),
    ] {
        let mut grid = Grid::new();
        grid.submit(RUN);
        let (link, _) = grid.join();
        grid.tell(link, ToCoordinator::Ready { run: RUN });
        let number = grid.root(link).expect("the root").number;
        let finished = Finished { outcome, work_ns: 1, span_ns: 1 };
        grid.machine.handle_message(
            grid.now,
            link,
            ToCoordinator::RootFinished { run: RUN, number, finished },
        );
        let events = std::iter::from_fn(|| grid.machine.poll_event());
        let changed: Vec<Event> = events.filter(|event| matches!(event, Event::RunChanged(..))).collect();
        assert_eq!(changed, [Event::RunChanged(RUN, end)]);
    }
}

#[test]
fn a_root_that_may_have_begun_is_restored_as_lost() {
    let entry = || {
        let state = EntryState::DoneAt { host: HostId(9), work_ns: 1 };
        Entry { key: crate::JobKey([1; 32]), depth: 1, lineage: Lineage::default(), state, is_earlier: false }
    };
    for (state, entries, is_redone) in [
        (RunState::Queued, Vec::new(), false),
        (RunState::Queued, vec![entry()], true),
        (RunState::Running, Vec::new(), true),
        (RunState::Suspending, Vec::new(), true),
    ] {
        let stored = StoredRun {
            run: RUN,
            submitter: Default::default(),
            spec: spec(),
            state,
            entries,
            standing: Standing::default(),
        };
        let grid = Grid::of(true, vec![stored]);
        assert_eq!(grid.machine.runs.get(&RUN).expect("the run").root.spec().redone, is_redone, "{state:?}");
    }
}

#[test]
fn a_host_without_the_root_does_not_end_a_run() {
    let mut grid = Grid::new();
    let mut links: Vec<(HostId, LinkId)> =
        (0..8).map(|_| grid.join()).map(|(link, (host, ..))| (host, link)).collect();
    links.sort_unstable();
    grid.submit(RUN);
    let (_, with_root) = links[4];
    grid.tell(with_root, ToCoordinator::Ready { run: RUN });
    assert!(grid.root(with_root).is_some());
    let limit = || ToCoordinator::Limit { run: RUN, reason: "memory".to_owned() };
    for (_, link) in links.iter().filter(|(_, link)| *link != with_root) {
        grid.tell(*link, limit());
        assert_eq!(grid.ends, []);
    }
    grid.tell(with_root, limit());
    assert_eq!(grid.ends.len(), 1);
}

#[test]
fn no_host_computes_for_a_run_that_has_ended() {
    let mut grid = Grid::new();
    grid.submit(RUN);
    let (link, _) = grid.join();
    grid.tell(link, ToCoordinator::Ready { run: RUN });
    let counts = Box::new(crate::Counts { work_ns: 7, busy: 2, workers: 3, ..Default::default() });
    let (progress, notes, workers) = (None, Vec::new(), Vec::new());
    grid.tell(
        link,
        ToCoordinator::Counts {
            run: RUN,
            series: 1,
            counts,
            progress,
            notes,
            ahead_ns: None,
            notes_dropped: 0,
            workers,
        },
    );
    assert_eq!(grid.machine.cancel(grid.now, RUN), Ok(()));
    assert_eq!(grid.machine.hosts().next().map(|host| host.counts.busy), Some(0));
    grid.machine.handle_message(grid.now, link, ToCoordinator::Stopped { run: RUN });
    let saved = std::iter::from_fn(|| grid.machine.poll_command()).find_map(|command| match command {
        Command::SaveCounts { counts, account, .. } => {
            Some((counts.work_ns, counts.busy, account.is_complete))
        }
        _ => None,
    });
    assert_eq!(saved, Some((7, 0, true)));
}
