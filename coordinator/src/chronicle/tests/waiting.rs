//! Why runs wait, and since when.

use super::*;

/// Between two samples, a run was shown to wait with another reason, since the time when the first began.
#[test]
fn a_reason_begins_when_it_is_first_known_and_ends_when_a_host_has_the_root_job() {
    let mut chronicle = Chronicle::new(unix_ms() - 60_000);
    let sample = Sample { t_ms: 10_000, ..Sample::default() };
    chronicle.sample(sample, None, Some("all hosts are paused"));
    for _ in 0..2 {
        chronicle.waits_because("hosts load the app");
    }
    let idle = chronicle.idle();
    assert_eq!((idle.len(), idle[1].text.as_str(), idle[1].to_ms), (2, "hosts load the app", None));
    assert!(idle[1].from_ms >= 60_000 && idle[0].to_ms == Some(idle[1].from_ms), "{idle:?}");
    chronicle.root_given(host(1));
    assert!(chronicle.idle()[1].to_ms.is_some());
    let texts: Vec<_> = chronicle.events().into_iter().map(|event| event.text).collect();
    assert_eq!(texts, ["host one (here) takes part", "host one (here) has the root job"]);
    chronicle.waits_because("no host");
    chronicle.state(RunState::Running);
    assert!(chronicle.idle()[2].to_ms.is_some());
    chronicle.end("the run is done");
    chronicle.waits_because("no host");
    assert_eq!(chronicle.idle().len(), 3);
}

/// Hosts compute while the coordinator is away, and until they have found it again.
#[test]
fn a_restart_is_not_time_in_which_nothing_is_done() {
    let at = |t_ms| Sample { t_ms, ..Sample::default() };
    for (why, from_ms) in [(Some("no host"), Some(1000)), (None, None)] {
        let mut before = Chronicle::new(unix_ms() - 60_000);
        for t_ms in [1000, 2000] {
            before.sample(at(t_ms), None, why);
        }
        let changes = before.changes(RunId(1), usize::MAX, true).expect("all of it is new");
        let (known, charts) = ((changes.summary, changes.latest), changes.charts.unwrap_or_default());
        let mut after =
            Chronicle::restore(unix_ms() - 60_000, false, known, std::iter::empty(), Vec::new(), charts);
        after.sample(at(60_000), None, Some(RESTARTED));
        after.waits_because(RESTARTED);
        let idle: Vec<_> = after.idle().iter().map(|idle| (idle.from_ms, idle.to_ms)).collect();
        assert_eq!(idle, Vec::from_iter(from_ms.map(|from_ms| (from_ms, Some(2000)))));
        let (waits, figures) =
            (Waits { why: RESTARTED.to_owned(), reason: RESTARTED.to_owned() }, Figures::default());
        let course = Course { is_over: false, waits: Some(&waits), elapsed_s: Some(59.0), figures: &figures };
        let found = findings(&std::sync::Mutex::new(after), course, &Names::default());
        assert_eq!(found.hold_up, None);
    }
}

/// A host's process is stopped: nothing was said of it until it was given up.
#[test]
fn a_run_stands_still_since_the_last_report_of_the_host_that_does_not_answer() {
    let mut chronicle = Chronicle::new(unix_ms() - 60_000);
    let worked = |work_ms| WorkerTimes { work_ms, ..WorkerTimes::default() };
    for number in 1..=2 {
        chronicle.activity(host(number), 1, &[worked(1000)]);
    }
    let last_ms = chronicle.now_ms();
    assert!(chronicle.silent_hosts().is_empty());
    let silent = [Silent { host: HostId(1), since_ms: last_ms }];
    for _ in 0..2 {
        chronicle.note_silent(&silent);
        chronicle.stands_still(&silent, "host one, which has the root job, does not answer");
    }
    let of = |chronicle: &Chronicle| -> Vec<_> {
        chronicle.idle().iter().map(|idle| (idle.host, idle.text.clone(), idle.to_ms.is_none())).collect()
    };
    let expected = [
        (Some(HostId(1)), "host one does not answer".to_owned(), true),
        (None, "host one, which has the root job, does not answer".to_owned(), true),
    ];
    assert_eq!(of(&chronicle), expected);
    assert!(chronicle.idle().iter().all(|idle| idle.from_ms >= last_ms && idle.from_ms <= last_ms + 250));
    chronicle.host_gone(host(1), Going::Crashed);
    assert_eq!([0, 1].map(|at| of(&chronicle)[at].2), [false, true], "the driver says why it waits");
    chronicle.end("the run is done");
    assert!(chronicle.idle().iter().all(|idle| idle.to_ms.is_some()));
}

/// Charts are saved less often than reports: hosts that had computed for seconds since were said to have done nothing.
#[test]
fn nothing_is_done_from_the_last_report_on_and_not_from_the_last_save_of_charts() {
    let at = clock();
    let worked = |work_ms| [WorkerTimes { work_ms, ..WorkerTimes::default() }];
    at(8_000);
    let mut before = Chronicle::new(SUBMITTED_MS);
    before.activity(host(1), 1, &worked(8_000));
    before.sample(Sample { t_ms: 8_000, ..Sample::default() }, None, None);
    let charts = before.changes(RunId(1), usize::MAX, true).and_then(|changes| changes.charts);
    at(9_100);
    before.activity(host(1), 1, &worked(9_100));
    let changes = before.changes(RunId(1), usize::MAX, false).expect("a host has reported");
    assert!(changes.charts.is_none(), "they are saved later");
    at(12_000);
    let (known, charts) = ((changes.summary, changes.latest), charts.expect("they are saved at the end"));
    let mut after = Chronicle::restore(SUBMITTED_MS, false, known, std::iter::empty(), Vec::new(), charts);
    at(16_100);
    after.nobody_is_back();
    let idle: Vec<_> = after.idle().iter().map(|idle| (idle.from_ms, idle.to_ms)).collect();
    assert_eq!(idle, [(9_100, Some(16_100))]);
    assert!(
        after.timeline(0, u32::MAX, 99).rows.iter().all(|row| row.shares.len() <= 37),
        "as its timeline has it"
    );
}

/// All crashed, and the time before the hosts were given up was not counted. Nor was it when a new host joined meanwhile.
#[test]
fn nothing_is_done_from_a_crash_of_all_on_and_something_if_a_host_is_back() {
    for (is_back, heard) in [(false, None), (false, Some(2)), (true, Some(1))] {
        let mut before = Chronicle::new(unix_ms() - 60_000);
        before.note(host(1), &[JobNote { ago_ms: 59_000, ..begun(1, None) }]);
        for t_ms in [1000, 1500, 2000] {
            before.sample(Sample { t_ms, ..Sample::default() }, None, None);
        }
        let changes = before.changes(RunId(1), usize::MAX, true).expect("all of it is new");
        let known = (changes.summary, changes.latest);
        let charts = changes.charts.unwrap_or_default();
        let jobs = changes.jobs.into_iter().map(|(_, job)| job);
        let mut after = Chronicle::restore(unix_ms() - 60_000, false, known, jobs, Vec::new(), charts);
        after.sample(Sample { t_ms: 60_000, is_settling: true, ..Sample::default() }, None, Some(RESTARTED));
        if let Some(heard) = heard {
            (0..2).for_each(|_| after.activity(host(heard), 1, &[WorkerTimes::default()]));
        }
        after.nobody_is_back();
        after.nobody_is_back();
        let idle: Vec<_> =
            after.idle().iter().map(|idle| (idle.to_ms.is_none(), idle.text.as_str())).collect();
        let text = "the coordinator was started again, and none of the run's hosts came back";
        assert_eq!(idle, Vec::from_iter((!is_back).then_some((false, text))));
        assert!(after.idle().iter().all(|idle| idle.from_ms == 2000 && idle.to_ms >= Some(60_000)));
    }
}

/// The root job of a run was at a host whose workers computed for other runs, and the run was running and waited for nothing.
#[test]
fn a_root_job_waits_from_when_a_host_got_it_until_it_begins() {
    let at = clock();
    at(1_000);
    let mut chronicle = Chronicle::new(SUBMITTED_MS);
    chronicle.sample(Sample { t_ms: 100, ..Sample::default() }, None, Some("hosts load the app"));
    chronicle.root_given(host(1));
    at(2_600);
    assert_eq!(chronicle.root_given_for().as_millis(), 1_600);
    let why = format!("host one{NOT_BEGUN}");
    chronicle.waits_because(&why);
    chronicle.sample(Sample { t_ms: 2_600, ..Sample::default() }, None, Some(&why));
    at(3_000);
    let root = JobNote { kind: ROOT_KIND, ago_ms: 300, ..begun(1, None) };
    chronicle.note(host(1), &[root]);
    chronicle.sample(Sample { t_ms: 3_000, ..Sample::default() }, None, None);
    let idle: Vec<_> = chronicle.idle().iter().map(|idle| (idle.from_ms, idle.to_ms)).collect();
    assert_eq!(idle, [(100, Some(1_000)), (1_000, Some(2_700))]);
}

/// After a restart, a run was queued for a second without a reason.
#[test]
fn a_run_that_nobody_has_begun_waits_while_the_coordinator_waits_for_its_hosts() {
    let at = clock();
    let restarted = |has_begun: bool| {
        at(1_000);
        let mut before = Chronicle::new(SUBMITTED_MS);
        for t_ms in [400, 900] {
            before.sample(Sample { t_ms, ..Sample::default() }, None, None);
        }
        if has_begun {
            before.root_given(host(1));
        }
        let changes = before.changes(RunId(1), usize::MAX, true).expect("all of it is new");
        let (known, charts) = ((changes.summary, changes.latest), changes.charts.unwrap_or_default());
        at(2_000);
        Chronicle::restore(SUBMITTED_MS, false, known, std::iter::empty(), Vec::new(), charts)
    };
    let idle = |chronicle: &Chronicle| -> Vec<_> {
        chronicle.idle().iter().map(|idle| (idle.from_ms, idle.to_ms, idle.text.clone())).collect()
    };
    let works = |work_ms| [WorkerTimes { work_ms, steal_ms: 100, ..WorkerTimes::default() }];
    for (has_begun, work_ms, from_ms) in
        [(false, 0, Some(900)), (true, 0, Some(2_000)), (true, 50, None), (false, 50, None)]
    {
        let mut after = restarted(has_begun);
        at(2_500);
        after.activity(host(1), 1, &works(work_ms));
        after.waits_because(RESTARTED);
        at(2_800);
        after.root_given(host(1));
        let expected = from_ms.map(|from_ms| (from_ms, Some(2_800), RESTARTED.to_owned()));
        assert_eq!(idle(&after), Vec::from_iter(expected), "{has_begun} {work_ms}");
    }
    // Its reason is known before.
    let mut after = restarted(false);
    at(2_300);
    after.waits_because("no host");
    let expected = [(900, Some(2_300), RESTARTED.to_owned()), (2_300, None, "no host".to_owned())];
    assert_eq!(idle(&after), expected);
    // A host is back with the root job.
    let mut after = restarted(true);
    after.state(RunState::Running);
    at(2_900);
    after.root_given(host(1));
    assert_eq!(idle(&after), []);
}

/// "Host a has the root job and has not begun it" was listed from 0:32 to 0:37, and from 0:37 to 0:39.
#[test]
fn times_that_adjoin_for_one_reason_are_one_time() {
    let mut chronicle = Chronicle::default();
    let times = [
        (0, Some(0), None, "no host"),
        (100, Some(5_000), None, "no host"),
        (5_000, Some(7_000), None, "no host"),
        (6_000, Some(6_500), Some(HostId(1)), "host one does not answer"),
        (7_400, Some(8_000), None, "no host"),
        (8_000, Some(8_100), None, "hosts load the app"),
        (8_100, Some(9_000), None, "no host"),
        (9_501, Some(10_000), None, "no host"),
        (10_000, None, None, "no host"),
        (10_200, None, Some(HostId(1)), "host one does not answer"),
        (10_200, Some(10_300), Some(HostId(2)), "host two does not answer"),
    ];
    for (from_ms, to_ms, host, text) in times {
        chronicle.add_idle(Idle { from_ms, to_ms, host, text: text.to_owned() });
    }
    let found: Vec<_> = (chronicle.idle_times().into_iter())
        .map(|idle| (idle.from_ms, idle.to_ms, idle.host.map(|host| host.0)))
        .collect();
    let expected = [
        (100, Some(8_000), None),
        (6_000, Some(6_500), Some(1)),
        (8_000, Some(8_100), None),
        (8_100, Some(9_000), None),
        (9_501, None, None),
        (10_200, None, Some(1)),
        (10_200, Some(10_300), Some(2)),
    ];
    assert_eq!(found, expected);
}
