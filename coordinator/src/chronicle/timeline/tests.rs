use super::*;

fn times(work_ms: u64, steal_ms: u64) -> WorkerTimes {
    WorkerTimes { work_ms, steal_ms, ..WorkerTimes::default() }
}

#[test]
fn turns_of_other_runs_are_no_longer_than_the_time() {
    let mut timeline = Timeline::default();
    let others = |others_ms| WorkerTimes { others_ms, ..times(100, 0) };
    timeline.add(0, 1000, 1, &[others(900)]);
    timeline.add(0, 2000, 1, &[others(1500), others(u64::MAX)]);
    assert_eq!(timeline.others_s(), 0.9 + 0.6 + 2.0);
    // Another process of the host starts over.
    timeline.add(0, 3000, 1, &[others(400)]);
    assert_eq!(timeline.others_s(), 3.9);
    timeline.add(0, 4000, 2, &[others(700)]);
    assert_eq!(timeline.others_s(), 4.6);
}

/// A worker that had waited for its turn was shown to have done all that it did in a part of the time, and to have waited
/// in the same time: its first report seemed to be of no longer.
#[test]
fn turns_of_other_runs_take_time_of_the_first_report_too() {
    let mut timeline = Timeline::default();
    let first = WorkerTimes { others_ms: 300, ..times(100, 100) };
    timeline.add(0, 1000, 1, &[first]);
    timeline.add(0, 2000, 2, &[first]);
    let sums = sums(&timeline);
    assert!((sums[0] - 200.0).abs() < 0.1 && (sums[1] - 200.0).abs() < 0.1, "{sums:?}");
    let (.., rows) = timeline.rows(0, 2000, usize::MAX);
    let shown = |at: usize| rows[0].shares[at].map(|share| (share * 100.0).round());
    assert_eq!([shown(2), shown(3), shown(6), shown(7)], [[20.0, 20.0, 0.0]; 4]);
    assert_eq!((timeline.computed_s(0), timeline.others_s()), (0.2, 0.6));
}

/// A host looks for jobs before the run is begun: what it reports of that time and of its first work was spread over both, so
/// that it seemed to work before the start.
#[test]
fn nobody_works_before_the_run_is_begun() {
    let mut timeline = Timeline::default();
    timeline.begin_at(2_000);
    timeline.add(0, 1_000, 1, &[times(0, 500)]);
    timeline.add(0, 3_000, 1, &[times(900, 1_600)]);
    let (.., rows) = timeline.rows(0, 3_000, usize::MAX);
    let shown = |at: usize| rows[0].shares[at].map(|share| (share * 100.0).round());
    assert_eq!([shown(4), shown(7)], [[0.0, 100.0, 0.0]; 2]);
    assert_eq!([shown(8), shown(11)], [[90.0, 10.0, 0.0]; 2]);
    let all = sums(&timeline);
    assert!((all[0] - 900.0).abs() < 0.1 && (all[1] - 1_600.0).abs() < 0.1, "{all:?}");
    // Nothing is moved that has room after the start.
    timeline.begin_at(9_000);
    timeline.add(1, 3_000, 1, &[times(100, 1_000)]);
    let (.., rows) = timeline.rows(0, 3_000, usize::MAX);
    let work: f32 = rows[1].shares.iter().filter(|shares| !shares[0].is_nan()).map(|shares| shares[0]).sum();
    assert!((work - 0.4).abs() < 1e-3, "{rows:?}");
    assert_eq!((rows[1].shares[7][0], rows[1].shares[8][0] > 0.0), (0.0, true));
}

fn sums(timeline: &Timeline) -> [f64; SHOWN] {
    let (bucket_ms, _, rows) = timeline.rows(0, u32::MAX, usize::MAX);
    let mut sums = [0.0; SHOWN];
    for shares in rows.iter().flat_map(|row| &row.shares).filter(|shares| !shares[0].is_nan()) {
        (0..SHOWN).for_each(|kind| sums[kind] += f64::from(shares[kind]) * f64::from(bucket_ms));
    }
    sums
}

#[test]
fn activity_is_where_it_happened_and_no_more_than_reported() {
    let mut timeline = Timeline::default();
    timeline.add(0, 1000, 1, &[times(500, 0)]);
    timeline.add(0, 2000, 1, &[times(500, 1000)]);
    timeline.add(0, 3000, 1, &[times(1500, 1000)]);
    let (bucket_ms, from_ms, rows) = timeline.rows(0, 3000, 600);
    assert_eq!((bucket_ms, from_ms, rows.len(), rows[0].shares.len()), (250, 0, 1, 12));
    let kind_of = |bucket: usize| rows[0].shares[bucket].map(|share| (share * 100.0).round());
    assert!(rows[0].shares[1][0].is_nan(), "before it began");
    assert_eq!(kind_of(2), [100.0, 0.0, 0.0]);
    assert_eq!(kind_of(5), [0.0, 100.0, 0.0]);
    assert_eq!(kind_of(11), [100.0, 0.0, 0.0]);
}

/// What was done before is not known while it is done again.
#[test]
fn work_that_a_host_takes_for_work_done_again_is_shown_as_work() {
    let mut timeline = Timeline::default();
    let recovers = |times| WorkerTimes { recover_ms: 250, ..times };
    timeline.add(0, 1000, 1, &[recovers(times(500, 250))]);
    let again = timeline.clone().restored(&[]);
    for timeline in [timeline, again] {
        let (.., rows) = timeline.rows(0, 1000, 1);
        assert_eq!(rows[0].shares, [[0.75, 0.25, 0.0]]);
        let mut totals = Vec::new();
        timeline.add_totals(None, 1, &mut totals);
        let work: f64 = totals.iter().map(|totals| totals.work).sum();
        assert!((work - 3.0).abs() < 1e-6, "{totals:?}");
    }
}

#[test]
fn time_for_which_workers_computed_is_known_by_host() {
    let mut timeline = Timeline::default();
    let recovers = WorkerTimes { recover_ms: 300, ..WorkerTimes::default() };
    timeline.add(0, 1000, 1, &[times(500, 500), times(1000, 0)]);
    timeline.add(1, 1000, 1, &[recovers]);
    // The same again, more, and a new series.
    timeline.add(0, 1000, 1, &[times(500, 500), times(1000, 0)]);
    timeline.add(0, 2000, 1, &[times(750, 1250), times(1000, 0)]);
    timeline.add(1, 2000, 2, &[times(400, 0)]);
    let restored = timeline.clone().restored(&[]);
    for timeline in [timeline, restored] {
        let computed_s = [0, 1, 2].map(|host| (timeline.computed_s(host) * 100.0).round());
        assert_eq!(computed_s, [175.0, 70.0, 0.0]);
    }
}

/// All reports of the meantime are received at once.
#[test]
fn no_time_is_missing_after_the_coordinator_was_held_up() {
    let mut timeline = Timeline::default();
    for step in 1..=4 {
        timeline.add(0, step * 500, 1, &[times(u64::from(step) * 500, 0)]);
    }
    // Ten seconds of work, reported every half second.
    for step in 1..=20 {
        timeline.add(0, 12_000 + u32::from(step > 10), 1, &[times(2_000 + step * 500, 0)]);
    }
    let sums = sums(&timeline);
    assert!((sums[0] - 12_000.0).abs() < 20.0, "{sums:?}");
    assert!((timeline.computed_s(0) - 12.0).abs() < 0.02, "{}", timeline.computed_s(0));
    let (.., rows) = timeline.rows(0, u32::MAX, usize::MAX);
    let shares = rows[0].shares.iter().filter(|shares| !shares[0].is_nan());
    assert!(shares.map(|shares| shares.iter().sum::<f32>()).all(|all| all < 1.001));
    // A report of more than there was time for is not believed.
    timeline.add(0, 12_500, 1, &[times(100_000, 0)]);
    assert!(timeline.computed_s(0) < 12.52, "{}", timeline.computed_s(0));
}

/// The coordinator was held up when the host began, and receives all its reports at once.
#[test]
fn all_late_reports_of_a_new_worker_are_kept() {
    let mut timeline = Timeline::default();
    for step in 1..=10 {
        timeline.add(0, 6_000, 1, &[times(step * 500, 30)]);
    }
    let sums = sums(&timeline);
    assert!((sums[0] - 5_000.0).abs() < 10.0 && (sums[1] - 30.0).abs() < 10.0, "{sums:?}");
    assert!((timeline.computed_s(0) - 5.0).abs() < 0.01, "{}", timeline.computed_s(0));
    // There are only six seconds before.
    timeline.add(0, 6_000, 1, &[times(100_000, 30)]);
    assert!(timeline.computed_s(0) < 6.0, "{}", timeline.computed_s(0));
}

/// All that a host says comes some seconds late for minutes, over a link that is full, and then at once.
#[test]
fn activity_that_was_late_for_long_is_complete() {
    let mut timeline = Timeline::default();
    timeline.add(0, 500, 1, &[times(500, 0)]);
    for step in 8..=200 {
        timeline.add(0, step * 500, 1, &[times(u64::from(step - 6) * 500, 0)]);
    }
    timeline.add(0, 100_010, 1, &[times(100_000, 0)]);
    assert!((timeline.computed_s(0) - 100.0).abs() < 0.05, "{}", timeline.computed_s(0));
}

#[test]
fn a_worker_that_starts_over_is_not_taken_for_one_that_continues() {
    for (series, computed_s) in [(1, 2.0), (2, 2.2)] {
        let mut timeline = Timeline::default();
        timeline.add(0, 2_100, 1, &[times(2_000, 100)]);
        // It has looked for work for longer than before.
        timeline.add(0, 3_000, series, &[times(200, 300)]);
        timeline.add(0, 3_000, series, &[times(200, 300)]);
        assert!((timeline.computed_s(0) - computed_s).abs() < 0.01, "{}", timeline.computed_s(0));
    }
}

#[test]
fn reports_after_the_timeline_was_taken_to_be_saved_are_not_lost() {
    let mut timeline = Timeline::default();
    timeline.add(0, 1_000, 1, &[times(500, 500), times(0, 1_000)]);
    timeline.taken();
    let saved = timeline.clone();
    assert_eq!(saved.last_reports(), []);
    timeline.add(0, 2_000, 1, &[times(1_500, 500)]);
    timeline.add(7, 3_000, 4, &[times(700, 0)]);
    let reports = timeline.last_reports();
    assert_eq!(reports.len(), 2, "the other worker did nothing since");
    let restored = saved.restored(&reports);
    for (host, computed_s) in [(0, 1.5), (7, 0.7)] {
        let is = [&timeline, &restored].map(|timeline| timeline.computed_s(host));
        assert!(is.iter().all(|is| (is - computed_s).abs() < 0.01), "{is:?}");
    }
    // They are included until the whole timeline is saved.
    assert_eq!(restored.last_reports(), reports);
    timeline.taken();
    timeline.save_again();
    assert_eq!(timeline.last_reports().len(), 3);
}

#[test]
fn the_last_report_of_a_series_that_has_ended_is_not_lost() {
    let mut timeline = Timeline::default();
    timeline.add(0, 1_000, 1, &[times(500, 500)]);
    timeline.taken();
    let saved = timeline.clone();
    timeline.add(0, 2_000, 1, &[times(1_500, 500)]);
    timeline.add(0, 3_000, 2, &[times(100, 0)]);
    let reports = timeline.last_reports();
    let restored = saved.restored(&reports);
    let is = [&timeline, &restored].map(|timeline| timeline.computed_s(0));
    assert!(is.iter().all(|is| (is - 1.6).abs() < 0.01), "{is:?}");
    assert_eq!(restored.last_reports(), reports);
    timeline.rename(0, 5);
    assert!(timeline.last_reports().iter().all(|report| report.host == 5));
    timeline.taken();
    assert_eq!(timeline.last_reports(), []);
}

/// As after a restart of the coordinator.
fn saved_and_restored(timeline: &mut Timeline) -> Timeline {
    timeline.taken();
    let reports = timeline.all_last_reports();
    let bytes = postcard::to_allocvec(&(timeline, reports)).expect("encodes");
    let (saved, reports): (Timeline, Vec<LastReport>) = postcard::from_bytes(&bytes).expect("decodes");
    saved.restored(&reports)
}

/// While the coordinator was away. Before, it was missing for the time that its earlier series had more of.
#[test]
fn a_worker_that_starts_over_after_a_restart_is_not_taken_for_one_that_continues() {
    let mut timeline = Timeline::default();
    timeline.add(0, 2_000, 1, &[times(1_000, 1_000), times(2_000, 0)]);
    let mut restored = saved_and_restored(&mut timeline);
    assert_eq!(restored.last_reports(), [], "all of it is saved");
    // The first begins anew, the other continues.
    restored.add(0, 12_000, 2, &[times(3_000, 1_000)]);
    assert!((restored.computed_s(0) - 6.0).abs() < 0.01, "{}", restored.computed_s(0));
    let (bucket_ms, _, rows) = restored.rows(0, 12_000, 600);
    let share = |t_ms: u32| rows[0].shares[(t_ms / bucket_ms) as usize][0];
    assert!(share(2_500).is_nan() && share(7_500).is_nan(), "nothing is known of the time between: a gap");
    assert!((share(9_000) - 0.75).abs() < 0.01, "{}", share(9_000));
    // A worker of the same series was there all the time.
    let mut again = saved_and_restored(&mut timeline);
    again.add(0, 12_000, 1, &[times(6_000, 6_000)]);
    assert!((again.computed_s(0) - 8.0).abs() < 0.01, "{}", again.computed_s(0));
    let (.., rows) = again.rows(0, 12_000, 600);
    assert!(rows[0].shares.iter().all(|shares| !shares[0].is_nan()));
}

#[test]
fn turns_of_other_runs_are_not_counted_again_after_a_restart() {
    let mut timeline = Timeline::default();
    let others = |others_ms| WorkerTimes { others_ms, ..times(100, 0) };
    timeline.add(0, 10_000, 1, &[others(9_000)]);
    let mut restored = saved_and_restored(&mut timeline);
    restored.add(0, 20_000, 1, &[others(9_500)]);
    restored.add(0, 21_000, 1, &[others(9_700)]);
    assert_eq!(restored.others_s(), 0.2);
}

#[test]
fn a_process_with_another_id_has_computed_once() {
    let mut timeline = Timeline::default();
    timeline.add(0, 1_000, 1, &[times(600, 400)]);
    let version = timeline.version();
    timeline.rename(0, 5);
    assert_eq!(timeline.changed_from(version), 0, "all of it is new");
    timeline.add(5, 2_000, 1, &[times(1_100, 900)]);
    let computed_s = [0, 5].map(|host| (timeline.computed_s(host) * 10.0).round());
    assert_eq!(computed_s, [0.0, 11.0]);
    let (.., rows) = timeline.rows(0, u32::MAX, 600);
    assert_eq!(rows.iter().map(|row| row.host).collect::<Vec<_>>(), [5]);
    // Activity of another host is not overwritten.
    timeline.add(0, 2_000, 1, &[times(1, 0)]);
    timeline.rename(0, 5);
    assert!(timeline.computed_s(5) < 1.2);
}

/// A run that was suspended and one whose hosts had paused was said to stand still since before that.
#[test]
fn no_host_owes_a_report_while_it_pauses_or_the_run_is_suspended() {
    let mut timeline = Timeline::default();
    timeline.add(0, 1_000, 1, &[times(1_000, 0)]);
    let silent = |timeline: &Timeline, t_ms, went_on_ms| -> Vec<(u32, u32)> {
        timeline.silent_since(t_ms, went_on_ms).collect()
    };
    assert_eq!(silent(&timeline, 6_000, 0), [(0, 1_000)]);
    assert_eq!(silent(&timeline, 6_000, 6_000), []);
    assert_eq!(silent(&timeline, 7_500, 6_000), [(0, 6_000)]);
    timeline.host_back(0, 7_000);
    assert_eq!(silent(&timeline, 7_000, 6_000), []);
    assert_eq!(silent(&timeline, 8_500, 6_000), [(0, 7_000)]);
}

/// As after a SIGSTOP. Its whole absence was drawn as work.
#[test]
fn nothing_is_known_of_a_host_that_was_given_up_until_it_is_back() {
    // It says that it computed all the time, or only while it was not stopped.
    for (told_ms, computed_s) in [(10_500, 10.5), (5_500, 5.5)] {
        let mut timeline = Timeline::default();
        timeline.add(0, 5_000, 1, &[times(5_000, 0)]);
        timeline.add(1, 5_000, 1, &[times(5_000, 0)]);
        assert_eq!(timeline.silent_since(5_000, 0).count(), 0);
        timeline.add(1, 7_000, 1, &[times(7_000, 0)]);
        assert_eq!(timeline.silent_since(5_500, 0).map(|(host, _)| host).collect::<Vec<_>>(), [0]);
        timeline.host_gone(0);
        assert_eq!(timeline.silent_since(5_500, 0).count(), 0, "it no longer counts as one that computes");
        timeline.host_back(0, 10_000);
        timeline.host_back(0, 10_400);
        timeline.add(0, 10_500, 1, &[times(told_ms, 0)]);
        // More than there was time for.
        timeline.add(0, 10_500, 1, &[times(told_ms, 100)]);
        let (bucket_ms, _, rows) = timeline.rows(0, 10_500, 600);
        let known: Vec<bool> = rows[0].shares.iter().map(|shares| !shares[0].is_nan()).collect();
        let (gone, back) = ((5_000 / bucket_ms) as usize, (10_000 / bucket_ms) as usize);
        assert!(known[..gone].iter().chain(&known[back..]).all(|known| *known), "{known:?}");
        assert!(!known[gone..back].iter().any(|known| *known), "{known:?}");
        assert!(rows[0].shares[back..].iter().all(|shares| shares[0] > 0.99), "{:?}", rows[0].shares);
        assert!((timeline.computed_s(0) - computed_s).abs() < 0.01, "{}", timeline.computed_s(0));
    }
}

/// The chart had what the worker did at the moment of each report: nothing, if the run had its turn in between.
#[test]
fn workers_are_as_busy_as_they_were_since_the_report_before() {
    let mut timeline = Timeline::default();
    assert_eq!(timeline.busy_since(0), None);
    timeline.add(0, 1_000, 1, &[times(100, 0), times(300, 700)]);
    timeline.add(0, 1_500, 1, &[times(200, 0), times(800, 700)]);
    timeline.add(1, 1_500, 1, &[times(1_000, 0)]);
    let busy =
        |timeline: &Timeline, since_ms| timeline.busy_since(since_ms).map(|busy| (busy * 100.0).round());
    assert_eq!(busy(&timeline, 0), Some(220.0));
    // The second host is silent.
    timeline.add(0, 2_000, 1, &[times(200, 0), times(900, 700)]);
    assert_eq!(busy(&timeline, 1_600), Some(20.0));
    // Reports that come all at once do not make it more than it is.
    timeline.add(1, 2_500, 1, &[times(1_500, 0)]);
    timeline.add(1, 2_510, 1, &[times(2_000, 0)]);
    assert_eq!(busy(&timeline, 2_200), Some(100.0));
    timeline.rename(1, 7);
    assert_eq!(busy(&timeline, 2_200), Some(100.0));
    timeline.host_rests(7);
    assert_eq!(busy(&timeline, 2_200), Some(0.0));
}

#[test]
fn doubling_keeps_sums() {
    let mut timeline = Timeline::default();
    for step in 1..=4000_u32 {
        let done = u64::from(step) * 500;
        timeline.add(0, step * 500, 1, &[times(done / 2, done / 4)]);
    }
    assert!(timeline.bucket_ms() > BUCKET_MS);
    let sums = sums(&timeline);
    let all = 4000.0 * 500.0;
    assert!((sums[0] / (all / 2.0) - 1.0).abs() < 0.01 && (sums[1] / (all / 4.0) - 1.0).abs() < 0.01);
    let (bucket_ms, from_ms, rows) = timeline.rows(1_000_000, 1_500_000, 50);
    assert!(rows[0].shares.len() <= 51 && from_ms <= 1_000_000 && from_ms % bucket_ms == 0);
}

#[test]
fn absurd_reports_are_harmless() {
    let mut timeline = Timeline::default();
    let absurd = WorkerTimes {
        work_ms: u64::MAX,
        recover_ms: u64::MAX,
        steal_ms: 7,
        wait_ms: u64::MAX,
        others_ms: u64::MAX,
    };
    for now_ms in [0, 1, 5000, 5000, u32::MAX - 1, 3] {
        timeline.add(7, now_ms, 1, &[absurd; 300]);
        timeline.add(8, now_ms, 1, &[WorkerTimes::default(); 2]);
    }
    let (.., rows) = timeline.rows(0, u32::MAX, 600);
    let shares = rows.iter().flat_map(|row| row.shares.iter().flatten());
    assert!(shares.filter(|share| !share.is_nan()).all(|share| (0.0..=1.0).contains(share)));
    for host in 0..2 * TIMELINE_WORKERS_MAX as u32 {
        timeline.add(host, 10_000, 1, &[times(1, 1)]);
    }
    assert!(timeline.lanes.len() <= TIMELINE_WORKERS_MAX);
}
