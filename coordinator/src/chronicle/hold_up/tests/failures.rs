//! Time in which hosts did not answer or were lost, or the coordinator was away.

use super::*;
use crate::chronicle::hold_up::disturbances::Disturbance;
use crate::chronicle::waits::NONE_CAME_BACK;
use crate::chronicle::{Sample, Source};
use sateen_protocol::HostId;
use sateen_protocol::message::WorkerTimes;

fn disturbed(from_s: f64, to_s: f64, what: &str) -> Disturbance {
    Disturbance { from_s, to_s, what: what.to_owned(), may_be_reported: false }
}

/// Two workers that computed, or did nothing for a while.
fn run_with(parts: &[Vec<Totals>], sampled: Sampled) -> Evidence {
    Evidence { stage: Stage::Over, sampled, ..run(parts.concat()) }
}

/// Such a run was not slowed down, or had too little parallelism, and had fewer workers than its chart shows.
#[test]
fn the_coordinators_absence_is_not_time_without_jobs() {
    let (busy, nothing) = (|count| part(count, 2.0, 2.0, 0.0, 0.0), |count| part(count, 0.0, 0.0, 0.0, 0.0));
    let sampled = Sampled {
        workers: vec![(0.0, 3.0, 2.0), (8.0, 33.0, 2.0)],
        disturbances: vec![disturbed(3.0, 8.0, "the coordinator was started again")],
        ..Sampled::default()
    };
    let crashed = run_with(&[busy(12), nothing(20), busy(100)], sampled.clone());
    let averages = crashed.averages().expect("it has started");
    assert!((averages.busy - 2.0).abs() < 1e-9, "of the time that is known: {}", averages.busy);
    let text = "Failures cost it 15 % of its workers' time, from 3.0 s to 8.0 s after its submission: the coordinator was \
                started again; 2 of 2 workers computed on average.";
    is(&crashed, HoldUpKind::Recovery, &[text]);
    // Hosts may have computed meanwhile, and report that.
    let mut there = crashed.clone();
    there.totals = busy(132);
    is(&there, HoldUpKind::Nothing, &[]);
    // It is not known yet.
    let mut lasts = crashed;
    lasts.sampled.disturbances[0].may_be_reported = true;
    is(&lasts, HoldUpKind::Nothing, &["2 of 2"]);
}

#[test]
fn waiting_for_a_host_that_does_not_answer_is_not_a_lack_of_jobs() {
    let busy = |count| part(count, 2.0, 1.9, 0.1, 0.0);
    let parts = [busy(20), part(20, 1.0, 0.0, 0.8, 0.2), busy(20)];
    let workers = vec![(0.0, 15.0, 2.0)];
    let silence = disturbed(5.0, 9.9, "host b did not answer");
    let lost = disturbed(9.5, 10.0, "host b (here) was given up");
    let sampled =
        Sampled { workers: workers.clone(), disturbances: vec![silence, lost], ..Sampled::default() };
    let words = ["cost it 33 % of", "from 5.0 s to 9.9 s", "host b did not answer", "1.3 of 2 workers"];
    is(&run_with(&parts, sampled), HoldUpKind::Recovery, &words);
    // The workers are those of the chart, in any case.
    let sampled = Sampled { workers, ..Sampled::default() };
    is(&run_with(&parts, sampled), HoldUpKind::Parallelism, &["1.3 of 2 workers"]);
}

#[test]
fn a_small_failure_is_mentioned_beside_too_little_parallelism() {
    let parts = [part(40, 4.0, 1.0, 3.0, 0.0), part(8, 4.0, 0.5, 3.5, 0.0)];
    let disturbances = vec![disturbed(10.0, 12.0, "host b did not answer")];
    let sampled = Sampled { workers: vec![(0.0, 12.0, 4.0)], disturbances, ..Sampled::default() };
    is(&run_with(&parts, sampled), HoldUpKind::Parallelism, &["no job for 62 %", "; failures cost 15 %."]);
}

#[test]
fn disturbances_are_known_from_charts_and_events() {
    let mut chronicle = Chronicle::new(crate::clock::unix_ms() - 60_000);
    let source = Source { id: HostId(1), name: "one", site: "here" };
    chronicle.activity(source, 1, &[WorkerTimes { work_ms: 100, ..WorkerTimes::default() }]);
    let sample = |t_ms| Sample { t_ms, busy: 2.0, workers: 2, ..Sample::default() };
    for t_ms in [500, 1000, 1500] {
        chronicle.sample(sample(t_ms), None, None);
    }
    let silent = crate::chronicle::Silent { host: HostId(1), since_ms: 1200 };
    chronicle.note_silent(&[silent]);
    chronicle.note_silent(&[silent]);
    chronicle.series.gap(5000);
    let Sampled { workers, disturbances, .. } = chronicle.sampled(60_000);
    assert_eq!(workers, [(0.5, 1.0, 2.0), (1.0, 1.5, 2.0)]);
    let gap = disturbed(1.5, 60.0, "the coordinator was started again");
    let silence = disturbed(1.2, 60.0, "host one did not answer");
    assert_eq!(disturbances, [Disturbance { may_be_reported: true, ..gap }, silence]);
    chronicle.host_gone(source, crate::chronicle::Going::Crashed);
    chronicle.add_event(crate::chronicle::EventKind::RootLost, None, "the root job was lost".to_owned());
    let disturbances = chronicle.sampled(70_000).disturbances;
    let of: Vec<(&str, bool)> =
        disturbances.iter().map(|one| (one.what.as_str(), one.to_s > 65.0)).skip(1).collect();
    let expected = [
        ("host one did not answer", false),
        ("host one (here) was given up", false),
        ("the root job was lost", true),
    ];
    assert_eq!(of, expected);
}

/// No sample is of that time, and it was left out of the mean number of workers that computed.
#[test]
fn the_time_in_which_no_host_came_back_is_known() {
    let mut chronicle = Chronicle::default();
    let known_s = |chronicle: &Chronicle| chronicle.sampled(60_000).known_s(1.0, 60.0);
    assert_eq!(known_s(&chronicle), 0.0);
    chronicle.idle_because(None, Some(NONE_CAME_BACK), 2_000);
    chronicle.idle_because(None, None, 9_000);
    let sampled = chronicle.sampled(60_000);
    assert_eq!((known_s(&chronicle), sampled.workers(1.0, 60.0)), (7.0, Some(0.0)));
}
