//! Assigns the places for active runs. A free one goes to the submitter that has the fewest, and among its runs to the
//! oldest. If all are taken and a submitter that has none waits, the newest run of the submitter that has the most gives
//! way, if that one has several: hosts save and drop it as if it were suspended, and it waits for another turn.
//!
//! So one submitter has all places only while no other submitter waits. As giving way costs what jobs have not finished, a run
//! keeps its place for a while, and one that no host can load takes no place.

use std::collections::BTreeMap;

use crate::limits::RUNS_ACTIVE_MAX;
use crate::{RunId, RunState, Time};

use super::Coordinator;
use super::run::CoordinatorRun;
use super::surface::{Event, Submitter};

impl Coordinator {
    /// Gives waiting runs to the hosts, as far as there is room.
    pub(super) fn activate(&mut self, now: Time) {
        self.activate_those(now, CoordinatorRun::waits_for_its_turn);
        self.runs.plan_giving_way();
    }

    /// The same after a start: hosts may still have the runs that were under way, so these are first.
    pub(super) fn activate_again(&mut self, now: Time) {
        self.activate_those(now, |run| run.state == RunState::Running && run.waits_for_its_turn());
        self.activate(now);
    }

    fn activate_those(&mut self, now: Time, which: impl Fn(&CoordinatorRun) -> bool) {
        if self.runs.turns_free() == 0 {
            return;
        }
        let waiting = self.runs.iter().filter(|(_, coordinator_run)| which(coordinator_run));
        let mut waiting: Vec<Waiting> =
            waiting.map(|(run, coordinator_run)| Waiting::of(*run, coordinator_run)).collect();
        let mut places = self.runs.places();
        for _ in 0..self.runs.turns_free() {
            let Some(next) = next_of(&waiting, &places) else { break };
            let Waiting { run, submitter, .. } = waiting.swap_remove(next);
            *places.entry(submitter).or_default() += 1;
            self.begin_turn(now, run);
        }
    }

    // ---- giving way ----

    /// When a run gives its place to a submitter that has none.
    pub(super) fn next_giving_way(&self) -> Option<(Time, &'static str)> {
        let at = self.runs.gives_way_at().filter(|_| !self.missing.is_awaiting())?;
        Some((at, "a run gives its place to a submitter that has none"))
    }

    /// A run gives its place to a submitter that has none, if it is time.
    pub(super) fn give_way(&mut self, now: Time) {
        if self.next_giving_way().is_none_or(|(at, _)| now < at) {
            return;
        }
        let Some((_, run)) = self.runs.next_to_give_way() else { return };
        self.outputs.event(Event::GaveWay(run));
        self.drop_everywhere(now, run, true);
        self.activate(now);
    }

    /// More than the number of runs that may give way now; each that does reduces it.
    pub(super) fn places_to_give(&self, now: Time) -> usize {
        match self.next_giving_way() {
            Some((at, _)) if now >= at => RUNS_ACTIVE_MAX.saturating_sub(self.runs.places().len()),
            _ => 0,
        }
    }
}

/// A run that waits for a place.
struct Waiting {
    run: RunId,
    submitter: Submitter,
    yields: u32,
}

impl Waiting {
    fn of(run: RunId, coordinator_run: &CoordinatorRun) -> Self {
        Self { run, submitter: coordinator_run.submitter, yields: coordinator_run.turn.yields() }
    }
}

/// The index of the run that gets the next place. Runs that hosts could not load have had their turn.
fn next_of(waiting: &[Waiting], places: &BTreeMap<Submitter, usize>) -> Option<usize> {
    let has = |submitter| places.get(&submitter).copied().unwrap_or_default();
    let first = |waiting: &Waiting| (has(waiting.submitter), waiting.yields, waiting.run);
    (0..waiting.len()).min_by_key(|index| first(&waiting[*index]))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Grid, spec};
    use super::*;
    use crate::limits::PLACE_KEPT_MIN;
    use crate::message::{ToCoordinator, ToHost};

    const MOST: u64 = RUNS_ACTIVE_MAX as u64;

    fn submit(grid: &mut Grid, run: u64, submitter: u128) {
        grid.machine.submit(grid.now, RunId(run), Submitter(submitter), spec());
        grid.drain();
    }

    fn end(grid: &mut Grid, run: u64) {
        grid.machine.cancel(grid.now, RunId(run)).expect("it is there");
        grid.drain();
    }

    fn active(grid: &Grid) -> Vec<u64> {
        grid.machine.runs.active().map(|(run, _)| run.0).collect()
    }

    fn state(grid: &Grid, run: u64) -> Option<RunState> {
        grid.machine.run(RunId(run)).map(|view| view.state())
    }

    /// Passes a little more time than a run keeps its place.
    fn keep_places(grid: &mut Grid, links: &[super::super::LinkId]) {
        grid.advance(PLACE_KEPT_MIN.as_millis() as u64 + 1_000, links);
    }

    #[test]
    fn a_free_place_goes_to_the_submitter_that_has_the_fewest_and_to_its_oldest_run() {
        let mut grid = Grid::new();
        for run in 1..=MOST + 4 {
            submit(&mut grid, run, 7);
        }
        for (run, submitter) in [(20, 8), (21, 8), (30, 9), (31, 9), (22, 8)] {
            submit(&mut grid, run, submitter);
        }
        for (ended, next) in [(1, 20), (2, 30), (3, 21), (4, 31), (20, 22), (5, 9)] {
            let before = active(&grid);
            end(&mut grid, ended);
            let begun = active(&grid).into_iter().filter(|run| !before.contains(run)).collect::<Vec<_>>();
            assert_eq!(begun, [next], "after run {ended}");
        }
    }

    #[test]
    fn one_submitter_has_all_places_only_while_no_other_waits() {
        let mut grid = Grid::new();
        let (link, _) = grid.join();
        for run in 1..=MOST + 2 {
            submit(&mut grid, run, 7);
            grid.tell(link, ToCoordinator::Ready { run: RunId(run) });
        }
        keep_places(&mut grid, &[link]);
        assert_eq!(active(&grid), (1..=MOST).collect::<Vec<_>>());
        // The newest of its runs gives way, with all that hosts have of it, and waits then; one that is older does not.
        submit(&mut grid, 20, 8);
        grid.advance(10, &[link]);
        assert_eq!(active(&grid), (1..MOST).chain([20]).collect::<Vec<_>>());
        assert_eq!(state(&grid, MOST), Some(RunState::Suspending));
        let is_told =
            |message: &ToHost| matches!(message, ToHost::SuspendRun { .. }).then(|| message.clone());
        assert_eq!(grid.last(link, is_told), Some(ToHost::SuspendRun { run: RunId(MOST) }));
        grid.tell(link, ToCoordinator::Suspended { run: RunId(MOST) });
        assert_eq!(state(&grid, MOST), Some(RunState::Queued));
        // Others who have none get a place each, and the first keeps one.
        for other in 1..=MOST {
            submit(&mut grid, 20 + other, 8 + u128::from(other));
        }
        for _ in 0..MOST {
            keep_places(&mut grid, &[link]);
        }
        assert_eq!(active(&grid), [1].into_iter().chain(20..19 + MOST).collect::<Vec<_>>());
        end(&mut grid, 20);
        assert!(active(&grid).contains(&(19 + MOST)), "the submitter that still has none is next");
        end(&mut grid, 21);
        assert!(active(&grid).contains(&(20 + MOST)));
        // Then those of one that has a place already, the oldest first.
        end(&mut grid, 22);
        assert!(active(&grid).contains(&2), "{:?}", active(&grid));
    }

    #[test]
    fn a_run_keeps_its_place_for_a_while_and_one_that_no_host_can_load_takes_none() {
        let mut grid = Grid::new();
        let (link, _) = grid.join();
        for run in 1..=MOST {
            submit(&mut grid, run, 7);
            grid.tell(link, ToCoordinator::Ready { run: RunId(run) });
        }
        submit(&mut grid, 20, 8);
        grid.advance(PLACE_KEPT_MIN.as_millis() as u64 - 1_000, &[link]);
        assert_eq!(active(&grid), (1..=MOST).collect::<Vec<_>>());
        grid.advance(2_000, &[link]);
        assert_eq!(active(&grid), (1..MOST).chain([20]).collect::<Vec<_>>());
        grid.tell(link, ToCoordinator::Suspended { run: RunId(MOST) });
        // It gives its turn up, and the first submitter's run continues.
        grid.tell(link, ToCoordinator::Unready { run: RunId(20), reason: "no room".to_owned() });
        for _ in 0..8 {
            keep_places(&mut grid, &[link]);
        }
        assert_eq!(active(&grid), (1..=MOST).collect::<Vec<_>>());
    }

    #[test]
    fn a_run_that_loses_its_place_is_active_on_the_disk_until_it_waits_and_can_be_suspended_meanwhile() {
        for is_suspended in [false, true] {
            let mut grid = Grid::new();
            let (link, _) = grid.join();
            for run in 1..=MOST {
                submit(&mut grid, run, 7);
                grid.tell(link, ToCoordinator::Ready { run: RunId(run) });
            }
            submit(&mut grid, 20, 8);
            grid.now = grid.now + PLACE_KEPT_MIN;
            grid.machine.handle_heard(grid.now, grid.identity(link).0);
            let mut saved = Vec::new();
            let mut note = |grid: &mut Grid| {
                while let Some(command) = grid.machine.poll_command() {
                    if let super::super::Command::SaveState { run: RunId(MOST), state } = command {
                        saved.push(state);
                    }
                }
            };
            while active(&grid).contains(&MOST) {
                grid.machine.handle_timeout(grid.now);
                note(&mut grid);
            }
            assert_eq!(state(&grid, MOST), Some(RunState::Suspending));
            if is_suspended {
                grid.machine.suspend(grid.now, RunId(MOST)).expect("it can be");
                note(&mut grid);
                assert!(grid.machine.suspend(grid.now, RunId(MOST)).is_err());
            }
            let message = ToCoordinator::Suspended { run: RunId(MOST) };
            grid.machine.handle_message(grid.now, link, message);
            note(&mut grid);
            let expected: &[RunState] = match is_suspended {
                true => &[RunState::Suspending, RunState::Suspended],
                false => &[RunState::Queued],
            };
            assert_eq!((&saved[..], state(&grid, MOST)), (expected, expected.last().copied()));
        }
    }

    #[test]
    fn after_a_restart_runs_that_were_under_way_have_their_places_first() {
        use super::super::{Standing, StoredRun};
        let stored = |run: u64, state| StoredRun {
            run: RunId(run),
            submitter: Submitter(u128::from(run.min(3))),
            spec: spec(),
            state,
            entries: Vec::new(),
            standing: Standing::default(),
        };
        let queued = (1..3).map(|run| stored(run, RunState::Queued));
        let running = (3..3 + MOST).map(|run| stored(run, RunState::Running));
        let grid = Grid::of(true, queued.chain(running).collect());
        assert_eq!(active(&grid), (3..3 + MOST).collect::<Vec<_>>());
    }
}
