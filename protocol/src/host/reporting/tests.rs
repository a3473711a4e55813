//! Tests which counts and notes are reported, and when.

use std::time::Duration;

use super::super::bonds::note;
use super::*;
use crate::Outcome;
use crate::limits::{NOTED_PARAMETERS_BYTES_MAX, NOTED_PARAMETERS_WAITING_BYTES_MAX, NOTES_WAITING_MAX};

const RUN: RunId = RunId(1);
const NOW: Time = Time(0);

/// The counts and notes in a report.
fn told(reporting: &mut Reporting, now: Time) -> Vec<(u64, usize, u64)> {
    let messages = reporting.report(now, RUN).into_iter().map(|message| match message {
        ToCoordinator::Counts { counts, notes, notes_dropped, .. } => {
            (counts.jobs.reused, notes.len(), notes_dropped)
        }
        other => panic!("{other:?}"),
    });
    messages.collect()
}

#[test]
fn a_report_contains_all_news_once() {
    let mut reporting = Reporting::new(NOW);
    assert!(reporting.is_due(NOW) && !reporting.has_news());
    assert_eq!(told(&mut reporting, NOW), []);
    reporting.own_mut().jobs.reused = 4;
    reporting.note(NOW, note(0));
    reporting.take_activity(NOW, Vec::new(), None, (Vec::new(), 2));
    assert!(reporting.has_news());
    assert_eq!(told(&mut reporting, NOW), [(4, 1, 2)]);
    assert!(!reporting.has_news());
    assert_eq!(told(&mut reporting, NOW), []);
    reporting.take_counts(Counts { busy: 1, ..Counts::default() });
    assert!(reporting.has_news() && reporting.has_other_workers());
    assert_eq!(told(&mut reporting, NOW), [(4, 0, 0)]);
    assert!(!reporting.has_other_workers());
}

#[test]
fn reports_keep_their_interval_unless_one_is_wanted_sooner() {
    let mut reporting = Reporting::new(NOW);
    let now = NOW + COUNTS;
    reporting.report(now, RUN);
    assert!(!reporting.is_due(now) && reporting.is_due(now + COUNTS));
    reporting.make_due_soon(now);
    assert!(!reporting.is_due(now) && reporting.is_due(now + COUNTS_SOON));
    reporting.make_due(now);
    reporting.make_due_soon(now);
    assert!(reporting.is_due(now), "it is not put off");
}

/// A host that cannot continue with a run counts nothing more, so without this its last counts would never be reported.
#[test]
fn a_report_that_may_have_been_lost_with_a_link_is_sent_again() {
    let mut reporting = Reporting::new(NOW);
    reporting.tell_again();
    assert!(!reporting.has_news(), "nothing was reported");
    reporting.own_mut().jobs.reused = 4;
    reporting.report(NOW, RUN);
    reporting.tell_again();
    assert_eq!(told(&mut reporting, NOW), [(4, 0, 0)]);
    assert_eq!(told(&mut reporting, NOW), []);
}

#[test]
fn counts_reported_under_another_id_are_not_reported_again() {
    let mut reporting = Reporting::new(NOW);
    reporting.own_mut().jobs.reused = 4;
    reporting.report(NOW, RUN);
    reporting.own_mut().jobs.reused = 9;
    reporting.count_as_another();
    assert_eq!(told(&mut reporting, NOW), [(5, 0, 0)]);
    assert_eq!(reporting.counts().jobs.reused, 9);
}

/// `executed` fell when a host left and gave a job back that it had begun, and `work_s` when a guest reported less work than had been
/// estimated.
#[test]
fn no_figure_that_grows_falls_in_a_series() {
    let mut reporting = Reporting::new(NOW);
    let counts = |executed, aborted, work_ns, busy| {
        let jobs = crate::Jobs { executed, aborted, exposed: executed, ..Default::default() };
        Counts { jobs, work_ns, busy, ..Counts::default() }
    };
    reporting.take_counts(counts(4, 0, 900, 2));
    reporting.take_counts(counts(3, 1, 830, 0));
    assert_eq!(
        reporting.counts(),
        Counts { jobs: crate::Jobs { aborted: 1, ..counts(4, 0, 0, 0).jobs }, ..counts(4, 0, 900, 0) }
    );
    let mut figures = reporting.figures().clone();
    figures.stop(counts(2, 2, 901, 0), Vec::new());
    let ToCoordinator::Counts { counts, .. } = figures.last_message(RUN, Vec::new(), 0) else {
        panic!("counts")
    };
    assert_eq!((counts.jobs.executed, counts.jobs.aborted, counts.work_ns), (4, 2, 901));
}

#[test]
fn a_run_that_is_over_has_no_busy_workers() {
    let mut reporting = Reporting::new(NOW);
    reporting.take_counts(Counts { busy: 3, ..Counts::default() });
    let busy = |message| match message {
        ToCoordinator::Counts { counts, .. } => counts.busy,
        other => panic!("{other:?}"),
    };
    let figures = reporting.figures();
    assert_eq!(busy(figures.message(RUN, Vec::new(), 0)), 3);
    assert_eq!(busy(figures.last_message(RUN, Vec::new(), 0)), 0);
}

#[test]
fn notes_and_their_parameters_are_bounded() {
    let mut reporting = Reporting::new(NOW);
    for (length, is_noted) in [(NOTED_PARAMETERS_BYTES_MAX, true), (NOTED_PARAMETERS_BYTES_MAX + 1, false)] {
        assert_eq!(reporting.noted(&vec![0; length]).is_some(), is_noted, "{length}");
    }
    let whole = NOTED_PARAMETERS_WAITING_BYTES_MAX / NOTED_PARAMETERS_BYTES_MAX;
    for _ in 1..whole {
        reporting.note(NOW, note(NOTED_PARAMETERS_BYTES_MAX));
    }
    reporting.note(NOW, note(NOTED_PARAMETERS_BYTES_MAX - 1));
    assert!(
        reporting.noted(&[0]).is_some() && reporting.noted(&[0; 2]).is_none(),
        "there is room for one byte more"
    );
    while reporting.notes_len() < NOTES_WAITING_MAX {
        reporting.note(NOW, note(2));
    }
    reporting.note(NOW, note(0));
    assert_eq!(reporting.notes.dropped, 1);
    let notes = reporting.take_notes(NOW + Duration::from_millis(300));
    assert_eq!(notes.iter().filter(|note| note.parameters.is_some()).count(), whole);
    assert!(notes.len() == NOTES_WAITING_MAX && notes.iter().all(|note| note.ago_ms == 300));
    assert!(reporting.noted(&[0; NOTED_PARAMETERS_BYTES_MAX]).is_some(), "there is room again");
}

#[test]
fn each_reused_result_is_counted_with_the_work_that_it_saves() {
    let mut reporting = Reporting::new(NOW);
    for (work_ns, is_earlier) in [(5, false), (7, false), (11, false), (100, true)] {
        let finished = Finished { outcome: Outcome::Done(vec![0].into()), work_ns, span_ns: 1 };
        reporting.count_reused(&finished, is_earlier);
    }
    let own = reporting.own();
    assert_eq!((own.jobs.reused, own.saved_work_ns), (3, 23));
    assert_eq!((own.earlier, own.earlier_work_ns), (1, 100), "no work of this run was saved");
}
