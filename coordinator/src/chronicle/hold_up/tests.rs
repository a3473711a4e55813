mod causes;
mod failures;

use std::collections::BTreeMap;

use sateen_protocol::HostId;

use super::*;
use crate::chronicle::waits::Waits;
use crate::figures::{Figures, HostFigures};

/// `stretches` stretches of a quarter of a second, all alike.
fn part(stretches: usize, workers: f64, work: f64, steal: f64, wait: f64) -> Vec<Totals> {
    vec![Totals { workers, work, steal, wait }; stretches]
}

/// A run whose workers got processor time for all the time that they computed.
fn run(totals: Vec<Totals>) -> Evidence {
    let bucket_s = 0.25;
    Evidence {
        passed_s: totals.len() as f64 * bucket_s,
        elapsed_s: Some(totals.len() as f64 * bucket_s),
        work_s: sum(&totals).work * bucket_s,
        computed_s: sum(&totals).work * bucket_s,
        bucket_s,
        totals,
        begun: (100, 0),
        ..Evidence::default()
    }
}

/// A job on ada that still runs.
fn job(what: &str, ran_s: f64) -> Option<LastJob> {
    Some(LastJob { what: what.to_owned(), host: "ada".to_owned(), ran_s, has_ended: false })
}

#[track_caller]
fn is(evidence: &Evidence, kind: HoldUpKind, words: &[&str]) {
    let found = evidence.verdict().expect("enough is known");
    assert_eq!(found.kind, kind, "{}", found.text);
    for word in words {
        assert!(found.text.contains(word), "`{word}` is not in `{}`", found.text);
    }
}

#[test]
fn nothing_is_reported_after_a_moment() {
    assert_eq!(run(part(7, 8.0, 1.0, 7.0, 0.0)).verdict(), None);
    assert_eq!(Evidence { passed_s: 60.0, ..run(Vec::new()) }.verdict(), None);
}

#[test]
fn a_run_whose_workers_compute_is_not_slowed_down() {
    is(
        &run(part(40, 8.0, 7.6, 0.2, 0.1)),
        HoldUpKind::Nothing,
        &["Nothing slows it", "7.6 of 8 workers", "more hosts make"],
    );
    let over = Evidence { stage: Stage::Over, ..run(part(40, 8.0, 7.6, 0.2, 0.1)) };
    is(&over, HoldUpKind::Nothing, &["Nothing slowed it", "more hosts would have made it"]);
    let alone = run(part(40, 1.0, 1.0, 0.0, 0.0));
    is(&alone, HoldUpKind::Nothing, &[": 1 of 1 worker computed on average;"]);
}

/// Two workers computed for all of two seconds, which began and ended within a stretch.
#[test]
fn no_more_workers_compute_than_are_connected() {
    let mut evidence = run(part(10, 2.0, 1.8, 0.0, 0.0));
    (evidence.passed_s, evidence.elapsed_s, evidence.computed_s) = (2.202, Some(2.002), 4.01);
    let averages = evidence.averages().expect("it has started");
    assert!((averages.busy - 2.0).abs() < 1e-9 && (averages.workers - 2.0).abs() < 1e-9);
    is(&evidence, HoldUpKind::Nothing, &["2 of 2 workers"]);
    // It was queued for longer than it ran, and a worker came late.
    evidence.totals.splice(..4, part(4, 1.0, 0.0, 0.0, 0.0));
    (evidence.elapsed_s, evidence.computed_s) = (Some(1.402), 2.0);
    let averages = evidence.averages().expect("it has started");
    assert!((averages.busy - 2.0 / 1.402).abs() < 1e-9, "{}", averages.busy);
    assert!(averages.busy < averages.workers && averages.workers < 2.0, "{}", averages.workers);
    // Results were checked for a tenth of a second.
    evidence.sampled.checking_s = 0.1;
    let averages = evidence.averages().expect("it has started");
    assert!((averages.busy - 2.1 / 1.402).abs() < 1e-9, "{}", averages.busy);
    evidence.elapsed_s = None;
    assert!(evidence.averages().is_none());
}

const NO_HOST: &str = "no host is connected; start one with `sateen-host`";

/// A run that has waited for these reasons.
fn waited(passed_s: f64, waited: &[(&str, f64)]) -> Evidence {
    let waited = waited.iter().map(|(why, time_s)| ((*why).to_owned(), *time_s)).collect();
    Evidence { passed_s, waiting: Waiting { now: None, waited }, ..run(part(40, 8.0, 7.6, 0.2, 0.1)) }
}

fn waits(passed_s: f64, reasons: &[(&str, f64)], why: &str, reason: &str) -> String {
    let mut evidence = waited(passed_s, reasons);
    evidence.waiting.now = Some(Waits { why: why.to_owned(), reason: reason.to_owned() });
    let found = evidence.verdict().expect("it is known");
    assert_eq!(found.kind, HoldUpKind::Waiting);
    found.text
}

#[test]
fn a_run_that_waits_reports_the_reason_and_the_time() {
    assert_eq!(
        waits(10.0, &[("no host is connected", 3.0)], NO_HOST, NO_HOST),
        "It has waited for 3.0 s of the 10.0 s since its submission: no host is connected; start one with `sateen-host`."
    );
    assert_eq!(
        waits(10.0, &[("no host is connected", 0.4)], NO_HOST, NO_HOST),
        "It waits: no host is connected; start one with `sateen-host`."
    );
    assert_eq!(waits(0.1, &[], "a", "a"), "It waits: a.");
    // Details change all the time, and the reason stays the same.
    let why = "its result is being sent: 3 MiB have come";
    assert_eq!(
        waits(10.0, &[("its result is being sent", 3.0)], why, "its result is being sent"),
        "It has waited for 3.0 s of the 10.0 s since its submission: its result is being sent: 3 MiB have come."
    );
}

/// The time of the new reason alone looked like the time of all.
#[test]
fn a_run_that_waits_for_another_reason_reports_its_time_and_that_of_all() {
    let suspended = ("the run is suspended until it is resumed", 29.0);
    let text = |this_s| waits(54.0, &[("no host is connected", this_s), suspended], NO_HOST, NO_HOST);
    assert_eq!(
        text(4.6),
        "It has waited for 33.6 s of the 54.0 s since its submission, for 4.6 s of that for this reason: no host is \
         connected; start one with `sateen-host`."
    );
    assert!(text(0.0).starts_with(
        "It has waited for 29.0 s of the 54.0 s since its submission, for 0.0 s of that for this "
    ));
}

#[test]
fn a_run_that_waited_reports_the_reason_and_the_time_without_advice() {
    let suspended = "the run is suspended until it is resumed";
    let both = waited(10.0, &[("no host is connected", 3.0), (suspended, 1.5)]);
    let text = "For 4.5 s of the 10.0 s since its submission, nothing was done; for 3.0 s of that, the reason was: \"no host is \
                connected\".";
    is(&both, HoldUpKind::Waiting, &[text]);
    let text = "For 3.0 s of the 10.0 s since its submission, nothing was done; the reason was: the run was suspended.";
    is(&waited(10.0, &[(suspended, 3.0)]), HoldUpKind::Waiting, &[text]);
    is(&waited(10.0, &[("no host is connected", 1.0)]), HoldUpKind::Nothing, &[]);
    // All times in a sentence are equally exact.
    let text = "For 35 s of the 2 min 12 s from its submission to its end, nothing was done; the reason was: \"no host is \
                connected\".";
    let over = Evidence { stage: Stage::Over, ..waited(132.6, &[("no host is connected", 35.0)]) };
    is(&over, HoldUpKind::Waiting, &[text]);
}

#[test]
fn time_waited_grows_until_the_wait_is_over_and_then_stands() {
    let mut chronicle = Chronicle::default();
    chronicle.idle_because(None, Some(NO_HOST), 1000);
    let of = |chronicle: &Chronicle, now_ms| chronicle.waiting(None, now_ms).waited;
    let expected = |time_s| BTreeMap::from([("no host is connected".to_owned(), time_s)]);
    assert_eq!(of(&chronicle, 3000), expected(2.0));
    assert_eq!(of(&chronicle, 4000), expected(3.0));
    chronicle.idle_because(None, None, 5000);
    chronicle.idle_because(None, Some(NO_HOST), 7000);
    assert_eq!(of(&chronicle, 9000), expected(6.0));
    assert_eq!(chronicle.idle()[0].text, "no host is connected");
}

#[test]
fn workers_without_processors_are_starved() {
    let mut starved = run(part(40, 4.0, 3.8, 0.1, 0.1));
    starved.work_s *= 0.19;
    is(&starved, HoldUpKind::Starved, &["are busy elsewhere", "it got 19 % of a core on average."]);
    let host = |name: &str, work_s, computed_s| HostFigures {
        name: name.to_owned(),
        work_s,
        computed_s,
        ..HostFigures::default()
    };
    // Nothing is reported of a moment.
    let hosts = [host("ada", 9.0, 10.0), host("bob", 1.0, 10.0), host("cyd", 0.0, 1.0)];
    assert_eq!((least(&hosts[..1], true), least(&hosts, true)), (None, Some(("bob".to_owned(), 0.1))));
    let (one, other) = (HostFigures { host: HostId(7), ..host("bob", 1.0, 10.0) }, host("bob", 9.0, 10.0));
    let named = least(&[one, other], true).map(|(host, _)| host);
    assert_eq!(named, Some(format!("bob {}", HostId(7))), "there are two");
    starved.least = least(&hosts, true);
    is(&starved, HoldUpKind::Starved, &["19 % of a core on average, and 10 % on bob."]);
    starved.least = Some(("bob".to_owned(), 0.194));
    is(&starved, HoldUpKind::Starved, &["19 % of a core on average."]);
    // "8 % on ada" was worse than 7 % on average.
    starved.least = Some(("ada".to_owned(), 0.2));
    is(&starved, HoldUpKind::Starved, &["19 % of a core on average."]);
    starved.least = least(&hosts, true);
    starved.stage = Stage::Over;
    let words = "The hosts' machines were busy elsewhere: while a worker computed, it got 19 % of a core on average, and \
                 10 % on bob.";
    is(&starved, HoldUpKind::Starved, &[words]);
    is(&run(part(40, 4.0, 0.8, 0.1, 0.1)), HoldUpKind::Starved, &["for 75 % of the time, no host"]);
}

/// The only one of its hosts had been killed seconds ago, and the run's machines "are busy elsewhere".
#[test]
fn what_is_said_of_hosts_that_are_gone_is_past() {
    let host = |name: &str, work_s| HostFigures {
        name: name.to_owned(),
        work_s,
        computed_s: 10.0,
        ..HostFigures::of(HostId(1))
    };
    let (bob, ada) = (host("bob", 1.0), HostFigures { is_there: true, ..host("ada", 2.0) });
    let by_host = [bob.clone(), ada.clone(), HostFigures { host: HostId(2), ..ada.clone() }];
    assert_eq!(least(&by_host, false).map(|(host, _)| host), Some(format!("ada {}", HostId(1))));
    let chronicle = Chronicle::new(crate::clock::unix_ms() - 60_000);
    let evidence = |by_host: &[HostFigures], waits: Option<&Waits>| {
        let figures = Figures { by_host: by_host.to_vec(), ..Figures::default() };
        let course = Course { is_over: false, waits, elapsed_s: Some(10.0), figures: &figures };
        let evidence = chronicle.evidence(course, &Names::default());
        Evidence { stage: evidence.stage, ..starved() }
    };
    is(&evidence(&[ada.clone(), bob.clone()], None), HoldUpKind::Starved, &["machines are busy elsewhere"]);
    let away = HostFigures { is_away: true, ..ada };
    for by_host in [vec![bob.clone()], vec![bob, away.clone()], Vec::new()] {
        is(&evidence(&by_host, None), HoldUpKind::Starved, &["machines were busy elsewhere"]);
    }
    // "The coordinator was started again and waits for its hosts" was beside it.
    let waits = Waits { why: RESTARTED.to_owned(), reason: RESTARTED.to_owned() };
    assert_eq!(evidence(&[away], Some(&waits)).verdict(), None);
    let mut ended = run(part(20, 4.0, 4.0, 0.0, 0.0));
    ended.totals.extend(part(20, 4.0, 1.0, 3.0, 0.0));
    (ended.passed_s, ended.elapsed_s, ended.work_s, ended.computed_s) = (10.0, Some(10.0), 25.0, 25.0);
    ended.last_job = job("place 00ff", 4.0);
    is(&ended, HoldUpKind::Straggler, &["the job place 00ff has run for 4.0 s on ada"]);
    ended.last_job = Some(LastJob { has_ended: true, ..ended.last_job.unwrap_or_default() });
    is(&ended, HoldUpKind::Straggler, &["the job place 00ff ran for 4.0 s on ada"]);
}

/// Workers that got a fifth of their processors.
fn starved() -> Evidence {
    let mut starved = run(part(40, 4.0, 3.8, 0.1, 0.1));
    starved.work_s *= 0.2;
    starved
}

#[test]
fn a_run_that_shares_its_hosts_reports_that() {
    let mut shares = run(part(40, 2.0, 0.9, 0.1, 0.0));
    shares.others_s = 9.0;
    is(&shares, HoldUpKind::Sharing, &["Other runs", "50 % of the time", "0.9 of 2 workers"]);
    shares.others_s = 1.0;
    is(
        &shares,
        HoldUpKind::Sharing,
        &["Other runs", "for 50 % of the time", "as other runs had their turn."],
    );
    shares.has_pauses = true;
    let words = [
        "Pauses and other runs",
        "for 50 % of the time",
        "as they were paused or other runs had their turn.",
    ];
    is(&shares, HoldUpKind::Sharing, &words);
    let mut pauses = run(part(40, 2.0, 1.1, 0.1, 0.0));
    pauses.has_pauses = true;
    is(&pauses, HoldUpKind::Sharing, &["Pauses slow it", "for 40 % of the time", "as they were paused."]);
    pauses.has_pauses = false;
    is(&pauses, HoldUpKind::Starved, &["for 40 % of the time, no host"]);
    let mut seeks = run(part(40, 2.0, 0.9, 1.0, 0.0));
    seeks.others_s = 1.0;
    is(&seeks, HoldUpKind::Parallelism, &["no job for 50 %"]);
}

/// Before, the cause that came first was named, whatever share of the time it explained.
#[test]
fn the_larger_of_two_causes_is_named() {
    // Eight runs share two workers of a busy machine.
    let mut shares = run(part(40, 2.0, 0.25, 0.05, 0.0));
    shares.work_s *= 0.26;
    shares.others_s = 16.0;
    is(&shares, HoldUpKind::Sharing, &["Other runs", "0.25 of 2 workers"]);
    // Without other runs, the machine is to blame for the larger part of what is known.
    shares.totals = part(40, 2.0, 1.8, 0.1, 0.0);
    (shares.work_s, shares.computed_s, shares.others_s) = (4.0, 18.0, 1.0);
    is(&shares, HoldUpKind::Starved, &["busy elsewhere", "22 %"]);
    // Other runs took less than the time in which there was no job.
    let mut few = run(part(40, 3.0, 0.4, 1.8, 0.03));
    few.others_s = 7.7;
    let words = ["0.4 of 3 workers", "no job for 60 %", "hosts for 1 %; for 26 % other runs had their turn."];
    is(&few, HoldUpKind::Parallelism, &words);
}

/// Nobody was paused, and most of the time was that of other runs.
#[test]
fn other_runs_are_named_where_theirs_is_the_largest_share() {
    let mut shares = run(part(40, 2.0, 0.16, 0.86, 0.02));
    shares.others_s = 8.6;
    is(&shares, HoldUpKind::Sharing, &["Other runs share its hosts", "0.16 of 2 workers"]);
    let mut seeks = run(part(40, 2.0, 0.16, 1.2, 0.02));
    seeks.others_s = 4.0;
    is(&seeks, HoldUpKind::Parallelism, &["no job for 60 %", "for 31 % other runs had their turn"]);
    seeks.others_s = 0.0;
    is(&seeks, HoldUpKind::Parallelism, &["of 31 % nothing is known"]);
}

/// Turns of other runs while a host did not answer counted twice: workers found no job for 60 %, waited for 1 %, others had
/// their turn for 53 %, and failures cost 5 %.
#[test]
fn shares_of_the_time_add_up_to_no_more_than_all_of_it() {
    let mut evidence = run(part(40, 3.0, 0.4, 1.8, 0.03));
    evidence.others_s = 16.0;
    let text = evidence.verdict().expect("enough is known").text;
    let percents = text.split(" %").filter_map(|part| part.rsplit(' ').next()?.parse::<u32>().ok());
    assert!(percents.sum::<u32>() <= 87, "{text}");
    is(
        &evidence,
        HoldUpKind::Parallelism,
        &["no job for 60 %", "hosts for 1 %; for 26 % other runs had their turn."],
    );
}

/// Workers computed for a while on a busy machine; results have been arriving slowly ever since.
#[test]
fn slow_results_are_not_blamed_on_processors() {
    let mut totals = part(20, 4.0, 4.0, 0.0, 0.0);
    totals.extend(part(10, 4.0, 0.2, 1.8, 2.0));
    let mut crawls = run(totals.clone());
    crawls.work_s *= 0.4;
    is(&crawls, HoldUpKind::Starved, &["busy elsewhere"]);
    totals.extend(part(60, 4.0, 0.2, 1.8, 2.0));
    let crawls = Evidence { work_s: crawls.work_s, ..run(totals) };
    is(&crawls, HoldUpKind::Waiting, &["waited for them for 39 %", "1 of 4 workers"]);
}

#[test]
fn too_few_jobs_are_too_little_parallelism() {
    is(&run(part(40, 8.0, 2.0, 5.0, 1.0)), HoldUpKind::Parallelism, &["2 of 8 workers", "62 %", "12 %"]);
}

#[test]
fn a_long_end_with_one_worker_is_a_straggler() {
    let mut totals = part(40, 8.0, 7.8, 0.1, 0.1);
    totals.extend(part(21, 8.0, 1.0, 7.0, 0.0));
    let mut late = run(totals.clone());
    late.last_job = job("place 00ff", 9.0);
    let words = ["last 5.0 s", "1 of 8 workers has computed", "place 00ff has run for 9.0 s on ada"];
    is(&late, HoldUpKind::Straggler, &words);
    late.stage = Stage::Over;
    is(&late, HoldUpKind::Straggler, &["8 workers computed", "place 00ff ran"]);
    // One worker alone is not a final phase, nor is there one in a run that was never busy.
    let mut never = part(40, 8.0, 1.0, 7.0, 0.0);
    never.extend(part(21, 8.0, 1.0, 7.0, 0.0));
    is(&run(never), HoldUpKind::Parallelism, &[]);
    // The last of many short jobs holds up nothing.
    late.last_job = job("pulls 00ff", 0.02);
    assert_ne!(late.verdict().map(|hold_up| hold_up.kind), Some(HoldUpKind::Straggler));
}

/// 1.44 of 2 workers computed all along, and the last second was said to be a straggler's.
#[test]
fn an_end_like_the_rest_is_not_a_straggler() {
    let mut same = part(16, 2.0, 1.5, 0.4, 0.1);
    same.extend(part(8, 2.0, 1.4, 0.5, 0.1));
    let same = Evidence { stage: Stage::Over, ..run(same) };
    assert_ne!(same.verdict().map(|hold_up| hold_up.kind), Some(HoldUpKind::Straggler));
}

#[test]
fn long_parameters_are_to_blame_where_most_jobs_have_them() {
    let mut large = run(part(40, 8.0, 3.0, 4.0, 1.0));
    large.begun = (80, 71);
    is(&large, HoldUpKind::Parameters, &["71 of 80 jobs", "62 %", "3 of 8 workers"]);
    large.begun = (80, 9);
    is(&large, HoldUpKind::Parallelism, &[]);
}

#[test]
fn work_lost_with_hosts_is_reported_when_it_is_known() {
    let mut figures = Figures::default();
    (figures.times.work_s, figures.times.lost_work_s) = (10.0, Some(3.7));
    figures.jobs.of_hosts.lost = 1;
    // Without a result, all of it is lost.
    assert_eq!(lost_with_hosts(&figures), None);
    figures.times.answer_work_s = Some(6.3);
    let lost_with_hosts = lost_with_hosts(&figures);
    let crashed = Evidence { stage: Stage::Over, lost_with_hosts, ..run(part(40, 4.0, 3.8, 0.1, 0.1)) };
    is(&crashed, HoldUpKind::Recovery, &["37 % of its work"]);
    figures.jobs.of_hosts.lost = 0;
    assert_eq!(super::lost_with_hosts(&figures), None);
}
