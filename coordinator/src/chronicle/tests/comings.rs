//! Hosts that come, go and come back, among the other events.

use std::collections::BTreeSet;
use std::sync::Mutex;

use super::super::worked::Worked;
use super::*;
use crate::figures::Untold;

#[test]
fn hosts_that_pause_or_are_given_up_are_back_once() {
    let mut chronicle = Chronicle::default();
    for number in 1..=3 {
        chronicle.note(host(number), &[begun(number, None)]);
    }
    chronicle.host_gone(host(1), Going::Paused);
    chronicle.host_gone(host(2), Going::Crashed);
    chronicle.host_gone(host(3), Going::Left);
    // As after a restart of the coordinator.
    assert_eq!(chronicle.events.away(), *chronicle.away());
    for number in [1, 1, 2, 3] {
        chronicle.host_back(host(number));
    }
    let told = chronicle.events().split_off(3);
    let told: Vec<(EventKind, &str)> = told.iter().map(|event| (event.kind, event.text.as_str())).collect();
    let expected = [
        (EventKind::HostPaused, "host one (here) paused"),
        (EventKind::HostLost, "host two (here) was given up"),
        (
            EventKind::JobsInterrupted,
            "a job was running at host two (here); it is run again if its result is needed",
        ),
        (EventKind::HostLeft, "host three (here) left"),
        (EventKind::HostResumed, "host one (here) works again after its pause"),
        (EventKind::HostReturned, "host two (here) came back after it was given up"),
    ];
    assert_eq!(told, expected);
    assert!(chronicle.away().is_empty() && chronicle.events.away().is_empty());
    // Under another id it is the same host.
    chronicle.host_gone(host(1), Going::Crashed);
    chronicle.host_reborn(HostId(1), Source { id: HostId(9), name: "one", site: "here" });
    let last = chronicle.events().pop().map(|event| (event.kind, event.host));
    assert_eq!(last, Some((EventKind::HostReturned, Some(HostId(9)))));
}

/// A host reports what it did a moment later: it seemed to take part after its first jobs, or after the end of a short run.
#[test]
fn the_end_is_the_last_event_and_a_host_takes_part_before_its_first_job() {
    let mut chronicle = Chronicle::new(unix_ms() - 60_000);
    let at = |ago_ms, note| JobNote { ago_ms, ..note };
    chronicle.note(host(1), &[at(400, begun(1, None)), at(900, note(2, NoteKind::Reused))]);
    chronicle.end("the run is done");
    chronicle.note(host(2), &[begun(3, None), note(3, NoteKind::Reused)]);
    let events = chronicle.events();
    let told: Vec<(u64, EventKind)> = events.iter().map(|event| (event.number, event.kind)).collect();
    let expected = [
        (1, EventKind::HostJoined),
        (2, EventKind::Reused),
        (3, EventKind::HostJoined),
        (4, EventKind::Reused),
        (5, EventKind::Ended),
    ];
    assert_eq!(told, expected);
    assert!(events.is_sorted_by_key(|event| event.t_ms), "{events:?}");
}

/// The first report of what its workers did came with the notes of its first jobs, and was taken for its begin: a host reused
/// results, and then took part. The host of the root job took part half a second after it had it.
#[test]
fn a_host_takes_part_before_all_that_it_does() {
    let at = clock();
    let ago = |ago_ms, note| JobNote { ago_ms, ..note };
    let steals = |steal_ms| [WorkerTimes { steal_ms, ..WorkerTimes::default() }];
    at(1_000);
    let mut chronicle = Chronicle::new(SUBMITTED_MS);
    chronicle.root_given(host(1));
    at(1_500);
    chronicle.activity(host(1), 1, &steals(300));
    chronicle.activity(host(2), 1, &steals(200));
    chronicle.note(host(2), &[ago(400, begun(2, None)), ago(350, note(2, NoteKind::Reused))]);
    chronicle.activity(host(3), 1, &steals(500));
    let told: Vec<_> = chronicle
        .events()
        .iter()
        .map(|event| (event.t_ms, event.kind, event.host.map(|host| host.0)))
        .collect();
    let expected = [
        (1_000, EventKind::HostJoined, Some(1)),
        (1_000, EventKind::Started, Some(1)),
        (1_000, EventKind::HostJoined, Some(3)),
        (1_150, EventKind::HostJoined, Some(2)),
        (1_150, EventKind::Reused, Some(2)),
    ];
    assert_eq!(told, expected);
}

/// They were listed as they became known: a host took part after another, which it had stolen from, was given up.
#[test]
fn events_are_listed_in_order_of_time() {
    let mut chronicle = Chronicle::new(unix_ms() - 60_000);
    let at = |ago_ms, note| JobNote { ago_ms, ..note };
    chronicle.note(host(1), &[at(900, begun(1, None))]);
    chronicle.host_gone(host(1), Going::Crashed);
    chronicle.note(host(2), &[at(400, begun(2, None)), note(2, NoteKind::Reused)]);
    let events = chronicle.events();
    let told: Vec<(u64, EventKind)> = events.iter().map(|event| (event.number, event.kind)).collect();
    let expected = [
        (1, EventKind::HostJoined),
        (4, EventKind::HostJoined),
        (2, EventKind::HostLost),
        (3, EventKind::JobsInterrupted),
        (5, EventKind::Reused),
    ];
    assert_eq!(told, expected);
    assert!(events.is_sorted_by_key(|event| event.t_ms), "{events:?}");
}

/// Events are saved only now and then: a pause a moment before a restart of the coordinator was forgotten, as was that a host
/// had been given up, and the time until it was back was drawn as work.
#[test]
fn absences_survive_a_restart_although_their_events_are_not_saved() {
    let at = clock();
    let worked = |work_ms| [WorkerTimes { work_ms, ..WorkerTimes::default() }];
    at(5_000);
    let mut before = Chronicle::new(SUBMITTED_MS);
    for number in 1..=3 {
        before.activity(host(number), 1, &worked(5_000));
    }
    let charts = before.changes(RunId(1), usize::MAX, true).and_then(|changes| changes.charts);
    at(6_000);
    before.host_gone(host(1), Going::Paused);
    before.host_gone(host(2), Going::Crashed);
    let changes = before.changes(RunId(1), usize::MAX, false).expect("hosts have gone");
    assert!(changes.charts.is_none(), "they are saved later");

    at(8_000);
    let (known, charts) = ((changes.summary, changes.latest), charts.expect("they are saved at the end"));
    let mut after = Chronicle::restore(SUBMITTED_MS, false, known, std::iter::empty(), Vec::new(), charts);
    assert_eq!((after.away(), after.away().len()), (before.away(), 2));
    assert!(after.events.are_of_pauses());
    let told = |chronicle: &Chronicle, from: usize| -> Vec<(u32, String)> {
        let told = chronicle.events().split_off(from);
        told.into_iter().map(|event| (event.t_ms, event.text)).collect()
    };
    assert_eq!(told(&after, 3)[..2], told(&before, 3), "as if they had been saved");
    assert!(
        after.silent_hosts().iter().all(|silent| silent.host != HostId(2)),
        "it is not one of which nothing was said"
    );
    at(10_000);
    after.host_back(host(1));
    after.host_back(host(2));
    let expected =
        ["host one (here) works again after its pause", "host two (here) came back after it was given up"];
    assert_eq!(told(&after, 6), expected.map(|text| (10_000, text.to_owned())));
    at(11_000);
    after.activity(host(2), 1, &worked(11_000));
    let rows = after.timeline(0, 11_000, 600).rows;
    let known: Vec<bool> = rows[1].shares.iter().map(|shares| !shares[0].is_nan()).collect();
    let (gone, back) = (5_000 / 250, 10_000 / 250);
    assert!(known[..gone].iter().chain(&known[back..]).all(|known| *known), "{known:?}");
    assert!(!known[gone..back].iter().any(|known| *known), "{known:?}");
}

/// Counts were called final although a host that had been given up had never reported its last ones.
#[test]
fn hosts_that_were_given_up_and_are_not_back_have_unreported_counts() {
    let untold = |chronicle: &Chronicle| chronicle.untold(&BTreeSet::new());
    for (how, expected) in [
        (Going::Left, Untold::Nothing),
        (Going::Paused, Untold::Nothing),
        (Going::Crashed, Untold::LastMoment),
        (Going::NotBack, Untold::SinceSaved),
    ] {
        let mut chronicle = Chronicle::default();
        chronicle.note(host(1), &[begun(1, None)]);
        chronicle.host_gone(host(1), how);
        chronicle.host_gone(host(2), Going::NotBack);
        assert_eq!(untold(&chronicle), expected, "{how:?}");
        // It reports all counts when it is back, and has reported them when it pauses.
        chronicle.host_back(host(1));
        assert_eq!(untold(&chronicle), Untold::Nothing);
        chronicle.host_gone(host(1), Going::Paused);
        chronicle.host_gone(host(1), how);
        assert_eq!(untold(&chronicle), Untold::Nothing, "{how:?} during a pause");
    }
    let mut chronicle = Chronicle::default();
    chronicle.note(host(1), &[begun(1, None)]);
    assert_eq!(
        chronicle.untold(&BTreeSet::from([HostId(2)])),
        Untold::Nothing,
        "that host has no part in the run"
    );
    assert_eq!(chronicle.untold(&BTreeSet::from([HostId(1)])), Untold::SinceSaved, "it is not back yet");
    chronicle.rests();
    chronicle.host_gone(host(1), Going::Crashed);
    assert_eq!(untold(&chronicle), Untold::Nothing, "no host has jobs of a suspended run");
}

/// The coordinator was killed a moment after the submission: neither that nor what happened first was known afterwards.
#[test]
fn the_first_events_are_saved_with_the_first_batch() {
    let mut before = Chronicle::begin();
    before.note(host(1), &[begun(1, None)]);
    let changes = before.changes(RunId(1), usize::MAX, false).expect("all is new");
    let charts = changes.charts.expect("those of a new run");
    before.root_given(host(1));
    let again = before.changes(RunId(1), usize::MAX, false).and_then(|changes| changes.charts);
    assert!(again.is_some(), "and of a young one");
    let known = (changes.summary, changes.latest);
    let after = Chronicle::restore(unix_ms(), false, known, std::iter::empty(), Vec::new(), charts);
    let kinds =
        |chronicle: &Chronicle| chronicle.events().into_iter().map(|event| event.kind).collect::<Vec<_>>();
    assert_eq!(kinds(&after), [EventKind::Submitted, EventKind::HostJoined, EventKind::CoordinatorRestarted]);
    let unsaved = Chronicle::restore_unsaved(unix_ms() - 1_000);
    assert_eq!(kinds(&unsaved), [EventKind::Submitted, EventKind::CoordinatorRestarted]);
    assert_eq!(unsaved.events()[0].t_ms, 0);
}

/// The steals from a host counted since the coordinator was started, and stood beside those that it had made, which are as old
/// as the run.
#[test]
fn steals_from_hosts_survive_a_restart() {
    let mut before = Chronicle::default();
    let from = |victim| NoteKind::Begun { victim: Some(HostId(victim)), redone: false, worker: 0 };
    before.note(host(1), &[begun(1, None), note(2, from(2)), note(3, from(2)), note(4, from(3))]);
    before.note(host(2), &[note(5, from(1))]);
    let lent = |chronicle: &Chronicle| -> Vec<(HostId, u64)> {
        chronicle.lent_and_redone().map(|(host, lent, _)| (host, lent)).collect()
    };
    let expected = [(HostId(1), 1), (HostId(2), 2)];
    assert_eq!(lent(&before), expected);
    let changes = before.changes(RunId(1), usize::MAX, true).expect("all of it is new");
    let jobs = changes.jobs.into_iter().map(|(_, job)| job);
    let known = (changes.summary, changes.latest);
    let mut after = Chronicle::restore(0, false, known, jobs, Vec::new(), ChartData::default());
    assert_eq!(lent(&after), expected);
    after.note(host(2), &[note(6, from(1))]);
    after.note(host(3), &[begun(7, None)]);
    assert_eq!(lent(&after), [(HostId(1), 2), (HostId(2), 2), (HostId(3), 1)], "it was not heard before");
}

/// A new process took part before an earlier one of its name was given up, and nothing told them apart.
#[test]
fn processes_of_one_name_are_distinguished() {
    let a = |id| Source { id: HostId(id), name: "a", site: "here" };
    let mut chronicle = Chronicle::default();
    chronicle.note(a(1), &[begun(1, None)]);
    chronicle.note(a(2), &[begun(2, None)]);
    chronicle.host_gone(a(1), Going::Crashed);
    chronicle.root_given(a(2));
    chronicle.root_given(a(3));
    chronicle.root_given(Source { id: HostId(4), name: "", site: "" });
    let told: Vec<String> = chronicle.events().into_iter().map(|event| event.text).collect();
    let expected = [
        "host a (here) takes part".to_owned(),
        format!("host a (here, {}) takes part", HostId(2)),
        "host a (here, an earlier process of that name) was given up".to_owned(),
        "a job was running at host a (here, an earlier process of that name); it is run again if its result is needed"
            .to_owned(),
        format!("host a (here, {}) has the root job", HostId(2)),
        format!("host a (here, {}) takes part", HostId(3)),
        format!("host a (here, {}) has the root job", HostId(3)),
        format!("host {} takes part", HostId(4)),
        format!("host {} has the root job", HostId(4)),
    ];
    assert_eq!(told, expected);
    let labels: Vec<String> = chronicle.hosts().iter().map(TreeHost::label).collect();
    let id = HostId(4).to_string();
    assert_eq!(labels, ["a".to_owned(), format!("a {}", HostId(2)), format!("a {}", HostId(3)), id]);
}

/// A chart that was made of samples showed half of the work of busy hosts, for good.
#[test]
fn the_chart_of_busy_workers_has_what_was_reported_late() {
    let set = clock();
    let at = |t_ms: u32| set(t_ms.into());
    at(0);
    let chronicle = Mutex::new(Chronicle::new(SUBMITTED_MS));
    // It computes all the time, and each other report is half a second behind.
    for step in 0..=16_u32 {
        let t_ms = 500 * step;
        at(t_ms);
        let work_ms = if step % 2 == 0 { t_ms } else { t_ms.saturating_sub(500) };
        let mut chronicle = chronicle.lock().expect("it is whole");
        chronicle.activity(host(1), 1, &[WorkerTimes { work_ms: work_ms.into(), ..WorkerTimes::default() }]);
        let busy = chronicle.busy().expect("there are few workers");
        chronicle.sample(Sample { t_ms, busy, workers: 1, ..Sample::default() }, None, None);
    }
    let worked = Worked::of(&chronicle);
    let busy = |points: &[Point]| points.iter().map(|point| point.busy).collect::<Vec<_>>();
    let chronicle = chronicle.lock().expect("it is whole");
    let sampled = busy(chronicle.points());
    assert!(sampled.iter().sum::<f32>() < 9.0, "{sampled:?}");
    let told = busy(&chronicle.points_with(&worked));
    assert_eq!(told.len(), sampled.len());
    assert!(told.iter().all(|busy| *busy > 0.95), "{told:?}");
}

/// The newest points of a live chart fell whenever some hosts had reported and others had not.
#[test]
fn the_chart_of_busy_workers_ends_where_all_hosts_have_reported() {
    let set = clock();
    set(0);
    let chronicle = Mutex::new(Chronicle::new(SUBMITTED_MS));
    let report = |of: u64, t_ms: u32| {
        set(t_ms.into());
        let times = WorkerTimes { work_ms: t_ms.into(), ..WorkerTimes::default() };
        chronicle.lock().expect("it is whole").activity(host(of), 1, &[times]);
    };
    let points = |t_ms: u32| {
        set(t_ms.into());
        let worked = Worked::of(&chronicle);
        chronicle.lock().expect("it is whole").points_with(&worked)
    };
    for step in 0..=16_u32 {
        let t_ms = 500 * step;
        report(1, t_ms);
        // The other reports once a second.
        if step % 2 == 0 {
            report(2, t_ms);
        }
        let mut chronicle = chronicle.lock().expect("it is whole");
        let busy = chronicle.busy().expect("there are few workers");
        chronicle.sample(Sample { t_ms, busy, workers: 2, ..Sample::default() }, None, None);
        drop(chronicle);
        let shown = points(t_ms);
        assert!(shown.iter().all(|point| point.busy > 1.9), "{t_ms}: {shown:?}");
        assert_eq!(shown.last().map_or(0, |last| last.t_ms), t_ms / 1000 * 1000);
    }
    // The other is silent from here on, and is not waited for.
    for step in 17..=30_u32 {
        report(1, 500 * step);
        let mut chronicle = chronicle.lock().expect("it is whole");
        chronicle.sample(Sample { t_ms: 500 * step, busy: 1.0, workers: 2, ..Sample::default() }, None, None);
    }
    assert_eq!(points(15_000).last().map(|last| last.t_ms), Some(15_000));
}

/// A run whose result was being checked looked idle on its chart.
#[test]
fn the_chart_of_busy_workers_has_those_that_check_results() {
    let set = clock();
    set(0);
    let chronicle = Mutex::new(Chronicle::new(SUBMITTED_MS));
    // It computes for the run in the first half, and checks results in the second.
    for step in 0..=16_u32 {
        let t_ms = 500 * step;
        set(t_ms.into());
        let mut chronicle = chronicle.lock().expect("it is whole");
        let work_ms = t_ms.min(4_000).into();
        chronicle.activity(host(1), 1, &[WorkerTimes { work_ms, ..WorkerTimes::default() }]);
        let checking = if t_ms > 4_000 { 1.0 } else { 0.0 };
        let busy = chronicle.busy().expect("there are few workers") + checking;
        chronicle.sample(Sample { t_ms, busy, checking, workers: 1, ..Sample::default() }, None, None);
    }
    let worked = Worked::of(&chronicle);
    let points = chronicle.lock().expect("it is whole").points_with(&worked);
    assert!(points.len() > 10 && points.iter().all(|point| (0.95..=1.0).contains(&point.busy)), "{points:?}");
}
