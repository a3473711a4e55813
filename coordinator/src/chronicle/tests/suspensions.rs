//! Runs that are suspended.

use sateen_protocol::ROOT_KIND;

use super::*;

/// All hosts drop a suspended run. Jobs that were lost just before are begun again for that reason as well, and their owners
/// may not have had the time to count them.
#[test]
fn jobs_begun_before_a_suspension_are_not_redone_afterwards() {
    for (crashes_before, is_started_again) in [(true, false), (false, false), (false, true)] {
        let mut chronicle = Chronicle::new(unix_ms() - 60_000);
        let begun = |job, redone, ago_ms| JobNote {
            ago_ms,
            ..note(job, NoteKind::Begun { victim: None, redone, worker: 0 })
        };
        chronicle.note(host(1), &[begun(1, false, 900), begun(2, false, 800)]);
        if crashes_before {
            chronicle.host_gone(host(1), Going::Crashed);
        }
        if is_started_again {
            // The run was being suspended, and the coordinator was killed.
            let changes = chronicle.changes(RunId(1), usize::MAX, true).expect("all of it is new");
            let jobs = changes.jobs.into_iter().map(|(_, job)| job);
            let known = (changes.summary, changes.latest);
            let submitted_ms = unix_ms() - 60_000;
            chronicle =
                Chronicle::restore(submitted_ms, false, known, jobs, Vec::new(), ChartData::default());
            chronicle.rests();
        } else {
            chronicle.state(RunState::Suspended);
        }
        chronicle.state(RunState::Running);
        chronicle.host_gone(host(1), Going::Crashed);
        chronicle.note(host(2), &[begun(1, true, 0), begun(2, true, 0), begun(3, false, 0)]);
        assert_eq!(chronicle.redone(), 0);
        // Jobs that are lost from now on are.
        chronicle.host_gone(host(2), Going::Crashed);
        let changes = chronicle.changes(RunId(1), usize::MAX, true).expect("more is known");
        let (jobs, known) = (changes.jobs.into_iter(), (changes.summary, changes.latest));
        chronicle.note(host(3), &[begun(3, true, 0)]);
        assert_eq!(chronicle.redone(), 1);
        // As after a restart of the coordinator.
        let jobs = jobs.map(|(_, job)| job);
        let restored = Chronicle::restore(0, false, known, jobs, Vec::new(), ChartData::default());
        assert_eq!(restored.tree.went_on_ms(), chronicle.tree.went_on_ms());
        assert!(restored.tree.went_on_ms() > 0);
    }
}

/// `root_losses` was 1 then, and `redone` 0.
#[test]
fn a_root_that_was_lost_before_a_suspension_is_redone_and_one_that_was_given_back_is_not() {
    for (is_lost, rests_before) in [(true, false), (false, false), (false, true)] {
        let mut chronicle = Chronicle::new(unix_ms() - 60_000);
        let begun = |redone, ago_ms| JobNote {
            kind: ROOT_KIND,
            ago_ms,
            ..note(1, NoteKind::Begun { victim: None, redone, worker: 0 })
        };
        chronicle.note(host(1), &[begun(false, 900)]);
        if rests_before {
            chronicle.state(RunState::Suspended);
        }
        if is_lost || rests_before {
            chronicle.host_gone(host(1), Going::Crashed);
        }
        if !rests_before {
            chronicle.state(RunState::Suspended);
        }
        chronicle.state(RunState::Queued);
        chronicle.state(RunState::Running);
        chronicle.note(host(2), &[begun(true, 0)]);
        assert_eq!(chronicle.redone(), u64::from(is_lost), "{rests_before}");
        // Once, even if it is lost once more.
        chronicle.host_gone(host(2), Going::Crashed);
        chronicle.note(host(3), &[begun(true, 0)]);
        assert_eq!(chronicle.redone(), 1);
    }
}

/// The host that had it before the suspension was taken to continue it, so that beginning it again was not a loss.
#[test]
fn a_root_that_is_lost_after_a_suspension_is_redone_also_at_its_first_host() {
    let mut chronicle = Chronicle::new(unix_ms() - 60_000);
    let begun = |redone, ago_ms| JobNote {
        kind: ROOT_KIND,
        ago_ms,
        ..note(1, NoteKind::Begun { victim: None, redone, worker: 0 })
    };
    chronicle.root_given(host(1));
    chronicle.note(host(1), &[begun(false, 900)]);
    chronicle.state(RunState::Suspended);
    chronicle.state(RunState::Queued);
    chronicle.state(RunState::Running);
    chronicle.root_given(host(2));
    chronicle.note(host(2), &[begun(true, 0)]);
    assert_eq!(chronicle.redone(), 0, "it was given back");
    chronicle.host_gone(host(2), Going::Crashed);
    chronicle.root_given(host(1));
    chronicle.note(host(1), &[begun(true, 0)]);
    let redone: Vec<u64> = chronicle.lent_and_redone().map(|(_, _, redone)| redone).collect();
    assert_eq!((chronicle.redone(), redone), (1, vec![1, 0]));
    assert!(chronicle.shown(0, 1)[0].redone);
}

/// Before, a suspended run showed jobs that no host had as running.
#[test]
fn nothing_runs_of_a_suspended_run() {
    for is_started_again in [false, true] {
        let mut chronicle = Chronicle::new(unix_ms() - 60_000);
        let begun = |job, redone| note(job, NoteKind::Begun { victim: None, redone, worker: 0 });
        chronicle.note(host(1), &[begun(1, false), begun(2, false), begun(3, false)]);
        chronicle.note(host(1), &[note(3, NoteKind::Done { work_ns: 1 })]);
        let depths = |chronicle: &Chronicle| {
            chronicle.depths().values().fold((0, 0, 0), |(running, done, other), at| {
                (running + at.running, done + at.done, other + at.other)
            })
        };
        assert_eq!(depths(&chronicle), (2, 1, 0));
        chronicle.state(RunState::Suspended);
        if is_started_again {
            let changes = chronicle.changes(RunId(1), usize::MAX, true).expect("all of it is new");
            let jobs = changes.jobs.into_iter().map(|(_, job)| job);
            let known = (changes.summary, changes.latest);
            let charts = changes.charts.unwrap_or_default();
            chronicle = Chronicle::restore(unix_ms() - 60_000, false, known, jobs, Vec::new(), charts);
            chronicle.rests();
        }
        chronicle.sample(Sample { is_suspended: true, ..Sample::default() }, None, None);
        assert_eq!(depths(&chronicle), (0, 1, 2));
        // They are not redone, and run again, even if the run is resumed at once.
        chronicle.state(RunState::Running);
        chronicle.state(RunState::Suspended);
        chronicle.state(RunState::Running);
        chronicle.note(host(1), &[begun(1, true)]);
        chronicle.sample(Sample::default(), None, None);
        assert_eq!((depths(&chronicle), chronicle.redone()), ((1, 1, 1), 0));
    }
}

/// A run's state is saved at once, and its events a moment later: the coordinator may be killed in between.
#[test]
fn a_suspension_whose_event_was_lost_is_an_event_after_a_restart() {
    let suspensions = |chronicle: &Chronicle| {
        chronicle.events.all().iter().filter(|event| event.kind == EventKind::Suspended).count()
    };
    let restarted = |chronicle: &mut Chronicle| {
        let changes = chronicle.changes(RunId(1), usize::MAX, true).expect("all of it is new");
        let known = (changes.summary, changes.latest);
        let charts = changes.charts.unwrap_or_default();
        Chronicle::restore(unix_ms() - 60_000, false, known, std::iter::empty(), Vec::new(), charts)
    };
    let mut chronicle = Chronicle::new(unix_ms() - 60_000);
    let mut again = restarted(&mut chronicle);
    again.rests();
    assert_eq!(suspensions(&again), 1);
    // It is reported once.
    let mut third = restarted(&mut again);
    third.rests();
    assert_eq!(suspensions(&third), 1);
    third.state(RunState::Running);
    let mut fourth = restarted(&mut third);
    fourth.rests();
    assert_eq!(suspensions(&fourth), 2);
}

fn reasons(chronicle: &Chronicle) -> Vec<(&str, bool)> {
    chronicle.idle().iter().map(|idle| (idle.text.as_str(), idle.to_ms.is_some())).collect()
}

fn waits(chronicle: &mut Chronicle, is_suspended: bool, why: Option<&str>) {
    let sample = Sample { t_ms: chronicle.now_ms(), is_suspended, ..Sample::default() };
    chronicle.sample(sample, None, why);
}

fn kinds(chronicle: &Chronicle) -> Vec<EventKind> {
    chronicle.events().into_iter().map(|event| event.kind).collect()
}

#[test]
fn a_suspended_run_is_idle_for_that_reason_until_it_is_resumed() {
    let mut chronicle = Chronicle::default();
    chronicle.state(RunState::Running);
    waits(&mut chronicle, false, None);
    chronicle.state(RunState::Suspended);
    // Whatever else the run would wait for.
    waits(&mut chronicle, true, None);
    waits(&mut chronicle, true, Some("no host"));
    assert_eq!(reasons(&chronicle), [(SUSPENDED, false)]);
    // No host takes it up for a while.
    chronicle.state(RunState::Queued);
    assert_eq!(reasons(&chronicle), [(SUSPENDED, true)]);
    assert_eq!(kinds(&chronicle), [EventKind::Suspended, EventKind::Resumed]);
    waits(&mut chronicle, false, Some("no host"));
    assert_eq!(reasons(&chronicle), [(SUSPENDED, true), ("no host", false)]);
    chronicle.state(RunState::Running);
    assert_eq!(reasons(&chronicle), [(SUSPENDED, true), ("no host", true)]);
    assert_eq!(kinds(&chronicle), [EventKind::Suspended, EventKind::Resumed], "it is reported once");
}

#[test]
fn a_run_that_lost_its_place_waits_for_its_turn_and_is_not_resumed_before_it_runs() {
    let mut chronicle = Chronicle::default();
    chronicle.state(RunState::Running);
    chronicle.gives_way();
    chronicle.state(RunState::Suspended);
    chronicle.state(RunState::Queued);
    waits(&mut chronicle, false, Some("others have their turn"));
    assert_eq!(reasons(&chronicle), [(SUSPENDED, true), ("others have their turn", false)]);
    assert_eq!(kinds(&chronicle), [EventKind::Suspended; 2]);
    chronicle.state(RunState::Running);
    assert_eq!(kinds(&chronicle).last(), Some(&EventKind::Resumed));
    // Its user may suspend it while it gives way.
    chronicle.gives_way();
    chronicle.state(RunState::Suspended);
    waits(&mut chronicle, true, None);
    chronicle.state(RunState::Queued);
    assert_eq!(kinds(&chronicle).last(), Some(&EventKind::Resumed));
}
