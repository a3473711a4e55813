//! `/metrics` during a run in which a host is killed, and after it.

use std::thread::sleep;
use std::time::{Duration, Instant};

use sateen_tests::cluster::{Cluster, PATIENCE, count};

use crate::exposition::{Samples, Scrape};

const QUEENS: (&str, &[&str], &str) = ("nqueens", &["16"], "14772512\n");

/// Scrapes the API's text.
pub fn scrape(cluster: &Cluster) -> Scrape {
    Scrape::parse(&text(cluster))
}

fn text(cluster: &Cluster) -> String {
    let mut response = ureq::get(format!("http://{}/metrics", cluster.address())).call().expect("an answer");
    let kind = response.headers().get("content-type").and_then(|kind| kind.to_str().ok());
    assert_eq!(kind, Some("application/openmetrics-text; version=1.0.0; charset=utf-8"));
    response.body_mut().read_to_string().expect("text")
}

#[track_caller]
fn assert_grown(before: &Samples, after: &Samples) {
    for (sample, value) in before {
        let now = after.get(sample).unwrap_or_else(|| panic!("{sample} is gone"));
        assert!(now >= value, "{sample} fell from {value} to {now}");
    }
}

#[test]
fn metrics_agree_with_the_api_about_a_run_and_a_crash() {
    let mut cluster = Cluster::start(&[("ada", "here"), ("bob", "here"), ("cyd", "there")]);
    let first = scrape(&cluster);
    assert_eq!(first.sum("sateen_hosts", &[]), 3.0);
    assert_eq!(first.sum("sateen_hosts", &["state=\"idle\""]), 3.0);
    assert_eq!(first.sum("sateen_jobs_spawned_total", &[]), 0.0);

    let run = cluster.submit(QUEENS.0, QUEENS.1);
    cluster.await_work(run, &["ada", "bob", "cyd"], 0.3);
    let during = scrape(&cluster);
    assert_grown(&first.counters(), &during.counters());
    assert_eq!(during.sum("sateen_runs", &["state=\"running\""]), 1.0);
    assert!(during.sum("sateen_workers_busy", &[]) > 0.0 && during.sum("sateen_workers", &[]) == 3.0);
    let root = cluster.root_host(run);
    // The two hosts of one site keep stealing from one another, or have done so before one of them dies.
    let victim = if root == "cyd" { "bob" } else { "cyd" };
    if victim == "bob" {
        let until = Instant::now() + PATIENCE;
        while scrape(&cluster).sum("sateen_steals_total", &["scope=\"site\""]) == 0.0 {
            assert!(Instant::now() < until, "ada and bob do not steal from one another");
            sleep(Duration::from_millis(100));
        }
    }
    cluster.kill_host(victim);
    let about = cluster.done(run, QUEENS.2);
    let last = scrape(&cluster);
    assert_grown(&during.counters(), &last.counters());

    // Hosts report nothing more of a finished run, so both use the same reports.
    for (metric, labels, name) in [
        ("sateen_jobs_spawned_total", "", "spawned"),
        ("sateen_jobs_exposed_total", "", "exposed"),
        ("sateen_jobs_of_ended_runs_total", "", "executed"),
        ("sateen_jobs_taken_total", "", "stolen_local"),
        ("sateen_jobs_aborted_total", "", "aborted"),
        ("sateen_jobs_lost_total", "", "lost"),
        ("sateen_jobs_given_back_total", "", "given_back"),
        ("sateen_jobs_redone_total", "", "redone"),
        ("sateen_results_reused_total", "", "reused"),
        ("sateen_results_recorded_total", "", "recorded"),
        ("sateen_orphans_adopted_total", "", "adopted"),
        ("sateen_steals_total", "outcome=\"job\"", "stolen"),
    ] {
        assert_eq!(last.sum(metric, &[labels]), count(&about, name) as f64, "{metric}: {about:#}");
    }
    let wide = last.sum("sateen_steals_total", &["outcome=\"job\"", "scope=\"remote\""]);
    assert_eq!(wide, count(&about, "stolen_wide") as f64);
    let time = |name: &str| about[name].as_f64().unwrap_or_else(|| panic!("no {name} in {about:#}"));
    let work = last.sum("sateen_work_seconds_total", &[]);
    assert!((work - time("work_s")).abs() < 1e-6, "{work}: {about:#}");
    for (metric, name) in [
        ("sateen_work_of_ended_runs_seconds_total", "work_s"),
        ("sateen_lost_work_seconds_total", "lost_work_s"),
    ] {
        let [all, done] = [&[] as &[&str], &["state=\"done\""]].map(|labels| last.sum(metric, labels));
        assert!((done - time(name)).abs() < 1e-6 && all == done, "{metric} {done} of {all}: {about:#}");
    }

    let timed = last.sum("sateen_steal_wait_seconds_count", &[]);
    let given = last.sum("sateen_steals_total", &["outcome=\"job\""]);
    assert!(timed > 0.0 && timed == given, "{timed} of {given}");
    let within_site = last.sum("sateen_steals_total", &["scope=\"site\""]);
    assert!(within_site > 0.0, "ada and bob reach one another directly");
    assert_eq!(last.sum("sateen_hosts_gone_total", &["how=\"crashed\""]), 1.0);
    assert_eq!(last.sum("sateen_runs_ended_total", &["state=\"done\""]), 1.0);
    assert_eq!(last.sum("sateen_runs", &["state=\"done\""]), 1.0);
    assert!(last.sum("sateen_jobs_total", &["state=\"begun\"", "retry=\"no\""]) > 0.0);
    assert!(
        last.sum("sateen_received_bytes_total", &[]) > 0.0 && last.sum("sateen_sent_bytes_total", &[]) > 0.0
    );
    assert!(last.sum("sateen_store_latency_seconds_count", &["operation=\"write\""]) > 0.0);
    assert_eq!(last.sum("sateen_store_works", &[]), 1.0);
    assert_eq!(last.sum("sateen_websockets", &[]), 2.0);
    assert!(last.sum("sateen_http_answers_total", &["class=\"2xx\""]) > 0.0);
}

#[test]
fn no_label_names_a_host_or_a_job() {
    let cluster = Cluster::start(&[("ada-lovelace", "attic"), ("bob", "attic")]);
    let before = scrape(&cluster);
    let run = cluster.submit("fib", &["30"]);
    cluster.done(run, "832040\n");
    let text = text(&cluster);
    for word in ["ada", "attic", "bob", "fib", "nqueens"] {
        assert!(!text.contains(word), "{word} is in {text}");
    }
    let after = Scrape::parse(&text);
    let series = |scrape: &Scrape| scrape.samples.keys().cloned().collect::<Vec<_>>();
    assert_eq!(series(&before), series(&after), "runs and hosts make no new series");
}

#[test]
fn a_run_that_is_suspended_and_resumed_loses_no_count() {
    let cluster = Cluster::start(&[("ada", "here"), ("bob", "here")]);
    let run = cluster.submit(QUEENS.0, QUEENS.1);
    cluster.await_work(run, &["ada", "bob"], 0.2);
    assert_eq!(cluster.api().order(&format!("/api/v1/runs/{run}/suspend")).0, 202);
    let patience = sateen_tests::cluster::SOON;
    let at_rest = cluster.api().run_until(run, "suspended", patience, |run| run["state"] == "suspended");
    let before = scrape(&cluster);
    assert_eq!(cluster.api().order(&format!("/api/v1/runs/{run}/resume")).0, 202);
    let about = cluster.done(run, QUEENS.2);
    let after = scrape(&cluster);
    assert_grown(&before.counters(), &after.counters());
    for name in ["spawned", "stolen", "recorded"] {
        assert!(count(&about, name) >= count(&at_rest, name), "{name} fell: {at_rest:#} {about:#}");
    }
    assert_eq!(after.sum("sateen_jobs_spawned_total", &[]), count(&about, "spawned") as f64);
    let total = at_rest["work_s"].as_f64().zip(about["work_s"].as_f64());
    assert!(total.is_some_and(|(before, after)| after > before), "{at_rest:#} {about:#}");
}
