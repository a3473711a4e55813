use super::*;
use crate::coordinator::tests::spec;
use crate::limits::PLACE_KEPT_MIN;
use crate::{Entry, EntryState, HostId, JobKey, Lineage, RunLimits, RunSpec, RunState};

const RUN: RunId = RunId(1);
const OTHER: RunId = RunId(2);

fn roster(specs: [RunSpec; 2]) -> Roster {
    let mut roster = Roster::new(Time(0), PLACE_KEPT_MIN);
    for (run, spec) in [RUN, OTHER].into_iter().zip(specs) {
        let create =
            |table| CoordinatorRun::new(Submitter::default(), spec, RunState::Queued, table, Time(0));
        roster.add(run, 1 << 20, create);
    }
    roster
}

fn active(roster: &Roster) -> Vec<RunId> {
    let found: Vec<RunId> = roster.active().map(|(run, _)| run).collect();
    let with_turn =
        roster.iter().filter(|(_, coordinator_run)| coordinator_run.turn.is_active()).map(|(run, _)| *run);
    assert_eq!((&found, roster.active_ids()), (&with_turn.collect(), found.clone()));
    assert_eq!(roster.turns_free() + found.len(), RUNS_ACTIVE_MAX);
    found
}

#[test]
fn a_run_has_its_turn_rests_or_waits() {
    let mut roster = roster([spec(), spec()]);
    assert_eq!(active(&roster), []);
    for (run, number) in [(OTHER, 1), (RUN, 1)] {
        let (_, asked, turn) = roster.begin_turn(Time(1), run).expect("it is there");
        assert_eq!((asked, turn), (Asked::All, number));
    }
    assert!(roster.begin_turn(Time(1), RunId(3)).is_none());
    assert_eq!(active(&roster), [RUN, OTHER]);
    roster.give_turn_up(Time(1), RUN);
    let until = roster.next_rested().expect("it rests");
    assert_eq!((active(&roster), roster.wake(OTHER), roster.wake(RUN)), (vec![OTHER], false, true));
    assert_eq!((roster.next_rested(), roster.wake_all()), (None, false));
    roster.give_turn_up(Time(1), OTHER);
    assert!(roster.wake_all() && !roster.get(&OTHER).expect("it is there").turn.rests());
    roster.begin_turn(Time(1), RUN);
    roster.give_turn_up(Time(1), RUN);
    assert!(!roster.wake_rested(until), "it rests for longer than the first time");
    let until = roster.next_rested().expect("it rests");
    assert!(roster.wake_rested(until) && !roster.wake_rested(until));
    assert_eq!(roster.begin_turn(until, RUN).map(|(_, asked, _)| asked), Some(Asked::Again));
    assert_eq!([roster.end_turn(RUN), roster.end_turn(RUN)], [true, false]);
    assert_eq!(active(&roster), []);
}

#[test]
fn nothing_is_left_of_a_run_that_is_over_or_resumed() {
    let mut roster = roster([spec(), spec()]);
    for run in [RUN, OTHER] {
        roster.begin_turn(Time(1), run);
        roster.attend(run);
        roster.give_turn_up(Time(1), run);
    }
    roster.renew_turn(OTHER);
    assert!(!roster.get(&OTHER).expect("it is there").turn.rests());
    roster.begin_turn(Time(1), OTHER);
    assert_eq!((roster.urgent_ids(), roster.is_urgent(RUN)), (vec![RUN, OTHER], true));
    assert!(roster.remove(RUN).is_some() && roster.remove(RUN).is_none());
    assert_eq!((roster.next_rested(), roster.is_urgent(RUN)), (None, false));
    assert!(roster.remove(OTHER).is_some() && active(&roster).is_empty());
    assert_eq!((roster.len(), roster.attended().count()), (0, 0));
}

#[test]
fn a_run_is_attended_to_while_it_has_a_timer() {
    let mut roster = roster([spec(), spec()]);
    roster.attend(OTHER);
    let hosts = BTreeSet::from([HostId(1)]);
    roster.begin_suspending(RUN, Suspending { hosts, is_asking: false, until: Time(9), gives_way: false });
    roster.get_mut(&OTHER).expect("it is there").ledger.save_later(Time(1), Vec::new());
    for run in [RUN, OTHER] {
        roster.stop_attending_if_idle(run);
    }
    assert_eq!(roster.attended().count(), 2);
    roster.get_mut(&RUN).expect("it is there").suspending = None;
    roster.get_mut(&OTHER).expect("it is there").ledger.take_unsaved(&mut 1);
    for run in [RUN, OTHER] {
        roster.stop_attending_if_idle(run);
    }
    assert_eq!((roster.attended().count(), roster.urgent_ids()), (0, vec![]));
}

#[test]
fn runs_with_limits_are_checked_while_they_are_under_way() {
    let limits = RunLimits { time_ms_max: Some(1), ..RunLimits::default() };
    let mut roster = roster([RunSpec { limits, ..spec() }, spec()]);
    roster.begin_turn(Time(0), OTHER);
    assert_eq!(roster.next_metering(), None);
    roster.begin_turn(Time(0), RUN);
    let due = Time(0) + METER_EVERY;
    assert_eq!((roster.next_metering(), roster.begin_metering(Time(due.0 - 1))), (Some(due), vec![]));
    assert_eq!((roster.begin_metering(due), roster.begin_metering(due)), (vec![RUN], vec![]));
    assert_eq!(roster.next_metering(), Some(due + METER_EVERY));
}

#[test]
fn the_largest_table_shrinks_first() {
    let mut roster = roster([spec(), spec()]);
    for (run, entries) in [(RUN, 40), (OTHER, 4)] {
        for job in 0..entries {
            let state = EntryState::Running(HostId(1));
            let entry = Entry {
                key: JobKey([job; 32]),
                depth: 1,
                lineage: Lineage::default(),
                state,
                is_earlier: false,
            };
            roster.get_mut(&run).expect("it is there").ledger.restore(vec![entry]);
        }
    }
    let len = |roster: &Roster, run| roster.get(&run).map(|run| run.ledger.size().0);
    let (before, others) = (len(&roster, RUN), len(&roster, OTHER));
    let bound = roster.tables_bytes() / TABLES_TOGETHER_MAX - 1;
    roster.keep_tables_to_bound(bound);
    assert!(len(&roster, RUN) < before && len(&roster, OTHER) == others);
    assert!(roster.tables_bytes() <= bound * TABLES_TOGETHER_MAX);
    assert!(roster.range(OTHER..).map(|(run, _)| run).eq([&OTHER]) && roster.keys().eq([&RUN, &OTHER]));
}
