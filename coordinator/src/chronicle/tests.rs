mod comings;
mod suspensions;
mod waiting;

use sateen_protocol::{JobTag, RunId, RunState};

use super::*;
use crate::clock::Simulation;
use crate::figures::{Figures, HostFigures};
use crate::limits::{LOG_LINES_MAX, TREE_PARAMETERS_BYTES_MAX};

/// When the runs of these tests were submitted.
const SUBMITTED_MS: u64 = 2_000_000_000_000;

/// Sets the time that this thread reads, in milliseconds after the submission.
fn clock() -> impl Fn(u64) {
    let time = Simulation::default();
    time.follow();
    move |t_ms| time.stand_at((SUBMITTED_MS + t_ms) * 1_000_000)
}

fn note(job: u64, what: NoteKind) -> JobNote {
    let parent = (job > 1).then_some(JobTag(1));
    JobNote {
        job: JobTag(job),
        parent,
        kind: 0,
        depth: u32::from(job > 1),
        what,
        ago_ms: 0,
        parameters: None,
        shares: false,
    }
}

fn begun(job: u64, parameters: Option<Vec<u8>>) -> JobNote {
    JobNote { parameters, ..note(job, NoteKind::Begun { victim: None, redone: false, worker: 0 }) }
}

/// All jobs of a small tree.
fn shown(chronicle: &Chronicle) -> Vec<Shown> {
    chronicle.shown(0, usize::MAX)
}

fn host(id: u64) -> Source<'static> {
    Source { id: HostId(id), name: ["zero", "one", "two", "three"][id as usize], site: "here" }
}

/// The one that drops it was named nowhere.
#[test]
fn keeping_and_dropping_a_root_job_are_events() {
    let mut chronicle = Chronicle::default();
    chronicle.root_given(host(1));
    chronicle.root_given(host(2));
    chronicle.root_kept(host(1), host(2));
    let events = chronicle.events();
    let last = events.last().map(|event| (event.kind, event.host, event.text.as_str()));
    let text = "host one (here) is back and keeps the root job; host two (here) drops it";
    assert_eq!(last, Some((EventKind::Started, Some(HostId(1)), text)));
}

#[test]
fn parameters_are_kept_as_long_as_there_is_room() {
    let mut chronicle = Chronicle::default();
    let large = vec![7; TREE_PARAMETERS_BYTES_MAX - 200];
    chronicle.note(host(1), &[begun(1, None), begun(2, Some(large.clone())), begun(3, Some(vec![1; 200]))]);
    // A repetition takes no more room.
    chronicle.note(host(2), &[begun(2, Some(vec![8])), begun(4, Some(vec![1; 3]))]);
    let found = chronicle.find(JobTag(0), JobTag(9), 9);
    let length = |job: usize| found[job - 1].parameters.as_ref().map(Vec::len).map_err(|missing| *missing);
    assert_eq!((length(1), length(2)), (Err(Missing::TooLong), Ok(large.len())));
    assert_eq!((length(3), length(4)), (Err(Missing::NoRoom), Ok(3)));
    assert_eq!(chronicle.find(JobTag(2), JobTag(3), 9).len(), 2);
}

#[test]
fn the_reason_for_missing_parameters_is_shown() {
    let mut chronicle = Chronicle::default();
    let done = NoteKind::Done { work_ns: 1 };
    let reused = JobNote { parameters: Some(vec![5]), ..note(3, NoteKind::Reused) };
    chronicle.note(host(1), &[begun(1, None), note(2, done), reused, note(4, NoteKind::Adopted)]);
    chronicle.note(host(1), &[note(1, done)]);
    let found = chronicle.find(JobTag(0), JobTag(9), 9);
    let found: Vec<_> = found.into_iter().map(|job| job.parameters).collect();
    assert_eq!(found, [Err(Missing::TooLong), Err(Missing::Unheard), Ok(vec![5]), Err(Missing::TooLong)]);
}

#[test]
fn a_job_that_is_redone_elsewhere_is_shown_there() {
    let mut chronicle = Chronicle::default();
    let begun = |redone| NoteKind::Begun { victim: None, redone, worker: 3 };
    chronicle.note(host(1), &[note(1, begun(false)), note(2, begun(false))]);
    chronicle.note(host(3), &[note(2, NoteKind::Lost)]);
    chronicle.note(host(2), &[note(2, begun(true)), note(2, NoteKind::Done { work_ns: 5 })]);
    let jobs = shown(&chronicle);
    assert_eq!(jobs.len(), 2);
    let job = &jobs[1];
    assert_eq!((job.kind, job.state, job.redone, job.worker), (0, "done", true, Some(3)));
    let host = chronicle.host_at(job.host).map(|host| (host.id, host.name.as_str()));
    assert_eq!(host, Some((HostId(2), "two")));
}

#[test]
fn a_job_that_no_host_had_begun_is_not_redone_if_the_one_above_it_is() {
    let mut chronicle = Chronicle::default();
    let begun = |redone| NoteKind::Begun { victim: None, redone, worker: 0 };
    chronicle.note(host(1), &[note(1, begun(false)), note(1, NoteKind::Lost)]);
    chronicle.note(host(2), &[note(1, begun(true)), note(2, begun(true))]);
    let redone: Vec<bool> = shown(&chronicle).iter().map(|job| job.redone).collect();
    assert_eq!(redone, [true, false]);
}

/// Hosts that leave or pause give back their jobs, and a suspended run runs nowhere.
#[test]
fn a_job_that_was_given_back_is_not_redone_unless_its_owner_reports_it_lost() {
    let begun = |redone| NoteKind::Begun { victim: None, redone, worker: 0 };
    for (how, rests, redone) in [
        (Going::Crashed, false, 2),
        (Going::Left, false, 0),
        (Going::Paused, false, 0),
        (Going::Crashed, true, 0),
    ] {
        for is_ended in [false, true] {
            let mut chronicle = Chronicle::default();
            chronicle.note(host(1), &[note(1, begun(false)), note(2, begun(false)), note(3, begun(false))]);
            if rests {
                chronicle.state(RunState::Suspended);
            }
            chronicle.host_gone(host(1), how);
            if is_ended {
                chronicle.end_some(usize::MAX);
            }
            chronicle.state(RunState::Running);
            chronicle.note(host(2), &[note(1, begun(true)), note(2, begun(true))]);
            assert_eq!(chronicle.redone(), redone, "{how:?} {rests} {is_ended}");
            chronicle.note(host(3), &[note(3, NoteKind::Lost), note(3, begun(true))]);
            assert_eq!(chronicle.redone(), redone + 1, "{how:?} {rests} {is_ended}");
        }
    }
}

/// After a root was lost, everything that is begun below it is reported as redone.
#[test]
fn only_lost_jobs_are_redone() {
    let mut chronicle = Chronicle::default();
    let begun = |redone| NoteKind::Begun { victim: None, redone, worker: 0 };
    let done = NoteKind::Done { work_ns: 5 };
    // The root runs at a host that is lost, as did a finished job; another job is done elsewhere.
    chronicle.note(host(1), &[note(1, begun(false)), note(2, begun(false)), note(2, done)]);
    chronicle.note(host(3), &[note(3, begun(false)), note(3, done)]);
    assert_eq!(chronicle.redone(), 0);
    chronicle.host_gone(host(1), Going::Crashed);
    // A new job, one equal to a finished job, and, twice, those that were lost.
    let again = [1, 2, 3, 4, 1, 2].map(|job| note(job, begun(true)));
    chronicle.note(host(2), &again);
    let redone = |chronicle: &Chronicle| {
        let jobs = shown(chronicle).into_iter();
        jobs.filter(|job| job.redone).map(|job| job.job).collect::<Vec<_>>()
    };
    assert_eq!(redone(&chronicle), [JobTag(1), JobTag(2)]);
    assert_eq!(chronicle.redone(), 2);
    let mut figures = Figures { by_host: vec![row(2), row(3)], ..Figures::default() };
    chronicle.complete(&mut figures);
    let by_host: Vec<u64> = figures.by_host.iter().map(|host| host.jobs.redone).collect();
    assert_eq!((figures.jobs.redone, by_host), (2, vec![2, 0]));
    // As after a restart of the coordinator.
    let changes = chronicle.changes(RunId(1), usize::MAX, true).expect("all of it is new");
    let jobs = changes.jobs.into_iter().map(|(_, job)| job);
    let restored = Chronicle::restore(
        0,
        false,
        (changes.summary, changes.latest),
        jobs,
        Vec::new(),
        ChartData::default(),
    );
    assert_eq!((restored.redone(), redone(&restored)), (2, redone(&chronicle)));
    assert_eq!(restored.lent_and_redone().map(|(_, _, redone)| redone).sum::<u64>(), 2);
}

#[test]
fn reports_of_workers_after_charts_were_saved_survive_a_restart() {
    let submitted_ms = unix_ms() - 60_000;
    let mut chronicle = Chronicle::new(submitted_ms);
    let worked = |work_ms| [WorkerTimes { work_ms, ..WorkerTimes::default() }];
    chronicle.activity(host(1), 1, &worked(2_000));
    let charts = chronicle.changes(RunId(1), usize::MAX, true).and_then(|changes| changes.charts);
    chronicle.activity(host(1), 1, &worked(5_000));
    let changes = chronicle.changes(RunId(1), usize::MAX, false).expect("it has worked");
    assert!(changes.charts.is_none(), "they are large");
    let known = (changes.summary, changes.latest);
    let charts = charts.expect("charts");
    let restored = Chronicle::restore(submitted_ms, false, known, std::iter::empty(), Vec::new(), charts);
    let mut figures = Figures { by_host: vec![row(1)], ..Figures::default() };
    restored.complete(&mut figures);
    assert!((figures.by_host[0].computed_s - 5.0).abs() < 0.05, "{}", figures.by_host[0].computed_s);
}

#[test]
fn work_of_a_process_under_another_id_counts_once_at_its_present_id() {
    let mut chronicle = Chronicle::new(unix_ms() - 60_000);
    let begun = |redone| NoteKind::Begun { victim: None, redone, worker: 0 };
    let worked = |work_ms| [WorkerTimes { work_ms, ..WorkerTimes::default() }];
    chronicle.note(host(1), &[note(2, begun(false))]);
    chronicle.host_gone(host(1), Going::Crashed);
    chronicle.note(host(2), &[note(2, begun(true))]);
    chronicle.activity(host(2), 1, &worked(2_000));
    chronicle.host_reborn(HostId(2), host(3));
    chronicle.activity(host(3), 1, &worked(3_000));
    let mut figures = Figures { by_host: vec![row(1), row(3)], ..Figures::default() };
    chronicle.complete(&mut figures);
    let of_each = |figures: &Figures| {
        let rows = figures.by_host.iter();
        rows.map(|row| (row.jobs.redone, (row.computed_s * 10.0).round())).collect::<Vec<_>>()
    };
    assert_eq!((figures.jobs.redone, of_each(&figures)), (1, vec![(0, 0.0), (1, 30.0)]));
    assert!((figures.times.computed_s - 3.0).abs() < 0.05, "{}", figures.times.computed_s);
    // Hosts without a row went long ago: jobs that they redid are in the row of those.
    let mut figures = Figures { by_host: vec![row(1)], ..Figures::default() };
    for _ in 0..2 {
        chronicle.complete(&mut figures);
        assert_eq!(of_each(&figures), [(0, 0.0), (1, 0.0)]);
    }
}

/// Jobs with equal keys are one in the tree.
#[test]
fn a_lost_job_is_redone_although_an_equal_one_was_done_in_between() {
    let begun = |redone| NoteKind::Begun { victim: None, redone, worker: 0 };
    let done = NoteKind::Done { work_ns: 5 };
    for (found, redone) in [(None, 1), (Some(NoteKind::Reused), 0), (Some(NoteKind::Adopted), 0)] {
        let mut chronicle = Chronicle::default();
        chronicle.note(host(1), &[note(1, begun(false)), note(2, NoteKind::Lost)]);
        chronicle.note(host(2), &[note(2, begun(false)), note(2, done)]);
        assert_eq!(chronicle.redone(), 0);
        let found: Vec<JobNote> = found.map(|what| note(2, what)).into_iter().collect();
        chronicle.note(host(1), &found);
        chronicle.note(host(1), &[note(2, done), note(2, begun(true)), note(2, done)]);
        assert_eq!(chronicle.redone(), redone, "{found:?}");
    }
}

/// Charts had a gap of four seconds, however soon all hosts were back.
#[test]
fn charts_continue_when_all_hosts_have_returned_after_a_restart() {
    let mut before = Chronicle::new(unix_ms());
    let sample = |t_ms, is_settling| Sample {
        t_ms,
        busy: 1.0,
        workers: 1,
        executed: u64::from(t_ms),
        is_settling,
        ..Sample::default()
    };
    (0..4).for_each(|step| before.sample(sample(500 * step, false), None, None));
    let changes = before.changes(RunId(1), usize::MAX, true).expect("all of it is new");
    let (known, charts) = ((changes.summary, changes.latest), changes.charts.expect("charts"));
    let mut chronicle = Chronicle::restore(unix_ms(), false, known, [].into_iter(), Vec::new(), charts);
    (4..8).for_each(|step| chronicle.sample(sample(500 * step, step < 6), None, None));
    assert!(chronicle.settles.as_ref().is_some_and(|settles| settles.by_ms > 3_500));
    let points: Vec<(u32, f32)> =
        chronicle.points().iter().map(|point| (point.t_ms, point.jobs_per_s)).collect();
    assert_eq!(points.len(), 5, "{points:?}");
    assert_eq!((points[2], points[4]), ((1_500, 1000.0), (3_500, 1000.0)));
    assert!(points[3].0 == 3_000 && points[3].1.is_nan(), "{points:?}");
}

/// Otherwise a restart, after which only the last host of each job is known, would move the count.
#[test]
fn a_redone_job_counts_at_the_host_that_began_it_last() {
    let begun = |redone| NoteKind::Begun { victim: None, redone, worker: 0 };
    let mut chronicle = Chronicle::default();
    chronicle.note(host(1), &[note(1, begun(false))]);
    chronicle.host_gone(host(1), Going::Crashed);
    chronicle.note(host(2), &[note(1, begun(true))]);
    let by_host = |chronicle: &Chronicle| chronicle.lent_and_redone().map(|row| row.2).collect::<Vec<_>>();
    assert_eq!(by_host(&chronicle), [0, 1]);
    chronicle.note(host(2), &[note(1, NoteKind::GivenBack)]);
    chronicle.note(host(3), &[note(1, begun(false))]);
    chronicle.host_gone(host(3), Going::Crashed);
    chronicle.note(host(1), &[note(1, begun(true))]);
    assert_eq!((by_host(&chronicle), chronicle.redone()), (vec![1, 0, 0], 1));
    let changes = chronicle.changes(RunId(1), usize::MAX, true).expect("all of it is new");
    let jobs = changes.jobs.into_iter().map(|(_, job)| job);
    let known = (changes.summary, changes.latest);
    let restored = Chronicle::restore(0, false, known, jobs, Vec::new(), ChartData::default());
    assert_eq!((by_host(&restored), restored.redone()), (vec![1, 0, 0], 1));
}

/// As after a power cut: hosts come back with new ids, and jobs that they ran before run no longer.
#[test]
fn jobs_of_hosts_that_do_not_come_back_are_lost() {
    let mut before = Chronicle::new(unix_ms());
    before.note(host(1), &[begun(1, None)]);
    before.note(host(2), &[begun(2, None)]);
    let changes = before.changes(RunId(1), usize::MAX, true).expect("all of it is new");
    let jobs = changes.jobs.into_iter().map(|(_, job)| job);
    let mut chronicle = Chronicle::restore(
        unix_ms(),
        false,
        (changes.summary, changes.latest),
        jobs,
        Vec::new(),
        ChartData::default(),
    );
    chronicle.activity(host(2), 1, &[]);
    let settles_ms = chronicle.settles.as_ref().expect("hosts may come back").by_ms;
    let states = |chronicle: &mut Chronicle, t_ms| {
        chronicle.sample(Sample { t_ms, ..Sample::default() }, None, None);
        while chronicle.end_some(1) {}
        shown(chronicle).into_iter().map(|job| job.state).collect::<Vec<_>>()
    };
    assert_eq!(states(&mut chronicle, settles_ms - 1), ["running", "running"]);
    assert_eq!(states(&mut chronicle, settles_ms), ["lost", "running"]);
    let text = chronicle.events().pop().map(|event| event.text);
    assert_eq!(
        text.as_deref(),
        Some("a job was running at a host that did not come back; it is run again if its result is needed")
    );
}

fn row(host: u64) -> HostFigures {
    HostFigures::of(HostId(host))
}

#[test]
fn notes_that_hosts_left_out_are_reported() {
    let mut chronicle = Chronicle::default();
    chronicle.note(host(1), &[begun(1, None)]);
    chronicle.left_out(3);
    assert_eq!(chronicle.extent().left_out, 3);
}

#[test]
fn old_lines_are_dropped_and_counted() {
    let mut chronicle = Chronicle::default();
    let line =
        |line: usize| LogLine { job: Some(JobTag(7)), function: "f".to_owned(), text: line.to_string() };
    let lines = (0..LOG_LINES_MAX + 5).map(line).collect();
    chronicle.log(HostId(1), lines);
    let log = chronicle.lines_after(0);
    assert_eq!((log.lines.len(), log.dropped), (LOG_LINES_MAX, 5));
    let log = chronicle.lines_after(LOG_LINES_MAX as u64 + 4);
    assert_eq!((log.lines.len(), log.dropped), (1, 0));
    let line = &log.lines[0];
    assert_eq!((line.job.as_str(), line.tag), ("f", Some(JobTag(7))));
}

#[test]
fn many_reuses_do_not_displace_a_crash() {
    let mut chronicle = Chronicle::begin();
    chronicle.note(host(1), &[begun(1, None)]);
    chronicle.note(host(2), &[begun(2, None)]);
    chronicle.host_gone(host(2), Going::Crashed);
    chronicle.host_gone(host(3), Going::Crashed);
    chronicle.note(host(1), &vec![note(7, NoteKind::Reused); 5000]);
    chronicle.end("the run is done");
    let kinds: Vec<EventKind> = chronicle
        .events()
        .into_iter()
        .map(|event| event.kind)
        .filter(|kind| *kind != EventKind::Reused)
        .collect();
    let expected = [
        EventKind::Submitted,
        EventKind::HostJoined,
        EventKind::HostJoined,
        EventKind::HostLost,
        EventKind::JobsInterrupted,
        EventKind::Ended,
    ];
    assert_eq!(kinds, expected);
    let events = chronicle.events();
    let lost =
        events.iter().find(|event| event.kind == EventKind::JobsInterrupted).map(|event| event.text.as_str());
    assert_eq!(lost, Some("a job was running at host two (here); it is run again if its result is needed"));
    assert!(events.len() <= crate::limits::RUN_EVENTS_MAX);
    assert!(events.windows(2).all(|pair| pair[0].number < pair[1].number));
    // All in one moment: one event.
    let reused: Vec<String> =
        events.into_iter().filter(|event| event.kind == EventKind::Reused).map(|event| event.text).collect();
    assert_eq!(reused, ["the results of 5000 jobs were known already"]);
}

#[test]
fn the_reason_for_being_idle_is_shown_with_its_time() {
    let mut chronicle = Chronicle::begin();
    let at = |t_ms| Sample { t_ms, ..Sample::default() };
    chronicle.sample(at(10), None, Some("no host"));
    chronicle.sample(at(20), None, Some("no host"));
    chronicle.sample(at(30), None, Some("no app"));
    chronicle.sample(at(40), None, None);
    let idle = chronicle.idle();
    let told: Vec<_> = idle.iter().map(|idle| (idle.from_ms, idle.to_ms, idle.text.as_str())).collect();
    assert_eq!(told, [(10, Some(30), "no host"), (30, Some(40), "no app")]);
}
