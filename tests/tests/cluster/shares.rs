//! Shares of a grid: what each submitter gets, and which of its runs.

use std::thread;
use std::time::Duration;

use sateen_tests::cluster::{Cluster, work_of};
use sateen_tests::command::{app, ended};
use sateen_tests::probe;

/// Submits a run that takes long, with a token and more words; returns its number.
fn submit(cluster: &Cluster, token: &str, words: &[&str]) -> u64 {
    let module = app("nqueens").display().to_string();
    let mut command = cluster.sateen_command([&["submit", module.as_str(), "20"], words].concat());
    command.env("SATEEN_TOKEN", token);
    ended(command).result().trim().parse().expect("a run's number")
}

#[test]
fn submitters_get_what_their_weights_say_and_their_runs_what_their_priorities_say() {
    let cluster = Cluster::start_with_tokens(&[("ada", "here")]);
    let one = cluster.new_token(&["--scope", "submitter", "--name", "one"]);
    let other = cluster.new_token(&["--scope", "submitter", "--name", "other", "--weight", "3"]);
    let runs = [
        submit(&cluster, &one, &[]),
        submit(&cluster, &one, &["--priority", "low"]),
        submit(&cluster, &other, &["--priority", "low"]),
    ];
    let due = [0.2, 0.05, 0.75];
    for run in runs {
        cluster.await_work(run, &["ada"], 0.05);
    }
    let listed: Vec<f64> =
        runs.map(|run| cluster.api().run(run)["share"].as_f64().unwrap_or_default()).into();
    assert_eq!(listed, due, "what is shown");
    let work = |run: &u64| work_of(&cluster.api().run(*run), "ada");
    let before: Vec<f64> = runs.iter().map(work).collect();
    thread::sleep(Duration::from_secs(8));
    let did: Vec<f64> = runs.iter().zip(&before).map(|(run, before)| work(run) - before).collect();
    let all: f64 = did.iter().sum();
    for (did, due) in did.iter().zip(due) {
        let part = did / all;
        assert!((part - due).abs() <= 0.02 + due / 10.0, "it got {part} of the work and is due {due}");
    }
    // A run with a small share does nothing for a while, but its host answers.
    for run in runs {
        let about = cluster.api().run(run);
        assert!(!about.to_string().contains("not answer"), "{about:#}");
    }
    // What one does not use, the others get.
    assert_eq!(cluster.sateen(["cancel", &runs[2].to_string()]).code, Some(0));
    let share = |run: u64| cluster.api().run(run)["share"].as_f64();
    cluster.api().run_until(runs[2], "cancelled", Duration::from_secs(20), |run| run["state"] == "cancelled");
    assert_eq!((share(runs[0]), share(runs[2])), (Some(0.8), None));
    for run in &runs[..2] {
        assert_eq!(cluster.sateen(["cancel", &run.to_string()]).code, Some(0));
    }
}

#[test]
fn a_submitter_with_a_quota_has_no_more_runs_than_that() {
    let cluster = Cluster::start_with_tokens(&[]);
    let token = cluster.new_token(&["--scope", "submitter", "--name", "ci", "--runs-max", "2"]);
    let runs = [submit(&cluster, &token, &[]), submit(&cluster, &token, &[])];
    let module = app("nqueens").display().to_string();
    let third = || {
        let mut command = cluster.sateen_command(["submit", &module, "20"]);
        command.env("SATEEN_TOKEN", &token);
        ended(command)
    };
    third().fails_with(4, &["`ci`", "2 unfinished runs", "sateen cancel"]);
    assert_eq!(cluster.sateen(["cancel", &runs[0].to_string()]).code, Some(0));
    third().result();
}

/// Such jobs report nothing by themselves, so that what is shown of them comes from counts that are sent in between.
#[test]
fn runs_that_take_turns_show_the_work_of_jobs_that_call_nothing() {
    let cluster = Cluster::start(&[("ada", "here")]);
    let words = ["--function", "long_loops", "100000", "5000000"];
    let runs = [0, 1].map(|_| cluster.submit_module(probe::module_path(), &words));
    for run in runs {
        cluster.await_work(run, &["ada"], 0.05);
    }
    let work = |run: &u64| work_of(&cluster.api().run(*run), "ada");
    let before: f64 = runs.iter().map(work).sum();
    let took = Duration::from_secs(5);
    thread::sleep(took);
    let did = runs.iter().map(work).sum::<f64>() - before;
    assert!(did >= 0.6 * took.as_secs_f64(), "one worker has done {did} s of work in {took:?}");
    for run in runs {
        assert!(cluster.api().run(run)["jobs"]["executed"].as_u64() > Some(10));
        assert_eq!(cluster.sateen(["cancel", &run.to_string()]).code, Some(0));
    }
}
