//! Runs that use results of earlier ones.

use std::time::Duration;

use sateen_tests::cluster::{Cluster, work_of};
use sateen_tests::command::ended;
use sateen_tests::probe;
use serde_json::Value;

use crate::answers::{FIB, QUEENS};

const PATIENCE: Duration = Duration::from_secs(120);
const HOSTS: &[(&str, &str)] = &[("ada", "here"), ("bob", "here")];
/// Jobs of some 50 ms each. Only those that a host computes before it first records results, a quarter of a second after it has
/// begun, are not kept.
const STEPS: &str = "10000000";
const NUMBERS: u64 = 120;

/// The words that submit a run with these inputs.
fn words(numbers: impl IntoIterator<Item = u64>) -> Vec<String> {
    let module = probe::module_path().display().to_string();
    let words = ["submit", "--reuse", "--function", "coarse_of", &module, STEPS].map(str::to_owned);
    words.into_iter().chain(numbers.into_iter().map(|number| number.to_string())).collect()
}

/// Submits a run, as the submitter with this token; returns its status and its result when it is over.
fn run(cluster: &Cluster, token: Option<&str>, words: &[String]) -> (Value, String) {
    let mut command = cluster.sateen_command(words);
    command.envs(token.map(|token| ("SATEEN_TOKEN", token)));
    let run: u64 = ended(command).result().trim().parse().expect("a run's number");
    let about = cluster.api().run_over(run, PATIENCE);
    assert_eq!(about["state"], "done", "{about:#}");
    (about, cluster.sateen(["result".to_owned(), run.to_string()]).result().to_owned())
}

/// How many jobs of a run had results of earlier runs, and their work in seconds.
fn earlier(about: &Value) -> (u64, f64) {
    let earlier = &about["earlier"];
    (earlier["jobs"].as_u64().expect("a number"), earlier["work_s"].as_f64().expect("seconds"))
}

fn work(about: &Value) -> f64 {
    about["work_s"].as_f64().expect("seconds")
}

#[test]
fn what_was_computed_before_is_not_computed_again() {
    let mut cluster = Cluster::start(HOSTS);
    let (first, result) = run(&cluster, None, &words(0..NUMBERS));
    assert_eq!(earlier(&first), (0, 0.0), "{first:#}");
    let all_s = work(&first);
    // The same again, without anything computed.
    let (again, same) = run(&cluster, None, &words(0..NUMBERS));
    assert_eq!((same, earlier(&again).0, work(&again)), (result.clone(), 1, 0.0), "{again:#}");
    assert!((earlier(&again).1 - all_s).abs() <= 0.05 * all_s, "{again:#}");
    // One input is another, and they come in another order. A run that does not ask for them finds no results.
    let changed = || (1..=NUMBERS).rev();
    let plain: Vec<String> = words(changed()).into_iter().filter(|word| word != "--reuse").collect();
    let (anew, expected) = run(&cluster, None, &plain);
    assert!(anew["earlier"].is_null() && work(&anew) > 0.5 * all_s, "{anew:#}");
    let (other, found) = run(&cluster, None, &words(changed()));
    assert_eq!(found, expected);
    let (jobs, work_s) = earlier(&other);
    assert!((NUMBERS * 5 / 6..NUMBERS).contains(&jobs), "{other:#}");
    assert!(work(&other) <= 0.2 * all_s && work_s >= 0.8 * all_s, "{all_s} s: {other:#}");
    assert_eq!(
        (&other["jobs"]["lost"], &other["jobs"]["redone"], &other["jobs"]["reused"]),
        (&0.into(), &0.into(), &0.into())
    );
    // The results survive the coordinator, and go with the runs that computed them.
    cluster.kill_coordinator();
    cluster.start_coordinator();
    cluster.await_hosts(HOSTS.len());
    let (after, same) = run(&cluster, None, &words(0..NUMBERS));
    assert_eq!((same, earlier(&after).0), (result.clone(), 1), "{after:#}");
    let ids = cluster.api().get("/api/v1/runs");
    for id in ids.as_array().expect("runs").iter().map(|run| run["run"].to_string()) {
        assert_eq!(cluster.sateen(["rm", &id]).code, Some(0));
    }
    let (from_scratch, same) = run(&cluster, None, &words(0..NUMBERS));
    assert_eq!((same, earlier(&from_scratch).0), (result, 0), "{from_scratch:#}");
}

#[test]
fn results_are_found_by_their_submitter_alone() {
    let cluster = Cluster::start_with_tokens(HOSTS);
    let [one, other] =
        ["one", "other"].map(|name| cluster.new_token(&["--scope", "submitter", "--name", name]));
    let words = words(0..NUMBERS / 4);
    assert_eq!(earlier(&run(&cluster, Some(&one), &words).0).0, 0);
    assert_eq!(earlier(&run(&cluster, Some(&other), &words).0).0, 0, "they are another's");
    assert_eq!(earlier(&run(&cluster, Some(&one), &words).0).0, 1);
}

/// A run that was cancelled is submitted again and continues where it was, although a host is killed on the way.
#[test]
fn a_run_that_was_cancelled_continues_when_it_is_submitted_again() {
    let mut cluster = Cluster::start(HOSTS);
    let (app, words, result) = QUEENS;
    let submit = |cluster: &Cluster| cluster.submit(app, &[&["--reuse"], words].concat());
    let first = submit(&cluster);
    cluster.await_work(first, &["ada", "bob"], 2.0);
    assert_eq!(cluster.sateen(["cancel".to_owned(), first.to_string()]).code, Some(0));
    let before = cluster.api().run_over(first, PATIENCE);
    assert_eq!(before["state"], "cancelled", "{before:#}");
    let second = submit(&cluster);
    cluster.api().run_until(second, "one with a root", PATIENCE, |run| !run["root_host"].is_null());
    cluster.await_work(second, &["ada", "bob"], 0.3);
    cluster.kill_host("bob");
    let about = cluster.done(second, result);
    let (jobs, work_s) = earlier(&about);
    assert!(jobs > 0 && work_s >= 0.5 * work(&before), "{before:#} {about:#}");
    assert!(work_of(&about, "ada") > 0.0);
}

#[test]
fn what_is_checked_takes_no_results_that_nobody_checks() {
    let cluster = Cluster::start(&[]);
    let (app, words, _) = FIB;
    let module = sateen_tests::command::app(app).display().to_string();
    let flags = ["submit", "--reuse", "--trust", "quorum=2", module.as_str()];
    let refused = cluster.sateen([&flags[..], words].concat());
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("--reuse"), "{refused:?}");
    let published = cluster.api().publish("fib", &std::fs::read(&module).expect("the app"));
    assert_eq!(published.0, 201);
    let body = r#"{"app": "fib", "arguments": ["3"], "reuse": true, "trust": "audit=0.5"}"#;
    let (status, answer) = cluster.api().post("/api/v1/runs", body);
    assert_eq!(status, 422, "{answer}");
    assert!(answer.to_string().contains("reuse"), "{answer}");
}
